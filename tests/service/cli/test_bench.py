"""``tokd bench``: the ladder on a corpus of the user's, and a clear word where a benchmark cannot run."""

from __future__ import annotations

import json
import subprocess
import xml.etree.ElementTree as ElementTree
from importlib import import_module
from pathlib import Path
from unittest.mock import Mock

import pytest

from service.cli import bench, bench_ladder, main
from service.cli.streams import CommandError
from tests.service.cli.processes import ROOT, assert_refused

pytestmark = [pytest.mark.nightly, pytest.mark.process]

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.jsonl"
    texts = ["low lower lowest new newer newest wide wider widest\n" * 3, "the harbour master kept two logbooks\n"]
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
    return path


@pytest.fixture
def document() -> dict:
    line = {"counting": 1.0, "merging": 2.0, "megabytes": 3.0, "merges": 9, "proof": "p"}
    rungs = {"naive_recount": {"over": 5}, "lazy_heap": dict(line), "kernel": {**line, "merging": 0.5}}
    return {"corpus": "c.txt", "bytes": 10, "rungs": rungs}


def test_rungs_climb_to_the_same_merges_and_are_drawn(corpus, tmp_path, monkeypatch, capsysbinary):
    climbed = ("naive_recount", "parallel_pretokenization", "whole_text", "kernel")
    monkeypatch.setattr(bench_ladder, "RUNGS", climbed)
    monkeypatch.chdir(ROOT)
    report = tmp_path / "deep" / "report"
    flags = ["--vocab-size", "270", "--tie-break", "lowest_ids", "--report", str(report), "--json"]
    assert main(["bench", "ladder", str(corpus), *flags]) == 0
    document = json.loads(capsysbinary.readouterr().out)
    rungs = document["rungs"]
    assert tuple(rungs) == climbed
    assert {line["merges"] for line in rungs.values()} == {14}
    assert len({line["proof"] for line in rungs.values()}) == 1
    assert json.loads((report / "ladder.json").read_text()) == document
    assert all(f"| {name} |" in (report / "ladder.md").read_text() for name in rungs)
    drawn = ElementTree.parse(report / "ladder.svg").getroot()
    assert len(drawn.findall(f"{SVG}rect")) == 1 + len(rungs)


@pytest.mark.parametrize("name", bench_ladder.RUNGS[:-1])
def test_every_rung_of_the_command_is_one_of_the_reference(name):
    module = import_module(f"tokenizer_core.reference.trainers.{name}")
    assert callable(getattr(module, name))


def test_no_speed_is_shown_for_other_merges(document):
    bench_ladder.require_equal(document["rungs"])
    document["rungs"]["lazy_heap"]["proof"] = "q"
    with pytest.raises(CommandError, match="lazy_heap"):
        bench_ladder.require_equal(document["rungs"])


def test_a_rung_that_does_not_end_is_named_and_the_next_is_the_measure(document):
    text = bench_ladder.table(document)
    assert "| naive_recount |  |  | over 5 |  |  |  |" in text
    assert "| kernel | 1.000 | 0.500 | 1.500 | 4.0 | 2.0 | 3 |" in text
    assert "naive_recount" not in bench_ladder.draw(document)


def test_a_limit_that_the_kernel_does_not_keep_is_told_with_the_way_out(corpus, monkeypatch, capsysbinary):
    monkeypatch.setattr(bench_ladder, "RUNGS", ("whole_text", "kernel"))
    slow = subprocess.TimeoutExpired([], 1)
    monkeypatch.setattr(subprocess, "run", Mock(side_effect=slow))
    assert main(["bench", "ladder", str(corpus), "--limit", "1"]) == 1
    message = capsysbinary.readouterr().err.decode().splitlines()[-1]
    assert message.startswith("tokd: error: over_limit: ")
    assert "over 1 s; give more with --limit" in message


@pytest.mark.parametrize(
    ("arguments", "code", "status"),
    [
        ([], "usage", 2),
        (["frobnicate"], "usage", 2),
        (["ladder"], "usage", 2),
        (["ladder", "x.txt", "--vocab-size", "255"], "usage", 2),
        (["ladder", "x.txt", "--bytes", "0"], "usage", 2),
        (["ladder", "x.txt", "--tie-break", "random"], "usage", 2),
        (["ladder", "nowhere.txt"], "corpus_not_found", 1),
    ],
)
def test_mistakes_are_one_line(tokd, arguments, code, status):
    assert_refused(tokd("bench", *arguments), code, status)


def test_an_empty_corpus_is_refused(tokd, tmp_path):
    (tmp_path / "empty.txt").touch()
    assert_refused(tokd("bench", "ladder", str(tmp_path / "empty.txt")), "invalid_corpus", 1, "no text")


def test_a_line_without_the_field_is_named(tokd, tmp_path):
    (tmp_path / "bad.jsonl").write_text('{"text": "a"}\n{"body": "b"}\n')
    assert_refused(tokd("bench", "ladder", str(tmp_path / "bad.jsonl")), "invalid_corpus", 1, "line 2")


@pytest.mark.parametrize("name", sorted(bench.CHECKOUT))
def test_outside_a_checkout_the_way_out_is_told(name, tmp_path, monkeypatch, capsysbinary):
    monkeypatch.setattr(bench, "ROOT", tmp_path)
    assert main(["bench", name, "--short"]) == 1
    message = capsysbinary.readouterr().err.decode()
    assert message.startswith("tokd: error: no_checkout: ")
    assert f"python -m benchmarks {name}" in message
