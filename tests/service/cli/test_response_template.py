"""``tokd response-template``, and ``tokd export --response-template``."""

import dataclasses
import json

from tests.service.cli.processes import assert_refused, succeed
from tokenizer_core import Tokenizer


def test_a_derived_template_is_printed_and_exported(tokd, tmp_path):
    printed = tokd("response-template", "artifacts/base")
    spec = json.loads(printed.stdout)
    assert spec["start_anchor"] == ["<|im_start|>assistant\n"]
    assert printed.stderr.decode().splitlines() == [
        "reasoning_content: the template writes none",
        "tool_calls: the template writes none",
    ]
    assert tokd("response-template", "artifacts/base", "-o", str(tmp_path / "spec.json")).returncode == 0
    assert json.loads((tmp_path / "spec.json").read_bytes()) == spec
    out = str(tmp_path / "hf")
    succeed(tokd("export", "artifacts/base", "--format", "huggingface", "--response-template", "-o", out))
    assert json.loads((tmp_path / "hf" / "tokenizer_config.json").read_bytes())["response_template"] == spec
    imported = Tokenizer.from_hf(tmp_path / "hf")
    assert imported.response_template is not None
    assert (imported.response_template.origin, imported.response_template.spec) == ("shipped", spec)


def test_what_cannot_be_derived_is_an_error(tokd, tokenizer, tmp_path):
    settings = dataclasses.replace(tokenizer.settings, chat_template=None)
    Tokenizer(dataclasses.replace(tokenizer.parts, settings=settings)).save(tmp_path / "bare")
    assert_refused(tokd("response-template", str(tmp_path / "bare")), "template_missing", 1, "no chat template")
    export = ("export", str(tmp_path / "bare"), "--response-template", "-o", str(tmp_path / "out"), "--format")
    assert_refused(tokd(*export, "huggingface"), "template_missing", 1, "response-template")
    assert_refused(tokd(*export, "tiktoken"), "usage", 2, "huggingface")
