"""``tokd parse``: an output in, a message out."""

import json

import pytest

from tests.service.cli.processes import assert_refused, succeed
from tests.support.thinking import CALLED, TOOL, save_thinking
from tokenizer_core import Tokenizer


@pytest.fixture(scope="module")
def artifact(tmp_path_factory):
    return save_thinking(tmp_path_factory.mktemp("thinking"))


def test_text_and_ids_become_the_message_of_the_library(tokd, artifact, tmp_path):
    tokenizer, chat = Tokenizer.open(artifact), tmp_path / "chat.json"
    messages = [{"role": "user", "content": "x"}]
    chat.write_text(json.dumps({"messages": messages, "tools": [TOOL]}))
    expected = tokenizer.parse_chat(CALLED, messages=messages, tools=[TOOL])
    named = ("--tokenizer", str(artifact), "--chat", str(chat))
    assert json.loads(succeed(tokd("parse", CALLED, *named))) == expected.message
    ids = [str(id) for id in tokenizer.encode(CALLED, special_tokens="parse").tolist()]
    assert json.loads(succeed(tokd("parse", "--ids", *ids, *named))) == expected.message
    found = json.loads(succeed(tokd("parse", "--ids", "--json", *named, stdin=" ".join(ids).encode())))
    assert (found["message"], found["exact"], found["arguments"]) == (expected.message, True, expected.arguments)
    begun = json.loads(
        succeed(tokd("parse", "x\n</think>\n\ny", *named[:2], "--prompt", "<|im_start|>assistant\n<think>\n"))
    )
    assert begun == {"role": "assistant", "reasoning_content": "x", "content": "y"}


def test_what_is_wrong_is_said_in_a_line(tokd, artifact, tmp_path):
    chat = tmp_path / "chat.json"
    chat.write_text("[")
    for more, code in ((("--chat", str(chat)), b"invalid_json"), (("-f", str(chat)), b"usage")):
        done = tokd("parse", "x", "--tokenizer", str(artifact), *more)
        assert done.returncode != 0
        assert code in done.stderr
    assert_refused(tokd("parse", "x", "y"), "usage", 2, "put it in quotes")
    assert json.loads(succeed(tokd("parse", "x")))["content"] == "x"
