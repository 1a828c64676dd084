"""Reports of jobs that really train."""

from __future__ import annotations

from pathlib import Path

import pytest

from service.jobs.job import JobProgress, JobRequest
from service.jobs.leases import Lease, Leases
from service.jobs.states import Event
from service.jobs.store import JobStore
from service.jobs.worker import Worker
from tests.service.jobs.conftest import SQLITE, MakeSettings


@SQLITE
def test_the_report_of_a_job_counts_the_lines_that_were_skipped_and_hides_where_they_lie(
    make_settings: MakeSettings, tmp_path: Path
) -> None:
    store = JobStore.open(settings := make_settings())
    worker = Worker(settings)
    prepared = store.prepare()
    (prepared.directory / "0.jsonl").write_bytes(b'{"text": "low lower lowest"}\n{"text": null}\n{"score": NaN}\n')
    corpus = {"paths": [str(prepared.directory / "0.jsonl")], "on_error": "skip"}
    request = JobRequest(
        recipe={"corpus": corpus, "vocab_size": 258}, owner="local", prepared=prepared, fingerprint="1"
    )
    job = store.submit(request)[0]
    assert worker.work()
    done = store.get(job.id, None)
    assert done.artifact is not None, done.error
    report = done.artifact.report
    assert (report["skipped"], report["first_skipped"]) == (
        2,
        [
            '0.jsonl: line 2, column 13: the field "text" is null, not a string',
            "0.jsonl: line 3, column 11: NaN is not JSON; write null",
        ],
    )
    worker.close()
    store.close()


@SQLITE
def test_a_report_is_short_however_long_the_tokens_are(make_settings: MakeSettings, tmp_path: Path) -> None:
    corpus = tmp_path / "long.txt"
    corpus.write_text("ab" * 1000)
    settings = make_settings(corpus_roots=(str(tmp_path),))
    store, worker = JobStore.open(settings), Worker(settings)
    recipe = {"corpus": {"paths": [str(corpus)]}, "vocab_size": 300, "pattern": None}
    job = store.submit(JobRequest(recipe=recipe, owner="local"))[0]
    assert worker.work()
    artifact = store.get(job.id, None).artifact
    assert artifact is not None
    tokens = artifact.report["longest_tokens"]
    assert [len(token) for token in tokens[-3:]] == [8, 4, 2]
    assert tokens[0] == "ab" * 100 + "..."
    worker.close()
    store.close()


@SQLITE
@pytest.mark.parametrize("model", ["bpe", "word", "unigram"])
def test_a_job_without_merges_learns_and_its_report_has_all_that_the_command_tells(
    make_settings: MakeSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    store, worker = JobStore.open(settings := make_settings()), Worker(settings)
    recipe = {"corpus": {"texts": ["low lower lowest " * 9] * 9}, "vocab_size": 300, "model": model}
    job = store.submit(JobRequest(recipe=recipe, owner="local"))[0]
    phases: list[str | None] = []
    advance = Leases.advance

    def noted(leases: Leases, lease: Lease, event: Event, progress: JobProgress | None = None) -> None:
        advance(leases, lease, event, progress)
        phases.append(store.get(job.id, None).phase)

    monkeypatch.setattr(Leases, "advance", noted)
    assert worker.work()
    assert phases[0] == {"bpe": "merging", "word": "learning", "unigram": "seeds"}[model]
    assert phases[1] == "publishing"
    done = store.get(job.id, None)
    assert done.artifact is not None, done.error
    report = done.artifact.report
    assert {"english", "thai"} < {*report["fertility"]}
    assert any("vocabulary is too large" in sentence for sentence in report["advice"])
    # A setting has the name that it has in a request.
    assert "--" not in " ".join(report["advice"])
    assert (len(report["frequencies"]) > 0) == (model == "bpe")
    worker.close()
    store.close()
