"""The texts of rows, each a string or a list of words: their ids, with the spans and words of these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from tokenizer_core._kernel import Pipeline
from tokenizer_core.arguments import integer_of, tuple_of
from tokenizer_core.config import Unit
from tokenizer_core.errors import InvalidOption, TokdError, shown
from tokenizer_core.padding import IGNORED
from tokenizer_core.spans import length_in

Ids = npt.NDArray[np.uint32]
Spans = npt.NDArray[np.uint32]
WordIds = npt.NDArray[np.int32]
Labels = npt.NDArray[np.int64]

Text = str | Sequence[str]
"""A text, or the words that it is split into."""


NO_WORD = np.int32(-1)
"""In place of the word of an id that is in no text."""

NO_LABEL = np.int64(IGNORED)
"""The label of an id that is not the first of its word."""


@dataclass(frozen=True, slots=True)
class EncodedText:
    """The ids of one text.

    Attributes:
        ids: uint32, shape (n,).
        spans: uint32, shape (n, 2), each in the text, or in its word; ``None`` if they are not wanted.
        word_ids: int32, shape (n,), the number of the word of each id; ``None`` if they are not wanted.
        labels: int64, shape (n,), that of its word on the first id of each; ``None`` if there are none.
        length: of the text in the unit of the spans; 0 of words, each of which has places of its own.
    """

    ids: Ids
    spans: Spans | None = None
    word_ids: WordIds | None = None
    labels: Labels | None = None
    length: int = 0

    def part(self, start: int, end: int) -> EncodedText:
        """Return the same text with the ids from ``start`` to ``end`` alone."""
        of_ids: Any = self.spans, self.word_ids, self.labels
        cut = (None if values is None else values[start:end] for values in of_ids)
        spans, word_ids, labels = cut
        return EncodedText(self.ids[start:end], spans, word_ids, labels, self.length)


def encode_texts(
    pipeline: Pipeline,
    texts: Sequence[Text],
    *,
    special_tokens: str,
    threads: int,
    unit: Unit | None = None,
    word_ids: bool = False,
    word_labels: Sequence[Sequence[int]] | None = None,
) -> list[EncodedText]:
    """Encode strings, or lists of words, each of which is encoded as a text of its own, as ``tokenizers`` does.

    Args:
        unit: that of the spans, if they are wanted.
        word_ids: also number the pieces of strings.
        word_labels: of lists of words a label for each word.

    Raises:
        InvalidOption: a word is empty, a string stands among lists of words, or there is not a label for each word; and
            as ``encode``. The place is the ``row`` of the first text that fails, and the ``index`` of its word.
    """
    given: Any = texts
    if isinstance(given, Sequence) and len(given) and isinstance(given[0], list | tuple):
        encoded = _encode_words(pipeline, given, special_tokens, threads, unit)
        return encoded if word_labels is None else _labelled(encoded, given, word_labels)
    if word_labels is not None and len(given):
        raise InvalidOption("labels are those of words; give lists of words", field="word_labels")
    if unit is None and not word_ids:
        ids, ends = pipeline.encode_batch(given, special_tokens, False, threads)
        return [EncodedText(ids[start:end]) for start, end in pairwise(ends.tolist())]
    made = []
    for row, text in enumerate(given):
        try:
            made.append(_encode_string(pipeline, text, special_tokens, unit, word_ids=word_ids))
        except TokdError as error:
            error.place.setdefault("row", row)
            raise
    return made


def _encode_string(
    pipeline: Pipeline, text: str, special_tokens: str, unit: Unit | None, *, word_ids: bool
) -> EncodedText:
    if not word_ids:
        assert unit is not None
        return EncodedText(*pipeline.offsets(text, unit, special_tokens, False), length=length_in(text, unit))
    ids, words = pipeline.word_ids(text, special_tokens)
    numbers = words.view(np.int32)
    if unit is None:
        return EncodedText(ids, None, numbers)
    spans = pipeline.offsets(text, unit, special_tokens, False)[1]
    return EncodedText(ids, spans, numbers, length=length_in(text, unit))


def _encode_words(
    pipeline: Pipeline, texts: Sequence[Any], special_tokens: str, threads: int, unit: Unit | None
) -> list[EncodedText]:
    rows = [tuple_of(words, f"texts[{row}]") for row, words in enumerate(texts)]
    for row, own in enumerate(rows):
        for at, word in enumerate(own):
            if not isinstance(word, str) or not word:
                raise InvalidOption(f"a word is a string that is not empty, not {shown(word)}", row=row, index=at)
    starts = [*accumulate(map(len, rows), initial=0)]
    words = [word for row in rows for word in row]
    try:
        ids, ends = pipeline.encode_batch(words, special_tokens, False, threads)
    except TokdError as error:
        if (number := error.place.get("row")) is not None:
            row = int(np.searchsorted(starts, number, "right")) - 1
            error.place |= {"row": row, "index": number - starts[row]}
        raise
    made = []
    for start, end in pairwise(starts):
        bounds = ends[start : end + 1]
        numbers = np.repeat(np.arange(end - start, dtype=np.int32), np.diff(bounds))
        spans = None
        if unit is not None:
            each = (pipeline.offsets(word, unit, special_tokens, False)[1] for word in words[start:end])
            spans = np.concatenate([np.empty((0, 2), np.uint32), *each])
        made.append(EncodedText(ids[bounds[0] : bounds[-1]], spans, numbers))
    return made


def _labelled(
    encoded: list[EncodedText], texts: Sequence[Sequence[str]], word_labels: Sequence[Sequence[int]]
) -> list[EncodedText]:
    if len(word_labels) != len(texts):
        wrong = f"there are {len(texts)} texts, and labels for the words of {len(word_labels)}"
        raise InvalidOption(wrong, field="word_labels")
    made = []
    for row, (text, words, given) in enumerate(zip(encoded, texts, word_labels, strict=True)):
        if len(given) != len(words):
            wrong = f"there are {len(words)} words and {len(given)} labels; give one for each word"
            raise InvalidOption(wrong, field="word_labels", row=row)
        values = [integer_of(label, f"word_labels[{row}][{at}]") for at, label in enumerate(given)]
        labels = np.full(len(text.ids), NO_LABEL)
        numbers, firsts = np.unique(text.word_ids, return_index=True)  # type: ignore[call-overload]
        try:
            labels[firsts] = np.array(values, np.int64)[numbers]
        except OverflowError:
            raise InvalidOption("a label has more than 64 bits", field="word_labels", row=row) from None
        made.append(replace(text, labels=labels))
    return made
