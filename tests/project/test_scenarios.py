"""Vectors that say in words what must happen: each has a test of its own, which is named here."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.core.encoding.test_vectors import ELSEWHERE, NEEDS_A_TEMPLATE
from tests.support.data import needs_data, vectors
from tests.support.paths import ROOT

pytestmark = needs_data

TESTS = ROOT / "tests"

SCENARIOS = {
    "art-template-drift": "core/formats/test_hf_settings.py::test_two_different_templates_are_refused",
    "art-vocab-hash": (
        "core/artifact/test_artifact.py::test_one_changed_byte_is_a_hash_mismatch_before_anything_is_parsed"
    ),
    "inj-unknown-kwarg": "service/http/test_bad_input.py::test_bad_body_is_refused_with_its_place",
    "svc-422-amplification": "service/http/test_bad_input.py::test_error_is_small_however_many_entries_are_wrong",
    "svc-fork-after-threads": "core/encoding/test_concurrency.py::test_a_fork_after_a_batch_finishes",
    "svc-gzip-bomb": "service/http/test_bad_input.py::test_bad_header_is_refused",
    "svc-health-under-load": (
        "service/http/test_server.py::test_small_requests_are_answered_while_large_ones_are_worked_on"
    ),
    "svc-job-db-corrupt": "service/jobs/test_store.py::test_a_store_that_is_damaged_is_refused_and_not_begun_anew",
    "svc-job-disk-full": (
        "service/jobs/test_training.py"
        "::test_a_full_disk_while_publishing_fails_with_a_reason_leaves_nothing_and_a_retry_works"
    ),
    "svc-job-idempotency": (
        "service/jobs/test_store.py::test_the_same_key_and_request_are_one_job_and_another_request_is_refused"
    ),
    "svc-zstd-bomb": "service/http/test_bad_input.py::test_bad_header_is_refused",
    "trainsvc-chunk-boundary": (
        "core/corpus/test_corpus.py::test_a_document_counts_the_same_wherever_its_bytes_are_cut"
    ),
    "trainsvc-determinism": "core/training/test_train.py::test_nothing_but_the_documents_changes_a_byte",
    "trainsvc-dup-special": "core/training/test_train.py::test_bad_settings_fail_before_any_work_with_their_field",
    "trainsvc-empty-corpus": "core/corpus/test_corpus.py::test_an_empty_corpus_is_refused",
    "trainsvc-nul": "core/training/test_train.py::test_a_zero_byte_is_a_byte_as_any_other",
    "trainsvc-special-equals-byte": (
        "core/training/test_train.py::test_bad_settings_fail_before_any_work_with_their_field"
    ),
    "trainsvc-vocab-0": "core/training/test_train.py::test_bad_settings_fail_before_any_work_with_their_field",
    "upload-317695": "core/artifact/test_artifact.py::test_directories_links_and_pipes_in_a_files_place_are_refused",
    "upload-8d1eb2": "core/artifact/test_artifact.py::test_directories_links_and_pipes_in_a_files_place_are_refused",
    "upload-a4524b": "core/training/test_bounds.py::test_a_link_that_is_made_after_the_look_is_refused",
}

UNTRIED = {
    "svc-cache-tenant": "no text is remembered, for no caller; only its pieces are",
    "tekken-truncate": "tokd reads no tekken.json, and the data folder holds none",
}


def is_run(case: dict[str, Any]) -> bool:
    """Tell whether a test takes the case from the file: as one of a kind, or by its id."""
    given = case["input"]
    of_a_kind = isinstance(given, dict) and {"http_body", "http_body_utf8", "artifact_name"} & given.keys()
    trained = case["area"] == "training" and isinstance(given, dict)
    return bool(of_a_kind) or trained or case["id"] in NEEDS_A_TEMPLATE or f'"{case["id"]}"' in _sources()


@cache
def _sources() -> str:
    return "".join(path.read_text("utf-8") for path in TESTS.rglob("test_*.py") if path != Path(__file__))


def test_every_vector_is_run_or_has_a_test_of_its_own() -> None:
    left = {case["id"] for case in vectors() if case["area"] in ELSEWHERE and not is_run(case)}
    assert left == SCENARIOS.keys() | UNTRIED.keys()


@pytest.mark.parametrize("name", sorted(set(SCENARIOS.values())))
def test_test_that_is_named_is_there(name: str) -> None:
    file, test = name.split("::")
    assert re.search(rf"^(async )?def {test}\(", (TESTS / file).read_text("utf-8"), re.MULTILINE)
