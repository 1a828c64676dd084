"""Read a SentencePiece model: ``tokenizer.model``, ``spiece.model``, ``sentencepiece.bpe.model``.

The file says everything that changes an id, so an artifact keeps it as it is and reads it again. The files beside it
give names to special tokens, further added tokens, templates, and whether bos and eos are put round a text.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tokenizer_core._kernel import Vocabulary
from tokenizer_core.config import AddedToken, PipelineConfig, Settings, TokenizerParts
from tokenizer_core.errors import InvalidArtifact, Unsupported
from tokenizer_core.formats import files
from tokenizer_core.formats.added import reserve
from tokenizer_core.formats.fields import Fields
from tokenizer_core.formats.hf_configs import with_class
from tokenizer_core.formats.hf_roles import CONFIG, NAMING, load, take_added, take_named
from tokenizer_core.formats.hf_settings import read_settings
from tokenizer_core.formats.sentencepiece_classes import (
    BY_MODEL,
    CONVERSIONS,
    EXTRA_IDS,
    FOLLOWS_PREFIX,
    MOST_EXTRA_IDS,
    PLAIN,
    check_settings,
    class_of,
)
from tokenizer_core.formats.sentencepiece_convert import convert
from tokenizer_core.formats.side_files import read_beside
from tokenizer_core.stages import Decoder, Model, Normalizer, Pretokenizer

MODEL = "tokenizer.model"
"""The name in an artifact."""

NAMES = (MODEL, "spiece.model", "sentencepiece.bpe.model", "sentencepiece.model", "spm.model")
"""The names in the directories of models."""


def read(path: Path) -> TokenizerParts:
    """Read a model; the files that go with it lie in the same directory.

    Raises:
        ArtifactNotFound, InvalidArtifact, Unsupported: with the piece or the field.
    """
    model = files.read(path)
    read = read_beside(path.parent) if path.name in NAMES else {}
    parts = parse(model, with_class(read, BY_MODEL))
    provenance = files.origin("sentencepiece", {path.name: model, **read})
    return dataclasses.replace(parts, name=files.name_of_file(path), provenance=provenance)


def parse(model: bytes, beside: Mapping[str, bytes]) -> TokenizerParts:
    """Read the bytes of a model and of the files beside it, by name."""
    vocabulary, text = Vocabulary.from_sentencepiece(model)
    rest = json.loads(text)
    kind = class_of(beside)
    check_settings(beside, kind)
    if kind in CONVERSIONS:
        return convert(vocabulary, rest, beside, CONVERSIONS[kind])
    if rest["denormalizer_charsmap"]:
        raise Unsupported("the model rewrites what it decodes (denormalizer_spec), which is not supported", field=MODEL)
    rules = _rules(vocabulary, rest)
    spaces = _spaces(rules, load(beside, CONFIG), kind)
    added = _added_tokens(vocabulary, rest, beside, symbols=spaces != rules)
    ids = {token.content: token.id for token in added}
    roles = {
        role: literal if (literal := rest[f"{role}_piece"]) in ids else None for role in ("bos", "eos", "pad", "unk")
    }
    puts_space = spaces.prepend == "first" if isinstance(spaces, Pretokenizer) else spaces.dummy_prefix
    config = PipelineConfig(
        normalizer=() if isinstance(spaces, Pretokenizer) else (spaces,),
        pretokenizer=(spaces,) if isinstance(spaces, Pretokenizer) else (),
        model=_model(rest),
        decoder=(_decoder(rest, dummy_prefix=puts_space),),
        added_tokens=added,
        prefix_ids=_around("bos", roles, ids, beside),
        suffix_ids=_around("eos", roles, ids, beside),
    )
    settings = read_settings(beside, config, Settings())
    if spaces != rules and not puts_space:
        # Only the files beside a model say so, and reading them takes the key.
        settings = dataclasses.replace(settings, extra=tuple(sorted((*settings.extra, ("add_prefix_space", "false")))))
    settings = dataclasses.replace(
        settings,
        bos=settings.bos or roles["bos"],
        eos=settings.eos or roles["eos"],
        pad=settings.pad or roles["pad"],
        unk=settings.unk or roles["unk"],
    )
    vocabulary = reserve(vocabulary, added)
    return TokenizerParts(vocabulary, config, settings, sentencepiece=model)


def _text(vocabulary: Vocabulary, id: int) -> str:
    return (vocabulary.token_bytes(id) or b"").decode()


def _rules(vocabulary: Vocabulary, rest: Mapping[str, Any]) -> Normalizer:
    rules = rest["normalizer"]
    return Normalizer(
        "sentence_piece",
        charsmap=rules["charsmap"],
        symbols=tuple(sorted(_text(vocabulary, id) for id in rest["user_defined"])),
        dummy_prefix=rules["add_dummy_prefix"],
        suffix=rest["treat_whitespace_as_suffix"],
        fold=rules["remove_extra_whitespaces"],
        escape=rules["escape_whitespaces"],
    )


def _model(rest: Mapping[str, Any]) -> Model:
    kind = rest["model_type"]
    unk = next(iter(rest["unknown"]), None)
    fallback = rest["byte_fallback"]
    reserved = rest["unknown"] + rest["control"] + rest["byte"]
    if kind != "bpe":
        reserved += rest["unused"]
    reserved, user_defined = tuple(sorted(reserved)), tuple(rest["user_defined"])
    match kind:
        case "unigram":
            return Model(
                "unigram", unk=unk, byte_fallback=fallback, sums="float", reserved=reserved, user_defined=user_defined
            )
        case "char" | "word":
            return Model(
                "symbols", unit=kind, unk=unk, byte_fallback=fallback, reserved=reserved, user_defined=user_defined
            )
        case _:
            return Model(
                "char_bpe",
                unk=unk,
                fuse_unk=True,
                byte_fallback=fallback,
                by_score=True,
                user_defined=user_defined,
                reserved=reserved,
                unused=tuple(rest["unused"]),
            )


def _decoder(rest: Mapping[str, Any], *, dummy_prefix: bool) -> Decoder:
    return Decoder(
        "sentence_piece",
        unk=next(iter(rest["unknown"]), None),
        unk_surface=rest["unk_surface"],
        control=tuple(rest["control"]),
        byte_fallback=rest["byte_fallback"],
        dummy_prefix=dummy_prefix,
        fold=rest["normalizer"]["remove_extra_whitespaces"],
    )


def _spaces(rules: Normalizer, config: Fields, kind: str | None) -> Normalizer | Pretokenizer:
    """Return where spaces are put: as the rules of the model say, or as the settings of a Llama do.

    With ``legacy: false`` no space stands behind a special token, and none before a text that begins with one.

    Raises:
        Unsupported: the rules of the model are others than those of Llama's, which transformers passes over.
    """
    said = {key: config.optional(key, bool) is False for key in ("add_prefix_space", "legacy")}
    if kind not in FOLLOWS_PREFIX or not any(said.values()):
        return rules
    if rules.charsmap or rules.fold or rules.suffix:
        key = next(key for key, is_off in said.items() if is_off)
        raise Unsupported(
            f"{key} is false, which is supported with a model that rewrites no text and keeps all spaces; use its "
            "tokenizer.json",
            field=config.at(key),
        )
    if not said["legacy"]:
        return Normalizer(**rules.to_dict() | {"dummy_prefix": False})
    return Pretokenizer(
        "metaspace", replacement="\u2581", prepend="never" if said["add_prefix_space"] else "first", split=False
    )


def _added_tokens(
    vocabulary: Vocabulary, rest: Mapping[str, Any], beside: Mapping[str, bytes], *, symbols: bool
) -> tuple[AddedToken, ...]:
    """Take the tokens that no text becomes by itself, and those that the files beside the model add or name.

    Args:
        symbols: transformers looks for the symbols of the model too, before the model does.
    """
    own = (*rest["unknown"], *rest["control"])
    added = {id: AddedToken(id=id, content=_text(vocabulary, id), special=True) for id in own}
    for id in rest["user_defined"] if symbols else ():
        added[id] = AddedToken(id=id, content=_text(vocabulary, id))
    for token, place in _listed(vocabulary, beside):
        piece = _text(vocabulary, token.id)
        if piece and piece != token.content:
            raise InvalidArtifact(
                f"the id {token.id} of {token.content[:80]!r} is {piece[:80]!r} in the model",
                code="id_conflict",
                field=place,
            )
        added[token.id] = token
    known = {token.content for token in added.values()}
    pieces, next_id = dict(vocabulary.token_texts()), max([vocabulary.id_limit - 1, *added]) + 1
    for token, _ in take_named(beside, NAMING):
        # Of other classes, tokens that nobody names may take the next ids first.
        if token.content not in known and (token.content in pieces or class_of(beside) == "Llama"):
            id = pieces.get(token.content, next_id)
            next_id += id == next_id
            added[id] = dataclasses.replace(token, id=id)
            known.add(token.content)
    return tuple(added.values())


def _listed(vocabulary: Vocabulary, beside: Mapping[str, bytes]) -> Iterator[tuple[AddedToken, str]]:
    """Yield the tokens that a class adds by itself, and those that its configuration lists, with their places."""
    config = load(beside, CONFIG)
    if class_of(beside) in EXTRA_IDS:
        count = config.optional("extra_ids", int)
        count = 100 if count is None else count
        if not 0 <= count <= MOST_EXTRA_IDS:
            raise InvalidArtifact(f"extra_ids is from 0 to {MOST_EXTRA_IDS}", field=config.at("extra_ids"))
        for number in range(count):
            id = vocabulary.id_limit + count - 1 - number
            yield AddedToken(id=id, content=f"<extra_id_{number}>", special=True), config.at("extra_ids")
    yield from take_added(beside, normalized=False)


def _around(
    role: str, roles: Mapping[str, str | None], ids: Mapping[str, int], beside: Mapping[str, bytes]
) -> tuple[int, ...]:
    """Return the id that is put round a text, if the files beside the model ask for one."""
    kind, asked = class_of(beside), load(beside, CONFIG).peek(f"add_{role}_token")
    wanted = kind is not None and role in PLAIN[kind] if asked is None else asked is True
    literal = roles[role]
    return (ids[literal],) if wanted and literal is not None else ()
