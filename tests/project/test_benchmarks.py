"""The harness of ``benchmarks encode``: no speed beside an answer that is not the truth's, and tables that add up."""

from __future__ import annotations

import hashlib
import json
import os
import statistics
import sys
import xml.etree.ElementTree as ElementTree
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from benchmarks import (
    beside,
    cluster,
    corpora,
    corpus,
    counting,
    encode,
    encode_tables,
    formats,
    memory,
    openers,
    overload,
    packing,
    peers,
    report,
    serving,
    train,
    worker,
)
from benchmarks.__main__ import main as measure
from service.cli.bench import CHECKOUT
from tests.support.paths import BASE, ROOT
from tests.support.texts import texts
from tokenizer_core import Tokenizer

pytestmark = pytest.mark.nightly


@cache
def base() -> Tokenizer:
    return Tokenizer.open(BASE)


def speed(*rounds: float) -> dict[str, Any]:
    return {"mb_per_second": statistics.median(rounds), "rounds": [*rounds], "microseconds": 1.0}


def opened(time: float, memory: float) -> dict[str, float]:
    return {
        "import": 1,
        "open": time,
        "first ids": 1,
        "start-up": time,
        "memory opened": memory,
        "memory after 2 MB": memory,
    }


@pytest.fixture
def document() -> dict[str, Any]:
    by_name = {
        "tokd": {regime: speed(30) for regime in encode_tables.REGIMES}
        | {"batch on one core": speed(15), "again": speed(30), "offsets": speed(15)},
        "tokd, portable": {regime: speed(120) for regime in encode_tables.REGIMES},
        "tiktoken": {"cold": speed(10), "warm": speed(60)},
        "gigatoken": {"cold": {"unequal": True}, "warm": speed(40)},
    }
    return {
        "machine": {"cores": 2, "cpu": "a processor", "vectors": ["avx2"], "python": "3.12.0"},
        "rounds": 3,
        "versions": {"tokd": "this", "tiktoken": "1.0", "gigatoken": "2.0"},
        "failures": {"cl100k_base": {"quicktok": "RuntimeError: no such vocabulary"}},
        "opening": {
            "cl100k_base": {"tokd": opened(50, 40), "tiktoken": opened(100, 30), "tokd, an artifact": opened(1, 1)}
        },
        "results": {"cl100k_base": {"English": by_name}},
    }


@pytest.fixture
def own_text(tmp_path: Path) -> Path:
    path = tmp_path / "mine.txt"
    path.write_text("".join(f"line {number} of naïve 文字\n" for number in range(12_000)), encoding="utf-8")
    return path


def test_an_unequal_answer_has_no_speed_and_is_nobodys_rival():
    truth, other = {"seconds": 1.0, "bytes": 10, "calls": 1, "proof": "a"}, {"proof": "b"}
    cells = {name: encode.Cell() for name in ("tokd", "tiktoken", "gigatoken")}
    cells["tokd"].add({"cold": truth, "offsets": truth})
    cells["tiktoken"].add({"cold": truth})
    cells["gigatoken"].add({"cold": {**truth, **other, "seconds": 0.1}, "offsets": {**truth, **other}})
    judged = encode.judge(cells)
    assert judged["gigatoken"] == {"cold": {"unequal": True}, "offsets": {"unequal": True}}
    assert encode_tables.ratio(judged, "cold") == ("cold", "", 1.0, "tiktoken")
    assert encode_tables.ratio(judged, "offsets") is None


def test_an_answer_that_changes_between_rounds_has_no_speed():
    line = {"seconds": 1.0, "bytes": 10, "calls": 1}
    cells = {name: encode.Cell() for name in ("tokd", "tiktoken")}
    for proof in ("a", "b"):
        cells["tokd"].add({"cold": {**line, "proof": proof}})
        cells["tiktoken"].add({"cold": {**line, "proof": "a"}})
    assert encode.judge(cells)["tokd"]["cold"] == {"unequal": True}


def test_a_ratio_is_taken_within_rounds_so_that_a_slow_minute_of_the_machine_changes_nothing():
    by_name = {"tokd": {"cold": speed(100, 50, 100)}, "slow": {"cold": speed(20)}, "quick": {"cold": speed(50, 25, 25)}}
    assert encode_tables.ratio(by_name, "cold") == ("cold", "", 2.0, "quick")
    assert encode_tables.times(by_name, ("tokd", "cold"), ("slow", "cold")) == 5.0
    assert encode_tables.times(by_name, ("tokd", "warm"), ("slow", "warm")) is None


