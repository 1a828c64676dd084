"""A run in a directory makes what ``train`` makes, however often it is stopped, and makes nothing twice."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.corpora import text
from tokenizer_core import (
    Cancelled,
    CorpusNotFound,
    HashMismatch,
    InvalidSettings,
    Progress,
    Recipe,
    TokdError,
    Tokenizer,
    TrainingRun,
    train,
)
from tokenizer_core.training import sorted_counts
from tokenizer_core.training.report import SampleReport

SETTINGS: dict[str, Any] = {"vocab_size": 500, "pattern": "gpt2", "special_tokens": ["<|end|>"]}


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    """Write a corpus of five files."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    for number in range(5):
        lines = [json.dumps({"text": text(number * 7 + line, 900)}) for line in range(6)]
        (folder / f"{number}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return folder


def recipe(corpus: Path, **settings: Any) -> Recipe:
    """Describe a run on the files of a folder."""
    return Recipe.from_dict({"corpus": {"paths": [str(corpus)]}, **SETTINGS, **settings})


def contents(folder: Path) -> dict[str, bytes]:
    """Read the files of a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def inodes(folder: Path) -> dict[str, int]:
    """Tell files from others of the same name: one that is made again gets another number or time."""
    return {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}


def test_a_run_makes_the_bytes_that_train_makes(tmp_path: Path, shards: Path) -> None:
    train(shards, **SETTINGS).save(tmp_path / "plain", name="same")
    run = TrainingRun(tmp_path / "run", recipe(shards, name="same"), shard_bytes=1)
    run.count()
    assert len(list((tmp_path / "run" / "counts").iterdir())) == 5
    run.merge()
    tokenizer = run.publish(tmp_path / "published")
    assert contents(tmp_path / "published") == contents(tmp_path / "plain")
    assert Tokenizer.open(tmp_path / "published").hash == tokenizer.hash == run.report().hash


@pytest.mark.parametrize("shard_bytes", [1, 1000, 1 << 20])
def test_files_of_equal_content_are_all_counted(tmp_path: Path, shard_bytes: int) -> None:
    """Wherever shards begin: those of equal content have the same counts file."""
    (tmp_path / "corpus").mkdir()
    for name, words in (("a", "low lower " * 100), ("b", "low lower " * 100), ("c", "new newer " * 101)):
        (tmp_path / "corpus" / f"{name}.txt").write_text(words)
    run = TrainingRun(tmp_path / "run", recipe(tmp_path / "corpus", vocab_size=265), shard_bytes=shard_bytes)
    plain = train(tmp_path / "corpus", **(SETTINGS | {"vocab_size": 265}))
    assert run.tokenizers()[0].merges == plain.merges
    assert run.report().corpus == plain.provenance["corpus"]
    assert plain.provenance["corpus"]["documents"] == 3


@pytest.mark.parametrize("path", ["corpus", "corpus/**"])
def test_a_run_below_its_corpus_counts_nothing_of_its_own(tmp_path: Path, shards: Path, path: str) -> None:
    expected = train(shards, **SETTINGS).hash
    named = Recipe.from_dict({"corpus": {"paths": [str(tmp_path / path)], "format": "jsonl"}, **SETTINGS})
    (shards / ".git").mkdir()
    (shards / ".git" / "index").write_bytes(b"hidden")
    for _ in range(2):
        run = TrainingRun(shards / "run", named, shard_bytes=1, left_out=[shards / "made"])
        run.count()
        assert run.publish(shards / "made").hash == expected
    run.save_counts(shards / "run" / "counts" / "all.counts")
    kept = Recipe.from_dict({"corpus": {"paths": [str(shards / "run" / "counts")]}, **SETTINGS})
    assert TrainingRun(tmp_path / "other", kept).tokenizers()[0].hash == expected
    with pytest.raises(CorpusNotFound, match="what the run itself writes is not a corpus"):
        TrainingRun(shards / "run", kept, left_out=[shards / "run" / "counts"]).count()
    missing = Recipe.from_dict({"corpus": {"paths": [str(tmp_path / "*.txt")]}, **SETTINGS})
    with pytest.raises(CorpusNotFound, match=r"for others give format$"):
        TrainingRun(shards / "run", missing).count()


def test_only_what_is_missing_is_made_again(tmp_path: Path, shards: Path) -> None:
    run = TrainingRun(tmp_path / "run", recipe(shards), shard_bytes=1)
    run.count()
    counts = tmp_path / "run" / "counts"
    before = inodes(counts)
    lost = sorted(counts.iterdir())[2]
    lost.unlink()
    (shards / "4.jsonl").touch()
    TrainingRun(tmp_path / "run", recipe(shards), shard_bytes=1).count()
    after = inodes(counts)
    assert {name for name in after if after[name] != before[name]} == {lost.name}
    with (shards / "4.jsonl").open("a", encoding="utf-8") as file:
        file.write('\n{"text": "more"}')
    TrainingRun(tmp_path / "run", recipe(shards), shard_bytes=1).count()
    assert len(inodes(counts).keys() - after.keys()) == 1


def test_saved_counts_are_the_corpus_for_other_bounds_too(tmp_path: Path, shards: Path) -> None:
    run = TrainingRun(tmp_path / "run", recipe(shards, max_piece_length=3))
    run.save_counts(tmp_path / "all.counts")
    for longest in (None, 3):
        kept, counted = (
            train(corpus, **SETTINGS, max_piece_length=longest) for corpus in (tmp_path / "all.counts", shards)
        )
        assert (kept.hash, kept.provenance) == (counted.hash, counted.provenance)


def test_a_run_is_published_once_under_its_hash(tmp_path: Path, shards: Path) -> None:
    run = TrainingRun(tmp_path / "run", recipe(shards, name="mine", sizes=[300]))
    run.count()
    run.merge()
    first = run.publish_under(tmp_path / "artifacts")[0]
    before = {path: path.stat().st_ino for path in (tmp_path / "artifacts").iterdir()}
    assert run.publish_under(tmp_path / "artifacts")[0] == first
    assert {path: path.stat().st_ino for path in (tmp_path / "artifacts").iterdir()} == before
    assert first.name == f"{Tokenizer.open(first).hash.removeprefix('sha256:')}-mine"
    assert len(before) == 2
    (first / "tokenizer.json").write_bytes(b"damaged")
    assert run.publish_under(tmp_path / "artifacts")[0] == first
    assert Tokenizer.open(first).vocab_size == 500


def test_sizes_beyond_an_exhausted_corpus_are_published_once(tmp_path: Path) -> None:
    exhausted = Recipe.from_dict({"corpus": {"texts": ["low low"]}, "vocab_size": 300, "sizes": [5000, 10000]})
    told: list[Progress] = []
    run = TrainingRun(tmp_path / "run", exhausted, progress=told.append)
    place = run.publish_under(tmp_path / "artifacts")[0]
    assert Tokenizer.open(place).provenance["settings"]["vocab_size"] == 300
    before = place.stat().st_ino
    assert run.publish_under(tmp_path / "artifacts")[0] == place
    assert place.stat().st_ino == before
    assert [path.name for path in (tmp_path / "artifacts").iterdir()] == [place.name]
    assert (told[-1].done, told[-1].total) == (3, 3)


def test_what_is_told_of_publishing_never_goes_back(
    tmp_path: Path, shards: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Progress] = []
    run = TrainingRun(tmp_path / "run", recipe(shards), progress=told.append)
    run.merge()
    told.clear()
    save = Tokenizer.save

    def slow(*arguments: Any, **options: Any) -> None:
        while len(told) < 4:
            time.sleep(0.01)
        save(*arguments, **options)

    monkeypatch.setattr(Tokenizer, "save", slow)
    run.publish(tmp_path / "made")
    assert {one.phase for one in told} == {"publishing"}
    assert [one.done for one in told] == sorted(one.done for one in told)


def test_a_template_and_roles_are_published_with_the_artifact(tmp_path: Path, shards: Path) -> None:
    template = "{% for message in messages %}{{ message.content }}<|end|>{% endfor %}"
    run = TrainingRun(tmp_path / "run", recipe(shards, eos="<|end|>", chat_template=template))
    run.merge()
    place = run.publish_under(tmp_path / "artifacts")[0]
    tokenizer = Tokenizer.open(place)
    assert tokenizer.settings.eos == "<|end|>"
    assert tokenizer.render_chat([{"role": "user", "content": "hi"}]).text == "hi<|end|>"
    before = place.stat().st_ino
    assert run.publish_under(tmp_path / "artifacts")[0].stat().st_ino == before


@pytest.mark.parametrize(
    "other",
    [
        {"bos": "<|end|>"},
        {"eos": None},
        {"pad": "<|end|>"},
        {"chat_template": "{{ messages }}"},
        {"max_token_length": 10_000},
    ],
)
def test_what_goes_with_the_same_ids_is_published_anew(tmp_path: Path, shards: Path, other: dict[str, Any]) -> None:
    asked = {"eos": "<|end|>"}
    place = TrainingRun(tmp_path / "run", recipe(shards, **asked)).publish_under(tmp_path / "artifacts")[0]
    run = TrainingRun(tmp_path / "run", recipe(shards, **(asked | other)))
    assert run.publish_under(tmp_path / "artifacts")[0] == place
    assert contents(place) == contents(run.publish_under(tmp_path / "elsewhere")[0])


def test_what_is_told_of_merging_never_goes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Progress] = []
    recipe = Recipe.from_dict({"corpus": {"texts": [text(1)]}, "vocab_size": 300})
    run = TrainingRun(tmp_path, recipe, progress=told.append)
    run.count()
    told.clear()

    def reduce_and_tell(paths: Any, longest: Any, least: Any, pause: Any, **options: Any) -> Any:
        reduced = sorted_counts.reduce(paths, longest, least, pause, **options)
        pause.__self__.report()
        return reduced

    monkeypatch.setattr(
        "tokenizer_core.training.run.sorted_counts", SimpleNamespace(reduce=reduce_and_tell, sums=sorted_counts.sums)
    )
    run.merge()
    assert {(each.phase, each.total, each.unit) for each in told} == {("merging", 44, "merges")}
    assert [each.done for each in told] == sorted(each.done for each in told)
    assert (told[0].done, told[-1].done) == (0, 44)


def test_the_report_tells_the_tokens_of_lines_from_the_beginnings_of_all_files(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "a.txt").write_text("a  b\n\n½ a\n" + "a b a\n" * 40_000, encoding="utf-8")
    (corpus / "b.jsonl").write_text('{"text": "a b\\na  a"}\nno JSON\n', encoding="utf-8")
    settings = {"model": "unigram", "vocab_size": 20, "remove_extra_whitespaces": False}
    recipe = Recipe.from_dict({"corpus": {"paths": [str(corpus)], "on_error": "skip"}, **settings})
    run = TrainingRun(tmp_path / "run", recipe)
    sample = run.report().sample
    assert sample is not None
    # Half of the sample is of the first file; its half becomes another character.
    assert 8_000 < sample.lines < 10_000
    assert sample.lines - sample.back == 1
    assert 2 <= sample.spaces < 9
    assert sample.characters < 9
    texts = TrainingRun(tmp_path / "run", Recipe.from_dict({"corpus": {"texts": ["a b", " "]}, "vocab_size": 258}))
    assert texts.report().sample == SampleReport(lines=1, back=1, tokens=2, spaces=0, characters=1)
    for path in corpus.iterdir():
        path.unlink()
    assert run.report().sample is None


@pytest.mark.parametrize("phase", ["counting", "merging", "publishing"])
def test_what_progress_raises_ends_a_run_that_can_go_on(tmp_path: Path, shards: Path, phase: str) -> None:
    def stop(progress: Progress) -> None:
        if progress.phase == phase:
            raise Cancelled("enough")

    def go(run: TrainingRun) -> Tokenizer:
        run.count()
        run.merge()
        return run.publish(tmp_path / "published")

    with pytest.raises(Cancelled, match="enough"):
        go(TrainingRun(tmp_path / "run", recipe(shards), progress=stop, shard_bytes=1))
    assert not (tmp_path / "published").exists()
    tokenizer = go(TrainingRun(tmp_path / "run", recipe(shards), shard_bytes=1))
    assert tokenizer.hash == train(shards, **SETTINGS).hash


def test_a_recipe_is_the_same_after_json(tmp_path: Path) -> None:
    given = {
        "corpus": {"paths": ["a.txt", "b"], "format": "jsonl", "field": "body", "column": "text", "on_error": "skip"},
        "model": "bpe",
        "vocab_size": 1000,
        "pattern": None,
        "superwords_from": 0.5,
        "superwords_pattern": ".",
        "normalizer": ["nfc"],
        "special_tokens": ["<|end|>"],
        "tie_break": "lowest_ids",
        "min_frequency": 2,
        "max_token_length": 9,
        "max_piece_length": 99,
        "id_layout": "specials_first",
        "initial_merges": [["Ġ", "t"], ["Ġt", "h"]],
        "sixteen_bit": True,
        "min_count": 1,
        "parity": False,
        "global_merges": 0,
        "parity_window": None,
        "style": "byte_level",
        "sizes": [400],
        "extends": None,
        "extends_hash": None,
        "replace_invalid": True,
        "name": "mine",
        "bos": None,
        "eos": "<|end|>",
        "pad": "<|end|>",
        "chat_template": "{{ messages[0].content }}",
    }
    recipe = Recipe.from_dict(given)
    assert recipe.to_dict() == given
    assert Recipe.from_dict(json.loads(json.dumps(recipe.to_dict()))) == recipe
    assert recipe.settings.initial_merges == ((b" ", b"t"), (b" t", b"h"))


def test_a_corpus_whose_name_is_not_utf8_is_the_same_after_json() -> None:
    recipe = Recipe.from_dict({"corpus": {"paths": [os.fsdecode(b"corpus-\xff.txt")]}})
    assert Recipe.from_dict(json.loads(json.dumps(recipe.to_dict()))) == recipe


def test_a_run_extends_the_tokenizer_that_its_recipe_pins_and_no_other(tmp_path: Path) -> None:
    first, other = (train(iter([word * 9]), 258) for word in ("low ", "new "))
    first.save(tmp_path / "start")
    given = {"corpus": TEXTS, "vocab_size": 260, "extends": str(tmp_path / "start")}
    pinned = Recipe.from_dict(given).pinned()
    assert pinned.to_dict() == {**Recipe.from_dict(given).to_dict(), "extends_hash": first.hash}
    assert pinned.pinned() == pinned
    TrainingRun(tmp_path / "run", pinned).merge()
    other.save(tmp_path / "start")
    with pytest.raises(HashMismatch) as raised:
        TrainingRun(tmp_path / "run", pinned)
    assert raised.value.place == {"field": "extends", "expected": first.hash, "found": other.hash}
    assert TrainingRun(tmp_path / "run", Recipe.from_dict(given)).tokenizers()[0].provenance["extends"] == other.hash


TEXTS = {"texts": ["some text"]}


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({}, "corpus"),
        ({"corpus": "a.txt"}, "corpus"),
        ({"corpus": {}}, "corpus"),
        ({"corpus": {"texts": []}}, "corpus.texts"),
        ({"corpus": {"texts": ["a", 7]}}, "corpus.texts[1]"),
        ({"corpus": {"texts": ["\ud800"]}}, "corpus.texts[0]"),
        ({"corpus": {"texts": ["a"], "paths": ["b"]}}, "corpus"),
        ({"corpus": {"texts": ["a"], "format": "text"}}, "corpus.format"),
        ({"corpus": {"paths": [""]}}, "corpus.paths[0]"),
        ({"corpus": {"paths": ["a", "b\0"]}}, "corpus.paths[1]"),
        ({"corpus": {"paths": ["a", "\ud800"]}}, "corpus.paths[1]"),
        ({"corpus": {"paths": ["a"], "format": "pdf"}}, "corpus.format"),
        ({"corpus": {"paths": ["a"], "field": 7}}, "corpus.field"),
        ({"corpus": TEXTS, "vocab": 7}, "vocab"),
        ({"corpus": TEXTS, "vocab_size": 10**9}, "vocab_size"),
        ({"corpus": TEXTS, "vocab_size": 100}, "vocab_size"),
        ({"corpus": TEXTS, "vocab_size": "7"}, "vocab_size"),
        ({"corpus": TEXTS, "special_tokens": ["<s>", "<s>"]}, "special_tokens[1]"),
        ({"corpus": TEXTS, "special_tokens": {"a": 1}}, "special_tokens"),
        ({"corpus": TEXTS, "special_tokens": None}, "special_tokens"),
        ({"corpus": TEXTS, "normalizer": 5}, "normalizer"),
        ({"corpus": TEXTS, "pattern": ["a"]}, "pattern"),
        ({"corpus": TEXTS, "tie_break": ["a"]}, "tie_break"),
        ({"corpus": TEXTS, "tie_break": {}}, "tie_break"),
        ({"corpus": TEXTS, "initial_merges": [["a", "日"]]}, "initial_merges[0]"),
        ({"corpus": TEXTS, "initial_merges": [["a", "b"], ["a"]]}, "initial_merges[1]"),
        ({"corpus": TEXTS, "initial_merges": "ab"}, "initial_merges"),
        ({"corpus": TEXTS, "sizes": [300, 100]}, "sizes[1]"),
        ({"corpus": TEXTS, "sizes": 300}, "sizes"),
        ({"corpus": TEXTS, "sizes": [300] * 100_000}, "sizes"),
        ({"corpus": TEXTS, "sizes": ["300"]}, "sizes[0]"),
        ({"corpus": TEXTS, "name": "../up"}, "name"),
        ({"corpus": TEXTS, "name": 7}, "name"),
        ({"corpus": TEXTS, "extends": 7}, "extends"),
        ({"corpus": TEXTS, "extends": "x", "pattern": "gpt2"}, "pattern"),
        ({"corpus": TEXTS, "extends": "x", "sizes": [300]}, "sizes"),
        ({"corpus": TEXTS, "extends": "x", "extends_hash": "sha256:00"}, "extends_hash"),
        ({"corpus": TEXTS, "extends": "x", "extends_hash": 7}, "extends_hash"),
        ({"corpus": TEXTS, "extends_hash": "sha256:" + "0" * 64}, "extends_hash"),
        ({"corpus": TEXTS, "replace_invalid": "yes"}, "replace_invalid"),
        ({"corpus": TEXTS, "eos": "<s>"}, "eos"),
        ({"corpus": TEXTS, "pad": 7}, "pad"),
        ({"corpus": TEXTS, "chat_template": "{{"}, "chat_template"),
        ({"corpus": TEXTS, "chat_template": "{{a}}" * 20_000}, "chat_template"),
        ({"corpus": TEXTS, "chat_template": "{% if a %}" * 5_000}, "chat_template"),
        ({"corpus": TEXTS, "normalizer": ["nfc"] * 17}, "normalizer"),
        ({"corpus": TEXTS, "pattern": r"\b" * 30_000}, "pattern"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_bad_recipes_are_refused_with_their_field(given: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidSettings) as raised:
        Recipe.from_dict(given)
    assert raised.value.path == path
    assert isinstance(raised.value, TokdError)
