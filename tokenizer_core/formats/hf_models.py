"""Read and write ``model`` of a ``tokenizer.json`` but for its entries and merges, which the kernel reads."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tokenizer_core._kernel import Vocabulary
from tokenizer_core.errors import InvalidArtifact, Unsupported
from tokenizer_core.formats.fields import Fields, identifier, unsupported
from tokenizer_core.stages import Model

_MOST_STEPS = 8
"""Neighbouring floats that are tried; two suffice for all that was read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPart:
    """The content of ``model``.

    Attributes:
        unk: the literal of the unknown token.
    """

    model: Model
    ignore_merges: bool = False
    unk: str | None = None


def read_model(fields: Fields, vocabulary: Vocabulary) -> ModelPart:
    """Read the fields of a model, of which the kernel has taken the entries and the merges."""
    kind = fields.optional("type", str) or "BPE"
    part = _READERS[kind](fields, vocabulary)
    fields.finish()
    return part


def _bpe(fields: Fields, vocabulary: Vocabulary) -> ModelPart:
    """Read what a BPE can have; the unknown token of a byte-level one can never come out."""
    dropout = fields.any("dropout")
    if dropout not in (None, 0) or isinstance(dropout, bool):
        raise unsupported("model.dropout", dropout, "null: the same text must always give the same ids")
    affixes = [fields.optional(key, str) or "" for key in ("continuing_subword_prefix", "end_of_word_suffix")]
    unk = fields.optional("unk_token", str)
    fuse_unk, byte_fallback = (fields.take(key, bool, False) for key in ("fuse_unk", "byte_fallback"))
    ignore_merges = fields.take("ignore_merges", bool, False)
    if not vocabulary.is_text:
        # Every byte has a token, so nothing is ever unknown, and neither of the two can change an id.
        return ModelPart(model=Model("byte_bpe"), ignore_merges=ignore_merges, unk=unk)
    id = None if unk is None else dict(vocabulary.token_texts()).get(unk)
    model = Model(
        "char_bpe", unk=id, fuse_unk=fuse_unk, byte_fallback=byte_fallback, prefix=affixes[0], suffix=affixes[1]
    )
    return ModelPart(model=model, ignore_merges=ignore_merges, unk=unk)


def _word_level(fields: Fields, vocabulary: Vocabulary) -> ModelPart:
    unk = fields.take("unk_token", str)
    ids = dict(vocabulary.token_texts())
    return ModelPart(model=Model("word_level", unk=ids.get(unk)), unk=unk)


def _word_piece(fields: Fields, vocabulary: Vocabulary) -> ModelPart:
    unk = fields.take("unk_token", str)
    model = Model(
        "word_piece",
        unk=dict(vocabulary.token_texts()).get(unk),
        prefix=fields.take("continuing_subword_prefix", str),
        max_chars=fields.size("max_input_chars_per_word"),
    )
    return ModelPart(model=model, unk=unk)


def _unigram(fields: Fields, vocabulary: Vocabulary) -> ModelPart:
    unk = fields.any("unk_id")
    if unk is not None:
        unk = identifier(unk, fields.at("unk_id"))
        if unk >= vocabulary.id_limit:
            raise InvalidArtifact(f"no entry has the id {unk}", code="unknown_token_id", field=fields.at("unk_id"))
    byte_fallback = fields.take("byte_fallback", bool, False)
    entry = None if unk is None else (vocabulary.token_bytes(unk) or b"").decode()
    return ModelPart(model=Model("unigram", unk=unk, byte_fallback=byte_fallback), unk=entry)


_READERS: dict[str, Callable[[Fields, Vocabulary], ModelPart]] = {
    "BPE": _bpe,
    "WordLevel": _word_level,
    "Unigram": _unigram,
    "WordPiece": _word_piece,
}


def write_model(
    model: Model,
    vocab: dict[str, int],
    merges: list[Any],
    texts: dict[int, str],
    *,
    scores: list[float],
    ignore_merges: bool,
    unk: str | None,
) -> dict[str, Any]:
    """Write ``model``.

    Args:
        vocab: ids by entry.
        texts: entries and literals of added tokens by id.
        scores: of entries, by id.
        unk: the literal of the unknown token.
    """
    match model.type:
        case "word_level":
            return {"type": "WordLevel", "vocab": vocab, "unk_token": _literal_of(model.unk, unk, vocab, texts)}
        case "word_piece":
            return {
                "type": "WordPiece",
                "unk_token": _literal_of(model.unk, unk, vocab, texts),
                "continuing_subword_prefix": model.prefix,
                "max_input_chars_per_word": model.max_chars,
                "vocab": vocab,
            }
        case "unigram":
            if (
                model.sums != "double"
                or model.reserved
                or model.user_defined
                or not texts.keys() >= set(range(len(scores)))
            ):
                raise Unsupported("tokenizer.json cannot say this Unigram model of SentencePiece", field="model")
            return {
                "type": "Unigram",
                "unk_id": model.unk,
                "vocab": [[texts[id], to_write(score)] for id, score in enumerate(scores)],
                "byte_fallback": model.byte_fallback,
            }
        case "symbols":
            raise Unsupported(f"tokenizer.json has no model over each {model.unit}", field="model")
    # That of bytes has no fields.
    fields = model.to_dict()
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": None if fields.get("unk") is None else texts[fields["unk"]],
        "continuing_subword_prefix": fields.get("prefix") or None,
        "end_of_word_suffix": fields.get("suffix") or None,
        "fuse_unk": fields.get("fuse_unk", False),
        "byte_fallback": fields.get("byte_fallback", False),
        "ignore_merges": ignore_merges,
        "vocab": vocab,
        "merges": merges,
    }


def _literal_of(id: int | None, unk: str | None, vocab: dict[str, int], texts: dict[int, str]) -> str:
    """Return the literal of the unknown token: Hugging Face wants a text also where it is no entry."""
    literal = (unk or "[UNK]") if id is None else texts[id]
    if id is None and literal in vocab:
        raise Unsupported("tokenizer.json cannot say that there is no unknown token", field="model.unk")
    return literal


def as_read(score: float) -> float:
    """Return what a reader makes of the shortest decimal number for a score: of some the last bit is another.

    Hugging Face's rounds twice: the digits to a float, and that float divided by a power of ten. The kernel reads the
    same way, since the last bit decides between ways of equal sums.
    """
    digits, _, exponent = repr(abs(score)).partition("e")
    whole, _, fraction = digits.partition(".")
    shift = int(exponent or 0) - len(fraction)
    power = float(f"1e{abs(shift)}")
    number = float(int(whole + fraction))
    return math.copysign(number * power if shift >= 0 else number / power, score)


def to_write(score: float) -> float:
    """Return the float next to a score whose decimal number is read as the score; or the score, if there is none."""
    above = below = score
    for _ in range(_MOST_STEPS):
        for candidate in (above, below):
            if as_read(candidate) == score:
                return candidate
        above, below = math.nextafter(above, math.inf), math.nextafter(below, -math.inf)
    return score
