"""The ``tokd`` command as users have it: real processes, bytes in and bytes out."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import numpy as np
import pytest
from tokenizers import Tokenizer as HuggingFace

from tests.tiny_tokenizer import GPT2_PATTERN, SPECIALS, write_layout
from tokenizer_core import Tokenizer

ROOT = Path(__file__).resolve().parents[1]
RUNNING = re.compile(r"running on http://127\.0\.0\.1:([0-9]+)")
TEXT = "The harbour master, naïve 你好 👍🏽!\n"


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    """A directory with a Hugging Face layout in ``hf`` and an artifact where the commands look for one."""
    home = tmp_path_factory.mktemp("home")
    write_layout(home / "hf")
    Tokenizer.from_hf(home / "hf").save(home / "artifacts" / "base", name="base")
    return home


@pytest.fixture(scope="module")
def tokenizer(home) -> Tokenizer:
    return Tokenizer.open(home / "artifacts" / "base")


@pytest.fixture
def tokd(home):
    """Run one command in ``home``; nothing of the caller's environment but the path to Python."""

    def run(*args, stdin: bytes = b"", timeout: float = 60, variables=None) -> subprocess.CompletedProcess:
        return subprocess.run(
            [sys.executable, "-m", "service.cli", *args],
            cwd=home,
            env=environment(**(variables or {})),
            input=stdin,
            capture_output=True,
            timeout=timeout,
            check=False,
        )

    return run


def environment(**more: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "LC_ALL": "C", **more}


def succeed(result: subprocess.CompletedProcess) -> bytes:
    assert (result.returncode, result.stderr) == (0, b""), result
    return result.stdout


def assert_refused(result: subprocess.CompletedProcess, code: str, status: int, *words: str):
    """One line, with the code; nothing on standard output; never a traceback."""
    message = result.stderr.decode()
    assert result.returncode == status, result
    assert message.startswith(f"tokd: error: {code}: "), message
    assert message.count("\n") == 1, message
    assert result.stdout == b""
    for word in words:
        assert word in message


# ---- encode and decode


def test_encode_prints_the_ids_of_an_argument(tokd, tokenizer):
    ids = [int(word) for word in succeed(tokd("encode", TEXT)).split()]
    assert ids == tokenizer.encode(TEXT).tolist()


def test_encode_takes_argument_file_and_standard_input_alike(tokd, tmp_path):
    (tmp_path / "text").write_bytes(TEXT.encode())
    by_argument = succeed(tokd("encode", TEXT))
    assert succeed(tokd("encode", "--file", str(tmp_path / "text"))) == by_argument
    assert succeed(tokd("encode", stdin=TEXT.encode())) == by_argument
    assert succeed(tokd("encode", "--file", "-", stdin=TEXT.encode())) == by_argument


def test_encode_json_holds_ids_count_and_hash(tokd, tokenizer):
    answer = json.loads(succeed(tokd("encode", TEXT, "--json")))
    ids = tokenizer.encode(TEXT).tolist()
    assert answer == {"ids": ids, "count": len(ids), "tokenizer": tokenizer.hash}


def test_count_equals_the_number_of_ids(tokd, tokenizer):
    assert succeed(tokd("encode", TEXT, "--count")) == b"%d\n" % len(tokenizer.encode(TEXT))
    assert json.loads(succeed(tokd("encode", TEXT, "--count", "--json")))["count"] == len(tokenizer.encode(TEXT))


def test_nothing_encodes_to_nothing(tokd):
    assert succeed(tokd("encode", "")) == b"\n"
    assert succeed(tokd("encode", stdin=b"")) == b"\n"
    assert succeed(tokd("encode", "", "--count")) == b"0\n"
    assert succeed(tokd("decode", stdin=b"")) == b""


@pytest.mark.parametrize("unit", ["byte", "char", "utf16"])
def test_offsets_are_those_of_the_library(tokd, tokenizer, unit):
    found = tokenizer.offsets(TEXT, unit=unit)
    answer = json.loads(succeed(tokd("encode", TEXT, "--offsets", "--unit", unit, "--json")))
    assert (answer["ids"], answer["spans"], answer["unit"]) == (found.ids.tolist(), found.spans.tolist(), unit)
    lines = succeed(tokd("encode", TEXT, "--offsets", "--unit", unit)).decode().splitlines()
    assert [[int(field) for field in line.split("\t")[:3]] for line in lines] == [
        [id_, *span] for id_, span in zip(found.ids.tolist(), found.spans.tolist(), strict=True)
    ]


