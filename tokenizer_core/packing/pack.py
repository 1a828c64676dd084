"""Pack examples of fine-tuning data: those of a program, or those of files into a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypedDict, Unpack

import numpy as np

from tokenizer_core.arguments import check_choice, check_flag, place_of
from tokenizer_core.atomic_files import sweep
from tokenizer_core.corpus.examples import examples as examples_of
from tokenizer_core.corpus.files import Files, sources
from tokenizer_core.encoding_options import SpecialTokens
from tokenizer_core.errors import InvalidCorpus, InvalidOption, RowTooLong, TokdError
from tokenizer_core.examples import Encoded, ExampleEncoder, TrainedOn
from tokenizer_core.packing.files import format_of, write_packs
from tokenizer_core.packing.packs import Packs, RowBuilder, TokenRows
from tokenizer_core.packing.plan import Method, Overflow, PackPlan, plan_packs
from tokenizer_core.packing.token_files import PackLayout, write_token_files
from tokenizer_core.tokenizer import Tokenizer


class PackOptions(TypedDict, total=False):
    """Options of packing; ``plan_packs``, ``ExampleEncoder`` and ``Packs`` say what they mean."""

    method: Method
    overflow: Overflow
    align: int
    seed: int | None
    pad: bool
    train_on: TrainedOn | None
    eos: bool
    add_special_tokens: bool
    special_tokens: SpecialTokens


def pack(
    examples: Iterable[Mapping[str, Any]], tokenizer: Tokenizer, length: int, **options: Unpack[PackOptions]
) -> Packs:
    """Encode examples and put them into packs of at most ``length`` tokens.

    Args:
        examples: each with ``messages``, ``prompt`` and ``completion``, ``text``, or ``input_ids``.
        options: those of ``plan_packs`` and ``ExampleEncoder``; ``pad`` fills every pack up to ``length``.

    Raises:
        TokdError: with the ``row``, and the ``field`` of the example.
    """
    packer, rows = _Packer(tokenizer, length, options), RowBuilder()
    for row, example in enumerate(examples):
        try:
            rows.add(packer.encode(example))
        except TokdError as error:
            error.place["row"] = row
            raise
    return packer.packed(rows.rows())


def pack_files(
    corpus: str | os.PathLike[str] | Files,
    tokenizer: Tokenizer,
    out: str | os.PathLike[str],
    length: int,
    *,
    layout: PackLayout | None = None,
    **options: Unpack[PackOptions],
) -> Packs:
    """Encode the examples of JSON lines and Parquet files, and write packs into a new file, as ``write_packs`` does.

    The tokens of all examples are held in memory, five bytes for each.

    Args:
        layout: write a directory of token files, of which each document is a pack, instead of a file.

    Raises:
        FileExistsError: something is at ``out``.
        CorpusError, TokdError: with the ``file``, the ``line`` or the ``row``, and the ``field`` of the example.
    """
    place = place_of(out, "output")
    if layout is None:
        format_of(place)
    else:
        check_choice(layout, PackLayout, "layout")
    if os.path.lexists(place):
        raise FileExistsError(17, "it is there already", str(place))
    files = corpus if isinstance(corpus, Files) else Files(paths=(corpus,))
    if files.on_error == "skip":
        raise InvalidOption('packing stops at an error; on_error="skip" is for training', field="corpus")
    packer, rows = _Packer(tokenizer, length, options, keeps_ends=layout is not None), RowBuilder()
    found = sources(files)
    for source in found:
        stamp = source.stamp()
        for example in examples_of(source):
            try:
                rows.add(packer.encode(example.value))
            except TokdError as error:
                at = error.place | example.place
                raise type(error)(f"{example.where}: {error.message}", code=error.code, **at) from error
        if source.stamp() != stamp:
            raise InvalidCorpus(f"{source.name} changed while it was read", file=source.name)
    packs = packer.packed(rows.rows())
    sweep(place.parent)
    if layout is None:
        write_packs(packs, place)
    else:
        write_token_files(
            packs, place, layout, tokenizer, [source.name for source in found], _described(length, options)
        )
    return packs


def _described(length: int, options: PackOptions) -> dict[str, Any]:
    """Return what a manifest says of the packing."""
    known = {name: value for name, value in options.items() if name not in ("seed", "special_tokens")}
    return {
        "special_tokens": options.get("special_tokens", "reject"),
        "shuffle": options.get("seed"),
        "packed": {"length": length, **known},
    }


class _Packer:
    """Encodes and packs as options say.

    Args:
        keeps_ends: end the parts of a cut example with the end-of-text token, if the example ends with one: trainers of
            token files look for it.

    Raises:
        InvalidOption: before anything is read.
    """

    def __init__(self, tokenizer: Tokenizer, length: int, options: PackOptions, *, keeps_ends: bool = False) -> None:
        self._pad = options.get("pad", False)
        check_flag(self._pad, "pad")
        named = {name: options[name] for name in _OF_PLAN if name in options}  # type: ignore[literal-required]
        self._plan: Callable[[Any], PackPlan] = lambda lengths: plan_packs(lengths, length, **named)
        self._plan([])
        # Wrapped rows stand end to end: no row is too long, and what is cut goes on behind the cut.
        self._overflow = None if options.get("method") == "wrapped" else options.get("overflow", "error")
        self._length = length
        self._eos = tokenizer.eos_id if keeps_ends else None
        self._pad_id = tokenizer.pad_id
        if self._pad_id is None and (self._pad or options.get("align", 1) > 1):
            message = "the tokenizer has no pad token, which pad and align need; name one (--pad-token of tokd import)"
            raise InvalidOption(message, field="pad")
        chosen = {name: options[name] for name in _OF_ENCODER if name in options}  # type: ignore[literal-required]
        self._encoder = ExampleEncoder(tokenizer, **chosen)

    def encode(self, example: Mapping[str, Any]) -> Encoded:
        """Encode an example; one that is too long is refused here, where its place is known."""
        encoded, length = self._encoder.encode(example), self._length
        if len(encoded.ids) <= length:
            return encoded
        if self._overflow == "error":
            raise RowTooLong(
                f"it has {len(encoded.ids)} tokens, a pack at most {length}; give overflow split, truncate or drop"
            )
        if self._eos is None or self._eos not in encoded.ids[length - 1 :]:
            return encoded
        return _with_ends(encoded, length, self._eos, self._overflow)

    def packed(self, rows: TokenRows) -> Packs:
        """Pack what was encoded."""
        return Packs(rows, self._plan(rows.lengths), self._pad_id, self._pad)


def _with_ends(encoded: Encoded, length: int, eos: int, overflow: Overflow | None) -> Encoded:
    """Put the end-of-text token where the plan will cut a row; no model learns to end a text there."""
    ids, trained = encoded
    match overflow:
        case "truncate" if ids[length - 1] != eos:
            ids, trained = ids.copy(), trained.copy()
            ids[length - 1], trained[length - 1] = eos, False
            return Encoded(ids, trained)
        case "split" if length > 1:
            places = np.arange(length - 1, len(ids) - 1, length - 1)
            return Encoded(np.insert(ids, places, eos), np.insert(trained, places, False))
    return encoded


_OF_PLAN = ("method", "overflow", "align", "seed")
_OF_ENCODER = ("train_on", "eos", "add_special_tokens", "special_tokens")
