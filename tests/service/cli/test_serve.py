"""``tokd serve``: a real server, and settings that are refused before it starts."""

import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager, suppress

import httpx
import pytest

from tests.service.cli.processes import TEXT, assert_refused, environment
from tests.support.waiting import until

pytestmark = pytest.mark.process

RUNNING = re.compile(r"running on http://127\.0\.0\.1:([0-9]+)")


@pytest.mark.parametrize(
    ("arguments", "variables", "words"),
    [
        (["--port", "http"], {}, ["--port"]),
        (["--port", "65536"], {}, ["65535"]),
        (["--workers", "0"], {}, ["workers"]),
        (["--default-tokenizer", "ghost"], {}, ["ghost"]),
        ([], {"TOKD_PROT": "80"}, ["TOKD_PROT", "TOKD_PORT"]),
        ([], {"TOKD_MAX_BODY_BYTES": "many"}, ["TOKD_MAX_BODY_BYTES is 'many'"]),
        ([], {"TOKD_WORKERS": "0"}, ["TOKD_WORKERS is 0", "from 1 to 1024"]),
        ([], {"TOKD_DEFAULT_TOKENIZER": "ghost"}, ["TOKD_DEFAULT_TOKENIZER 'ghost'", "base"]),
        (["--port", "0"], {"TOKD_MODELS": "ghost", "TOKD_PORT": "1"}, ["TOKD_MODELS has 'ghost'"]),
        (["--model", "ghost"], {"TOKD_MODELS": "a=base"}, ["--model has 'ghost'"]),
        ([], {"TOKD_HOST": ""}, ["TOKD_HOST is empty"]),
        ([], {"TOKD_HOST": "0.0.0.0"}, ["TOKD_HOST 0.0.0.0", "--keys"]),
        ([], {"TOKD_UDS": "/"}, ["TOKD_UDS / is a file"]),
        ([], {"TOKD_KEYS": "/"}, ["TOKD_KEYS /", "not a regular file"]),
        ([], {"TOKD_TOKENIZERS": "/dev/null"}, ["TOKD_TOKENIZERS '/dev/null' is not a directory"]),
        ([], {"TOKD_TRAINED": "/dev/null"}, ["TOKD_TRAINED '/dev/null' is not a directory"]),
        ([], {"TOKD_TRAINED": "/dev/null/x"}, ["TOKD_TRAINED '/dev/null/x': Not a directory"]),
        ([], {"TOKD_TRAINED": "x" * 5000}, ["TOKD_TRAINED 'xxx", "File name too long"]),
        ([], {"TOKD_CORPUS_ROOTS": "/:/dev/null"}, ["TOKD_CORPUS_ROOTS '/dev/null' is not a directory"]),
        ([], {"TOKD_JOBS_URL": "file"}, ["TOKD_JOBS_URL must be sqlite:///"]),
        ([], {"TOKD_JOBS_URL": "sqlite:////dev"}, ["TOKD_JOBS_URL 'sqlite:////dev' is not a file"]),
        ([], {"TOKD_JOBS_URL": "sqlite:////dev/null/x"}, ["TOKD_JOBS_URL 'sqlite:////dev/null/x': Not a directory"]),
    ],
)
def test_serve_names_a_wrong_setting(tokd, arguments, variables, words):
    assert_refused(tokd("serve", *arguments, variables=variables), "invalid_setting", 2, *words)


@pytest.mark.parametrize(("variable", "value"), [("KEYS", "/"), ("TRAINED", "/dev/null"), ("JOBS_URL", "file")])
def test_a_wrong_setting_is_told_before_any_of_several_processes_begins(tokd, variable, value):
    variables = {"TOKD_WORKERS": "2", "TOKD_PORT": "0", f"TOKD_{variable}": value}
    assert_refused(tokd("serve", variables=variables), "invalid_setting", 2, f"TOKD_{variable} ")


def test_serve_refuses_an_artifact_that_is_not_there(tokd):
    assert_refused(
        tokd("serve", "--port", "0", "--artifact", "nowhere"), "artifact_not_found", 1, "--artifact: ", "nowhere"
    )
    for path in ("nowhere", "/"):
        variables = {"TOKD_ARTIFACTS": path}
        assert_refused(tokd("serve", variables=variables), "artifact_not_found", 1, "TOKD_ARTIFACTS: ", f"at {path}")