def test_the_truth_is_asked_in_every_round_and_the_order_turns(monkeypatch):
    run = encode.Run(openers.Files(Path(), Path()), {"mine": Path("mine")}, rounds=3)
    asked: list[str] = []

    def ask(_module: str, name: str, *_: str) -> dict[str, Any]:
        asked.append(name)
        line = {"seconds": 1.0, "bytes": 10, "calls": 1, "proof": "b" if name == "other" else "a"}
        seconds = {"tokd": 1.0, "other": 1.0}.get(name, encode.PATIENCE + 0.1)
        return {"results": {"mine": {"cold": line}}, "cpu_seconds": seconds}

    monkeypatch.setattr(run, "ask", ask)
    names = ["tokd", encode.TRUTH, "slow", "other"]
    run.in_turn("cl100k_base", "single", run.texts, {"mine": {name: encode.Cell() for name in names}}, run.rounds)
    assert asked == [*names, encode.TRUTH, "tokd", "tokd", encode.TRUTH]


def test_the_run_fails_where_tokd_does(document):
    assert encode.proven(document)
    document["results"]["cl100k_base"]["English"]["tokd"]["warm"] = {"unequal": True}
    assert not encode.proven(document)


def test_the_run_fails_where_the_portable_path_does(document):
    document["results"]["cl100k_base"]["English"]["tokd, portable"]["cold"] = {"unequal": True}
    assert not encode.proven(document)


def test_the_portable_path_is_held_to_by_its_contender(own_text, monkeypatch):
    monkeypatch.setattr(worker, "single", lambda *_: os.environ["TOKD_KERNEL"])
    monkeypatch.setattr(openers, "open_published", lambda *_: None)
    monkeypatch.setattr(openers, "encoder_of_tokd", lambda _: None)
    monkeypatch.setattr(os, "sched_setaffinity", lambda *_: None)
    monkeypatch.setenv("TOKD_KERNEL", "avx2")
    line = worker.work("tokd, portable", "gpt2", ".", ".", "single", str(own_text))
    assert line["results"] == {str(own_text): "portable"}


def test_the_portable_path_is_nobodys_rival_and_stands_beside_what_most_use(document):
    said, _, *lines = encode_tables.portable(document)
    assert "in 1 of 2 cells" in said
    assert "| cold | 12.0, 12.0, 12.0 | - |" in lines
    assert "| warm | 2.0, 2.0, 2.0 | - |" in lines
    assert encode_tables.ratio(document["results"]["cl100k_base"]["English"], "warm") == ("warm", "", 0.5, "tiktoken")
    del document["results"]["cl100k_base"]["English"]["tokd, portable"]
    assert encode_tables.portable(document) == []


def test_the_sentence_counts_the_cells(document):
    cells = list(encode_tables.ratios(document))
    values = {(one.regime, one.peer): one.value for one in cells}
    assert values == {
        ("cold", "tiktoken"): 3.0,
        ("warm", "tiktoken"): 0.5,
        ("start-up", "tiktoken"): 2.0,
        ("memory opened", "tiktoken"): 0.75,
        ("memory after 2 MB", "tiktoken"): 0.75,
    }
    said = encode_tables.sentence(cells)
    assert "in 2 of 5 cells, 1.5 times or more in 2" in said
    assert "0.50 (warm, cl100k_base, English, beside tiktoken)" in said


def test_readme_shows_nothing_that_the_results_do_not_hold(document):
    whole = encode_tables.markdown(document)
    assert set(encode_tables.compact(document).splitlines()) <= set(whole.splitlines())
    assert "| **tokd / best peer** | 3.00 / 0.50 |  |" in whole
    assert "- quicktok is left out: RuntimeError: no such vocabulary" in whole
    assert "| tokd | 2.00 |" in whole
    assert "| offsets | 2.00 |" in whole
    drawn = ElementTree.fromstring(encode_tables.draw(document))
    assert {"tokd", "tiktoken 1.0", "gigatoken 2.0"} <= {text.text for text in drawn.iter() if text.text}


def test_a_result_is_shown_between_its_marks_and_nowhere_else(tmp_path, monkeypatch):
    readme = tmp_path / "README.md"
    others = "<!-- two avx2 -->\n<!-- three portable -->\n"
    readme.write_text(f"a\n<!-- one avx2 -->\nold\n<!-- end of one avx2 -->\nb\n{others}")
    monkeypatch.setattr(report, "KIND", "avx2")
    monkeypatch.setattr(report, "README", readme)
    report.show("one", "new\n| row |")
    report.show("three", "of another machine")
    shown = readme.read_text()
    assert shown.startswith("a\n<!-- one avx2 -->\nnew\n| row |\n<!-- end of one avx2 -->\nb\n")
    assert "of another machine" not in shown
    with pytest.raises(SystemExit, match="no end of two"):
        report.show("two", "new")


