"""Read and write ``decoder`` of a ``tokenizer.json``."""

from __future__ import annotations

from typing import Any

from tokenizer_core.errors import InvalidArtifact, Unsupported
from tokenizer_core.formats.fields import Fields, unsupported
from tokenizer_core.formats.hf_stages import flat, read_byte_level, read_metaspace, read_pattern, write_pattern
from tokenizer_core.stages.decoders import (
    BpeDecoder,
    Ctc,
    DecoderStage,
    Join,
    MetaspaceDecoder,
    StripDecoder,
    WordPiece,
)
from tokenizer_core.stages.normalizers import Replace

_JOINS: dict[str, Join] = {"Fuse": Join("fuse"), "ByteFallback": Join("byte_fallback")}
_BYTE_LEVEL = Join("byte_level")
_JOIN_NAMES = {stage: name for name, stage in _JOINS.items()}


def read_decoder(value: object, *, is_byte_level: bool) -> tuple[DecoderStage, ...]:
    """Read the decoders; a byte-level model's tokens are decoded to bytes also where a file names none."""
    if value is None:
        return () if is_byte_level else (Join("spaced"),)
    stages: list[DecoderStage] = []
    for kind, fields in flat(value, "decoder", "decoders"):
        if is_byte_level and kind != "ByteLevel":
            raise unsupported(fields.at("type"), kind, "ByteLevel, Sequence")
        match kind:
            case "ByteLevel":
                read_byte_level(fields)
                stages.append(_BYTE_LEVEL)
            case "Metaspace":
                metaspace = read_metaspace(fields)
                drops_first = metaspace.prepend != "never"
                stages.append(MetaspaceDecoder(replacement=metaspace.replacement, drops_first=drops_first))
            case "WordPiece":
                stages.append(WordPiece(prefix=fields.take("prefix", str), cleanup=fields.take("cleanup", bool)))
            case "CTC":
                stages.append(_ctc(fields))
            case "BPEDecoder":
                stages.append(BpeDecoder(fields.take("suffix", str)))
            case "Replace":
                stages.append(Replace(read_pattern(fields), fields.take("content", str)))
            case "Strip":
                stages.append(_strip(fields))
            case _ if kind in _JOINS:
                stages.append(_JOINS[kind])
            case _:
                wanted = (
                    "ByteLevel, WordPiece, CTC, Metaspace, BPEDecoder, Replace, Strip, Fuse, ByteFallback, Sequence"
                )
                raise unsupported(fields.at("type"), kind, wanted)
        fields.finish()
    return () if is_byte_level else tuple(stages)


def _ctc(fields: Fields) -> Ctc:
    return Ctc(
        pad=fields.take("pad_token", str),
        delimiter=fields.take("word_delimiter_token", str),
        cleanup=fields.take("cleanup", bool),
    )


def _strip(fields: Fields) -> StripDecoder:
    content = fields.take("content", str)
    if len(content) != 1:
        raise InvalidArtifact(f"{fields.at('content')} must be one character", field=fields.at("content"))
    return StripDecoder(content=content, start=fields.size("start"), stop=fields.size("stop"))


def write_decoder(stages: tuple[DecoderStage, ...]) -> list[dict[str, Any]]:
    """Write the decoders of a model that is not byte-level."""
    return [_write(stage) for stage in stages if stage != Join("spaced")]


def _write(stage: DecoderStage) -> dict[str, Any]:
    match stage:
        case MetaspaceDecoder(replacement=replacement, drops_first=drops_first):
            scheme = "always" if drops_first else "never"
            return {"type": "Metaspace", "replacement": replacement, "prepend_scheme": scheme, "split": True}
        case WordPiece():
            return {"type": "WordPiece", "prefix": stage.prefix, "cleanup": stage.cleanup}
        case Ctc(pad=pad, delimiter=delimiter, cleanup=cleanup):
            return {"type": "CTC", "pad_token": pad, "word_delimiter_token": delimiter, "cleanup": cleanup}
        case BpeDecoder(suffix):
            return {"type": "BPEDecoder", "suffix": suffix}
        case Replace(pattern, content):
            return {"type": "Replace", "pattern": write_pattern(pattern), "content": content}
        case StripDecoder():
            return {"type": "Strip", "content": stage.content, "start": stage.start, "stop": stage.stop}
        case Join("byte_level"):
            return {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
        case Join():
            return {"type": _JOIN_NAMES[stage]}
        case _:
            kind = stage._json()["type"]
            raise Unsupported(f"tokenizer.json cannot say the decoder {kind!r}", field="decoder")
