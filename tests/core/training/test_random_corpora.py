"""``train`` on random corpora under random options, against Hugging Face's trainer and against the definition."""

from __future__ import annotations

import json
import random
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
import tokenizers
from tokenizers import models, pre_tokenizers, trainers

from tests.support.corpora import TIE_BREAKS
from tokenizer_core import train
from tokenizer_core.reference.byte_alphabet import from_entry

SEED = 20_26
Pair = tuple[bytes, bytes]


def random_text(rng: random.Random) -> str:
    """Make a text of few letters, with long runs and many ties."""
    letters = rng.choice(("ab", "abc ", "aé日 ", "the  \n'sx1", "a"))
    return "".join(rng.choice(letters) * rng.choice((1, 1, 1, 2, 3, 17)) for _ in range(rng.randint(1, 200)))


def test_merges_and_ids_are_those_of_hugging_face_on_random_corpora() -> None:
    rng = random.Random(SEED)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    for case in range(120):
        texts = [random_text(rng) for _ in range(rng.randint(1, 5))]
        size, least = rng.randint(256, 400), rng.choice((0, 1, 2, 5))
        theirs = tokenizers.Tokenizer(models.BPE())
        theirs.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        trainer = trainers.BpeTrainer(
            vocab_size=size, min_frequency=least, initial_alphabet=alphabet, show_progress=False
        )
        theirs.train_from_iterator(texts, trainer)
        model = json.loads(theirs.to_str())["model"]
        ours = train(iter(texts), size, pattern="gpt2", tie_break="lowest_ids", min_frequency=least)
        merges = [(from_entry(left), from_entry(right)) for left, right in model["merges"]]
        assert ours.merges == merges, (SEED, case)
        assert dict(ours.parts.vocabulary.token_texts()) == model["vocab"], (SEED, case)


def definition(
    words: dict[bytes, int], size: int, tie_break: str, least: int, longest: int | None, initial: list[Pair]
) -> list[Pair]:
    """Merge by counting every pair anew, after the initial merges."""
    order = [token for token, _ in sorted(BYTES.items(), key=lambda item: item[1])]
    split = {word: [bytes([byte]) for byte in word] for word in words}
    for pair in initial:
        split = {word: merged(parts, pair) for word, parts in split.items()}
        if pair[0] + pair[1] not in order:
            order.append(pair[0] + pair[1])
    merges = list(initial)
    while len(order) < size:
        counts: Counter[Pair] = Counter()
        for word, parts in split.items():
            for pair in pairwise(parts):
                counts[pair] += words[word]
        allowed = {
            pair: count
            for pair, count in counts.items()
            if count >= max(least, 1) and (longest is None or len(pair[0] + pair[1]) <= longest)
        }
        if not allowed:
            break
        best = max(allowed.values())
        tied = [pair for pair, count in allowed.items() if count == best]
        if tie_break == "lowest_ids":
            pair = min(tied, key=lambda one: (order.index(one[0]), order.index(one[1])))
        else:
            pair = min(tied) if tie_break == "lexicographic_low" else max(tied)
        split = {word: merged(parts, pair) for word, parts in split.items()}
        if pair not in merges:
            merges.append(pair)
        if pair[0] + pair[1] not in order:
            order.append(pair[0] + pair[1])
    return merges


def merged(parts: list[bytes], pair: Pair) -> list[bytes]:
    """Merge a pair from left to right."""
    made: list[bytes] = []
    place = 0
    while place < len(parts):
        if tuple(parts[place : place + 2]) == pair:
            made.append(pair[0] + pair[1])
            place += 2
        else:
            made.append(parts[place])
            place += 1
    return made


BYTES = {token: id for id, token in enumerate(train(iter(["x"]), 256).token_bytes(id) for id in range(256))}


@pytest.mark.parametrize("tie_break", TIE_BREAKS)
def test_merges_are_those_of_the_definition_under_random_options(tie_break: Any) -> None:
    rng = random.Random(SEED)
    for case in range(60):
        words = Counter(random_text(rng) for _ in range(rng.randint(1, 4)))
        size, least, longest = rng.randint(262, 300), rng.choice((0, 1, 2, 5)), rng.choice((None, None, 2, 3, 7))
        initial: list[Pair] = rng.choice(([], [(b"a", b"b")], [(b"a", b"a"), (b"aa", b"b"), (b" ", b"t")]))
        options: dict[str, Any] = {
            "tie_break": tie_break,
            "min_frequency": least,
            "max_token_length": longest,
            "initial_merges": initial,
        }
        ours = train(words.elements(), size, pattern=None, **options)
        weighted = {word.encode(): count for word, count in words.items()}
        truth = definition(weighted, size, tie_break, least, longest, initial)
        assert ours.merges == truth, (SEED, case, options)
