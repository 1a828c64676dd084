"""Parity-aware BPE: the kernel against the definition, and what a run makes of a corpus with languages."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from tests.support.corpora import TIE_BREAKS, random_words
from tokenizer_core import (
    Cancelled,
    Files,
    InvalidCorpus,
    InvalidOption,
    InvalidSettings,
    Progress,
    Recipe,
    TrainingRun,
    train,
)
from tokenizer_core._kernel import Counter, learn_merges_for_languages
from tokenizer_core.reference.trainers.order import Order, Pair
from tokenizer_core.reference.trainers.parity import Languages, parity
from tokenizer_core.training import merge_log

Chosen = list[tuple[Pair, int, str | None]]
NAMES = ("de", "en", "fr")


def lines(languages: Languages, mark: str = "") -> bytes:
    return b"".join(
        b"%d\t%s\n" % (times, json.dumps(f"{name}{mark}\0{word.decode()}").encode())
        for name, words in languages.items()
        for word, times in words.items()
    )


def kernel(corpus: Languages, parallel: Languages | None, tokens: int, **options: Any) -> Chosen:
    """Learn with the kernel, once at a stretch and once behind merges that are known."""
    counter = Counter("{}", has_languages=True)
    counter.add_counts(lines(corpus) + lines(parallel or {}, "\x01"), 1)
    counts, names = counter.finish(), sorted(corpus)
    made, merges, _ = learn_merges_for_languages(counts, tokens, **options)
    half = random.Random(len(merges)).randint(0, len(merges))
    assert learn_merges_for_languages(counts, tokens, known=merges[:half], **options)[1] == merges
    return [
        ((made[left], made[right]), count, names[language - 1] if language else None)
        for left, right, _, count, language in merges
    ]


def words_of(seed: random.Random) -> Mapping[bytes, int]:
    return random_words(seed) or {b"ab": 1}


@pytest.mark.parametrize("seed", range(60))
def test_the_kernel_chooses_as_the_definition(seed: int) -> None:
    chance = random.Random(seed)
    names = NAMES[: chance.randint(1, 3)]
    corpus = {name: words_of(chance) for name in names}
    parallel = {name: words_of(chance) for name in names} if chance.random() < 0.7 else None
    rule = chance.choice(TIE_BREAKS)
    options = {"global_merges": chance.choice([0, 0, 3, 10]), "window": chance.choice([0, 0, 4, 9])}
    least = chance.choice([1, 1, 2, 5])
    wanted = parity(corpus, Order(rule), parallel=parallel, least=least, **options)
    found = kernel(corpus, parallel, 256 + 40, tie_break=rule, min_frequency=least, **options)
    assert found == list(islice(wanted, 40))


TEXTS = {
    "en": "the low tide and the lower tide, the lowest of the year; " * 40,
    "de": "die niedrige Flut und die niedrigere, die niedrigste des Jahres; " * 6,
    "ru": "низкий прилив и более низкий, самый низкий за год; ",
}
SAYING = {"en": "the low tide of the year", "de": "die niedrige Flut des Jahres", "ru": "низкий прилив за год"}
SETTINGS: dict[str, Any] = {"vocab_size": 310, "parity": True}


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A directory for each language, a file for each, a file of lines with them, and parallel texts."""
    for name, text in TEXTS.items():
        (tmp_path / "directories" / name).mkdir(parents=True)
        (tmp_path / "directories" / name / "part.txt").write_text(text, encoding="utf-8")
    for folder, texts in (("files", TEXTS), ("parallel", SAYING)):
        (tmp_path / folder).mkdir()
        for name, text in texts.items():
            (tmp_path / folder / f"{name}.txt").write_text(text, encoding="utf-8")
    rows = [{"language": name, "text": text} for name, text in TEXTS.items()]
    lined = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (tmp_path / "lines.jsonl").write_text(lined, encoding="utf-8")
    return tmp_path


def files(place: Path, **options: Any) -> Files:
    return Files(paths=(place,), **options)


