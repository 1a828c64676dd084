"""Mistakes: one line, a code and a status, never a traceback."""

import json
import re

import pytest

from service.cli import _with_place, main
from tests.service.cli.processes import ROOT, assert_refused, succeed
from tokenizer_core import InvalidOption, TokdError


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["frobnicate"],
        ["encode", "a", "b"],
        ["encode", "a", "--file", "x"],
        ["encode", "a", "--count", "--offsets"],
        ["encode", "a", "--unit", "char"],
        ["encode", "a", "--table", "--count"],
        ["encode", "a", "--table", "--json"],
        ["completion"],
        ["completion", "tcsh"],
        ["manual", "encode"],
        ["encode", "a", "--offsets", "--unit", "line"],
        ["encode", "a", "--special-tokens", "maybe"],
        ["encode", "a", "--special", "text"],
        ["encode", "a", "--tokenizer"],
        ["decode", "1", "--file", "x"],
        ["decode", "1", "--bytes", "--json"],
        ["import", "-o", "x"],
        ["import", "hf"],
        ["import", "a", "b", "c", "-o", "x"],
        ["import", "hf", "-o", "x", "--format", "pickle"],
        ["import", "hf", "-o", "x", "--special-token", "<|a|>"],
        ["import", "hf", "-o", "x", "--special-token", "<|a|>=-1"],
        ["import", "hf", "-o", "x", "--special-token", "<|a|>=1", "--special-token", "<|a|>=2"],
        ["export", "artifacts/base", "-o", "x"],
        ["export", "artifacts/base", "--format", "huggingface"],
        ["inspect"],
        ["check", "artifacts/base", "--embedding-rows", "many"],
        ["check", "artifacts/base", "--embedding-rows", "0"],
        ["check", "artifacts/base", "--embedding-rows", "1_000"],
        ["check", "artifacts/base", "--embedding-rows", "9" * 5000],
    ],
)
def test_a_wrong_command_line_is_one_line_and_status_2(tokd, arguments):
    assert_refused(tokd(*arguments), "usage", 2)


@pytest.mark.parametrize(
    ("arguments", "stdin", "code", "words"),
    [
        (["encode", "-f", "nowhere"], b"", "unreadable_file", ["nowhere", "no such file"]),
        (["encode", "-f", "artifacts"], b"", "unreadable_file", ["directory"]),
        (["encode"], b"abc\xff", "invalid_unicode", ["0xFF", "at 3"]),
        (["encode", b"a\xc3("], b"", "invalid_unicode", ["0xC3", "at 1"]),
        (["encode"], "a\ud800".encode(errors="surrogatepass"), "invalid_unicode", ["0xED", "at 1"]),
        (["encode"], b"\xff\xfea\x00", "invalid_unicode", ["0xFF", "at 0"]),
        (["encode", "a", "-t", "nowhere"], b"", "artifact_not_found", ["nowhere: no such file"]),
        (["encode", "a", "-t", "hf"], b"", "artifact_not_found", ["hf", "manifest.json", "tokd import"]),
        (["encode", "a", "-t", "hf/tokenizer.json"], b"", "artifact_not_found", ["tokenizer.json"]),
        (["encode", "a", "-t", ""], b"", "invalid_option", ["path is empty"]),
        (["decode", "1", "two"], b"", "invalid_id", ["'two'", "index 1"]),
        (["decode", "--", "-1"], b"", "invalid_id", ["'-1'"]),
        (["decode", "1,,2"], b"", "invalid_id", ["''", "index 1"]),
        (["decode", "1, ,2"], b"", "invalid_id", ["''", "index 1"]),
        (["decode", ","], b"", "invalid_id", ["''", "index 0"]),
        (["decode", "1.5"], b"", "invalid_id", ["'1.5'"]),
        (["decode", "true"], b"", "invalid_id", ["'true'"]),
        (["decode", "[[1], [2]]"], b"", "invalid_id", ["'[1]'"]),
        (["decode", "٣"], b"", "invalid_id", ["index 0"]),
        (["decode", "99999999"], b"", "unknown_token_id", ["99999999"]),
        (["decode", "1", "4294967296"], b"", "unknown_token_id", ["index 1"]),
        (["decode", "9" * 5000], b"", "unknown_token_id", ["index 0"]),
        (["decode"], b"1 \xff", "invalid_unicode", ["0xFF"]),
        (["inspect", "nowhere"], b"", "artifact_not_found", ["nowhere"]),
        (["check", "nowhere"], b"", "artifact_not_found", ["nowhere"]),
        (["export", "nowhere", "--format", "huggingface", "-o", "x"], b"", "artifact_not_found", ["nowhere"]),
        (["import", "nowhere", "-o", "x"], b"", "artifact_not_found", ["no file nowhere"]),
        (["import", "hf", "-o", "x", "--pattern", "gpt2"], b"", "invalid_option", ["names its own pattern"]),
        (["import", "hf", "-o", "x", "--format", "vocab_merges"], b"", "artifact_not_found", ["hf/vocab.json"]),
        (["import", "artifacts/base", "-o", "x"], b"", "unknown_format", ["artifact already"]),
        (["import", "artifacts", "-o", "x"], b"", "unknown_format", ["tokenizer.json"]),
        (["import", "hf", "-o", "x", "--name", "../up"], b"", "invalid_name", []),
        (["import", "hf", "-o", "hf"], b"", "output_exists", ["hf"]),
        (["import", "hf", "-o", "artifacts/base"], b"", "output_exists", ["artifacts/base"]),
        (["import", "nowhere", "else", "-o", "x"], b"", "artifact_not_found", ["nowhere"]),
    ],
)
def test_a_users_mistake_is_one_line_and_status_1(tokd, arguments, stdin, code, words):
    result = tokd(*arguments, stdin=stdin)
    assert_refused(result, code, 1, *words)


