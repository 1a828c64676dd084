"""``tokd pack``: files of examples in, a file of packs out."""

import json

import numpy as np
import pytest

from tests.service.cli.processes import assert_refused, succeed

LINES = b'{"text": "Hello"}\n{"prompt": "1 + 1 =", "completion": " 2"}\n'


@pytest.fixture
def examples(tmp_path):
    path = tmp_path / "examples.jsonl"
    path.write_bytes(LINES)
    return str(path)


def test_packs_are_written_and_counted(tokd, tokenizer, examples, tmp_path):
    out = tmp_path / "out.npy"
    told = json.loads(succeed(tokd("pack", examples, "--length", "64", "-o", str(out), "--json")))
    (row,) = np.load(out, allow_pickle=True)
    assert (told["examples"], told["rows"], told["tokens"]) == (2, 1, len(row["input_ids"]))
    assert told["trained"] == sum(row["loss_mask"])
    assert row["seq_start_id"] == [0, len(tokenizer.encode("Hello")) + 1]


def test_a_directory_of_token_files_is_inspected_and_checked(tokd, examples, tmp_path):
    out = str(tmp_path / "out")
    succeed(tokd("pack", examples, "--length", "64", "-o", out, "--format", "megatron"))
    assert "trained on" in succeed(tokd("inspect", out)).decode()
    assert "nothing is wrong" in succeed(tokd("check", out)).decode()
    assert_refused(tokd("pack", examples, "--length", "64", "-o", out, "--format", "mds"), "output_exists", 1)


def test_an_example_that_is_too_long_is_named_and_can_be_split(tokd, tokenizer, examples, tmp_path):
    out, length = str(tmp_path / "out.npy"), str(len(tokenizer.encode("Hello")) + 1)
    assert_refused(tokd("pack", examples, "--length", length, "-o", out), "row_too_long", 1, "line 2 of")
    told = succeed(tokd("pack", examples, "--length", length, "-o", out, "--overflow", "split")).decode()
    assert "of the examples: 1 split" in told


def test_a_wrong_command_line_is_refused(tokd, examples, tmp_path):
    assert_refused(tokd("pack", examples, "--length", "0", "-o", str(tmp_path / "a.npy")), "usage", 2)
    wrong = tokd("pack", examples, "--length", "8", "-o", str(tmp_path / "a.csv"))
    assert_refused(wrong, "invalid_option", 1, ".parquet")


def test_a_chat_with_nothing_to_learn_is_warned_of(tokd, tmp_path):
    chats = tmp_path / "chats.jsonl"
    chats.write_text('{"messages": [{"role": "user", "content": "1 + 1 ="}]}')
    for flag, said in (("--json", b'"trained": 0'), ("--pad", b"(0 to learn) in 1 row")):
        done = tokd("pack", str(chats), "--length", "64", "-o", str(tmp_path / f"{flag}.npy"), flag)
        assert (done.returncode, said in done.stdout) == (0, True)
        assert done.stderr.startswith(b"tokd: warning: there is nothing to learn")
