"""``train`` against the definition, Hugging Face, a published run, and itself where nothing may change."""

from __future__ import annotations

import hashlib
import json
import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers
from tokenizers import models, pre_tokenizers, trainers

from tests.support.corpora import TIE_BREAKS, text
from tests.support.data import PRESENT, corpus, needs_data, shared, vectors
from tokenizer_core import (
    Cancelled,
    HashMismatch,
    InvalidArtifact,
    InvalidOption,
    Progress,
    Recipe,
    Tokenizer,
    TrainingWarning,
    TrainSettings,
    extend,
    train,
    train_characters,
    train_sizes,
)
from tokenizer_core.corpus.files import Files
from tokenizer_core.patterns import PATTERNS
from tokenizer_core.reference.byte_alphabet import from_entry
from tokenizer_core.reference.trainers.naive_recount import naive_recount
from tokenizer_core.reference.trainers.order import learn
from tokenizer_core.reference.trainers.parallel_pretokenization import count_words

WORDS = r"\s+|\S+"


def merges(tokenizer: Tokenizer) -> list[str]:
    """Show merges as ``left right``."""
    return [f"{left.decode()} {right.decode()}" for left, right in tokenizer.merges]


def test_worked_examples() -> None:
    assert merges(train(iter(["I work"]), 300, pattern=WORDS)) == ["o r", "or k", "w ork"]
    newest = ["low"] * 5 + ["lower"] * 2 + ["widest"] * 3 + ["newest"] * 6
    assert merges(train(iter([" ".join(newest)]), 262, pattern=WORDS, tie_break="lexicographic_high")) == [
        "s t",
        "e st",
        "o w",
        "l ow",
        "w est",
        "n e",
    ]
    hugs = ["hug"] * 10 + ["pug"] * 5 + ["pun"] * 12 + ["bun"] * 4 + ["hugs"] * 5
    assert merges(train(iter(hugs), 259, tie_break="lowest_ids")) == ["u g", "u n", "h ug"]
    assert merges(train(iter(["aaabdaaabac"]), 259)) == ["a a", "a b", "aa ab"]


@pytest.mark.parametrize("tie_break", TIE_BREAKS)
@pytest.mark.parametrize("pattern", sorted(PATTERNS))
def test_training_from_text_is_the_definition_on_its_pieces(pattern: str, tie_break: Any) -> None:
    documents = [text(seed, 600) + "<|end|>" + text(seed + 100, 300) for seed in range(4)]
    words = count_words(documents, pattern, ["<|end|>"])
    tokenizer = train(iter(documents), 400, pattern=pattern, special_tokens=["<|end|>"], tie_break=tie_break)
    assert tokenizer.merges == learn(naive_recount, words, 399, tie_break)
    assert tokenizer.vocab_size == 400
    assert tokenizer.special_tokens == {"<|end|>": 399}


@needs_data
@pytest.mark.parametrize("name", ["english", "code", "zh", "ru"])
def test_merges_and_ids_are_those_of_hugging_face(name: str) -> None:
    documents = corpus(name)[:600_000].splitlines(keepends=True)
    theirs = tokenizers.Tokenizer(models.BPE())
    theirs.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    theirs.train_from_iterator(
        documents, trainers.BpeTrainer(vocab_size=6000, initial_alphabet=alphabet, show_progress=False)
    )
    model = json.loads(theirs.to_str())["model"]
    ours = train(iter(documents), 6000, pattern="gpt2", tie_break="lowest_ids")
    assert ours.merges == [(from_entry(left), from_entry(right)) for left, right in model["merges"]]
    assert dict(ours.parts.vocabulary.token_texts()) == model["vocab"]


@needs_data
def test_the_reference_run_comes_out() -> None:
    tokenizer = train(
        Files(paths=(shared("training/corpus.en"),), format="text"),
        500,
        pattern="gpt2",
        special_tokens=["<|endoftext|>"],
        tie_break="lexicographic_high",
        id_layout="specials_first",
    )
    lines = shared("training/train-bpe-reference-merges.txt").read_text(encoding="utf-8").splitlines()
    assert tokenizer.merges == [(from_entry(left), from_entry(right)) for left, right in map(str.split, lines)]
    vocabulary = json.loads(shared("training/train-bpe-reference-vocab.json").read_text(encoding="utf-8"))
    assert dict(tokenizer.parts.vocabulary.token_texts()) | tokenizer.special_tokens == vocabulary


PUBLISHED = vectors() if PRESENT else ()
TRAINED = [case for case in PUBLISHED if case["area"] == "training" and isinstance(case["input"], dict)]