def test_offsets_show_control_characters_as_escapes(tokd):
    shown = succeed(tokd("encode", "a\x1b[31m\tb\n", "--offsets")).decode()
    assert "\x1b" not in shown
    assert all(line.count("\t") == 3 for line in shown.splitlines())


def test_special_tokens_mean_what_was_said(tokd, tokenizer):
    literal, id_ = "<|im_end|>", tokenizer.special_tokens["<|im_end|>"]
    assert_refused(tokd("encode", f"a{literal}"), "reserved_literal", 1, literal, "text", "parse")
    assert str(id_).encode() in succeed(tokd("encode", f"a{literal}", "--special-tokens", "parse")).split()
    assert str(id_).encode() not in succeed(tokd("encode", f"a{literal}", "--special-tokens", "text")).split()


@pytest.mark.parametrize("separate", [" ".join, ",".join, "\n".join, ", ".join, lambda ids: f"[{', '.join(ids)}]\n"])
def test_decode_reads_ids_however_they_are_separated(tokd, tokenizer, separate):
    ids = [str(id_) for id_ in tokenizer.encode(TEXT).tolist()]
    assert succeed(tokd("decode", stdin=separate(ids).encode())) == TEXT.encode()
    assert succeed(tokd("decode", separate(ids))) == TEXT.encode()


def test_encode_then_decode_returns_every_byte(tokd):
    text = "a\r\n\u2028 \x00 👩‍👩‍👧‍👦 \ufffd\U0010ffff\n\n".encode()
    assert succeed(tokd("decode", stdin=succeed(tokd("encode", stdin=text)))) == text


def test_decode_bytes_keeps_half_a_character(tokd, tokenizer):
    id_ = next(id_ for id_ in range(256) if tokenizer.token_bytes(id_) == b"\xff")
    assert succeed(tokd("decode", "--bytes", str(id_))) == b"\xff"
    assert succeed(tokd("decode", str(id_))) == "\ufffd".encode()
    assert json.loads(succeed(tokd("decode", "--json", str(id_))))["text"] == "\ufffd"


def test_decode_skips_special_tokens_when_told(tokd, tokenizer):
    ids = [str(id_) for id_ in tokenizer.encode("a<|im_end|>b", special_tokens="parse").tolist()]
    assert succeed(tokd("decode", *ids)) == b"a<|im_end|>b"
    assert succeed(tokd("decode", "--skip-special-tokens", *ids)) == b"ab"


# ---- import and export


def test_import_of_every_format_gives_the_same_ids(tokd, tmp_path, tokenizer):
    exported = {}
    for format_, name in (("huggingface", "layout"), ("tiktoken", "ranks.tiktoken"), ("vocab_merges", "pair")):
        artifact = Tokenizer.from_hf(write_plain(tmp_path / "plain"))
        if not (tmp_path / "source").exists():
            artifact.save(tmp_path / "source")
        succeed(tokd("export", str(tmp_path / "source"), "--format", format_, "-o", str(tmp_path / name)))
        exported[format_] = tmp_path / name
    beside = ["--pattern", "gpt2", *(f"--special-token={s}={i}" for s, i in tokenizer.special_tokens.items())]
    commands = {
        "huggingface": [str(exported["huggingface"])],
        "huggingface file": [str(exported["huggingface"] / "tokenizer.json")],
        "tiktoken": [str(exported["tiktoken"]), *beside],
        "vocab_merges": [str(exported["vocab_merges"] / file) for file in ("vocab.json", "merges.txt")] + beside,
        "vocab_merges directory": [str(exported["vocab_merges"]), *beside],
    }
    truth = tokenizer.encode(TEXT * 20).tolist()
    for number, (format_, arguments) in enumerate(commands.items()):
        output = tmp_path / f"again-{number}"
        answer = json.loads(succeed(tokd("import", *arguments, "-o", str(output), "--json")))
        assert answer["format"] == format_.split()[0]
        again = Tokenizer.open(output)
        assert (again.name, again.hash) == (answer["name"], answer["hash"])
        assert again.encode(TEXT * 20).tolist() == truth, format_
        assert dict(again.special_tokens) == dict(tokenizer.special_tokens), format_


def write_plain(directory: Path) -> Path:
    return write_layout(directory, template=None)