def test_the_field_of_an_error_stands_before_a_message_that_does_not_name_it():
    assert _with_place(InvalidOption("it is too small", field="vocab_size")) == "vocab_size: it is too small"
    assert _with_place(InvalidOption("vocab_size is too small", field="vocab_size")) == "vocab_size is too small"


def test_help_and_version_need_no_artifact(tokd):
    assert succeed(tokd("--version")).startswith(b"tokd ")
    for command in ("serve", "encode", "decode", "import", "export", "inspect", "check", "key", "train", "bench"):
        assert command.encode() in succeed(tokd("--help"))
        assert succeed(tokd(command, "--help")).startswith(f"usage: tokd {command}".encode())


def test_every_code_of_the_command_is_documented():
    source = "".join(path.read_text() for path in (ROOT / "service" / "cli").glob("*.py"))
    codes = set(re.findall(r'(?:CommandError|_fail)\(\s*"([a-z_]+)"', source))
    documented = set(re.findall(r"^- `([a-z_]+)`: ", (ROOT / "docs" / "command.md").read_text(), re.MULTILINE))
    shared = {code for leaf in TokdError.__subclasses__() for cls in leaf.__subclasses__() for code in cls.codes}
    assert codes - shared == documented


def test_every_command_is_documented(tokd):
    named = re.findall(r"^    ([a-z-]+)(?: |$)", succeed(tokd("--help")).decode(), re.MULTILINE)
    documented = re.findall(r"^- `tokd ([a-z-]+)", (ROOT / "docs" / "command.md").read_text(), re.MULTILINE)
    assert named == documented


@pytest.mark.parametrize(
    ("command", "near"),
    [
        ("encod x", "encode"),
        ("key nw", "new"),
        ("encode --artifact x hi", "--tokenizer"),
        ("encode --artifct x hi", "--tokenizer"),
        ("encode --tokeniser=x hi", "--tokenizer"),
        ("encode hi --jsn", "--json"),
        ("train a -o x --vocab-sise 5", "--vocab-size"),
        ("serve --prt 5", "--port"),
        ("pack a --lenght 4096", "--length"),
    ],
)
def test_the_nearest_command_or_option_is_named(
    capsysbinary: pytest.CaptureFixture[bytes], command: str, near: str
) -> None:
    assert main(command.split()) == 2
    assert f"; did you mean {near!r}?; see tokd" in capsysbinary.readouterr().err.decode()