@needs_data
@pytest.mark.parametrize("case", TRAINED, ids=[case["id"] for case in TRAINED])
def test_training_vectors(case: dict[str, Any]) -> None:
    given = case["input"]
    tokenizer = train(
        iter(given["corpus"]),
        256 + given["num_merges"],
        pattern="gpt2",
        tie_break="lowest_ids",
        min_frequency=given["min_frequency"],
    )
    assert [[left.hex(), right.hex()] for left, right in tokenizer.merges] == case["expected"]["merges_hex"]


def test_nothing_but_the_documents_changes_a_byte(tmp_path: Path) -> None:
    documents = [text(seed) for seed in range(30)]
    settings: dict[str, Any] = {"pattern": "o200k_base", "special_tokens": ["<|end|>"]}
    train(iter(documents), 700, **settings).save(tmp_path / "first")
    expected = {path.name: path.read_bytes() for path in (tmp_path / "first").iterdir() if path.name != "manifest.json"}
    manifest = json.loads((tmp_path / "first" / "manifest.json").read_bytes())
    rng = random.Random(1)
    for threads in (1, 2, 3, 8):
        rng.shuffle(documents)
        train(iter(documents), 700, threads=threads, **settings).save(tmp_path / "again", name="first")
        for name, data in expected.items():
            assert (tmp_path / "again" / name).read_bytes() == data
        assert json.loads((tmp_path / "again" / "manifest.json").read_bytes()) == manifest


def test_an_artifact_that_was_trained_opens_again_and_encodes(tmp_path: Path) -> None:
    tokenizer = train(iter([text(1)]), 500, special_tokens=["<|end|>"], normalizer=["nfc"])
    tokenizer.save(tmp_path / "mine")
    again = Tokenizer.open(tmp_path / "mine")
    assert again.hash == tokenizer.hash
    sample = text(2)
    assert again.decode(again.encode(sample)) == sample
    assert len(again.encode(sample)) < len(sample.encode())


def test_a_smaller_size_is_a_prefix_of_a_larger_one() -> None:
    documents = [text(3)]
    settings = TrainSettings(special_tokens=("<|a|>", "<|b|>"), id_layout="specials_first")
    sizes = [300, 450, 400]
    run = train_sizes(iter(documents), sizes, settings)
    for size, tokenizer in zip(sizes, run, strict=True):
        alone = train(iter(documents), size, special_tokens=["<|a|>", "<|b|>"], id_layout="specials_first")
        assert tokenizer.hash == alone.hash
        assert tokenizer.vocab_size == size
        assert tokenizer.merges == run[1].merges[: len(tokenizer.merges)]


def test_a_corpus_without_enough_pairs_gives_a_smaller_vocabulary_that_says_so() -> None:
    tokenizer = train(iter(["ab ab ab"]), 5000, special_tokens=["<|end|>"])
    assert tokenizer.vocab_size == 256 + 2 + 1
    assert tokenizer.provenance["learned"] == {"tokens": 2, "merges": 2}
    assert tokenizer.provenance["settings"]["vocab_size"] == 5000


def test_max_token_length_bounds_every_token() -> None:
    tokenizer = train(iter([text(5)]), 2000, max_token_length=3)
    lengths = [len(left + right) for left, right in tokenizer.merges]
    assert max(lengths) == 3


def test_a_special_token_is_never_learned() -> None:
    # The normalizer makes the literal out of other text, which no scan of the text can see.
    tokenizer = train(iter(["THE THE THE"] * 9), 400, normalizer=["lowercase"], special_tokens=["the"], pattern=None)
    assert b"the" not in [left + right for left, right in tokenizer.merges]


def test_a_zero_byte_is_a_byte_as_any_other() -> None:
    tokenizer = train(iter(["a\0b"] * 9), 258, pattern=None)
    assert [tokenizer.token_bytes(id) for id in tokenizer.encode("a\0b")] == [b"a\0b"]


def test_whole_documents_are_single_pieces_without_a_pattern() -> None:
    tokenizer = train(iter(["a b a b a b"]), 300, pattern=None)
    assert b"a b a b a b" in [left + right for left, right in tokenizer.merges]


def test_initial_merges_are_made_first_and_kept() -> None:
    documents = [text(6)]
    whole = train(iter(documents), 500)
    start = whole.merges[:100]
    assert train(iter(documents), 500, initial_merges=start).merges == whole.merges
    other = train(iter(documents), 300, initial_merges=[(b"x", b"y"), (b"xy", b"z")])
    assert other.merges[:2] == [(b"x", b"y"), (b"xy", b"z")]
    assert len(other.merges) == 44
    assert train(iter(documents), 356, initial_merges=start).merges == start