def test_exported_layout_gives_hugging_face_the_same_ids(tokd, tmp_path, tokenizer):
    succeed(tokd("export", "artifacts/base", "--format", "huggingface", "-o", str(tmp_path / "out")))
    peer = HuggingFace.from_file(str(tmp_path / "out" / "tokenizer.json"))
    assert peer.encode(TEXT).ids == tokenizer.encode(TEXT).tolist()
    assert not (tmp_path / "out" / "manifest.json").exists()


def test_exported_ranks_give_tiktoken_the_same_ids(tokd, tmp_path, tokenizer):
    import tiktoken
    from tiktoken.load import load_tiktoken_bpe

    said = json.loads(
        succeed(tokd("export", "artifacts/base", "--format", "tiktoken", "-o", str(tmp_path / "r"), "--json"))
    )
    peer = tiktoken.Encoding(
        "exported",
        pat_str=said["regex"],
        mergeable_ranks=load_tiktoken_bpe(str(tmp_path / "r")),
        special_tokens=said["special_tokens"],
    )
    assert peer.encode_ordinary(TEXT * 20) == tokenizer.encode(TEXT * 20).tolist()
    assert said["special_tokens"] == dict(tokenizer.special_tokens)


def test_exported_pair_gives_hugging_face_the_same_ids(tokd, tmp_path, tokenizer):
    from tokenizers import Regex, models, pre_tokenizers

    succeed(tokd("export", "artifacts/base", "--format", "vocab_merges", "-o", str(tmp_path / "p")))
    peer = HuggingFace(models.BPE.from_file(str(tmp_path / "p" / "vocab.json"), str(tmp_path / "p" / "merges.txt")))
    peer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(GPT2_PATTERN), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    assert peer.encode(TEXT).ids == tokenizer.encode(TEXT).tolist()


@pytest.mark.parametrize("format_", ["tiktoken", "vocab_merges"])
@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"normalizer": {"type": "NFC"}}, "normalizer"),
        ({"added": {"lstrip": True}}, "lstrip"),
        ({"added": {"special": False}}, "special"),
    ],
)
def test_export_refuses_by_name_what_the_format_cannot_carry(tokd, tmp_path, format_, change, field):
    layout = write_plain(tmp_path / "hf")
    document = json.loads((layout / "tokenizer.json").read_text())
    if "normalizer" in change:
        document["normalizer"] = change["normalizer"]
    else:
        document["added_tokens"][1] |= change["added"]
    (layout / "tokenizer.json").write_text(json.dumps(document))
    succeed(tokd("import", str(layout), "-o", str(tmp_path / "artifact")))
    refused = tokd("export", str(tmp_path / "artifact"), "--format", format_, "-o", str(tmp_path / "out"))
    assert_refused(refused, "unsupported", 1, "export to")
    assert field in refused.stderr.decode() or SPECIALS[1] in refused.stderr.decode()
    assert not (tmp_path / "out").exists()


def test_export_replaces_nothing(tokd, tmp_path):
    (tmp_path / "out").write_text("mine")
    for format_ in ("huggingface", "tiktoken", "vocab_merges"):
        result = tokd("export", "artifacts/base", "--format", format_, "-o", str(tmp_path / "out"))
        assert_refused(result, "output_exists", 1, "is there already")
    assert (tmp_path / "out").read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_import_names_what_it_wrote(tokd, tmp_path):
    said = succeed(tokd("import", "hf", "-o", str(tmp_path / "mine"))).decode()
    tokenizer = Tokenizer.open(tmp_path / "mine")
    assert tokenizer.name == "mine"
    assert tokenizer.hash in said
    assert "mine" in said


@pytest.mark.parametrize(
    ("content", "code", "status", "word"),
    [
        (b"hello world\n", "unknown_format", 1, "--format"),
        (b"", "unknown_format", 1, "--format"),
        (b"\x80\x04\x95pickle", "unknown_format", 1, "--format"),
        (b"aGVsbG8= 0\n", "usage", 2, "--pattern"),
        (b"{" * 200_000, "invalid_file", 1, ""),
        (b'{"a": ' * 200_000, "invalid_file", 1, ""),
        (b"{}", "", 1, ""),
        (b'{"model": {"type": "WordPiece", "vocab": {}}}', "unsupported", 1, "WordPiece"),
    ],
)
def test_import_never_guesses(tokd, tmp_path, content, code, status, word):
    (tmp_path / "source").write_bytes(content)
    result = tokd("import", str(tmp_path / "source"), "-o", str(tmp_path / "out"))
    assert_refused(result, code or result.stderr.decode().split(": ")[2], status, word)
    assert not (tmp_path / "out").exists()


