"""docs/security.md promises nothing without a test: each has files with as many cases as stated here."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter

import pytest

from service.settings import table
from tests.support.data import PRESENT
from tests.support.paths import ROOT

PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")


PROMISES: dict[str, tuple[int | str, ...]] = {
    (
        "a caller's text in a text or a chat never becomes a control token, unless the request asks for it "
        "and the server allows it, or the setting `literals` gives a model the literals of its engine"
    ): (
        370,
        "core/chat/test_forging.py",
        "core/chat/test_untracked.py",
        "core/encoding/test_special_literals.py",
    ),
    ("every path gives the ids of the model's tokenizer; the fast path refuses and answers like the slow one"): (
        340,
        "service/http/test_fast_path.py",
        "service/http/test_fast_path_limits.py",
        "service/http/test_plain_requests.py",
        "service/http/test_plain_chats.py",
    ),
    "a wrong request is refused with the place, never with 500; the server answers the next one": (
        480,
        "service/http/test_bad_input.py",
        "service/http/test_body_errors.py",
        "service/http/test_connection.py",
        "service/http/test_request_line.py",
        "service/routes/test_binary.py",
        "service/test_openapi.py",
    ),
    "jobs and uploads of another key cannot be read, listed or cancelled": (
        150,
        "service/routes/train_job/test_jobs.py",
        "service/routes/train_job/test_places_of_files.py",
        "service/jobs/test_store.py",
    ),
    (
        "no answer depends on what was kept of other requests, and the segments of one key or salt are kept "
        "from all others"
    ): (
        300,
        "service/http/test_plain_chats.py",
        "service/http/test_kept_segments.py",
        "core/chat/test_kept_segments.py",
    ),
    (
        "logs, metrics and errors hold no text and no ids of tokens, a log line only the caller's [trace "
        "headers](http.md#traces); an error repeats at most 80 characters of a name"
    ): (
        30,
        "service/test_errors.py",
        "service/telemetry/test_access_log.py",
        "service/telemetry/test_metrics.py",
    ),
    (
        "where a key is needed, only health, metrics and documentation are answered without one; a key works "
        "only within its scopes"
    ): (
        65,
        "service/auth/test_guard.py",
        "service/auth/test_keys.py",
    ),
    "a server that others can reach does not start without keys or `--no-auth`": (
        15,
        "service/auth/test_address.py",
    ),
    ("a hostile text, chat or template takes time and memory in proportion to its size and does not stall others"): (
        470,
        "core/encoding/test_hostile_sizes.py",
        "core/chat/test_bombs.py",
        "core/chat/test_budget.py",
        "service/admission/test_live_bombs.py",
        "service/admission/test_own_expressions.py",
    ),
    "the settings bound the memory, whatever callers send, read slowly or never read": (
        70,
        "service/admission/test_limits.py",
        "service/admission/test_memory.py",
        "service/http/test_server.py",
        "service/http/test_heads_and_bodies.py",
        "service/routes/train_job/test_slow_uploads.py",
    ),
    (
        "jobs read only files below `corpus_roots`, through every link, and only URLs of allowed schemes at "
        "public addresses (by IANA's registries, also within IPv6 ones), through every redirect"
    ): (
        270,
        "core/training/test_bounds.py",
        "core/corpus/test_addresses.py",
        "core/corpus/test_roots.py",
        "service/routes/train_job/test_remote_corpora.py",
    ),
    (
        "a tokenizer's files are data; a damaged or hostile file is refused with the place; a template "
        "reaches its values and nothing of the interpreter"
    ): (
        220,
        "core/formats/test_hf_refusals.py",
        "service/cli/test_damaged_artifacts.py",
        "core/chat/test_sandbox.py",
    ),
    "an uploaded tokenizer is read in a process with bounds of its own, which leaves nothing behind": (
        36,
        "service/routes/test_check_upload.py",
        "service/registry/test_uploaded_archives.py",
    ),
    "leftovers never prevent the next start": (
        30,
        "service/jobs/test_next_start.py",
        "service/registry/test_leftovers.py",
    ),
    (
        "a full, read-only or forbidden disk is 507 or 503 with the reason; nothing half-written stays, and "
        "what is served goes on"
    ): (
        60,
        "service/test_disks.py",
    ),
    "no page of another site can read a server without keys or change its jobs, under any name": (
        36,
        "service/auth/test_hosts.py",
        "service/routes/train_job/test_pages.py",
    ),
    "an artifact with files that differ from its manifest is not served, and its archive is not sent": (
        160,
        "core/artifact/test_artifact.py",
        "core/artifact/test_names.py",
        "service/routes/train_job/test_archive.py",
    ),
    "an accepted job survives the death of worker and server; an artifact exists whole or not at all": (
        50,
        "service/jobs/test_worker.py",
        "service/jobs/test_training.py",
    ),
    ("every Python package matches its hash; the process has no root, no capabilities and a read-only file system"): (
        15,
        "project/test_packaging.py",
    ),
}
"""Promises of the page, each with the least number of test cases and the files below ``tests/`` that have them."""


def test_every_promise_of_the_page_has_tests() -> None:
    section = PAGE.partition("## Promises")[2].partition("\n## ")[0]
    bullets = re.findall(r"^- (.+(?:\n  .+)*)", section, re.M)
    assert [re.sub(r"\n *", " ", bullet) for bullet in bullets] == [*PROMISES]
    assert [
        file for _, *files in PROMISES.values() for file in files if not (ROOT / "tests" / str(file)).is_file()
    ] == []


@pytest.mark.nightly
@pytest.mark.skipif(not PRESENT, reason="without the data folder some tests have fewer cases")
def test_every_promise_has_as_many_cases_as_stated() -> None:
    files = sorted({f"tests/{file}" for _, *files in PROMISES.values() for file in files})
    command = [sys.executable, "-m", "pytest", "--collect-only", "--quiet", "-p", "no:cacheprovider", *files]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    cases = Counter(line.partition("::")[0] for line in listed.splitlines() if "::" in line)
    found = {promise: sum(cases[f"tests/{file}"] for file in named) for promise, (_, *named) in PROMISES.items()}
    assert [(promise, found[promise]) for promise, (least, *_) in PROMISES.items() if found[promise] < least] == []


def test_every_bound_that_is_named_is_a_setting() -> None:
    bounds = PAGE.partition("## Bounds")[2].partition("\n## ")[0]
    named = set(re.findall(r"`(\w+)`", bounds))
    assert len(named) >= 20
    assert named - {row.name for row in table()} == set()
