"""Character-level training against the definition on lists of characters, and what Hugging Face makes of its files."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tokenizers.models import BPE

from tokenizer_core import InvalidOption, Unsupported, train_characters
from tokenizer_core.training.settings import MAX_VOCAB_SIZE


def definition(text: str, vocab_size: int, mark: str, limit: int | None, longest: int | None) -> list[tuple[str, str]]:
    """Merge characters by counting every pair anew; ties go to the least pair of UTF-8 strings."""
    words = Counter(text.split()) if mark else Counter({text: 1})
    characters = Counter(character for word, times in words.items() for character in word for _ in range(times))
    kept = set(sorted(characters, key=lambda character: (-characters[character], character))[:limit])
    split = [[*word[:-1], word[-1] + mark] for word in words]
    known = {token for word in split for token in word if token[0] in kept} | kept
    merges: list[tuple[str, str]] = []
    while len(known) < vocab_size:
        counts: Counter[tuple[str, str]] = Counter()
        for word, times in zip(split, words.values(), strict=True):
            for left, right in pairwise(word):
                length = len((left + right).removesuffix(mark))
                if left[0] in kept and right[0] in kept and (longest is None or length <= longest):
                    counts[left, right] += times
        if not counts:
            break
        best = min(counts, key=lambda pair: (-counts[pair], pair[0].encode(), pair[1].encode()))
        for word in split:
            place = 0
            while place + 1 < len(word):
                if (word[place], word[place + 1]) == best:
                    word[place : place + 2] = ["".join(best)]
                place += 1
        merges.append(best)
        known.add("".join(best))
    return merges


def test_the_textbook_example() -> None:
    text = " ".join(["low"] * 5 + ["lower"] * 2 + ["newest"] * 6 + ["widest"] * 3)
    trained = train_characters(iter([text]), 30)
    assert trained.merges[:4] == (("e", "s"), ("es", "t</w>"), ("l", "o"), ("e", "w"))
    assert train_characters(iter(["I work"]), 30, end_of_word="").merges == (("o", "r"), ("or", "k"), ("w", "ork"))


@pytest.mark.parametrize("mark", ["</w>", "_", ""])
@pytest.mark.parametrize("limit", [None, 3])
@pytest.mark.parametrize("longest", [None, 2])
def test_merges_are_those_of_the_definition(mark: str, limit: int | None, longest: int | None) -> None:
    rng = random.Random(20_26)
    for case in range(40):
        text = "".join(rng.choices("abcdé日 " if mark else "abcdé日", k=rng.randint(1, 120))).strip() or "a"
        size = rng.choice((14, 20, 60))
        trained = train_characters(iter([text]), size, end_of_word=mark, limit_alphabet=limit, max_token_length=longest)
        assert list(trained.merges) == definition(text, size, mark, limit, longest), (case, text, size)
        assert len(set(trained.tokens)) == len(trained.tokens) <= size


def test_hugging_face_reads_the_files(tmp_path: Path) -> None:
    trained = train_characters(iter(["low lower newest widest low newest"]), 40)
    trained.save(tmp_path)
    model = BPE.from_file(str(tmp_path / "vocab.json"), str(tmp_path / "merges.txt"), end_of_word_suffix="</w>")
    assert [token.value for token in model.tokenize("newest")] == ["newest</w>"]
    assert {model.id_to_token(id): id for id in range(len(trained.tokens))} == {
        token: id for id, token in enumerate(trained.tokens)
    }


SPACES = [character for character in map(chr, range(0x110000)) if character.isspace()]


@pytest.mark.parametrize("mark", ["</w>", ""])
@pytest.mark.parametrize("space", SPACES, ids=ascii)
def test_no_white_space_of_any_kind_comes_into_a_merge(tmp_path: Path, space: str, mark: str) -> None:
    for text in (f"low{space}lower", f"{space * 2}low{space * 3}", f"low{space}\x1c\n {space}low"):
        trained = train_characters(iter([text * 9]), 60, end_of_word=mark)
        trained.save(tmp_path)
        assert ("l", "o") in trained.merges
        assert {part for merge in trained.merges for part in merge if part.split() != [part]} == set()
        # What slow readers make of a line, and what Hugging Face's engine does.
        lines = (tmp_path / "merges.txt").read_text("utf-8").splitlines()[1:]
        assert [tuple(line.split()) for line in lines] == list(trained.merges)
        BPE.from_file(str(tmp_path / "vocab.json"), str(tmp_path / "merges.txt"))


def test_a_vocabulary_has_as_many_characters_and_products_as_any_has_tokens() -> None:
    assert train_characters(iter(["low low"]), MAX_VOCAB_SIZE).merges[0] == ("l", "o")
    with pytest.raises(InvalidOption, match=f"at most {MAX_VOCAB_SIZE}, not {MAX_VOCAB_SIZE + 1}"):
        train_characters(iter(["low low"]), MAX_VOCAB_SIZE + 1)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"vocab_size": 0}, "vocab_size"),
        ({"vocab_size": "many"}, "vocab_size"),
        ({"vocab_size": 3}, "vocab_size"),
        ({"vocab_size": 10**9}, "vocab_size"),
        ({"limit_alphabet": 0}, "limit_alphabet"),
        ({"end_of_word": "< /w>"}, "end_of_word"),
        ({"end_of_word": "wor"}, "end_of_word"),
        ({"min_frequency": -1}, "min_frequency"),
        ({"pattern": "("}, "pattern"),
    ],
    ids=str,
)
def test_bad_settings_are_refused_with_their_field(options: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidOption) as raised:
        train_characters(iter(["some words"]), **options)
    assert raised.value.place == {"field": field}


@pytest.mark.parametrize(
    ("text", "end_of_word", "pattern"),
    [("a  b   c    d", "", r"\s+|\S+"), ("low low lower", "</w>", None), ("#version1 #version1", "", r"\s+|\S+")],
)
def test_merges_that_no_line_can_hold_are_refused_before_anything_is_written(
    tmp_path: Path, text: str, end_of_word: str, pattern: str | None
) -> None:
    trained = train_characters(iter([text * 3]), 60, pattern=pattern, end_of_word=end_of_word)
    with pytest.raises(Unsupported) as refused:
        trained.save(tmp_path / "made")
    assert refused.value.place["field"].startswith("merges[")
    assert not (tmp_path / "made").exists()
