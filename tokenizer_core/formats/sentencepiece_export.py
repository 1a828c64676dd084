"""Write Unigram, by its scores, or BPE over characters, by the ranks of its merges, as a SentencePiece model.

SentencePiece joins whatever neighbours are a piece together, a ``tokenizer.json`` only those that it lists. Where every
piece of several characters is the product of one merge, and is what that merge makes of its own characters, both do the
same: the last two neighbours within the borders of a piece are then always those of its merge.

SentencePiece adds scores as floats, and ``tokenizers`` as doubles. Of multiples of ``SCORE_UNIT`` both sums are exact,
and alike, until they leave 24 bits: in texts of up to a thousand tokens.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from tokenizer_core._kernel import Pipeline, charsmap
from tokenizer_core.config import PipelineConfig, TokenizerParts
from tokenizer_core.errors import Unsupported
from tokenizer_core.formats.added import require_bare
from tokenizer_core.formats.sentencepiece_write import BYTE, CONTROL, NORMAL, UNKNOWN, Piece, Rules, write
from tokenizer_core.stages import Model, Normalizer, Pattern, Pretokenizer

SPACE = "▁"
ESCAPED = Normalizer("replace", pattern=Pattern("string", " "), content=SPACE)
JOINED = Normalizer("replace", pattern=Pattern("regex", rf"\A +| +(?= )|[ {SPACE}]+\z"), content="")
"""SentencePiece's ``remove_extra_whitespaces``: of spaces next to each other one is left, at the ends none."""

SIGMA = Normalizer("replace", pattern=Pattern("string", "ς"), content="σ")
"""Case folding where small letters are not enough: the other form of a letter at the end of words."""

PREFIXED = Normalizer("prepend", prefix=SPACE)
WORDS = Pretokenizer("metaspace", replacement=SPACE, prepend="never", split=True)
"""The cut of Unigram, before each space: it changes nothing where no entry has a space behind another character."""

SCORE_UNIT = 2.0**-10

_BYTES = frozenset(f"<0x{byte:02X}>" for byte in range(256))
_ROLES = ("unk", "bos", "eos", "pad")
_REWRITES = ("nfc", "nfd", "nfkc", "nfkd", "lowercase", "strip_accents", "nmt")
"""Stages that a charsmap can say."""


def render(parts: TokenizerParts) -> bytes:
    """Write ``tokenizer.model``.

    Raises:
        Unsupported: SentencePiece would give other ids.
    """
    if parts.sentencepiece is not None:
        return parts.sentencepiece
    model, rewrites = _model(parts)
    literals = {token.id: token.content for token in parts.config.added_tokens}
    entries = {id: text for text, id in parts.vocabulary.token_texts()}
    scores = _scores(parts, entries)
    pieces: list[Piece] = []
    for id in range(max([*literals, *entries], default=-1) + 1):
        if id in literals:
            pieces.append((literals[id], 0.0, UNKNOWN if id == model.unk else CONTROL))
        elif id not in entries:
            raise Unsupported(f"no token has the id {id}, and SentencePiece has no holes", field="vocab")
        elif model.byte_fallback and entries[id] in _BYTES:
            pieces.append((entries[id], 0.0, BYTE))
        else:
            pieces.append((entries[id], scores[id], NORMAL))
    if model.byte_fallback and sum(kind == BYTE for _, _, kind in pieces) < len(_BYTES):
        raise Unsupported("SentencePiece falls back to bytes only if all are entries", field="model.byte_fallback")
    settings = parts.settings
    names = {role: literal for role in _ROLES if (literal := getattr(settings, role)) is not None}
    rules = Rules(
        model_type="unigram" if model.type == "unigram" else "bpe",
        byte_fallback=model.byte_fallback,
        dummy_prefix=PREFIXED in parts.config.normalizer,
        fold=JOINED in parts.config.normalizer,
        charsmap=charsmap_of(rewrites),
        names=names | {"unk": literals[model.unk or 0]},
    )
    return write(pieces, rules)


