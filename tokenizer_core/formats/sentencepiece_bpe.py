"""Write BPE over characters as a SentencePiece model, whose scores are the ranks of the merges.

SentencePiece joins whatever neighbours are a piece together, a ``tokenizer.json`` only those that it lists. Where every
piece of several characters is the product of one merge, and is what that merge makes of its own characters, both do the
same: the last two neighbours within the borders of a piece are then always those of its merge.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from tokenizer_core._kernel import Pipeline
from tokenizer_core.config import TokenizerParts
from tokenizer_core.errors import Unsupported
from tokenizer_core.formats.bare import require_bare
from tokenizer_core.formats.sentencepiece_write import BYTE, CONTROL, NORMAL, UNKNOWN, Piece, Rules, write
from tokenizer_core.stages import Model, Normalizer, Pattern

SPACE = "▁"
ESCAPED = Normalizer("replace", pattern=Pattern("string", " "), content=SPACE)
JOINED = Normalizer("replace", pattern=Pattern("regex", rf"\A +| +(?= )|[ {SPACE}]+\z"), content="")
"""SentencePiece's ``remove_extra_whitespaces``: of spaces next to each other one is left, at the ends none."""

_BYTES = frozenset(f"<0x{byte:02X}>" for byte in range(256))
_ROLES = ("unk", "bos", "eos", "pad")


def render(parts: TokenizerParts) -> bytes:
    """Write ``tokenizer.model``.

    Raises:
        Unsupported: SentencePiece would give other ids.
    """
    if parts.sentencepiece is not None:
        return parts.sentencepiece
    model, literals = _model(parts), {token.id: token.content for token in parts.config.added_tokens}
    _check_merges(parts)
    ranks = {product: rank for rank, (_, _, product) in enumerate(parts.vocabulary.merge_ids())}
    entries = {id: text for text, id in parts.vocabulary.token_texts()}
    pieces: list[Piece] = []
    for id in range(max([*literals, *entries], default=-1) + 1):
        if id in literals:
            pieces.append((literals[id], 0.0, UNKNOWN if id == model.unk else CONTROL))
        elif id not in entries:
            raise Unsupported(f"no token has the id {id}, and SentencePiece has no holes", field="vocab")
        elif model.byte_fallback and entries[id] in _BYTES:
            pieces.append((entries[id], 0.0, BYTE))
        else:
            # Characters are made by no merge, and their scores are read by nobody: below all others, as SentencePiece
            # has them.
            pieces.append((entries[id], float(-ranks.get(id, len(ranks) + id)), NORMAL))
    if model.byte_fallback and sum(kind == BYTE for _, _, kind in pieces) < len(_BYTES):
        raise Unsupported("SentencePiece falls back to bytes only if all are entries", field="model.byte_fallback")
    settings = parts.settings
    names = {role: literal for role in _ROLES if (literal := getattr(settings, role)) is not None}
    rules = Rules(
        model_type="bpe",
        byte_fallback=model.byte_fallback,
        dummy_prefix=Normalizer("prepend", prefix=SPACE) in parts.config.normalizer,
        fold=JOINED in parts.config.normalizer,
        charsmap=b"",
        names=names | {"unk": literals[model.unk or 0]},
    )
    return write(pieces, rules)


def _model(parts: TokenizerParts) -> Model:
    """Return the model of a pipeline that is one of SentencePiece."""
    config, model = parts.config, parts.config.model
    elsewhere = "export to huggingface"
    is_whole = model.type == "char_bpe" and not (model.prefix or model.suffix or config.ignore_merges)
    if not is_whole or not model.fuse_unk:
        raise Unsupported(f"only BPE over characters is written as a SentencePiece model; {elsewhere}", field="model")
    spaces = tuple(stage for stage in (JOINED, Normalizer("prepend", prefix=SPACE)) if stage in config.normalizer)
    if config.normalizer != (*spaces, ESCAPED) or config.pretokenizer:
        raise Unsupported(
            f"a SentencePiece model is written where spaces become '▁' and the text is not rewritten or cut else; "
            f"{elsewhere}",
            field="pre_tokenizer" if config.pretokenizer else "normalizer",
        )
    require_bare(config, "a SentencePiece model")
    if model.unk is None or model.unk not in [token.id for token in config.added_tokens]:
        raise Unsupported("a SentencePiece model has an unknown token, which is a special one here", field="model.unk")
    return model


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