def test_a_merge_that_comes_back_behind_an_old_token_is_not_made_twice(tmp_path: Path) -> None:
    initial = [(b"b", b"c"), (b"a", b"b"), (b"ab", b"c"), (b"abc", b"d")]
    tokenizer = train(iter(["abcd\n" * 9]), 300, pattern="gpt2", initial_merges=initial)
    assert tokenizer.merges == [*initial, (b"a", b"bc")]
    tokenizer.save(tmp_path / "made")
    assert Tokenizer.open(tmp_path / "made").hash == tokenizer.hash
    shorter = train(iter(["abcd\n"]), 260, pattern="gpt2", initial_merges=initial)
    assert extend(shorter, iter(["abcd\n" * 9]), 300).merges == tokenizer.merges


def test_progress_is_told_and_what_it_raises_ends_the_run() -> None:
    seen: list[Progress] = []

    def stop(progress: Progress) -> None:
        seen.append(progress)
        if progress.phase == "merging":
            raise Cancelled("enough")

    many = "".join(random.Random(8).choices("abcdefghijklmnopqrstuvwxyz", k=3_000_000))
    with pytest.raises(Cancelled, match="enough"):
        train(iter([many]), 200_000, pattern=None, progress=stop)
    assert [progress.phase for progress in seen[-2:]] == ["counting", "merging"]
    assert seen[-1].total == 200_000 - 256
    assert seen[-2].done == 3_000_000


def test_other_threads_go_on_during_a_run() -> None:
    turns = 0
    ended = threading.Event()

    def turn() -> None:
        nonlocal turns
        while not ended.is_set():
            turns += 1

    thread = threading.Thread(target=turn)
    thread.start()
    try:
        train(iter(["".join(random.Random(9).choices("abcdefgh ", k=300_000))]), 3000, pattern=None)
        during = turns
    finally:
        ended.set()
        thread.join()
    # With the GIL held it would have had no turn between the first and the last step.
    assert during > 100


def test_huge_pieces_are_warned_of_before_the_merges_and_left_out_when_told() -> None:
    documents = ["a" * 200_000, "word " * 1000]
    with pytest.warns(TrainingWarning, match="a piece of 200000 bytes"):
        train(iter(documents), 260)
    tokenizer = train(iter(documents), 260, max_piece_length=1000)
    assert tokenizer.provenance["corpus"]["left_out"] == 1
    assert (b"a", b"a") not in tokenizer.merges


def test_sixteen_bits_put_a_pair_table_into_the_artifact(tmp_path: Path) -> None:
    tokenizer = train(iter([text(10)]), 400, sixteen_bit=True, special_tokens=["<|end|>"], id_layout="specials_first")
    tokenizer.save(tmp_path / "small")
    again = Tokenizer.open(tmp_path / "small")
    table = np.fromfile(tmp_path / "small" / "merges.u16", dtype="<u2").reshape(-1, 3)
    merges = [(again.token_bytes(left), again.token_bytes(right)) for left, right, _ in table.tolist()]
    assert merges == tokenizer.merges
    assert all(
        again.token_bytes(product) == left + right for (left, right), (_, _, product) in zip(merges, table, strict=True)
    )
    train(iter([text(10)]), 400).save(tmp_path / "plain")
    assert not (tmp_path / "plain" / "merges.u16").exists()