@lru_cache(maxsize=8)
def charsmap_of(rewrites: tuple[Normalizer, ...]) -> bytes:
    """Return SentencePiece's table of some rewrites."""
    return charsmap(PipelineConfig(normalizer=rewrites).to_json()) if rewrites else b""


def ranked(count: int, merges: Sequence[tuple[int, int, int]]) -> list[float]:
    """Return scores by id, which are the ranks of the merges that make the entries.

    Characters are made by no merge, and their scores are read by nobody: below all others, as SentencePiece has them.
    """
    ranks = {product: rank for rank, (_, _, product) in enumerate(merges)}
    return [float(-ranks.get(id, len(ranks) + id)) for id in range(count)]


def _model(parts: TokenizerParts) -> tuple[Model, tuple[Normalizer, ...]]:
    """Return the model of a pipeline that is one of SentencePiece, and how it rewrites a text before all else."""
    config, model = parts.config, parts.config.model
    elsewhere = "export to huggingface"
    is_bpe = model.type == "char_bpe" and not (model.prefix or model.suffix or config.ignore_merges) and model.fuse_unk
    if not is_bpe and model.type != "unigram":
        message = f"only Unigram and BPE over characters are written as a SentencePiece model; {elsewhere}"
        raise Unsupported(message, field="model")
    spaces = tuple(stage for stage in (JOINED, PREFIXED) if stage in config.normalizer)
    rewrites = config.normalizer[: -len(spaces) - 1]
    is_said = all(stage.type in _REWRITES or stage == SIGMA for stage in rewrites)
    if config.normalizer != (*rewrites, *spaces, ESCAPED) or not is_said or not _is_whole(parts):
        raise Unsupported(
            f"a SentencePiece model is written where spaces become '▁' and the text is not rewritten or cut else; "
            f"{elsewhere}",
            field="pre_tokenizer" if config.pretokenizer else "normalizer",
        )
    require_bare(config, "a SentencePiece model")
    if model.unk is None or model.unk not in [token.id for token in config.added_tokens]:
        raise Unsupported("a SentencePiece model has an unknown token, which is a special one here", field="model.unk")
    return model, rewrites


def _is_whole(parts: TokenizerParts) -> bool:
    """Tell whether the text is not cut, or only where no entry has both sides."""
    config = parts.config
    if config.model.type == "unigram" and config.pretokenizer == (WORDS,):
        return not any(SPACE in text[1:] for text, _ in parts.vocabulary.token_texts())
    return not config.pretokenizer


def _scores(parts: TokenizerParts, entries: dict[int, str]) -> Sequence[float]:
    if parts.config.model.type == "char_bpe":
        _check_merges(parts)
        return ranked(parts.vocabulary.id_limit, parts.vocabulary.merge_ids())
    scores = parts.vocabulary.scores()
    for id, text in entries.items():
        if struct.unpack("<f", struct.pack("<f", scores[id]))[0] != scores[id]:
            raise Unsupported(
                f"the score of {text[:80]!r} has more digits than SentencePiece's; export to huggingface", field="vocab"
            )
    return scores


def _check_merges(parts: TokenizerParts) -> None:
    """Require that both ways to join neighbours are one."""
    vocabulary, config = parts.vocabulary, parts.config
    made = Counter(product for _, _, product in vocabulary.merge_ids())
    pieces = [(text, id) for text, id in vocabulary.token_texts() if text not in _BYTES and len(text) > 1]
    bare = Pipeline(vocabulary, replace(config, normalizer=(), added_tokens=()).to_json())
    ids, ends = bare.encode_batch([text for text, _ in pieces])
    for at, (text, id) in enumerate(pieces):
        if made[id] != 1 or list(ids[ends[at] : ends[at + 1]]) != [id]:
            raise Unsupported(
                f"the entry {text[:80]!r} is not made by exactly one merge, and SentencePiece would make it of any two "
                "neighbours; export to huggingface",
                field="merges",
            )
