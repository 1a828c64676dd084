"""``tokd encode-corpus``, and ``inspect`` and ``check`` of what it has written."""

import json
import os
import resource
from pathlib import Path

import pytest

from service.cli import main
from tests.core.token_files.conftest import corpus, line, tokenizer  # noqa: F401
from tokenizer_core import encode_corpus


@pytest.fixture
def artifact(tokenizer, tmp_path):  # noqa: F811
    tokenizer.save(tmp_path / "artifact", name=tokenizer.name)
    return str(tmp_path / "artifact")


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_command_writes_what_the_library_does(tokenizer, corpus, artifact, tmp_path, capsys):  # noqa: F811
    options = {"layout": "ds", "eos": 7, "dtype": "uint32", "shuffle": 3, "shard_bytes": 2000}
    encode_corpus(corpus, tokenizer, tmp_path / "one", **options)
    flags = ["--format", "ds", "--eos", "7", "--dtype", "uint32", "--shuffle", "3"]
    flags += ["--shard-bytes", "2K", "--threads", "1", "--memory", "1M"]
    run = ["encode-corpus", str(corpus), "-t", artifact, "-o", str(tmp_path / "two"), *flags]
    assert main(run) == 0
    said = capsys.readouterr()
    assert "5 documents" in said.out
    assert "encoding" in said.err
    assert content(tmp_path / "one") == content(tmp_path / "two")
    assert main(run) == 1
    assert "output_exists" in capsys.readouterr().err
    assert main([*run, "--resume", "--json", "--quiet"]) == 0
    said = capsys.readouterr()
    assert (json.loads(said.out)["documents"], said.err) == (5, "")
    assert main([*run, "--join", "--eos", "none"]) == 1
    assert "other_run" in capsys.readouterr().err


def test_wrong_options_are_named(corpus, tmp_path, capsys):  # noqa: F811
    for wrong in (["--shard-bytes", "0"], ["--shuffle", "-1"], ["--format", "tar"], ["--dtype", "f4"]):
        assert main(["encode-corpus", str(corpus), "-o", str(tmp_path / "out"), *wrong]) == 2
        assert wrong[0] in capsys.readouterr().err
    # A literal is known once the tokenizer is open.
    assert main(["encode-corpus", str(corpus), "-o", str(tmp_path / "out"), "--eos", "x"]) == 1
    assert "--eos is after" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "flag"),
    [(["encode-corpus"], "--input-format"), (["pack", "--length", "8"], "--input-format"), (["train"], "--format")],
)
def test_the_option_that_says_what_files_are_is_the_command_s_own(command, flag, artifact, tmp_path, capsys):
    (tmp_path / "README.md").write_text("text")
    for file, words in (("README.md", f"in it; give {flag}: text"), ("*.mdx", f"for others give {flag}")):
        assert main([*command, str(tmp_path / file), "-o", str(tmp_path / "out.npy")]) == 1
        assert words in capsys.readouterr().err


def test_documents_left_out_are_counted_and_named(corpus, artifact, tmp_path, capsys):  # noqa: F811
    with (corpus / "a.jsonl").open("ab") as file:
        file.write(b'{"text": 1}\n' + line("fine"))
    run = ["encode-corpus", str(corpus), "-t", artifact, "-o", str(tmp_path / "out"), "--on-error", "skip", "--quiet"]
    assert main(run) == 0
    said = capsys.readouterr()
    assert "6 documents" in said.out
    assert "1 document left out" in said.err
    assert f"line 4 of {corpus / 'a.jsonl'}: the field" in said.err


def test_a_corpus_of_which_all_is_left_out_says_why(artifact, tmp_path, capsys):
    (tmp_path / "a.jsonl").write_text('{"text": "cut\n{"text": 1}\n')
    run = ["encode-corpus", str(tmp_path / "a.jsonl"), "-t", artifact, "-o", str(tmp_path / "out"), "--quiet"]
    assert main([*run, "--on-error", "skip"]) == 1
    said = capsys.readouterr().err
    assert "all 2 documents were left out; the first is line 1 of" in said
    assert "a.jsonl: not JSON: EOF while parsing a string at column 13" in said