def test_a_corpus_tells_its_languages_in_any_way(corpus: Path) -> None:
    ways: list[Any] = [
        files(corpus / "files", language="file"),
        files(corpus / "directories", language="directory"),
        files(corpus / "lines.jsonl", language="language"),
        {name: iter([text]) for name, text in TEXTS.items()},
    ]
    made = [train(way, **SETTINGS) for way in ways]
    assert len({one.hash for one in made}) == 1
    assert made[0].merges != train(files(corpus / "files"), vocab_size=310).merges
    parallel = files(corpus / "files", language="file", parallel=(corpus / "parallel",))
    assert train(parallel, **SETTINGS).merges != made[0].merges


def test_a_table_tells_the_language_of_each_row(corpus: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = arrow.table({"language": [*TEXTS], "text": [*TEXTS.values()]})
    parquet.write_table(table, corpus / "rows.parquet")
    rows = train(files(corpus / "rows.parquet", language="language"), **SETTINGS)
    assert rows.merges == train(files(corpus / "files", language="file"), **SETTINGS).merges


def run_of(corpus: Path, work: Path, **options: Any) -> TrainingRun:
    described = {"paths": [str(corpus / "files")], "language": "file", "parallel": [str(corpus / "parallel")]}
    recipe = {"corpus": described, **SETTINGS, "parity_window": 6, "global_merges": 9, "sizes": [280]}
    return TrainingRun(work, Recipe.from_dict(recipe), **options)


@pytest.mark.parametrize("options", [{"threads": 1}, {"threads": 4}, {"shard_bytes": 100}, {"memory": 1}])
def test_a_run_depends_on_nothing_but_its_input(corpus: Path, options: dict[str, Any]) -> None:
    plain, other = run_of(corpus, corpus / "one"), run_of(corpus, corpus / "other", **options)
    assert [one.hash for one in plain.tokenizers()] == [one.hash for one in other.tokenizers()]
    longer, shorter = plain.tokenizers()
    assert longer.merges[: len(shorter.merges)] == shorter.merges
    assert plain.report().languages == other.report().languages


def test_a_run_goes_on_where_it_was_ended(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merge_log, "INTERVAL", -1e9)
    whole = run_of(corpus, corpus / "whole")
    whole.merge()

    def stop(progress: Progress) -> None:
        if progress.phase == "merging" and progress.done > 30:
            raise Cancelled("enough")

    ended = run_of(corpus, corpus / "ended", progress=stop)
    with pytest.raises(Cancelled):
        ended.merge()
    again = run_of(corpus, corpus / "ended")
    assert [one.hash for one in again.tokenizers()] == [one.hash for one in whole.tokenizers()]
    assert again.report().languages == whole.report().languages


def test_the_report_has_the_cost_of_each_language(corpus: Path) -> None:
    costs = run_of(corpus, corpus / "run").report().languages
    assert [(cost.language, cost.lines, cost.is_parallel) for cost in costs] == [
        (name, 1, True) for name in sorted(TEXTS)
    ]
    assert [cost.bytes for cost in costs] == [len(TEXTS[name].encode()) for name in sorted(TEXTS)]
    tokenizer = run_of(corpus, corpus / "run").tokenizers()[0]
    assert [cost.tokens for cost in costs] == [tokenizer.count(SAYING[name]) for name in sorted(TEXTS)]
    spread = max(cost.tokens for cost in costs) - min(cost.tokens for cost in costs)
    assert spread < max(cost.without_parity for cost in costs) - min(cost.without_parity for cost in costs)


def test_counts_keep_their_languages(corpus: Path) -> None:
    run = run_of(corpus, corpus / "run")
    run.save_counts(corpus / "saved.counts.zst")
    saved = {
        "corpus": {"paths": [str(corpus / "saved.counts.zst")]},
        **SETTINGS,
        "parity_window": 6,
        "global_merges": 9,
    }
    again = TrainingRun(corpus / "again", Recipe.from_dict(saved))
    assert again.tokenizers()[0].merges == run.tokenizers()[0].merges
    with pytest.raises(InvalidCorpus, match="languages"):
        train(corpus / "saved.counts.zst", 300)


@pytest.mark.parametrize(
    ("corpus", "match"),
    [
        ({"de": ["Flut"], "": ["tide"]}, "has"),
        ({"": ["tide"]}, "has"),
        ({"a\0b": ["tide"]}, "a.0b"),
        ({"x" * 1_000_000: ["tide"]}, "xxx"),
        ({"\ud800": ["tide"]}, "string of Unicode"),
        ({3: ["tide"]}, "string of Unicode, not 3"),
        ({None: ["tide"]}, "string of Unicode, not None"),
        ({str(number): ["tide"] for number in range(1001)}, "at most 1000 languages"),
        ({"de": "Flut"}, "'de' are strings in a list"),
        ({"de": None}, "'de' are strings in a list"),
        ({"de": b"Flut"}, "'de' are strings in a list"),
    ],
)
def test_a_mapping_has_names_and_lists_of_texts(corpus: Any, match: str) -> None:
    with pytest.raises((InvalidCorpus, InvalidOption), match=match) as caught:
        train(corpus, **SETTINGS)
    assert caught.value.place == {"field": "corpus"}
    assert len(caught.value.message) < 300


def test_a_file_always_has_a_language(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "one.txt").write_text("low " * 9)
    (tmp_path / "two.txt").write_text("die Flut " * 9)
    below = train(Files(paths=(tmp_path / "a", tmp_path / "two.txt"), language="directory"), **SETTINGS)
    assert train(Files(paths=("a", "two.txt"), language="directory"), **SETTINGS).hash == below.hash
    for name in (".txt", "de\x01.txt", os.fsdecode(b"\xff.txt")):
        (tmp_path / name).write_text("low " * 9)
        with pytest.raises(InvalidCorpus, match="name") as caught:
            train(Files(paths=(tmp_path / name,), language="file", format="text"), **SETTINGS)
        assert [*caught.value.place] == ["file"]


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({}, "corpus.language"),
        ({"parity": False, "language": "file"}, "corpus.language"),
        ({"parity": False, "parallel": ["/x"]}, "corpus.parallel"),
        ({"texts": ["low"]}, "corpus"),
        ({"parity": False, "parity_window": 9}, "parity_window"),
        ({"parity": False, "global_merges": 9}, "global_merges"),
        ({"model": "unigram"}, "parity"),
        ({"style": "sentencepiece"}, "parity"),
        ({"extends": "artifacts/base", "language": "file"}, "parity"),
        ({"language": 3}, "corpus.language"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(given: dict[str, Any], path: str) -> None:
    settings = {"parity": True, **given}
    named = {"paths": ["/x"]} if "texts" not in settings else {}
    described = named | {key: settings.pop(key) for key in ("language", "parallel", "texts") if key in settings}
    with pytest.raises(InvalidSettings) as caught:
        Recipe.from_dict({"corpus": described, **settings})
    assert caught.value.path == path


def test_texts_that_do_not_fit_are_refused(corpus: Path) -> None:
    def refused(match: str, **options: Any) -> None:
        with pytest.raises(InvalidCorpus, match=match):
            train(
                files(corpus / "files", **{"language": "file", "parallel": (corpus / "parallel",), **options}),
                **SETTINGS,
            )

    refused("is a text, which has no field", language="name")
    for name in SAYING:
        (corpus / "empty" / f"{name}.txt").parent.mkdir(exist_ok=True)
        (corpus / "empty" / f"{name}.txt").write_text("\n\n")
    refused("texts are empty", parallel=(corpus / "empty",))
    (corpus / "parallel" / "de.txt").write_text("eine\nzweite", encoding="utf-8")
    refused("de has 2 and")
    (corpus / "parallel" / "de.txt").unlink()
    refused("no texts to measure de on")
    (corpus / "parallel" / "fr.txt").write_text("la marée basse", encoding="utf-8")
    refused("none to learn it from")
    (corpus / "files" / "fr.txt").write_text("bas " * 9, encoding="utf-8")
    refused("no texts to measure de on")
