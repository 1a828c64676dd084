"""Subword regularization: drawn ids have the exact distribution, and depend on the seed and the row alone."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer as Peer
from tokenizers.models import BPE, Unigram, WordLevel

from tests.support import families, tiny
from tests.support.data import needs_data, shared
from tests.support.vocabularies import tiny_tokenizer
from tokenizer_core import MAX_NBEST, Tokenizer
from tokenizer_core.errors import InvalidOption, ReservedLiteral, UncoveredText
from tokenizer_core.reference.sampling import all_ways, dropout_distribution, power_distribution

ROWS = 40_000
PINNED_DROPOUT = [b"t|h|e| |t|o|k|e|n|s", b"t|he| t|oken|s", b"t|he| t|o|ken|s"]
PINNED_ALPHA = [[1, 2, 1, 2, 3], [3, 5, 2], [5, 2, 3], [3, 5, 2]]
MAX_DEVIATION = 4.5
"""Standard deviations that the share of one segmentation may be off: one in 300,000 is by chance."""

UNIGRAM = (
    ("<unk>", 0.0), ("a", -2.0), ("b", -2.5), ("ab", -3.0), ("ba", -4.0), ("aba", -4.5), ("bab", -5.5), ("é", -3.5),
    ("aé", -4.25), ("日本", -6.0), ("日", -7.0),
)  # fmt: skip


def dropout_truth(text: str, probability: float) -> dict[tuple[int, ...], float]:
    """Return the distribution over the ids of the tiny vocabulary; a byte is the character of its number."""
    ranks = {(left.decode("latin-1"), right.decode("latin-1")): at for at, (left, right) in enumerate(tiny.merges())}
    ids = {token.decode("latin-1"): id for id, token in enumerate(tiny.tokens())}
    truth = dropout_distribution(tuple(text.encode().decode("latin-1")), ranks, probability)
    assert sum(truth.values()) == pytest.approx(1)
    return {tuple(ids[token] for token in way): share for way, share in truth.items()}


def check_shares(drawn: Counter[Any], truth: Mapping[Any, float]) -> None:
    """Hold what was drawn against exact probabilities: each share, and that there is nothing else."""
    rows = drawn.total()
    assert set(drawn) <= set(truth)
    for way, share in truth.items():
        allowed = MAX_DEVIATION * (rows * share * (1 - share)) ** 0.5 + 1e-9
        assert abs(drawn[way] - rows * share) <= max(allowed, 6), (way, drawn[way], rows * share)


def draw(tokenizer: Tokenizer, text: str, rows: int = ROWS, **options: Any) -> Counter[tuple[int, ...]]:
    return Counter(tuple(row.tolist()) for row in tokenizer.encode_batch([text] * rows, **options))


@pytest.fixture(scope="module")
def bpe() -> Tokenizer:
    return tiny_tokenizer()


@pytest.fixture(scope="module")
def unigram(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    return families.opened(Peer(Unigram(list(UNIGRAM), 0)), tmp_path_factory.mktemp("unigram"))


@cache
def ids_of_unigram() -> dict[str, int]:
    return {entry: id for id, (entry, _) in enumerate(UNIGRAM)}


def unigram_truth(text: str) -> dict[tuple[int, ...], float]:
    """Return the scores of all segmentations; unknown characters next to each other are one token."""
    scores = dict(UNIGRAM[1:])
    ways = all_ways(text, scores, min(score for _, score in UNIGRAM) - 10)
    found: dict[tuple[int, ...], float] = {}
    for way, score in ways.items():
        ids: list[int] = []
        for token in way:
            id = ids_of_unigram().get(token, 0)
            if id or ids[-1:] != [0]:
                ids.append(id)
        assert tuple(ids) not in found
        found[tuple(ids)] = score
    return found


@pytest.mark.parametrize("probability", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("text", [" the", "tokens", "aaaaaa", "日本"])
def test_dropout_of_bytes_has_the_distribution_of_its_definition(bpe: Tokenizer, probability: float, text: str) -> None:
    truth = dropout_truth(text, probability)
    assert len(truth) > 3
    check_shares(draw(bpe, text, dropout=probability, seed=11), truth)


def test_dropout_of_characters_has_the_distribution_of_its_definition(tmp_path: Path) -> None:
    entries = ["<unk>", "a", "b", "é", "ab", "aé", "bab", "abab"]
    merges = [("a", "b"), ("a", "é"), ("b", "ab"), ("ab", "ab")]
    vocabulary = {entry: id for id, entry in enumerate(entries)}
    tokenizer = families.opened(Peer(BPE(vocabulary, merges, unk_token="<unk>", fuse_unk=True)), tmp_path)
    truth = dropout_distribution(tuple("ababaé"), {merge: rank for rank, merge in enumerate(merges)}, 0.3)
    drawn = draw(tokenizer, "ababaé??", dropout=0.3, seed=5)
    check_shares(drawn, {(*(vocabulary[token] for token in way), 0): share for way, share in truth.items()})


def test_a_piece_is_parted_where_merges_never_join_what_stands_on_both_sides(tmp_path: Path) -> None:
    entries = ["a", "b", "▁", "é", "ab", "▁a", "▁ab", "▁é", "bb", *(f"<0x{byte:02X}>" for byte in range(256))]
    merges = [("a", "b"), ("▁", "ab"), ("▁", "a"), ("▁", "é"), ("b", "b")]
    vocabulary = {entry: id for id, entry in enumerate(entries)}
    tokenizer = families.opened(Peer(BPE(vocabulary, merges, byte_fallback=True)), tmp_path)
    ranks = {merge: rank for rank, merge in enumerate(merges)}
    # `b` and the mark are joined by no merge, and neither are `a` and `a`, nor `é` and anything behind it.
    truth = {(): 1.0}
    for part in ("▁ab", "▁a", "abb", "▁é", "日".encode(), "b"):
        if isinstance(part, bytes):
            ways: dict[tuple[int, ...], float] = {tuple(vocabulary[f"<0x{byte:02X}>"] for byte in part): 1.0}
        else:
            found = dropout_distribution(tuple(part), ranks, 0.4)
            ways = {tuple(vocabulary[token] for token in way): share for way, share in found.items()}
        truth = {(*before, *way): one * other for before, one in truth.items() for way, other in ways.items()}
    check_shares(draw(tokenizer, "▁ab▁aabb▁é日b", dropout=0.4, seed=8), truth)


def test_dropout_is_that_of_hugging_face(tmp_path: Path) -> None:
    peer = Peer(BPE(tiny.vocab(), [tuple(line.split()) for line in tiny.merges_txt().splitlines()[1:]], dropout=0.4))
    theirs = Counter(tuple(peer.encode("tokens", add_special_tokens=False).ids) for _ in range(ROWS))
    check_shares(theirs, dropout_truth("tokens", 0.4))


def test_no_dropout_is_encode_and_full_dropout_is_bytes(bpe: Tokenizer) -> None:
    tokenizer, text = bpe, tiny.TEXT
    assert tokenizer.encode(text, dropout=0.0, seed=1).tolist() == tokenizer.encode(text).tolist()
    bytes_ = [tokenizer.token_bytes(id) for id in tokenizer.encode(text, dropout=1.0, seed=1).tolist()]
    assert bytes_ == [bytes([byte]) for byte in text.encode()]
    almost = tokenizer.encode(text, dropout=1e-12, seed=1)
    assert almost.tolist() == tokenizer.encode(text).tolist()


@pytest.mark.parametrize("text", ["ababab", "baé", "aé日本b", "xay日z"])
@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_alpha_has_the_exact_distribution(unigram: Tokenizer, text: str, alpha: float) -> None:
    drawn = draw(unigram, text, alpha=alpha, seed=3)
    check_shares(drawn, power_distribution(unigram_truth(text), alpha))


@pytest.mark.parametrize("text", ["ababab", "baé", "aé日本b", "xay日z", "", "abababababab"])
@pytest.mark.parametrize("n", [1, 3, 20, MAX_NBEST])
def test_the_best_segmentations_are_those_of_an_enumeration(unigram: Tokenizer, text: str, n: int) -> None:
    truth = unigram_truth(text)
    best = sorted(truth.values(), reverse=True)[:n]
    found = unigram.nbest(text, n)
    assert [each.score for each in found] == pytest.approx(best)
    assert len({tuple(each.ids.tolist()) for each in found}) == len(found)
    for each in found:
        assert truth[tuple(each.ids.tolist())] == pytest.approx(each.score)


def test_every_seed_is_a_draw_of_its_own(bpe: Tokenizer) -> None:
    drawn = Counter(tuple(bpe.encode(" tokens", dropout=0.3, seed=seed).tolist()) for seed in range(ROWS))
    check_shares(drawn, dropout_truth(" tokens", 0.3))


def test_a_draw_among_the_best_has_their_exact_distribution(unigram: Tokenizer) -> None:
    best = {tuple(each.ids.tolist()): each.score for each in unigram.nbest("abababab", 7)}
    drawn = draw(unigram, "abababab", alpha=0.5, nbest=7, seed=9)
    check_shares(drawn, power_distribution(best, 0.5))  # type: ignore[arg-type]
    only = draw(unigram, "abababab", rows=50, alpha=0.5, nbest=1, seed=9)
    assert set(only) == {tuple(unigram.encode("abababab").tolist())}


@needs_data
def test_the_distributions_of_sentencepiece() -> None:
    lines = shared("families/sampling.jsonl").read_text("utf-8").splitlines()
    for case in map(json.loads, lines):
        tokenizer = families.ours(case["model"])
        drawn = draw(tokenizer, case["text"], alpha=case["alpha"], seed=17)
        rows = Counter({tuple(tokenizer.token_bytes(id).decode() for id in ids): n for ids, n in drawn.items()})
        listed = {tuple(way): share for way, share in case["probability"]}
        for way, share in listed.items():
            allowed = MAX_DEVIATION * (ROWS * share * (1 - share)) ** 0.5
            assert abs(rows[way] - ROWS * share) <= max(allowed, 6), (case["text"], way)
        assert len(rows) <= case["segmentations"]
        assert len(tokenizer.nbest(case["text"], MAX_NBEST)) == case["segmentations"]


def test_rows_draw_for_themselves_whatever_the_threads(bpe: Tokenizer, unigram: Tokenizer) -> None:
    ways: list[tuple[Tokenizer, dict[str, Any]]] = [
        (bpe, {"dropout": 0.2}),
        (unigram, {"alpha": 0.2}),
        (unigram, {"alpha": 0.2, "nbest": 9}),
    ]
    for tokenizer, options in ways:
        text = "abab aé ba" if tokenizer is unigram else tiny.TEXT
        texts = [text * (1 + row % 7) for row in range(4000)]
        one = tokenizer.encode_batch(texts, threads=1, seed=42, **options)
        four = tokenizer.encode_batch(texts, threads=4, seed=42, **options)
        assert one.ids.tolist() == four.ids.tolist()
        assert one.row_offsets.tolist() == four.row_offsets.tolist()
        # Neither the rows before nor what a cache knows change a row.
        assert tokenizer.encode_batch(texts[:5], seed=42, **options)[4].tolist() == one[4].tolist()
        assert tokenizer.encode(texts[0], seed=42, **options).tolist() == one[0].tolist()
        assert one[0].tolist() != tokenizer.encode_batch(texts[:1], seed=43, **options)[0].tolist()
        assert len({tuple(one[row].tolist()) for row in range(0, 700, 7)}) > 5


def test_a_seed_gives_these_ids_on_every_machine(bpe: Tokenizer, unigram: Tokenizer) -> None:
    rows = bpe.encode_batch(["the tokens"] * 3, dropout=0.3, seed=1)
    assert [b"|".join(map(bpe.token_bytes, row.tolist())) for row in rows] == PINNED_DROPOUT
    rows = unigram.encode_batch(["ababab"] * 4, alpha=0.5, seed=2**64 - 1)
    assert [row.tolist() for row in rows] == PINNED_ALPHA


def test_what_is_drawn_is_neither_taken_from_a_cache_nor_put_there(bpe: Tokenizer) -> None:
    truth = bpe.encode(tiny.TEXT).tolist()
    before = bpe.cache_statistics.pieces
    for seed in range(20):
        drawn = bpe.encode(tiny.TEXT, dropout=0.5, seed=seed).tolist()
        assert drawn != truth
        assert bpe.decode(drawn) == tiny.TEXT
    assert bpe.cache_statistics.pieces == before
    assert bpe.encode(tiny.TEXT).tolist() == truth


def test_special_tokens_and_the_rest_of_the_pipeline_are_as_ever(bpe: Tokenizer) -> None:
    end = bpe.special_tokens["<|end|>"]
    ids = bpe.encode("the<|end|>the", special_tokens="parse", dropout=0.5, seed=1).tolist()
    assert ids.count(end) == 1
    assert bpe.decode(ids) == "the<|end|>the"
    with pytest.raises(ReservedLiteral) as caught:
        bpe.encode_batch(["the", "the<|end|>"], dropout=0.5, seed=1)
    assert (caught.value.place["row"], caught.value.place["span"]) == (1, [3, 10])


def test_text_without_a_token_is_refused_with_its_place(tmp_path: Path) -> None:
    tokenizer = families.opened(Peer(Unigram([("a", -1.0), ("ab", -2.0)], None)), tmp_path)
    assert draw(tokenizer, "aab", rows=50, alpha=0.1, seed=1).keys() == {(0, 1)}
    for options in ({"alpha": 1.0, "seed": 1}, {"alpha": 1.0, "nbest": 3, "seed": 1}):
        with pytest.raises(UncoveredText) as caught:
            tokenizer.encode("aabb", **options)  # type: ignore[arg-type]
        assert caught.value.place["span"] == [3, 4]
    with pytest.raises(UncoveredText):
        tokenizer.nbest("aabb", 3)


@pytest.mark.parametrize(
    ("model", "options", "field"),
    [
        ("bpe", {"dropout": 0.1}, "seed"),
        ("bpe", {"seed": 1}, "seed"),
        ("bpe", {"dropout": 1.1, "seed": 1}, "dropout"),
        ("bpe", {"dropout": float("nan"), "seed": 1}, "dropout"),
        ("bpe", {"dropout": "0.1", "seed": 1}, "dropout"),
        ("bpe", {"dropout": True, "seed": 1}, "dropout"),
        ("bpe", {"dropout": 0.1, "seed": -1}, "seed"),
        ("bpe", {"dropout": 0.1, "seed": 2**64}, "seed"),
        ("bpe", {"dropout": 0.1, "seed": 1.0}, "seed"),
        ("bpe", {"dropout": 0.1, "alpha": 0.1, "seed": 1}, "alpha"),
        ("bpe", {"dropout": 0.1, "nbest": 2, "seed": 1}, "nbest"),
        ("bpe", {"alpha": 0.1, "seed": 1}, "alpha"),
        ("unigram", {"dropout": 0.1, "seed": 1}, "dropout"),
        ("unigram", {"nbest": 2, "seed": 1}, "nbest"),
        ("unigram", {"alpha": -0.1, "seed": 1}, "alpha"),
        ("unigram", {"alpha": float("inf"), "seed": 1}, "alpha"),
        ("unigram", {"alpha": 1.0, "nbest": 0, "seed": 1}, "nbest"),
        ("unigram", {"alpha": 1.0, "nbest": -2, "seed": 1}, "nbest"),
        ("unigram", {"alpha": 1.0, "nbest": MAX_NBEST + 1, "seed": 1}, "nbest"),
        ("words", {"dropout": 0.1, "seed": 1}, "dropout"),
        ("words", {"alpha": 0.1, "seed": 1}, "alpha"),
    ],
)
def test_a_wrong_option_is_refused_by_name(
    bpe: Tokenizer, unigram: Tokenizer, tmp_path: Path, model: str, options: dict[str, Any], field: str
) -> None:
    words = families.opened(Peer(WordLevel({"a": 0, "[UNK]": 1}, unk_token="[UNK]")), tmp_path)
    tokenizer = {"bpe": bpe, "unigram": unigram, "words": words}[model]
    for text in ("a", ""):
        with pytest.raises(InvalidOption) as caught:
            tokenizer.encode(text, **options)
        assert caught.value.place["field"] == field
        with pytest.raises(InvalidOption) as caught:
            tokenizer.encode_batch([text], **options)
        assert caught.value.place["field"] == field


@pytest.mark.parametrize("n", [0, -1, MAX_NBEST + 1, True, 1.5])
def test_a_number_of_segmentations_that_cannot_be_is_refused(unigram: Tokenizer, n: Any) -> None:
    with pytest.raises(InvalidOption) as caught:
        unigram.nbest("ab", n)
    assert caught.value.place["field"] == "n"


def test_only_unigram_lists_segmentations(bpe: Tokenizer) -> None:
    with pytest.raises(InvalidOption) as caught:
        bpe.nbest("ab", 2)
    assert caught.value.place["field"] == "n"


def test_a_million_characters_without_a_space_take_seconds(bpe: Tokenizer, unigram: Tokenizer) -> None:
    seconds = 20.0
    ways: list[tuple[Tokenizer, dict[str, Any]]] = [
        *((bpe, {"dropout": dropout}) for dropout in (0.1, 0.99, 0.99999)),
        *((unigram, {"alpha": alpha}) for alpha in (0.0, 0.5, 100.0)),
        (unigram, {"alpha": 0.5, "nbest": MAX_NBEST}),
    ]
    for tokenizer, options in ways:
        text = "tokens" * 170_000 if tokenizer is bpe else "aba" * 340_000
        start = time.process_time()
        ids = tokenizer.encode(text, seed=1, **options)
        assert time.process_time() - start < seconds, options
        assert tokenizer.decode(ids).replace(" ", "") == text
