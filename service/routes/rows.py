"""The rows of ``/encode``: ids of texts, pairs and chats, cut and padded, and the sources that parts are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from service.errors import ServiceError
from service.routes.texts import Array, Ids, token_texts
from service.schemas.parts import PartName
from service.schemas.requests import EncodeRequest
from tokenizer_core import (
    Cut,
    EncodedChat,
    EncodedPair,
    Row,
    Side,
    Tokenizer,
    pad_id_of,
    padded_width,
    shape_rows,
)

IGNORED_LABEL = -100
_WHOLE = Cut("right", 0, 0)


class Encoded(NamedTuple):
    """The subject of a request as ids.

    Attributes:
        ids: of each row.
        sources: of each row what ``PARTS`` make the rest from.
        shape: whether the answer is about one or many, as ``write`` takes it.
        parts: the names of the parts to make.
        frame: the ids at both ends of every row that are not cut; ``None`` if rows are neither cut nor padded.
        more: further fields of the answer.
        template: the hash of the chat template.
    """

    ids: Sequence[Ids]
    sources: Sequence[Any]
    shape: str | list[str]
    parts: tuple[PartName, ...]
    frame: tuple[int, int] | None = (0, 0)
    more: Mapping[str, list[Any]] = {}
    template: str | None = None


class TextSource:
    """A text; its spans are in characters, and there if a part needs them."""

    def __init__(self, tokenizer: Tokenizer, spans: Any = None) -> None:
        self.tokens, self.spans = partial(token_texts, tokenizer), spans

    def labels(self, row: Row) -> Array:
        """Return the ids to learn, and -100 elsewhere."""
        return np.where(row.attention_mask(), row.ids.astype(np.int64), IGNORED_LABEL)

    def special_tokens_mask(self, row: Row) -> Array:
        """Return 1 for padding and what is special."""
        return row.special_tokens_mask()

    def truncated(self, row: Row) -> Any:
        """Say what truncation took: whole ids, so never a part of a token."""
        cut = row.cut
        if not cut.removed:
            return None
        taken = self.spans[cut.start : cut.start + cut.removed]
        return {"side": cut.side, "count": cut.removed, "span": [int(taken[:, 0].min()), int(taken[:, 1].max())]}


class PairSource(TextSource):
    """A pair, words, or a text whose segments are wanted: it is cut already, since truncation takes turns in a pair."""

    def __init__(self, tokenizer: Tokenizer, pair: EncodedPair, side: Side) -> None:
        super().__init__(tokenizer, pair.spans)
        self.pair, self._side = pair, side

    def labels(self, row: Row) -> Array:
        """Return the labels of words, or the ids to learn, and -100 elsewhere."""
        return super().labels(row) if self.pair.labels is None else row.carry(self.pair.labels, IGNORED_LABEL)

    def special_tokens_mask(self, row: Row) -> Array:
        """Return 1 for padding and what stands round the texts."""
        return row.carry(self.pair.special_tokens_mask(), 1)

    def truncated(self, _: Row) -> Any:
        """Say what truncation took of each text."""
        if not any(self.pair.removed):
            return None
        taken = zip(self.pair.removed, self.pair.removed_spans, strict=True)
        return [
            None if span is None else {"side": self._side, "count": count, "span": list(span)} for count, span in taken
        ]


class ChatSource(TextSource):
    """A chat; ``prefix_stable`` tells of each step of it whether it extends the one before."""

    def __init__(
        self, tokenizer: Tokenizer, chat: EncodedChat, request: EncodeRequest, prefix_stable: Callable[[], list[bool]]
    ) -> None:
        super().__init__(tokenizer, chat.spans)
        self.chat, self._request, self.prefix_stable = chat, request, prefix_stable

    def labels(self, row: Row) -> Array:
        """Return the ids to learn, and -100 elsewhere."""
        request = self._request
        # Lost calls were refused, unless the request lets them be reported.
        labels = self.chat.labels(train_on=request.train_on, reasoning=request.train_reasoning, lost_calls="ignore")
        return row.carry(labels, IGNORED_LABEL)

    def assistant_mask(self, row: Row) -> Array:
        """Return 1 on what the assistant says."""
        return row.carry(self.chat.assistant_mask)

    def special_tokens_mask(self, row: Row) -> Array:
        """Return 1 for padding and every special token."""
        return row.carry(self.chat.control.astype(np.uint8), 1)


def shape(tokenizer: Tokenizer, encoded: Encoded, request: EncodeRequest, max_ids: int) -> Sequence[Row]:
    """Truncate and pad rows as a request asks for, but never to more ids than the server takes."""
    rows = encoded.ids
    prefix, suffix = encoded.frame or (0, 0)
    if encoded.frame is None or request.is_bare():
        return [Row(row, _WHOLE, 0, 0, prefix, suffix) for row in rows]
    sizes: Any = {name: getattr(request, name) for name in ("max_length", "padding", "pad_to_multiple_of")}
    lengths = [len(row) if request.max_length is None else min(len(row), request.max_length) for row in rows]
    width = padded_width(lengths, **sizes)
    if width * len(rows) > max(max_ids, sum(lengths)):
        detail = f"{len(rows)} rows padded to {width} are more than {max_ids} ids; pad to less or send fewer texts"
        raise ServiceError("too_many_ids", detail, "padding")
    return shape_rows(
        rows,
        **sizes,
        truncation_side=request.truncation_side or tokenizer.settings.truncation_side,
        padding_side=request.padding_side or tokenizer.settings.padding_side,
        pad_id=_pad_id(tokenizer, request),
        prefix=prefix,
        suffix=suffix,
    )


def _pad_id(tokenizer: Tokenizer, request: EncodeRequest) -> int | None:
    if request.pad_token is not None:
        return pad_id_of(request.pad_token, tokenizer.added_tokens)
    if tokenizer.pad_id is None and request.padding != "none":
        raise ServiceError(
            "invalid_option",
            'this tokenizer names no pad token; name one of its added tokens as pad_token, set padding to "none", or '
            "give the tokenizer one with tokd import --pad-token",
            "padding",
        )
    return tokenizer.pad_id
