"""Turn a SentencePiece model into the pipeline that transformers makes of it, for classes with ids of their own."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from tokenizer_core._kernel import Vocabulary
from tokenizer_core.config import AddedToken, PipelineConfig, Settings, TokenizerParts
from tokenizer_core.errors import InvalidArtifact, Unsupported
from tokenizer_core.formats import files
from tokenizer_core.formats.added import reserve
from tokenizer_core.formats.fields import Fields
from tokenizer_core.formats.hf_models import as_read
from tokenizer_core.formats.hf_roles import (
    CONFIG,
    LISTS,
    TOKENS_MAP,
    load,
    take_added,
    take_named,
    take_roles,
)
from tokenizer_core.formats.hf_settings import read_settings
from tokenizer_core.formats.hf_stages import Frames, frames_of
from tokenizer_core.formats.sentencepiece_classes import Conversion
from tokenizer_core.frame import read_frame
from tokenizer_core.stages import Decoder, Model, Normalizer, Pattern, Pretokenizer

_META = "\u2581"
_SPACES = Pattern("regex", " {2,}")
_DEMOTED = 100.0
"""The amount that transformers takes off the score of a piece that it wants to avoid."""


def convert(
    pieces: Vocabulary, rest: Mapping[str, Any], beside: Mapping[str, bytes], conversion: Conversion
) -> TokenizerParts:
    """Return the parts of a class's tokenizer.

    Args:
        pieces, rest: the model, as the kernel reads it.
        beside: files by name.

    The scores are those that a reader finds in the ``tokenizer.json`` that transformers writes.

    Raises:
        InvalidArtifact: also where a token has another id than transformers gives it.
        Unsupported: the model or the configuration says what transformers ignores, or what is not supported.
    """
    config = load(beside, CONFIG)
    _check(rest, config)
    entries = _entries(pieces, conversion)
    added = _added(pieces, rest, beside, entries, conversion)
    ids = {text: id for id, (text, _) in enumerate(entries)} | {token.content: token.id for token in added}
    unk = next(iter(rest["unknown"]), None) if conversion.unk is None else conversion.unk
    frames = _frames(config, conversion, ids)
    pipeline = PipelineConfig(
        normalizer=_normalizer(rest, config, conversion),
        pretokenizer=_pretokenizer(config, conversion),
        model=Model("unigram", unk=unk),
        decoder=(Decoder("metaspace", replacement=_META, drops_first=True),),
        added_tokens=added,
        prefix_ids=frames.prefix,
        suffix_ids=frames.suffix,
    )
    settings = Settings(pair_template=frames.pair, type_ids=frames.type_ids)
    vocabulary = Vocabulary.from_texts(
        [(id, text) for id, (text, _) in enumerate(entries)], [], [as_read(score) for _, score in entries]
    )
    told = files.parse_json(beside.get(CONFIG, b"{}"), CONFIG)
    told |= {f"{role}_token": token.content for role, (token, _) in _roles(beside, conversion).items()}
    settings = read_settings({**beside, CONFIG: json.dumps(told).encode()}, pipeline, settings)
    return TokenizerParts(reserve(vocabulary, pipeline.added_tokens), pipeline, settings)


def _check(rest: Mapping[str, Any], config: Fields) -> None:
    """Refuse what transformers would pass over in silence, so that its ids are not SentencePiece's."""
    if rest["model_type"] != "unigram" or rest["byte_fallback"] or rest["treat_whitespace_as_suffix"]:
        raise Unsupported(
            f"{config.peek('tokenizer_class')} is supported with a Unigram model that has no byte fallback, and whose "
            "spaces stand before words; use its tokenizer.json",
            field="trainer_spec",
        )


def _entries(pieces: Vocabulary, conversion: Conversion) -> list[tuple[str, float]]:
    """Return the entries of all ids, with their scores."""
    entries = [(text, 0.0) for text in conversion.lead]
    entries += [(text, -_DEMOTED) for text in conversion.spare]
    scores = pieces.scores()
    for text, id in pieces.token_texts()[conversion.dropped :]:
        entries.append((text, scores[id] - _DEMOTED if conversion.commas and _is_number(text) else scores[id]))
    return entries + [(text, 0.0) for text in conversion.tail]


def _is_number(text: str) -> bool:
    return len(text) > 1 and text[-1] == "," and text[-2].isdigit()


