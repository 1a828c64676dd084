"""White space can be left out of spans; a special token round a text has the same span everywhere."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as HuggingFace

from tests.core.formats.small import added, document, write
from tokenizer_core import Offsets, Tokenizer, Unit, length_in
from tokenizer_core.reference.offsets import width

TEXTS = ("hello the lo", "  hello  the ", " ", "", "lo lo   hello", "hello")
ROBERTA = {"type": "RobertaProcessing", "sep": ["<sep>", 265], "cls": ["<cls>", 264], "add_prefix_space": False}


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> tuple[Tokenizer, HuggingFace]:
    specials = [added(264, "<cls>"), added(265, "<sep>")]
    post = {**ROBERTA, "trim_offsets": True}
    source = write(tmp_path_factory.mktemp("a"), document(post_processor=post, added_tokens=specials))
    return Tokenizer.from_hf(source), HuggingFace.from_file(str(Path(source) / "tokenizer.json"))


@pytest.mark.parametrize("text", TEXTS)
def test_trimmed_spans_are_those_of_trim_offsets(tokenizer: tuple[Tokenizer, HuggingFace], text: str) -> None:
    own, peer = tokenizer
    found = own.offsets(text).trimmed()
    assert found.ids.tolist() == peer.encode(text, add_special_tokens=False).ids
    wanted = peer.encode(text, add_special_tokens=False).offsets
    # Where nothing is left, the peer puts some at 0.
    assert [tuple(span) for span in found.spans.tolist() if span[0] < span[1]] == [s for s in wanted if s[0] < s[1]]


@given(
    text=st.text(st.sampled_from("ab \t\n\u3000\xa0\x1cé🙂"), max_size=12),
    cuts=st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=6),
    unit=st.sampled_from(["byte", "char", "utf16"]),
)
def test_a_trimmed_span_is_its_text_without_white_space_at_its_ends(
    text: str, cuts: list[tuple[int, int]], unit: Unit
) -> None:
    places = [sum(width(c, unit) for c in text[:at]) for at in range(len(text) + 1)]
    assert length_in(text, unit) == places[-1]
    spans = [tuple(sorted((min(a, len(text)), min(b, len(text))))) for a, b in cuts]
    given_spans = np.array([[places[a], places[b]] for a, b in spans], np.uint32).reshape(-1, 2)
    found = Offsets(np.zeros(len(spans), np.uint32), given_spans, text, unit).trimmed().spans.tolist()
    for (start, end), span in zip(spans, found, strict=True):
        # Unicode's white space: Python counts four separators besides.
        part = text[start:end].replace("\x1c", "x")
        left = end if not part.strip() else start + len(part) - len(part.lstrip())
        right = max(left, start + len(part.rstrip()))
        assert span == [places[left], places[right]], (start, end)


def test_a_special_token_round_a_text_stands_at_its_end_alone_and_in_pairs(
    tokenizer: tuple[Tokenizer, HuggingFace],
) -> None:
    own, _ = tokenizer
    units: tuple[Unit, ...] = ("byte", "char", "utf16")
    for unit in units:
        for text in (*TEXTS, "é🙂 "):
            alone = own.offsets(text, unit, add_special_tokens=True)
            end = length_in(text, unit)
            assert alone.spans[[0, -1]].tolist() == [[0, 0], [end, end]]
            single = own.encode_pair(text, None, unit=unit)
            assert single.spans is not None
            assert single.spans.tolist() == alone.spans.tolist()
            pair = own.encode_pair(text, "🙂 lo", unit=unit)
            assert pair.spans is not None
            second = length_in("🙂 lo", unit)
            assert pair.spans[pair.sequence_ids < 0].tolist() == [[0, 0], [end, end], [end, end], [second, second]]
