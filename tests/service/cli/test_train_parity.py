"""``tokd train --parity`` and jobs of it: the costs of languages in the report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from service.cli import main
from service.jobs.job import JobRequest
from service.jobs.store import JobStore
from service.jobs.worker import Worker
from service.reports.parity import gini
from service.schemas.training import JobReport
from tests.service.cli.training import refused
from tests.service.jobs.conftest import SQLITE, MakeSettings
from tests.service.jobs.conftest import make_settings as make_settings
from tokenizer_core import Tokenizer

TEXTS = {"en": "the low tide and the lower tide\n" * 30, "de": "die niedrige Flut und die niedrigere\n" * 3}
SAYING = {"en": "the low tide\nthe tide", "de": "die niedrige Flut\ndie Flut"}


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    for folder, texts in (("corpus", TEXTS), ("parallel", SAYING)):
        (tmp_path / folder).mkdir()
        for name, text in texts.items():
            (tmp_path / folder / f"{name}.txt").write_text(text, encoding="utf-8")
    return tmp_path


def test_the_report_tells_what_each_language_costs(
    corpus: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(corpus)
    flags = ["corpus", "--language", "file", "--parallel", "parallel", "--parity", "--vocab-size", "280"]
    assert main(["train", *flags, "-o", "mine"]) == 0
    shown = capsysbinary.readouterr().out.decode()
    document = json.loads(Path("mine.report/report.json").read_text("utf-8"))
    tokenizer = Tokenizer.open("mine")
    costs = {one["language"]: one for one in document["parity"]["languages"]}
    for name, text in SAYING.items():
        count = sum(tokenizer.count(line) for line in text.split("\n"))
        assert (costs[name]["tokens"], costs[name]["lines"]) == (count, 2)
        assert [name, f"{costs[name]['bytes']:,}", f"{count / 2:.2f}"] in [
            line.split()[:3] for line in shown.splitlines()
        ]
    assert document["parity"]["gini"] < document["parity"]["gini_without_parity"]
    assert f"Gini {document['parity']['gini']:.4f}, without parity" in shown
    assert "## Parity" in Path("mine.report/report.md").read_text("utf-8")
    message = refused(capsysbinary, "invalid_settings", 2, ["corpus", "--parity", "-o", "other"])
    assert "corpus.language: parity needs the language" in message


@SQLITE
def test_a_job_tells_the_same(make_settings: MakeSettings, corpus: Path) -> None:
    settings = make_settings(corpus_roots=(str(corpus),))
    store, worker = JobStore.open(settings), Worker(settings)
    places = {"paths": [str(corpus / "corpus")], "language": "file", "parallel": [str(corpus / "parallel")]}
    recipe = {"corpus": places, "vocab_size": 280, "parity": True, "parity_window": 4}
    job = store.submit(JobRequest(recipe=recipe, owner="local"))[0]
    assert worker.work()
    done = store.get(job.id, None)
    assert done.artifact is not None, done.error
    report = done.artifact.report
    assert [one["language"] for one in report["parity"]["languages"]] == ["de", "en"]
    assert report["parity"]["largest"] == "en"
    costs = {"language", "bytes", "is_parallel", "lines", "tokens", "without_parity"}
    assert set(report["parity"]["languages"][0]) == costs
    assert JobReport.model_fields["parity"]
    worker.close()
    store.close()


def test_the_gini_coefficient_by_hand() -> None:
    assert gini([3, 3, 3]) == 0
    assert gini([1, 2, 3]) == pytest.approx(2 / 9, abs=1e-4)
