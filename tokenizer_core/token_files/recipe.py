"""The settings of a run, with everything that was left open decided by its layout and tokenizer."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any, TypedDict, Unpack, get_args

import numpy as np

from tokenizer_core._kernel import VERSION
from tokenizer_core.arguments import check_choice, check_unicode, integer_of, optional_integer, whole_number
from tokenizer_core.corpus.files import Files
from tokenizer_core.encoding_options import SpecialTokens
from tokenizer_core.errors import InvalidOption, TemplateMissing, shown
from tokenizer_core.examples import TrainedOn
from tokenizer_core.nearest import did_you_mean
from tokenizer_core.token_files.layouts import LAYOUTS, LayoutName
from tokenizer_core.token_files.layouts.layout import Dtype, EosPlace, Layout, Shape
from tokenizer_core.tokenizer import Tokenizer

EndOfText = EosPlace | int | str
"""The place of the tokenizer's end-of-text token, or the id or the special token that is written there instead."""

SHARD_BYTES = 1 << 30
"""The bytes that a killed run may lose, weighed against the number of files."""

LEAST_SHARD_BYTES = 1 << 10


@dataclass(frozen=True, slots=True)
class Chats:
    """The field or column that holds a chat, and what of it is trained on."""

    field: str
    train_on: TrainedOn


@dataclass(frozen=True, slots=True)
class Recipe:
    """The choices that decide the bytes of a run's files.

    Attributes:
        place: where the end-of-text token stands.
        shuffle: the seed, or ``None`` for the order of the corpus.
        chats: what is said of them, or ``None`` if the documents are texts.
    """

    layout_name: LayoutName
    shape: Shape
    place: EosPlace
    special_tokens: SpecialTokens
    shuffle: int | None
    shard_bytes: int
    files: Files
    chats: Chats | None
    tokenizer: str
    fingerprint: str
    vocab_size: int

    @property
    def layout(self) -> Layout:
        return LAYOUTS[self.layout_name]

    def described(self) -> dict[str, Any]:
        """Return what a manifest says of the settings."""
        return {
            "layout": self.layout_name,
            "tokenizer": self.tokenizer,
            "fingerprint": self.fingerprint,
            "name": self.shape.tokenizer,
            "vocab_size": self.vocab_size,
            "dtype": self.shape.dtype,
            "eos": {"id": self.shape.eos, "place": self.place},
            "special_tokens": self.special_tokens,
            "field": self.files.field,
            "column": self.files.column,
            "messages": None if self.chats is None else asdict(self.chats),
            "on_error": self.files.on_error,
            "shuffle": self.shuffle,
            "shard_bytes": self.shard_bytes,
        }

    def of_run(self) -> dict[str, Any]:
        """Return what a run that continues another must have in common with it, in values of JSON."""
        paths = [str(path) for path in self.files.paths]
        return {"corpus": paths, "input_format": self.files.format, **self.described()}

    def key(self, *more: Any) -> str:
        """Hash the settings, the version, and ``more``."""
        covered = [VERSION, self.described(), self.files.format, *more]
        return hashlib.sha256(json.dumps(covered, sort_keys=True).encode()).hexdigest()[:32]


class EncodeOptions(TypedDict, total=False):
    """The options that decide the bytes of a run, as of ``encode_corpus``."""

    layout: LayoutName
    eos: EndOfText | None
    special_tokens: SpecialTokens
    dtype: Dtype | None
    shuffle: int | None
    shard_bytes: int
    messages: str | None
    train_on: TrainedOn | None