def test_a_pair_table_that_contradicts_the_vocabulary_is_refused(tmp_path: Path) -> None:
    train(iter([text(10)]), 400, sixteen_bit=True).save(tmp_path / "small")
    table = tmp_path / "small" / "merges.u16"
    table.write_bytes(table.read_bytes()[::-1])
    with pytest.raises(HashMismatch):
        Tokenizer.open(tmp_path / "small")
    manifest = json.loads((tmp_path / "small" / "manifest.json").read_bytes())
    manifest["files"]["merges.u16"] = f"sha256:{hashlib.sha256(table.read_bytes()).hexdigest()}"
    (tmp_path / "small" / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(InvalidArtifact, match=r"merges\.u16 contradicts"):
        Tokenizer.open(tmp_path / "small")


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"vocab_size": 0}, "vocab_size"),
        ({"vocab_size": 255}, "vocab_size"),
        ({"vocab_size": 256, "special_tokens": ["<s>"]}, "vocab_size"),
        ({"vocab_size": 10**9}, "vocab_size"),
        ({"vocab_size": 10**30}, "vocab_size"),
        ({"vocab_size": 10**5000}, "vocab_size"),
        ({"vocab_size": np.float64(300)}, "vocab_size"),
        ({"vocab_size": 1.5}, "vocab_size"),
        ({"vocab_size": True}, "vocab_size"),
        ({"vocab_size": 65_537, "sixteen_bit": True}, "vocab_size"),
        ({"sixteen_bit": 1}, "sixteen_bit"),
        ({"special_tokens": ["<s>", "</s>", "<s>"]}, "special_tokens[2]"),
        ({"special_tokens": ["<s>", ""]}, "special_tokens[1]"),
        ({"special_tokens": ["a"]}, "special_tokens[0]"),
        ({"special_tokens": ["Ġ"]}, "special_tokens[0]"),
        ({"special_tokens": ["<\ud800>"]}, "special_tokens[0]"),
        ({"special_tokens": ["<s>", "a" * 5000]}, "special_tokens[1]"),
        ({"special_tokens": "<s>"}, "special_tokens"),
        ({"special_tokens": [7]}, "special_tokens"),
        ({"tie_break": "random"}, "tie_break"),
        ({"tie_break": np.array(["lowest_ids", "random"])}, "tie_break"),
        ({"id_layout": "middle"}, "id_layout"),
        ({"min_frequency": -1}, "min_frequency"),
        ({"min_frequency": "2"}, "min_frequency"),
        ({"min_frequency": -(10**5000)}, "min_frequency"),
        ({"max_token_length": 0}, "max_token_length"),
        ({"max_piece_length": 0}, "max_piece_length"),
        ({"pattern": "gpt5"}, "pattern"),
        ({"pattern": "(unclosed"}, "pattern"),
        ({"pattern": 7}, "pattern"),
        ({"pattern": "a|\ud800"}, "pattern"),
        ({"normalizer": ["nfc", "upper"]}, "normalizer[1]"),
        ({"normalizer": "nfc"}, "normalizer"),
        ({"initial_merges": [(b"a", b"bc")]}, "initial_merges[0]"),
        ({"initial_merges": [(b"a", b"b"), ("a", "b")]}, "initial_merges[1]"),
        ({"initial_merges": [b"a"]}, "initial_merges[0]"),
        ({"initial_merges": [(b"a", b"b"), (b"b", b"a"), (b"a", b"b")]}, "initial_merges[2]"),
        ({"initial_merges": [(b"a", b"b")], "special_tokens": ["<s>", "ab"]}, "special_tokens[1]"),
        ({"initial_merges": [(b" ", b"a")], "special_tokens": ["Ġa"]}, "special_tokens[0]"),
        ({"initial_merges": [(b"\xad", b"\xad")], "special_tokens": ["ŃŃ"]}, "special_tokens[0]"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else value,
)
def test_bad_settings_fail_before_any_work_with_their_field(options: dict[str, Any], field: str) -> None:
    def untouched() -> Iterator[str]:
        raise AssertionError("the corpus was read")
        yield ""

    with pytest.raises(InvalidOption) as raised:
        train(untouched(), **options)
    assert raised.value.place == {"field": field}
    assert not raised.value.message[0].isupper()
    assert not raised.value.message.endswith(".")


def test_two_initial_merges_of_one_token_are_kept(tmp_path: Path) -> None:
    merges = [(b"a", b"b"), (b"b", b"c"), (b"ab", b"c"), (b"a", b"bc")]
    made = train(iter(["abc"]), 270, initial_merges=merges, special_tokens=["Ġab"])
    made.save(tmp_path / "made")
    assert Tokenizer.open(tmp_path / "made").merges[: len(merges)] == merges


def test_integers_of_numpy_are_integers(tmp_path: Path) -> None:
    words = ["low lower lowest"]
    sizes = np.array([258, 260])
    small, large = train_sizes(iter(words), sizes, TrainSettings(min_frequency=np.int8(1)))
    assert (small.vocab_size, large.vocab_size) == (258, 260)
    large.save(tmp_path / "large")
    assert Tokenizer.open(tmp_path / "large").hash == train(iter(words), vocab_size=np.uint16(260)).hash
    recipe = Recipe(corpus=tuple(words), settings=TrainSettings(vocab_size=np.int64(260)), sizes=tuple(sizes))
    assert Recipe.from_dict(json.loads(json.dumps(recipe.to_dict()))) == recipe
    assert train_characters(iter(words), vocab_size=np.int64(12)) == train_characters(iter(words), vocab_size=12)