def test_chats_are_written_with_labels(corpus, artifact, tmp_path, capsys):  # noqa: F811
    chat = [{"role": "user", "content": "2 + 2?"}, {"role": "assistant", "content": "4"}]
    (tmp_path / "in.jsonl").write_text(json.dumps({"messages": chat}) + "\n" + json.dumps({"chat": chat}) + "\n")
    run = ["encode-corpus", str(tmp_path / "in.jsonl"), "-t", artifact, "--messages", "--quiet", "-o"]
    assert main([*run, str(tmp_path / "out")]) == 1
    said = capsys.readouterr().err
    assert "error: invalid_corpus: line 2 of" in said
    assert 'there is no field "messages"; name that of the chats with --field\n' in said
    (tmp_path / "no.jsonl").write_text("{}")
    assert main(["encode-corpus", str(tmp_path / "no.jsonl"), "--input-format", "parquet", "-o", "x", "--quiet"]) == 1
    assert "; --input-format parquet says that it is Parquet\n" in capsys.readouterr().err
    assert main([*run, str(tmp_path / "out"), "--on-error", "skip", "--train-on", "last"]) == 0
    assert "tokens trained on" in capsys.readouterr().out
    assert main(["inspect", str(tmp_path / "out")]) == 0
    assert "trained on" in capsys.readouterr().out
    assert main([*run, str(tmp_path / "two"), "--on-error", "skip", "--field", "chat", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["trained"] > 0
    assert main([*run, str(tmp_path / "three"), "--special-tokens", "parse"]) == 1
    assert "--special-tokens" in capsys.readouterr().err


def test_inspect_and_check_read_token_files(corpus, artifact, tmp_path, capsys):  # noqa: F811
    out = str(tmp_path / "out")
    assert main(["encode-corpus", str(corpus), "-t", artifact, "-o", out, "--quiet"]) == 0
    capsys.readouterr()
    assert main(["inspect", out]) == 0
    shown = capsys.readouterr().out
    assert all(
        part in shown for part in ("megatron", "uint16", "after each document", "tokens-00000.bin", "b.jsonl.gz")
    )
    assert main(["inspect", out, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["documents"] == 5
    assert main(["check", out, "-t", artifact]) == 0
    assert capsys.readouterr().out.endswith("tokens read, 4 encoded again\nnothing is wrong\n")
    for command in ("check", "inspect"):
        assert main([command, str(tmp_path / "nothing")]) == 1
        assert "neither an artifact nor an encoded corpus is at" in capsys.readouterr().err
    flat = str(tmp_path / "flat")
    assert main(["encode-corpus", str(corpus), "-t", artifact, "-o", flat, "--quiet", "--format", "nanogpt"]) == 0
    assert main(["check", flat, "-t", artifact]) == 0
    assert "no borders of documents in nanogpt, none encoded again" in capsys.readouterr().out
    (tmp_path / "out" / "tokens-00000.bin").write_bytes(b"")
    assert main(["check", out, "--json"]) == 1
    (problem,) = json.loads(capsys.readouterr().out)["problems"]
    assert "is not the file that was written" in problem


def test_a_full_disk_is_said_and_leaves_nothing(corpus, tmp_path, capsys):  # noqa: F811
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        assert main(["encode-corpus", str(corpus), "-o", str(tmp_path / "out"), "--quiet"]) == 1
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "unwritable_output" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


@pytest.mark.skipif(not Path("/sys/kernel").is_dir(), reason="needs a file system that nobody can write to")
def test_a_read_only_disk_is_said_before_any_work(corpus, capsys):  # noqa: F811
    out = "/sys/kernel/out" if os.access("/sys/kernel", os.R_OK) else "/proc/out"
    assert main(["encode-corpus", str(corpus), "-o", out, "--quiet"]) == 1
    assert "unwritable_output" in capsys.readouterr().err