@contextmanager
def serving(home, *arguments, closed="", **variables):
    """The process of ``tokd serve``, which is killed in the end with all processes that it started.

    ``closed`` is what a shell closes standard streams with, such as ``>&-``.
    """
    with subprocess.Popen(
        ["/bin/sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, "-m", "service.cli", "serve", *arguments],
        cwd=home,
        env=environment(**variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def port_of(process):
    return next(int(found[1]) for line in process.stderr if (found := RUNNING.search(line)))


def answers(uds):
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(uds) == 0


def begin_request(connection):
    """Send the head of a request, and return when the service waits for its body."""
    head = b"POST /encode HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 9\r\n"
    connection.sendall(head + b"expect: 100-continue\r\n\r\n")
    assert connection.recv(100).startswith(b"HTTP/1.1 100")


def test_serve_answers_until_it_is_interrupted(home, tokenizer):
    with serving(home, "--port", "0") as process:
        url = f"http://127.0.0.1:{port_of(process)}/encode"
        answer = httpx.post(url, json={"text": TEXT, "add_special_tokens": False})
        assert answer.status_code == 200
        assert answer.json()["ids"] == tokenizer.encode(TEXT).tolist()
        assert answer.json()["tokenizer"] == tokenizer.hash
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
        assert process.wait(60) in (0, 130)
        assert "Traceback" not in rest


@pytest.mark.nightly
@pytest.mark.parametrize("workers", ["1", "2"])
def test_serve_answers_without_a_standard_output(home, workers):
    with serving(home, "--port", "0", "--workers", workers, closed=">&-") as process:
        url = f"http://127.0.0.1:{port_of(process)}/count"
        assert httpx.post(url, json={"text": TEXT}).status_code == 200
        process.terminate()
        assert "Traceback" not in process.stderr.read()


@pytest.mark.parametrize("closed", ["<&-", "2>&-", "<&- >&- 2>&-"])
def test_serve_ends_in_order_without_standard_streams(home, tmp_path, closed):
    uds = str(tmp_path / "s")
    with (
        serving(home, "--uds", uds, "--worker", "false", closed=closed) as process,
        httpx.Client(base_url="http://tokd", transport=httpx.HTTPTransport(uds=uds)) as client,
    ):
        until(lambda: answers(uds))
        assert client.post("/count", json={"text": TEXT}).status_code == 200
        process.terminate()
        assert process.wait(60) == 0


@pytest.mark.nightly
@pytest.mark.parametrize("workers", ["1", "2"])
def test_serve_goes_on_when_its_terminal_is_closed(home, workers):
    with serving(home, "--port", "0", "--workers", workers) as process:
        url = f"http://127.0.0.1:{port_of(process)}/count"
        os.killpg(process.pid, signal.SIGHUP)
        assert any("SIGHUP: reloaded" in line for line in process.stderr)
        for _ in range(8):
            assert httpx.post(url, json={"text": TEXT}).status_code == 200
        process.terminate()
        rest = process.stderr.read()
        assert process.wait(60) == 0
        assert "died" not in rest


@pytest.mark.nightly
@pytest.mark.parametrize("workers", ["1", "2"])
def test_serve_reads_its_file_of_settings_again_in_every_process(home, tmp_path, workers):
    file = tmp_path / "tokd.toml"
    file.write_text('models = ["one=base"]\n')
    with serving(home, "--port", "0", "--workers", workers, "--settings-file", str(file)) as process:
        url = f"http://127.0.0.1:{port_of(process)}/tokenize"

        def answered(model):
            return {httpx.post(url, json={"prompt": TEXT, "model": model}).status_code for _ in range(8)}

        assert answered("one") == {200}
        file.write_text('models = ["two=base"]\n')
        process.send_signal(signal.SIGHUP)
        until(lambda: answered("two") == {200})
        assert answered("one") == {404}


@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM])
def test_serve_ends_at_once_and_quietly_when_it_is_interrupted_while_it_ends(home, first):
    with serving(home, "--port", "0") as process:
        with socket.create_connection(("127.0.0.1", port_of(process))) as waiting:
            begin_request(waiting)
            process.send_signal(first)
            assert any("Waiting for connections" in line for line in process.stderr)
            process.send_signal(signal.SIGINT)
            assert process.wait(10) == -signal.SIGINT
        assert process.stderr.read() == ""


@pytest.mark.nightly
@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM])
def test_several_processes_end_at_once_when_the_one_above_them_is_interrupted_while_it_ends(home, tmp_path, first):
    path = tmp_path / "tokd.sock"
    with serving(home, "--workers", "2", "--uds", str(path), TMPDIR=str(tmp_path)) as process:
        assert any("running on socket" in line for line in process.stderr)
        with socket.socket(socket.AF_UNIX) as waiting:
            waiting.connect(str(path))
            begin_request(waiting)
            process.send_signal(first)
            assert any("Waiting for child process" in line for line in process.stderr)
            process.send_signal(signal.SIGINT)
            assert process.wait(10) == 130
            assert waiting.recv(1) == b""
        assert "Traceback" not in process.stderr.read()
    assert list(tmp_path.iterdir()) == []


def test_serve_says_in_one_line_that_a_port_is_taken(tokd):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = tokd("serve", "--port", str(taken.getsockname()[1]))
    assert_refused(result, "address_unavailable", 1, "address already in use", "--port")


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--uds", "no/such/socket"], "--uds no/such"),
        (["--uds", "s" * 108], "107"),
        (["--host", "192.0.2.1"], "take another --host or --port (TOKD_PORT)"),
        (["--host", "a..b"], "--host 'a..b'"),
    ],
)
def test_serve_refuses_an_address_that_cannot_be(tokd, arguments, word):
    assert_refused(tokd("serve", *arguments), "address_unavailable", 1, word)


def test_serve_names_the_variable_of_an_address_that_cannot_be(tokd):
    assert_refused(
        tokd("serve", variables={"TOKD_HOST": "192.0.2.1"}), "address_unavailable", 1, "take another TOKD_HOST"
    )
    assert_refused(tokd("serve", variables={"TOKD_UDS": "no/such"}), "address_unavailable", 1, "TOKD_UDS no/such")
