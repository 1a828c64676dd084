"""Read Hugging Face's layout: a ``tokenizer.json``, a directory around one, or ``vocab.json`` with ``merges.txt``.

``tokenizer.json`` alone decides the ids of a text; the files beside it give names to special tokens, sides and chat
templates, and must not contradict it.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from pathlib import Path

from tokenizer_core._kernel import Vocabulary
from tokenizer_core.arguments import path_of
from tokenizer_core.config import AddedToken, PipelineConfig, Settings, Side, TokenizerParts
from tokenizer_core.errors import ArtifactNotFound, InvalidArtifact
from tokenizer_core.formats import files, hf_vocab_merges
from tokenizer_core.formats.added import check_numbers, has_byte_fallback, read_added_token, reserve
from tokenizer_core.formats.fields import Fields, identifier, unsupported
from tokenizer_core.formats.hf_configs import with_class
from tokenizer_core.formats.hf_decoders import read_decoder
from tokenizer_core.formats.hf_models import read_model
from tokenizer_core.formats.hf_settings import read_settings
from tokenizer_core.formats.hf_stages import (
    read_normalizer,
    read_post_processor,
    read_pretokenizer,
)
from tokenizer_core.formats.side_files import read_beside
from tokenizer_core.frame import Frame

TOKENIZER = "tokenizer.json"
_SIDES: dict[str, Side] = {"Left": "left", "Right": "right"}


def read(path: str | Path) -> TokenizerParts:
    """Read a directory in Hugging Face's layout, or a ``tokenizer.json`` with the files beside it.

    A file of another name is read alone.

    Raises:
        ArtifactNotFound, InvalidArtifact, Unsupported: with the file and the path of the field.
        InvalidOption: it is not a path.
    """
    path = path_of(path)
    # os.path, because Path.is_dir raises where a name is too long or a directory cannot be searched.
    if not os.path.isdir(path):  # noqa: PTH112
        data = files.read(path)
        found = read_beside(path.parent) if path.name == TOKENIZER else {}
        name, provenance = files.name_of_file(path), files.origin("huggingface", {path.name: data} | found)
        return dataclasses.replace(parse(data, found), name=name, provenance=provenance)
    found, own = read_beside(path), {}
    if (tokenizer := files.read_optional(path / TOKENIZER)) is not None:
        parts, own = parse(tokenizer, found), {TOKENIZER: tokenizer}
    else:
        parts, own = _of_pair(path, found)
    provenance = files.origin("huggingface", own | found)
    return dataclasses.replace(parts, name=files.name_of_directory(path), provenance=provenance)


def _of_pair(path: Path, found: Mapping[str, bytes]) -> tuple[TokenizerParts, dict[str, bytes]]:
    """Read ``vocab.json`` and ``merges.txt``; return them, too.

    Raises:
        ArtifactNotFound: not both are there.
    """
    vocab, merges = files.read_optional(path / "vocab.json"), files.read_optional(path / "merges.txt")
    if vocab is None or merges is None:
        raise ArtifactNotFound(
            f"{path} has no tokenizer.json, and not both of vocab.json and merges.txt", field=TOKENIZER
        )
    beside = with_class(found, hf_vocab_merges.BY_MODEL)
    parts = parse(*hf_vocab_merges.document(vocab, merges, beside))
    return parts, {"vocab.json": vocab, "merges.txt": merges}


def parse(tokenizer: bytes, beside: Mapping[str, bytes]) -> TokenizerParts:
    """Read the bytes of a ``tokenizer.json`` and of the files beside it, by name."""
    vocabulary, rest = Vocabulary.from_tokenizer_json(tokenizer)
    fields = Fields(json.loads(rest), "")
    version = fields.any("version")
    if version not in (None, "1.0"):
        raise unsupported("version", version, "1.0")
    part = read_model(Fields(fields.any("model"), "model"), vocabulary)
    added = tuple(read_added_token(item, path) for item, path in fields.items("added_tokens", []))
    entries, fallback = vocabulary, has_byte_fallback(part.model)
    vocabulary = reserve(vocabulary, added, ignore_merges=part.ignore_merges, byte_fallback=fallback)
    check_numbers(entries, len(entries), added)
    is_byte_level = part.model.is_byte_bpe
    stages, prefix_space = read_pretokenizer(fields.any("pre_tokenizer"), is_byte_level=is_byte_level)
    frame = read_post_processor(fields.any("post_processor"))
    decoder = read_decoder(fields.any("decoder"), is_byte_level=is_byte_level)
    config = PipelineConfig(
        normalizer=read_normalizer(fields.any("normalizer")),
        prefix_space=prefix_space,
        pretokenizer=stages,
        model=part.model,
        ignore_merges=part.ignore_merges,
        decoder=decoder,
        added_tokens=added,
        prefix_ids=frame.prefix,
        suffix_ids=frame.suffix,
    )
    _check_frame(config, vocabulary, frame.pair or ())
    known = {token.content for token in added}
    unk = part.unk if part.unk in known else None
    defaults = Settings(unk=unk, pair_template=frame.pair, type_ids=frame.type_ids)
    defaults = _read_truncation(fields.any("truncation"), defaults)
    defaults = _read_padding(fields.any("padding"), defaults, added)
    fields.finish()
    return TokenizerParts(vocabulary, config, read_settings(beside, config, defaults))


def _check_frame(config: PipelineConfig, vocabulary: Vocabulary, pair: Frame) -> None:
    added = {token.id for token in config.added_tokens}
    of_pair = (item for item, _ in pair if isinstance(item, int))
    for id in (*config.prefix_ids, *config.suffix_ids, *of_pair):
        if id not in added and vocabulary.token_bytes(id) is None:
            raise InvalidArtifact(
                f"the post-processor puts id {id}, which no token has", code="id_out_of_range", field="post_processor"
            )


def _read_truncation(value: object, settings: Settings) -> Settings:
    if value is None:
        return settings
    fields = Fields(value, "truncation")
    side = fields.choice("direction", _SIDES) if fields.has("direction") else "right"
    length = fields.size("max_length")
    fields.choice("strategy", dict.fromkeys(("LongestFirst", "OnlyFirst", "OnlySecond"), ""))
    fields.size("stride")
    fields.finish()
    return dataclasses.replace(settings, truncation_side=side, model_max_length=length)


def _read_padding(value: object, settings: Settings, added: tuple[AddedToken, ...]) -> Settings:
    if value is None:
        return settings
    fields = Fields(value, "padding")
    strategy = fields.any("strategy")
    if strategy != "BatchLongest":
        fixed = Fields(strategy, "padding.strategy")
        fixed.size("Fixed")
        fixed.finish()
    side = fields.choice("direction", _SIDES)
    if fields.has("pad_to_multiple_of"):
        fields.size("pad_to_multiple_of")
    fields.any("pad_to_multiple_of")
    id = identifier(fields.any("pad_id"), "padding.pad_id")
    fields.size("pad_type_id")
    literal = fields.take("pad_token", str)
    fields.finish()
    known = {token.content: token.id for token in added}
    if known.get(literal, id) != id:
        raise InvalidArtifact(
            f"padding.pad_id is {id}, but the id of {literal[:80]!r} is {known[literal]}",
            code="id_conflict",
            field="padding.pad_id",
        )
    return dataclasses.replace(settings, padding_side=side, pad=literal if literal in known else None)