# ---- inspect and check


def test_inspect_says_what_is_in_it(tokd, tokenizer):
    found = json.loads(succeed(tokd("inspect", "artifacts/base", "--json")))
    assert found["hash"] == tokenizer.hash
    assert found["name"] == "base"
    assert found["vocab_size"] == tokenizer.vocab_size
    assert found["special_tokens"] == dict(tokenizer.special_tokens)
    assert found["merges"] == len(tokenizer.merges)
    assert found["template"] == tokenizer.template_hash
    longest = max(len(tokenizer.token_bytes(id_)) for id_ in range(tokenizer.vocab_size - len(SPECIALS)))
    assert found["longest_tokens"][0]["bytes"] == longest
    text = succeed(tokd("inspect", "artifacts/base")).decode()
    for word in (tokenizer.hash, "gpt2", "<|im_end|>", tokenizer.unicode_version):
        assert word in text


def test_check_prints_eleven_points_and_succeeds(tokd, tokenizer):
    rows = str(tokenizer.vocab_size)
    report = json.loads(succeed(tokd("check", "artifacts/base", "--embedding-rows", rows, "--json")))
    assert [point["status"] for point in report["points"]] == ["passed"] * 11
    table = succeed(tokd("check", "artifacts/base")).decode()
    assert "no point failed" in table
    assert table.count("passed") == 10


def test_check_fails_with_status_1(tokd, home, tmp_path):
    result = tokd("check", "artifacts/base", "--embedding-rows", "10")
    assert (result.returncode, result.stderr) == (1, b"")
    assert b"FAILED" in result.stdout
    artifact = tmp_path / "flipped"
    Tokenizer.open(home / "artifacts" / "base").save(artifact)
    data = bytearray((artifact / "tokenizer.json").read_bytes())
    data[100] ^= 1
    (artifact / "tokenizer.json").write_bytes(data)
    result = tokd("check", str(artifact))
    assert (result.returncode, result.stderr) == (1, b"")
    assert b"tokenizer.json" in result.stdout


# ---- the command line


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["frobnicate"],
        ["encode", "a", "b"],
        ["encode", "a", "--file", "x"],
        ["encode", "a", "--count", "--offsets"],
        ["encode", "a", "--unit", "char"],
        ["encode", "a", "--offsets", "--unit", "line"],
        ["encode", "a", "--special-tokens", "maybe"],
        ["encode", "a", "--special", "text"],
        ["encode", "a", "--tokenizer"],
        ["decode", "1", "--file", "x"],
        ["decode", "1", "--bytes", "--json"],
        ["import", "-o", "x"],
        ["import", "hf"],
        ["import", "a", "b", "c", "-o", "x"],
        ["import", "hf", "-o", "x", "--format", "sentencepiece"],
        ["import", "hf", "-o", "x", "--pattern", "gpt2"],
        ["import", "hf", "-o", "x", "--special-token", "<|a|>"],
        ["import", "hf", "-o", "x", "--special-token", "<|a|>=-1"],
        ["import", "hf", "-o", "x", "--special-token", "<|a|>=1", "--special-token", "<|a|>=2"],
        ["import", "hf/tokenizer.json", "-o", "x", "--format", "vocab_merges"],
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
        (["encode", "a", "-t", "nowhere"], b"", "artifact_not_found", ["nowhere"]),
        (["encode", "a", "-t", "hf"], b"", "artifact_not_found", ["hf", "manifest.json", "tokd import"]),
        (["encode", "a", "-t", "hf/tokenizer.json"], b"", "artifact_not_found", ["tokenizer.json"]),
        (["encode", "a", "-t", ""], b"", "artifact_not_found", []),
        (["decode", "1", "two"], b"", "invalid_id", ["'two'", "index 1"]),
        (["decode", "--", "-1"], b"", "invalid_id", ["'-1'"]),
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
        (["import", "nowhere", "-o", "x"], b"", "unreadable_file", ["nowhere"]),
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


