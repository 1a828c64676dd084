"""Closed pipes, full disks, interrupts: the command ends quietly and says what happened."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.service.cli.processes import environment, succeed

pytestmark = pytest.mark.process


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


def without_room(home, *arguments):
    """Run a command whose output lies on a full disk."""
    with Path("/dev/full").open("wb") as full:
        return subprocess.run(
            [sys.executable, "-m", "service.cli", *arguments],
            cwd=home,
            env=environment(),
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )


@pytest.mark.parametrize("arguments", [["encode", "a"], ["--help"], ["encode", "--help"], ["--version"]])
def test_a_full_disk_is_one_line(home, arguments):
    result = without_room(home, *arguments)
    assert result.returncode == 1
    assert result.stderr == b"tokd: error: unwritable_output: standard output: no space left on device\n"


@pytest.mark.parametrize(
    "before", [b"", b'[[key]]\nname = "b"\nscopes = ["train"]\nhash = "sha256:' + b"0" * 64 + b'"\n']
)
@pytest.mark.parametrize("json", [[], ["--json"]])
def test_a_key_that_nobody_was_shown_is_not_in_force(home, tmp_path, before, json):
    file = tmp_path / "keys.toml"
    file.write_bytes(before)
    result = without_room(home, "key", "new", "--name", "a", "--scope", "train", "--file", str(file), *json)
    assert result.returncode == 1
    assert result.stderr == b"tokd: error: unwritable_output: standard output: no space left on device\n"
    assert file.read_bytes() == before


@pytest.mark.parametrize("buffering", [{}, {"PYTHONUNBUFFERED": "1"}], ids=["buffered", "unbuffered"])
def test_a_disk_that_fills_up_is_one_line(home, tmp_path, buffering):
    """Never a part of the output and a status of 0."""
    (tmp_path / "text").write_text("word " * 100_000)
    command = 'ulimit -f 8; exec "$0" -m service.cli encode --file "$1" > "$2"'
    result = subprocess.run(
        ["sh", "-c", command, sys.executable, str(tmp_path / "text"), str(tmp_path / "ids")],
        cwd=home,
        env=environment(PYTHONDONTWRITEBYTECODE="1", **buffering),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (result.returncode, result.stderr) == (
        1,
        b"tokd: error: unwritable_output: standard output: file too large\n",
    )


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


@pytest.mark.parametrize("reader", ["full", "closed"])
@pytest.mark.parametrize(
    "arguments", [["bogus"], ["train", "hf", "--format", "text", "--vocab-size", "260", "-o", "OUT"]]
)
def test_no_command_fails_because_nobody_reads_what_it_says(home, tmp_path, arguments, reader):
    arguments = [str(tmp_path / "made") if argument == "OUT" else argument for argument in arguments]
    with Path("/dev/full").open("wb") as full:
        read, write = os.pipe()
        os.close(read)
        result = subprocess.run(
            [sys.executable, "-m", "service.cli", *arguments],
            cwd=home,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=full if reader == "full" else write,
            timeout=60,
            check=False,
        )
        os.close(write)
    assert result.returncode == (2 if arguments == ["bogus"] else 0)
    assert (tmp_path / "made").exists() == (arguments != ["bogus"])


def test_an_interrupt_ends_the_command_quietly(home):
    process = subprocess.Popen(
        [sys.executable, "-m", "service.cli", "decode"],
        cwd=home,
        env=environment(PYTHONUNBUFFERED="1"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # A shell that runs the tests in the background has children ignore interrupts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
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
