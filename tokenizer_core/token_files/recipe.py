"""The settings of a run, with everything that was left open decided by its layout and tokenizer."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from tokenizer_core._kernel import VERSION
from tokenizer_core.arguments import check_choice, integer_of, optional_integer, whole_number
from tokenizer_core.corpus.files import Files
from tokenizer_core.encoding_options import SpecialTokens
from tokenizer_core.errors import InvalidOption
from tokenizer_core.token_files.layouts import LAYOUTS, LayoutName
from tokenizer_core.token_files.layouts.layout import Dtype, EosPlace, Layout, Shape
from tokenizer_core.tokenizer import Tokenizer

EndOfText = EosPlace | int
"""Where the tokenizer's end-of-text token stands, or the id that stands there in its place."""

SHARD_BYTES = 1 << 30
"""What a killed run may lose, against the number of files."""

LEAST_SHARD_BYTES = 1 << 10


@dataclass(frozen=True, slots=True)
class Recipe:
    """What decides the bytes of a run's files.

    Attributes:
        place: where the end-of-text token stands.
        shuffle: the seed, or ``None`` for the order of the corpus.
    """

    layout_name: LayoutName
    shape: Shape
    place: EosPlace
    special_tokens: SpecialTokens
    shuffle: int | None
    shard_bytes: int
    files: Files
    tokenizer: str
    vocab_size: int

    @property
    def layout(self) -> Layout:
        return LAYOUTS[self.layout_name]

    def described(self) -> dict[str, Any]:
        """Return what a manifest says of the settings."""
        return {
            "layout": self.layout_name,
            "tokenizer": self.tokenizer,
            "name": self.shape.tokenizer,
            "vocab_size": self.vocab_size,
            "dtype": self.shape.dtype,
            "eos": {"id": self.shape.eos, "place": self.place},
            "special_tokens": self.special_tokens,
            "field": self.files.field,
            "column": self.files.column,
            "on_error": self.files.on_error,
            "shuffle": self.shuffle,
            "shard_bytes": self.shard_bytes,
        }

    def key(self, *more: Any) -> str:
        """Hash the settings, the version, and ``more``."""
        covered = [VERSION, self.described(), self.files.format, *more]
        return hashlib.sha256(json.dumps(covered, sort_keys=True).encode()).hexdigest()[:32]


def recipe_of(
    files: Files,
    tokenizer: Tokenizer,
    layout: LayoutName,
    *,
    eos: EndOfText | None,
    special_tokens: SpecialTokens,
    dtype: Dtype | None,
    shuffle: int | None,
    shard_bytes: int,
) -> Recipe:
    """Check the settings, and decide what was left open.

    Raises:
        InvalidOption
    """
    check_choice(layout, LayoutName, "layout")
    check_choice(special_tokens, SpecialTokens, "special_tokens")
    written = LAYOUTS[layout]
    vocab_size = tokenizer.vocab_size
    id, place = _end_of_text(tokenizer, written.eos if eos is None else eos, written)
    shape = Shape(_dtype(dtype, written, layout, vocab_size), tokenizer.name, id)
    return Recipe(
        layout,
        shape,
        place,
        special_tokens,
        optional_integer(shuffle, "shuffle", 0),
        integer_of(shard_bytes, "shard_bytes", LEAST_SHARD_BYTES),
        files,
        tokenizer.hash,
        vocab_size,
    )


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
    check_choice(eos, EosPlace, "eos")
    if eos == "none":
        return None, "none"
    literal = tokenizer.parts.settings.eos
    id = None if literal is None else tokenizer.special_tokens.get(literal)
    if id is None:
        raise InvalidOption('the tokenizer has no end-of-text token; name an id, or eos="none" for none', field="eos")
    return id, "before" if eos == "before" else "after"