def test_help_and_version_need_no_artifact(tokd):
    assert succeed(tokd("--version")).startswith(b"tokd ")
    for command in ("serve", "encode", "decode", "import", "export", "inspect", "check"):
        assert command.encode() in succeed(tokd("--help"))
        assert succeed(tokd(command, "--help")).startswith(f"usage: tokd {command}".encode())


# ---- serve


@pytest.mark.parametrize(
    ("arguments", "variables", "words"),
    [
        (["--port", "http"], {}, ["--port"]),
        (["--port", "65536"], {}, ["65535"]),
        (["--workers", "0"], {}, ["workers"]),
        (["--default-tokenizer", "ghost"], {}, ["ghost"]),
        ([], {"TOKD_PROT": "80"}, ["TOKD_PROT", "TOKD_PORT"]),
        ([], {"TOKD_MAX_BODY_BYTES": "many"}, ["TOKD_MAX_BODY_BYTES"]),
    ],
)
def test_serve_names_a_wrong_setting(tokd, arguments, variables, words):
    assert_refused(tokd("serve", *arguments, variables=variables), "invalid_setting", 2, *words)


def test_serve_refuses_an_artifact_that_is_not_there(tokd):
    assert_refused(tokd("serve", "--port", "0", "--artifact", "nowhere"), "artifact_not_found", 1, "nowhere")


def test_serve_answers_until_it_is_interrupted(home, tokenizer):
    with subprocess.Popen(
        [sys.executable, "-m", "service.cli", "serve", "--port", "0"],
        cwd=home,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            port = next(int(found[1]) for line in process.stderr if (found := RUNNING.search(line)))
            answer = httpx.post(f"http://127.0.0.1:{port}/encode", json={"text": TEXT, "add_special_tokens": False})
            assert answer.status_code == 200
            assert answer.json()["ids"] == tokenizer.encode(TEXT).tolist()
            assert answer.json()["tokenizer"] == tokenizer.hash
            process.send_signal(signal.SIGINT)
            rest = process.stderr.read()
            assert process.wait(60) in (0, 130)
            assert "Traceback" not in rest
        finally:
            process.kill()


def test_serve_says_that_a_port_is_taken(tokd):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = tokd("serve", "--port", str(taken.getsockname()[1]))
    assert result.returncode > 0
    assert b"Traceback" not in result.stderr
    assert b"address already in use" in result.stderr


# ---- streams


@pytest.mark.parametrize("arguments", [["encode"], ["encode", "--offsets"], ["encode", "--offsets", "--json"]])
def test_a_closed_pipe_ends_the_command_quietly(home, arguments):
    process = subprocess.Popen(
        [sys.executable, "-m", "service.cli", *arguments],
        cwd=home,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.close()
    process.stdin.write(b"some text that becomes more than a pipe holds " * 20_000)
    process.stdin.close()
    assert process.wait(60) == 141
    assert process.stderr.read() == b""
    process.stderr.close()


def test_a_full_disk_is_one_line(home):
    with Path("/dev/full").open("wb") as full:
        result = subprocess.run(
            [sys.executable, "-m", "service.cli", "encode", "a"],
            cwd=home,
            env=environment(),
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    assert result.returncode == 1
    assert result.stderr == b"tokd: error: unwritable_output: standard output: no space left on device\n"


def test_closed_standard_streams_are_no_traceback(home):
    for redirect, code in ((">&-", b"unwritable_output"), ("<&-", b"no_input")):
        result = subprocess.run(
            ["sh", "-c", f'"$0" -m service.cli encode {redirect}', sys.executable],
            cwd=home,
            env=environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert result.returncode == 1
        assert result.stderr.startswith(b"tokd: error: " + code), result.stderr
        assert result.stderr.count(b"\n") == 1


def test_an_interrupt_ends_the_command_quietly(home):
    process = subprocess.Popen(
        [sys.executable, "-m", "service.cli", "decode"],
        cwd=home,
        env=environment(PYTHONUNBUFFERED="1"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    # It reads its input only after the tokenizer is open: once a pipe's worth has gone, it is at work.
    process.stdin.write(b"1 " * 200_000)
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, output, errors) == (130, b"", b"")


def test_a_megabyte_of_one_letter_is_fast_and_exact(tokd, tokenizer):
    text = b"a" * 1_000_000
    ids = np.array(succeed(tokd("encode", stdin=text)).split(), np.uint32)
    assert tokenizer.decode_bytes(ids) == text