TABLES = {
    "encode": encode_tables.markdown,
    "http": serving.table,
    **{
        module.__name__.rpartition(".")[2]: module.table
        for module in (beside, cluster, corpus, counting, formats, memory, overload, packing, train)
    },
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_what_its_result_says(name: str) -> None:
    kept = ROOT / "benchmarks" / "results" / "avx2" / f"{name}.json"
    assert TABLES[name](json.loads(kept.read_text())) + "\n" == kept.with_suffix(".md").read_text()


def test_everything_is_measured_of_tokd_and_every_answer_looked_at(own_text):
    text = corpora.cuts(own_text)
    tokenizer = base()
    results = worker.single(openers.encoder_of_tokd(tokenizer), text)
    results |= worker.batch(openers.encoder_of_tokd(tokenizer), text)
    assert set(results) == {*encode_tables.REGIMES, "again", "batch on one core"}
    proofs = {regime: result["proof"] for regime, result in results.items()}
    ids = tokenizer.encode(text.whole)
    digest = hashlib.sha256(ids.astype("<u4").tobytes()).hexdigest()
    assert proofs["cold"] == proofs["warm"] == proofs["again"] == digest
    assert proofs["decode"] == proofs["decode to bytes"] == hashlib.sha256(text.whole.encode()).hexdigest()
    assert proofs["batch"] == proofs["batch on one core"]
    assert proofs["count"] == str(len(ids))
    assert all(results[f"small {length:,}"]["calls"] == len(texts) for length, texts in text.small.items())


@given(texts)
def test_spans_of_bytes_are_compared_by_the_characters_that_they_cover(text):
    tokenizer = base()
    in_bytes, in_chars = (tokenizer.offsets(text, unit=unit, special_tokens="text").spans for unit in ("byte", "char"))
    assert worker.covering(in_bytes, text).tolist() == in_chars.tolist()


def test_no_small_text_was_seen_before(own_text):
    text = corpora.cuts(own_text)
    small = [one for texts in text.small.values() for one in texts]
    assert {length: {len(one) for one in texts} for length, texts in text.small.items()} == {
        length: {length} for length in corpora.SMALL
    }
    assert len(set(small)) == len(small)
    assert not any(one in text.whole for one in small)


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "is not there"), (b"too short", "has 9 bytes"), (b"\xff" * 200_000, "is not UTF-8")],
)
def test_a_text_that_cannot_be_measured_on_is_named(content, message, tmp_path):
    path = tmp_path / "mine.txt"
    if content is not None:
        path.write_bytes(content)
    assert message in (corpora.unfit([path]) or "")


def test_the_command_has_every_benchmark():
    assert set(CHECKOUT) == set(corpora.WANTED)


@pytest.mark.parametrize("benchmark", [name for name in CHECKOUT if corpora.WANTED[name]])
def test_a_file_that_a_benchmark_reads_and_does_not_find_is_named(benchmark, tmp_path, monkeypatch):
    monkeypatch.setenv("TOKD_TEST_DATA", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["benchmarks", benchmark, "--short"])
    *others, last = corpora.WANTED[benchmark]
    for name in others:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    with pytest.raises(SystemExit, match=f"{last} is not there; TOKD_TEST_DATA names the folder"):
        measure()
    (tmp_path / last).parent.mkdir(exist_ok=True)
    (tmp_path / last).touch()
    assert corpora.missing(benchmark) is None


def test_who_does_not_open_a_vocabulary_is_out_and_named(own_text, monkeypatch):
    monkeypatch.setattr(peers, "PYTHON", Path(sys.executable))
    run = encode.Run(openers.Files(own_text.parent, own_text.parent), {"mine": own_text}, rounds=1)
    assert run.ask("opening", "tokd, an artifact", "gpt2", str(own_text), "100") is None
    assert run.failed("gpt2", "tokd, an artifact")
    assert "there is no artifact at gpt2:" in run.failures["gpt2"]["tokd, an artifact"]  # no path of the machine
    assert not run.failed("cl100k_base", "tokd, an artifact")


class Working:
    """A server that has work for so many looks."""

    def __init__(self, looks: int) -> None:
        self.left, self.taken = looks, 0.0

    def cpu_seconds(self) -> float:
        self.left -= 1
        self.taken += 0.3 * (self.left > 0)
        return self.taken


def test_no_server_is_measured_while_another_one_works(monkeypatch):
    waited = []
    monkeypatch.setattr(serving.time, "sleep", waited.append)
    idle, busy = Working(0), Working(9)
    serving.settle({"idle": idle, "busy": busy})
    assert busy.left <= 0
    assert len(waited) > 3
    with pytest.raises(SystemExit, match="idle, busy works though nobody asks it"):
        serving.settle({"idle": idle, "busy": Working(10**6)})