@pytest.mark.parametrize(
    "command", ["zzzz", "encode hi -x", "encode hi --zzzz", "inspect x --artifact y", "pack x", "key --name x"]
)
def test_no_command_or_option_is_named_where_none_is_near(
    capsysbinary: pytest.CaptureFixture[bytes], command: str
) -> None:
    assert main(command.split()) == 2
    assert "did you mean" not in capsysbinary.readouterr().err.decode()


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (
            "encode-corpus CORPUS -o OUT --eos <|im_ends|>",
            "--eos is after, before, none, an id or a special token, and the tokenizer has no '<|im_ends|>'; did you ",
        ),
        ("encode-corpus CORPUS -o OUT --eos 9999999", "--eos: the tokenizer has no id 9999999"),
        ("encode-corpus CORPUS -o OUT --train-on last", "of texts all is trained on; --train-on is for messages"),
        (
            "encode-corpus CORPUS -o OUT",
            'pass --special-tokens text to encode it as ordinary text or "parse" to make it',
        ),
        ("pack CORPUS -o OUT.npy --length 10 --align 3", "--length is a multiple of align, which 10 of 3 is not"),
        ("pack CORPUS -o OUT/a.npy --length 10", "OUT/a.npy: no such file or directory; make the directory OUT"),
        ("pack NAMELESS -o OUT.npy --length 10", "does not say what is in it; give --input-format: text"),
        ("pack NAMELESS -o OUT.npy --length 10 --input-format jsonl", "line 1 of "),
        ("encode-corpus NAMELESS -o OUT", "does not say what is in it; give --input-format: text"),
        ("pack CORPUS -o OUT.txt --length 10", "--output: the output's name ends in "),
        ("import artifacts/base/tokenizer.json -o OUT --eos-token x", "--eos-token: the eos token is an added token"),
        ("import artifacts/base/tokenizer.json -o OUT --name A", "--name: a name is 1 to 128 of "),
        ("import artifacts/base/tokenizer.json -o OUT --pattern gpt2", "--pattern: tokenizer.json names its own"),
        ("import Qwen/Qwen2.5-7B -o OUT", "the repository of the Hugging Face hub is hf:Qwen/Qwen2.5-7B"),
        ("encode a --dropout 2 --seed 1", "--dropout is a probability from 0 to 1, not 2"),
        (
            "encode a --alpha 0.5 --seed 1",
            "--alpha: this model is BPE, whose tokens have no probabilities; give --dropout",
        ),
        (
            "train CORPUS -o OUT --vocab-size 3",
            "invalid_settings: --vocab-size: is at least 256 (what there is before ",
        ),
        ("train CORPUS -o OUT --vocab-size 300 --eos x", "invalid_settings: --eos: is one of the special tokens"),
    ],
)
def test_errors_name_flags(command, said, tokd, tmp_path):
    (tmp_path / "corpus.jsonl").write_text('{"text": "a <|im_end|>"}\n')
    (tmp_path / "corpus.json").write_text("[]")
    places = {"CORPUS": str(tmp_path / "corpus.jsonl"), "NAMELESS": str(tmp_path / "corpus.json")}
    places["OUT"] = str(tmp_path / "out")
    words = [places.get(word) or word.replace("OUT", places["OUT"]) for word in command.split()]
    result = tokd(*words)
    message = result.stderr.decode().splitlines()[-1]
    assert result.returncode in (1, 2)
    assert said.replace("OUT", places["OUT"]) in message
    assert not (tmp_path / "out").exists()


def test_end_of_text_is_named_by_its_literal(tokd, tmp_path, tokenizer):
    (tmp_path / "corpus.txt").write_text("a")
    command = ["encode-corpus", str(tmp_path / "corpus.txt"), "-o", str(tmp_path / "out"), "--eos", "<|im_end|>"]
    assert tokd(*command).returncode == 0
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["eos"] == {"id": tokenizer.special_tokens["<|im_end|>"], "place": "after"}