def _roles(beside: Mapping[str, bytes], conversion: Conversion) -> dict[str, tuple[AddedToken, bool]]:
    return take_roles([load(beside, name) for name in (TOKENS_MAP, CONFIG)], conversion)


def _added(
    pieces: Vocabulary,
    rest: Mapping[str, Any],
    beside: Mapping[str, bytes],
    entries: list[tuple[str, float]],
    conversion: Conversion,
) -> tuple[AddedToken, ...]:
    """Collect the added tokens as transformers does: a token that is no entry gets the next id."""
    ids = {text: id for id, (text, _) in enumerate(entries)}
    added: dict[str, AddedToken] = {}

    def add(token: AddedToken) -> None:
        id = ids.setdefault(token.content, len(ids))
        added[token.content] = dataclasses.replace(token, id=id)

    for id in sorted((*rest["control"], *rest["user_defined"])):
        text = (pieces.token_bytes(id) or b"").decode()
        add(AddedToken(id=0, content=text, special=id in rest["control"]))
    for text in (*conversion.lead, *conversion.spare, *conversion.tail):
        add(AddedToken(id=0, content=text, special=True))
    listed = sorted(take_added(beside, normalized=True), key=lambda item: item[0].id)
    if conversion.listed and not listed:
        raise Unsupported(
            "the ids of the languages are not in the model, and no added_tokens_decoder lists them; use its "
            "tokenizer.json",
            field=f"{CONFIG}.added_tokens_decoder",
        )
    for token, place in listed:
        add(token)
        if added[token.content] != token:
            raise InvalidArtifact(
                f"{token.content[:80]!r} has the id {token.id} there, and {added[token.content].id} in the tokenizer "
                "that transformers makes of the model",
                code="id_conflict",
                field=place,
            )
    known = {token.content for token, _ in listed}
    for token, is_named in _roles(beside, conversion).values():
        if token.content not in known or not is_named:
            add(token)
    for token, _ in take_named(beside, LISTS):
        if token.content not in added:
            add(token)
    return tuple(added.values())


def _frames(config: Fields, conversion: Conversion, ids: Mapping[str, int]) -> Frames:
    language = config.peek("src_lang") if conversion.lang else None
    lang = language if isinstance(language, str) else conversion.lang
    named = {**ids, "{lang}": ids[lang]} if lang in ids else ids
    try:
        return frames_of(read_frame(conversion.single, named), read_frame(conversion.pair, named))
    except KeyError as error:
        literal = lang if error.args[0] == "{lang}" else error.args[0]
        raise InvalidArtifact(
            f"{literal[:80]!r} is put round a text, and no token of the model is called so", field="pieces"
        ) from None


def _normalizer(rest: Mapping[str, Any], config: Fields, conversion: Conversion) -> tuple[Normalizer, ...]:
    table = rest["normalizer"]["charsmap"]
    charsmap: list[Normalizer] = [Normalizer("precompiled", charsmap=table)] if table else []
    small = _flag(config, "do_lower_case", conversion.lowercase)
    lowercase: list[Normalizer] = [Normalizer("lowercase")] if small else []
    one_space = Normalizer("replace", pattern=_SPACES, content=" ")
    match conversion.style:
        case "albert" | "rembert":
            quotes = [Normalizer("replace", pattern=Pattern("string", quote), content='"') for quote in ("``", "''")]
            kept = _flag(config, "keep_accents", conversion.keep_accents)
            accents = [] if kept else [Normalizer("nfkd"), Normalizer("strip_accents")]
            letters = [*accents, *lowercase, *charsmap]
            return (*quotes, one_space, *letters) if conversion.style == "rembert" else (*quotes, *letters, one_space)
        case "deberta":
            return (*lowercase, Normalizer("strip", left=True, right=True), *charsmap, one_space)
        case _:
            return (
                *charsmap,
                Normalizer("strip", left=False, right=True),
                Normalizer("replace", pattern=_SPACES, content=_META),
            )


def _pretokenizer(config: Fields, conversion: Conversion) -> tuple[Pretokenizer, ...]:
    stages: list[Pretokenizer] = [Pretokenizer("whitespace_split")] if conversion.words else []
    if conversion.style == "deberta" and _flag(config, "split_by_punct", default=False):
        stages.append(Pretokenizer("punctuation", behavior="isolated"))
    return (*stages, Pretokenizer("metaspace", replacement=_META, prepend="always", split=True))


def _flag(config: Fields, key: str, default: bool) -> bool:
    value = config.optional(key, bool)
    return default if value is None else value
