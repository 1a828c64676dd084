"""All lines of a server have one form, and its first ones say what it serves and where its page is."""

from __future__ import annotations

import json
import logging
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryFile

import httpx
import pytest

from service.log_lines import configure_logging, is_log_plain
from service.server import _with_page
from tests.support.paths import ROOT
from tests.support.server import listening, written
from tests.support.waiting import until


def command(folder: Path, *options: str, setting: str = "--tokenizers") -> list[str]:
    """Serve ``base`` and what lies in a directory, one of which is damaged."""
    directory = folder / "tokenizers"
    (directory / "broken").mkdir(parents=True)
    (directory / "broken" / "manifest.json").write_text("{}")
    program = str(Path(sys.executable).with_name("tokd"))
    return [program, "serve", "--port", "0", setting, str(directory), *options]


@pytest.mark.nightly
@pytest.mark.process
@pytest.mark.parametrize("workers", ["1", "2"])
def test_log_and_requests_are_json_in_one_stream(tmp_path: Path, workers: str) -> None:
    with TemporaryFile() as log:
        process = subprocess.Popen(command(tmp_path, "--workers", workers), cwd=ROOT, stdout=log, stderr=log)
        try:
            url = listening(process, log)
            body = {"corpus": {"texts": ["low lower lowest"]}, "settings": {"vocab_size": 260}}
            # The worker is a process of its own.
            job = httpx.post(f"{url}/train-job", json=body, timeout=60).json()["id"]
            until(lambda: httpx.get(f"{url}/train-job/{job}", timeout=60).json()["state"] == "succeeded")
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
        finally:
            process.kill()
        lines = [json.loads(line) for line in written(log).decode().splitlines()]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"]) for line in lines)
    messages = [line["message"] for line in lines if "message" in line]
    assert not any("next release" in each for each in messages)
    assert "serves base (the default)" in messages
    assert [each for each in messages if each.endswith(f"; the page is {url}/")] != []
    assert any("takes jobs from" in each for each in messages)
    complaints = [line for line in lines if "broken is not served" in line.get("message", "")]
    assert {line["level"] for line in complaints} == {"error"}
    assert {line["route"] for line in lines if "route" in line} == {"/train-job", "/train-job/{id}"}


@pytest.mark.process
def test_lines_on_a_terminal_are_plain(tmp_path: Path) -> None:
    above, terminal = pty.openpty()
    given = command(tmp_path, "--trained", str(tmp_path / "trained"), setting="--watch")
    process = subprocess.Popen(given, cwd=ROOT, stdin=terminal, stdout=terminal, stderr=terminal)
    os.close(terminal)
    try:
        seen = b""
        while b"the page is" not in seen or not seen.endswith(b"\n"):
            seen += os.read(above, 4096)
        (url,) = re.findall(r"the page is (\S+)", seen.decode())
        assert httpx.get(url, timeout=60).status_code == 200
        while b"GET / 200" not in seen or not seen.endswith(b"\n"):
            seen += os.read(above, 4096)
    finally:
        process.kill()
        process.wait()
        os.close(above)
    lines = seen.decode().splitlines()
    assert all(re.match(r"(INFO|ERROR|WARNING): \S", line) for line in lines), lines
    assert [line for line in lines if line.startswith("WARNING")] == [
        "WARNING: until the next release only: watch, trained; set tokenizers instead"
    ]
    assert re.fullmatch(r"INFO: GET / 200, 0 tokens in [\d.]+ ms", lines[-1])


@pytest.mark.parametrize(
    ("host", "page"), [("0.0.0.0", "localhost"), ("::", "localhost"), ("::1", "[::1]"), ("10.0.0.1", "10.0.0.1")]
)
def test_the_page_has_an_address_that_a_browser_opens(host: str, page: str) -> None:
    text = "Uvicorn running on %s://[%s]:%d" if ":" in host else "Uvicorn running on %s://%s:%d"
    record = logging.LogRecord("uvicorn.error", logging.INFO, "", 0, text, ("http", host, 80), None)
    # A line that was held back passes twice.
    assert _with_page(record)
    assert _with_page(record)
    assert record.getMessage().endswith(f":80; the page is http://{page}:80/")


def test_a_traceback_is_a_part_of_its_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(logging, "root", logging.RootLogger(logging.WARNING))
    configure_logging()
    try:
        raise ValueError("in two\nlines")
    except ValueError:
        logging.root.exception("it failed")
    # What the processes of jobs are told, whose lines stand in the same stream.
    assert not is_log_plain()
    (line,) = capsys.readouterr().err.splitlines()
    told = json.loads(line)
    assert (told["level"], told["message"]) == ("error", "it failed")
    assert told["exception"].endswith("ValueError: in two\nlines")