def recipe_of(
    files: Files,
    tokenizer: Tokenizer,
    *,
    layout: LayoutName = "megatron",
    eos: EndOfText | None = None,
    special_tokens: SpecialTokens = "reject",
    dtype: Dtype | None = None,
    shuffle: int | None = None,
    shard_bytes: int = SHARD_BYTES,
    messages: str | None = None,
    train_on: TrainedOn | None = None,
) -> Recipe:
    """Check the settings, and decide what was left open.

    Raises:
        InvalidOption
    """
    check_choice(layout, LayoutName, "layout")
    check_choice(special_tokens, SpecialTokens, "special_tokens")
    written = LAYOUTS[layout]
    vocab_size = tokenizer.vocab_size
    chats = _chats(tokenizer, messages, train_on, special_tokens)
    # A chat ends as its template ends it.
    usual = written.eos if chats is None else "none"
    id, place = _end_of_text(tokenizer, usual if eos is None else eos, written)
    shape = Shape(_dtype(dtype, written, layout, vocab_size), tokenizer.name, id, is_labeled=chats is not None)
    return Recipe(
        layout,
        shape,
        place,
        special_tokens,
        optional_integer(shuffle, "shuffle", 0),
        integer_of(shard_bytes, "shard_bytes", LEAST_SHARD_BYTES),
        files,
        chats,
        tokenizer.hash,
        tokenizer.fingerprint(),
        vocab_size,
    )


def check_encode_options(tokenizer: Tokenizer, **options: Unpack[EncodeOptions]) -> None:
    """Check options of ``encode_corpus`` for a tokenizer, before there is a corpus.

    Raises:
        InvalidOption, TemplateMissing
    """
    recipe_of(Files(paths=()), tokenizer, **options)


def _chats(
    tokenizer: Tokenizer, field: str | None, train_on: TrainedOn | None, special_tokens: SpecialTokens
) -> Chats | None:
    if field is None:
        if train_on is not None:
            raise InvalidOption("of texts all is trained on; train_on is for messages", field="train_on")
        return None
    check_unicode(field, "messages")
    train_on = "assistant" if train_on is None else train_on
    check_choice(train_on, TrainedOn, "train_on")
    if train_on == "completion":
        raise InvalidOption('a chat has no completion; train_on is "assistant", "last" or "all"', field="train_on")
    if special_tokens == "parse":
        message = 'whoever writes a chat writes no control token; special_tokens is "reject" or "text"'
        raise InvalidOption(message, field="special_tokens")
    if not tokenizer.settings.templates:
        raise TemplateMissing("the tokenizer has no chat template, by which messages become text", field="messages")
    return Chats(field, train_on)


def _dtype(dtype: Dtype | None, layout: Layout, name: str, vocab_size: int) -> Dtype:
    if dtype is None:
        return layout.dtype(vocab_size)
    check_choice(dtype, Dtype, "dtype")
    if dtype not in layout.dtypes:
        raise InvalidOption(f"{name} has no {dtype}; it has {', '.join(layout.dtypes)}", field="dtype")
    if vocab_size - 1 > np.iinfo(dtype).max:
        raise InvalidOption(f"the id {vocab_size - 1} of the tokenizer does not fit into {dtype}", field="dtype")
    return dtype


def _end_of_text(tokenizer: Tokenizer, eos: EndOfText, layout: Layout) -> tuple[int | None, EosPlace]:
    given = whole_number(eos)
    if given is not None:
        if not 0 <= given < tokenizer.vocab_size:
            raise InvalidOption(f"the tokenizer has no id {given}", field="eos")
        # An id that no token has is refused by its name.
        tokenizer.token_bytes(given)
        return given, layout.eos
    if isinstance(eos, str) and eos in tokenizer.special_tokens:
        return tokenizer.special_tokens[eos], layout.eos
    if eos not in get_args(EosPlace):
        raise InvalidOption(
            f"eos is after, before, none, an id or a special token, and the tokenizer has no {shown(eos)}"
            f"{did_you_mean(str(eos)[:80], tokenizer.special_tokens)}",
            field="eos",
        )
    if eos == "none":
        return None, "none"
    if tokenizer.eos_id is None:
        raise InvalidOption('the tokenizer has no end-of-text token; name one, or eos="none" for none', field="eos")
    return tokenizer.eos_id, "before" if eos == "before" else "after"
