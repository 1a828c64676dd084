"""Read and write the stages of a ``tokenizer.json``: normalizers, pretokenizers, post-processors, decoders."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from tokenizer_core.config import MAX_FRAME
from tokenizer_core.errors import InvalidArtifact, Unsupported
from tokenizer_core.formats.fields import Fields, identifier, unsupported
from tokenizer_core.frame import Frame, Part, default_pair
from tokenizer_core.patterns import PATTERNS
from tokenizer_core.stages import Normalizer, Pattern, Pretokenizer, Stage

S = TypeVar("S", bound=Stage)

Spelled = Mapping[str, tuple[str, Mapping[str, str]]]
"""By Hugging Face's name: the stage that is the same, and its fields by the keys there."""

REPLACE = ("replace", {"pattern": "pattern", "content": "content"})
NORMALIZERS: Spelled = {
    "NFC": ("nfc", {}),
    "NFD": ("nfd", {}),
    "NFKC": ("nfkc", {}),
    "NFKD": ("nfkd", {}),
    "Lowercase": ("lowercase", {}),
    "StripAccents": ("strip_accents", {}),
    "ByteLevel": ("byte_level", {}),
    "Nmt": ("nmt", {}),
    "Strip": ("strip", {"strip_left": "left", "strip_right": "right"}),
    "Prepend": ("prepend", {"prepend": "prefix"}),
    "BertNormalizer": (
        "bert",
        {key: key for key in ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase")},
    ),
    "Precompiled": ("precompiled", {"precompiled_charsmap": "charsmap"}),
    "Replace": REPLACE,
}
PRETOKENIZERS: Spelled = {
    "Split": ("split", {"pattern": "pattern", "behavior": "behavior", "invert": "invert"}),
    "Punctuation": ("punctuation", {"behavior": "behavior"}),
    "Digits": ("digits", {"individual_digits": "individual"}),
    "FixedLength": ("fixed_length", {"length": "length"}),
    "Metaspace": ("metaspace", {"replacement": "replacement", "prepend_scheme": "prepend", "split": "split"}),
    "WhitespaceSplit": ("whitespace_split", {}),
    "BertPreTokenizer": ("bert", {}),
    "Whitespace": ("whitespace", {}),
    "UnicodeScripts": ("unicode_scripts", {}),
}
_PRETOKENIZERS = (
    *("ByteLevel", "Split", "Digits", "Punctuation", "CharDelimiterSplit", "FixedLength", "Metaspace"),
    *("WhitespaceSplit", "BertPreTokenizer", "Whitespace", "UnicodeScripts"),
)
BEHAVIORS = {
    "Removed": "removed",
    "Isolated": "isolated",
    "MergedWithPrevious": "merged_with_previous",
    "MergedWithNext": "merged_with_next",
    "Contiguous": "contiguous",
}
_BEHAVIOR_NAMES = {behavior: name for name, behavior in BEHAVIORS.items()}
_TEXTS = ("content", "prefix", "suffix", "pad_token", "word_delimiter_token")
_PREPENDS = {scheme: scheme for scheme in ("always", "first", "never")}


def read_stage(kind: str, fields: Fields, table: Spelled, made: type[S]) -> S:
    """Read a stage of a table whose fields are as they are there: flags, texts, patterns and behaviours."""
    type, keys = table[kind]
    return made(type, **{field: _read(fields, key) for key, field in keys.items()})


def _read(fields: Fields, key: str) -> Any:
    match key:
        case "pattern":
            return read_pattern(fields)
        case "behavior":
            return fields.choice(key, BEHAVIORS)
        case _:
            return fields.take(key, str if key in _TEXTS else bool)


def write_stage(stage: Stage, table: Spelled) -> dict[str, Any] | None:
    """Write a stage that stands in a table; ``None`` for any other."""
    for name, (type, keys) in table.items():
        if type == stage.type:
            return {"type": name, **{key: _written(key, getattr(stage, field)) for key, field in keys.items()}}
    return None


def _written(key: str, value: Any) -> Any:
    match key:
        case "pattern":
            return write_pattern(value)
        case "behavior":
            return _BEHAVIOR_NAMES[value]
        case _:
            return value


@dataclass(frozen=True, slots=True)
class Frames:
    """The tokens that a post-processor puts around one text, and around a pair; as ``Settings`` has them."""

    prefix: tuple[int, ...] = ()
    suffix: tuple[int, ...] = ()
    type_ids: tuple[int, ...] | None = None
    pair: Frame | None = None


def flat(value: object, path: str, list_key: str) -> Iterator[tuple[str, Fields]]:
    """Yield the type and fields of each stage in order, whatever the nesting of sequences."""
    waiting = [] if value is None else [(value, path)]
    while waiting:
        item, at = waiting.pop()
        fields = Fields(item, at)
        kind = fields.take("type", str)
        if kind == "Sequence":
            waiting.extend(reversed(fields.items(list_key)))
            fields.finish()
        else:
            yield kind, fields


def read_normalizer(value: object) -> tuple[Normalizer, ...]:
    """Read the normalizers."""
    stages: list[Normalizer] = []
    for kind, fields in flat(value, "normalizer", "normalizers"):
        match kind:
            case "Prepend":
                text = fields.take("prepend", str)
                if not text:
                    # Hugging Face itself doubles the first character then, or fails.
                    raise unsupported(fields.at("prepend"), "", "a text that is not empty")
                stages.append(Normalizer("prepend", prefix=text))
            case "BertNormalizer":
                stages.append(_bert(fields))
            case "Precompiled":
                charsmap = fields.base64("precompiled_charsmap")
                stages.append(Normalizer("precompiled", charsmap=base64.b64encode(charsmap).decode()))
            case _ if kind in NORMALIZERS:
                stages.append(read_stage(kind, fields, NORMALIZERS, Normalizer))
            case _:
                raise unsupported(
                    fields.at("type"), kind, "NFC, NFD, NFKC, NFKD, Lowercase, StripAccents, Replace, ..."
                )
        fields.finish()
    return tuple(stages)


def read_pretokenizer(value: object, *, is_byte_level: bool) -> tuple[tuple[Pretokenizer, ...], bool]:
    """Read the pretokenizers, and whether a space is put before the text.

    Args:
        is_byte_level: entries are read as bytes: then ``ByteLevel`` is the last stage, and none of its own.
    """
    stages: list[Pretokenizer] = []
    prefix_space: bool | None = None
    for kind, fields in flat(value, "pre_tokenizer", "pretokenizers"):
        match kind:
            case "ByteLevel":
                if is_byte_level:
                    prefix_space = _byte_level(fields, stages)
                else:
                    stages.extend(_alphabet(fields))
            case "Punctuation" if not fields.has("behavior"):
                stages.append(Pretokenizer("punctuation", behavior="isolated"))
            case "CharDelimiterSplit":
                stages.append(
                    Pretokenizer("split", pattern=Pattern("string", fields.take("delimiter", str)), behavior="removed")
                )
            case "FixedLength":
                stages.append(_fixed_length(fields))
            case "Metaspace":
                stages.append(read_metaspace(fields))
            case _ if kind in PRETOKENIZERS:
                stages.append(read_stage(kind, fields, PRETOKENIZERS, Pretokenizer))
            case _:
                raise unsupported(fields.at("type"), kind, ", ".join(_PRETOKENIZERS))
        fields.finish()
    return tuple(stages), prefix_space or False


def _alphabet(fields: Fields) -> Iterator[Pretokenizer]:
    """Read a ``ByteLevel`` whose entries are texts in the byte alphabet."""
    prefix_space = fields.take("add_prefix_space", bool)
    fields.take("trim_offsets", bool)
    if fields.take("use_regex", bool, True):
        if prefix_space:
            raise unsupported(fields.at("add_prefix_space"), "true", "false with use_regex, where entries have affixes")
        yield Pretokenizer("split", pattern=Pattern("name", "gpt2"))
    yield Pretokenizer("byte_level", prefix_space=prefix_space)


def read_metaspace(fields: Fields) -> Pretokenizer:
    """Read a ``Metaspace``, which is a pretokenizer and a decoder."""
    replacement = fields.take("replacement", str)
    named = fields.has("prepend_scheme")
    prepend = fields.choice("prepend_scheme", _PREPENDS) if named else "always"
    # Older files say this instead.
    if fields.optional("add_prefix_space", bool) is False:
        if named and prepend != "never":
            raise unsupported(fields.at("add_prefix_space"), "false", f"true with prepend_scheme {prepend!r}")
        prepend = "never"
    fields.optional("str_rep", str)
    split = fields.optional("split", bool)
    if len(replacement) != 1:
        raise InvalidArtifact(f"{fields.at('replacement')} must be one character", field=fields.at("replacement"))
    return Pretokenizer("metaspace", replacement=replacement, prepend=prepend, split=split is not False)


def _byte_level(fields: Fields, stages: list[Pretokenizer]) -> bool:
    """Read a ``ByteLevel`` that comes after ``stages``; offsets here are never trimmed, and no id depends on that."""
    prefix_space = fields.take("add_prefix_space", bool)
    if prefix_space and stages:
        # Hugging Face puts the space before every piece that the stages in front have cut.
        path = fields.at("add_prefix_space")
        raise unsupported(path, "true", "false behind other pretokenizers")
    fields.take("trim_offsets", bool)
    if fields.take("use_regex", bool, True):
        stages.append(Pretokenizer("split", pattern=Pattern("name", "gpt2")))
    return prefix_space


def _bert(fields: Fields) -> Normalizer:
    lowercase = fields.take("lowercase", bool)
    strip_accents = fields.optional("strip_accents", bool)
    return Normalizer(
        "bert",
        clean_text=fields.take("clean_text", bool),
        handle_chinese_chars=fields.take("handle_chinese_chars", bool),
        strip_accents=lowercase if strip_accents is None else strip_accents,
        lowercase=lowercase,
    )


def _fixed_length(fields: Fields) -> Pretokenizer:
    length = fields.size("length") if fields.has("length") else 5
    if length == 0:
        raise unsupported(fields.at("length"), "0", "at least 1")
    return Pretokenizer("fixed_length", length=length)


def write_pattern(pattern: Pattern) -> dict[str, str]:
    """Write a pattern, a known one by its spelling."""
    if pattern.kind == "string":
        return {"String": pattern.text}
    return {"Regex": PATTERNS[pattern.text] if pattern.kind == "name" else pattern.text}


def read_pattern(parent: Fields) -> Pattern:
    """Read a pattern: a literal or a regular expression."""
    value = parent.any("pattern")
    fields = Fields(value, parent.at("pattern"))
    literal, regex = fields.optional("String", str), fields.optional("Regex", str)
    fields.finish()
    if (literal is None) == (regex is None):
        raise InvalidArtifact(f"{fields.path} must be a String or a Regex", field=fields.path)
    if literal:
        return Pattern("string", literal)
    if regex:
        return Pattern("regex", regex)
    # Hugging Face itself fails on text whose empty places were replaced.
    raise unsupported(fields.path, "", "a pattern that is not empty")


def read_post_processor(value: object) -> Frames:
    """Read what is put around a text; ``ByteLevel`` only trims offsets, which are never trimmed here."""
    frame: Frames | None = None
    for kind, fields in flat(value, "post_processor", "processors"):
        if kind == "ByteLevel":
            read_byte_level(fields)
            continue
        if frame is not None:
            raise Unsupported(f"{fields.path} is a second frame around the text", field=fields.path)
        match kind:
            case "TemplateProcessing":
                frame = _template(fields)
            case "RobertaProcessing":
                frame = _roberta(fields)
            case "BertProcessing":
                frame = _bert_frame(fields)
            case _:
                known = "TemplateProcessing, RobertaProcessing, BertProcessing, ByteLevel, Sequence"
                raise unsupported(fields.at("type"), kind, known)
        fields.finish()
    return frame or Frames()


def read_byte_level(fields: Fields) -> None:
    """Read a ``ByteLevel`` whose settings change nothing where it stands."""
    for key in ("add_prefix_space", "trim_offsets"):
        fields.take(key, bool)
    fields.take("use_regex", bool, True)
    fields.finish()


def write_byte_level(*, add_prefix_space: bool, use_regex: bool) -> dict[str, Any]:
    """Write a ``ByteLevel``."""
    return {"type": "ByteLevel", "add_prefix_space": add_prefix_space, "trim_offsets": True, "use_regex": use_regex}


def _roberta(fields: Fields) -> Frames:
    cls, sep = _ends(fields)
    for key in ("trim_offsets", "add_prefix_space"):
        fields.take(key, bool)
    return Frames((cls,), (sep,), pair=((cls, 0), ("A", 0), (sep, 0), (sep, 0), ("B", 0), (sep, 0)))


def _bert_frame(fields: Fields) -> Frames:
    cls, sep = _ends(fields)
    return Frames((cls,), (sep,), pair=((cls, 0), ("A", 0), (sep, 0), ("B", 1), (sep, 1)))


def _ends(fields: Fields) -> list[int]:
    ids = []
    for key in ("cls", "sep"):
        items = fields.items(key)
        if len(items) != 2 or type(items[0][0]) is not str:
            raise InvalidArtifact(f"{fields.at(key)} must be a literal and an id", field=fields.at(key))
        ids.append(identifier(items[1][0], items[1][1]))
    return ids


def _template(fields: Fields) -> Frames:
    ids: dict[str, tuple[int, ...]] = {}
    table = Fields(fields.take("special_tokens", dict), fields.at("special_tokens"))
    for key, value in table.rest().items():
        entry = Fields(value, table.at(key))
        entry.take("id", str)
        tokens = entry.strings("tokens")
        ids[key] = tuple(identifier(item, path) for item, path in entry.items("ids"))
        entry.finish()
        if len(tokens) != len(ids[key]):
            raise InvalidArtifact(f"{entry.path} has not as many tokens as ids", field=entry.path)
    single = _template_items(fields, "single", ids)
    path = fields.at("single")
    texts = [index for index, (item, _) in enumerate(single) if isinstance(item, str)]
    if len(texts) != 1 or single[texts[0]][0] != "A":
        raise unsupported(path, "a template", "one that has the sequence A once")
    return frames_of(single, tuple(_template_items(fields, "pair", ids)))


def frames_of(single: Sequence[Part], pair: Frame) -> Frames:
    """Return the frames of a text, which stands there once, and of a pair."""
    at = next(index for index, (item, _) in enumerate(single) if item == "A")
    prefix, suffix = (tuple(item for item, _ in part if isinstance(item, int)) for part in (single[:at], single[at:]))
    types = tuple(kind for _, kind in single)
    return Frames(prefix, suffix, types if any(types) else None, None if pair == default_pair(prefix, suffix) else pair)


def write_frames(single: Frame, pair: Frame, literals: Mapping[int, str]) -> dict[str, Any]:
    """Write both frames."""

    def piece(item: object, type_id: int) -> dict[str, Any]:
        if isinstance(item, int):
            return {"SpecialToken": {"id": literals[item], "type_id": type_id}}
        return {"Sequence": {"id": item, "type_id": type_id}}

    used = sorted({item for item, _ in [*single, *pair] if isinstance(item, int)})
    return {
        "type": "TemplateProcessing",
        "single": [piece(*item) for item in single],
        "pair": [piece(*item) for item in pair],
        "special_tokens": {literals[id]: {"id": literals[id], "ids": [id], "tokens": [literals[id]]} for id in used},
    }


def _template_items(fields: Fields, key: str, ids: Mapping[str, tuple[int, ...]]) -> list[Part]:
    found: list[Part] = []
    framing = 0
    for item, path in fields.items(key):
        piece = Fields(item, path)
        sequence, special = piece.any("Sequence"), piece.any("SpecialToken")
        piece.finish()
        if (sequence is None) == (special is None):
            raise InvalidArtifact(f"{path} must be a Sequence or a SpecialToken", field=path)
        inner = Fields(special if sequence is None else sequence, path)
        name, type_id = inner.take("id", str), identifier(inner.take("type_id", int), inner.at("type_id"))
        inner.finish()
        if sequence is None:
            if name not in ids:
                raise InvalidArtifact(f"{path} names {name[:80]!r}, which special_tokens has not", field=path)
            found.extend((id, type_id) for id in ids[name])
            framing += len(ids[name])
            if framing > MAX_FRAME:
                path = fields.at(key)
                raise Unsupported(f"{path} is a frame of more than {MAX_FRAME} ids, the most there may be", field=path)
        elif name == "A":
            found.append(("A", type_id))
        elif name == "B":
            found.append(("B", type_id))
        else:
            raise InvalidArtifact(f"{path} must be the sequence A or B", field=path)
    return found
