"""Read and write ``decoder`` of a ``tokenizer.json``."""

from __future__ import annotations

from typing import Any

from tokenizer_core.errors import InvalidArtifact, Unsupported
from tokenizer_core.formats.fields import Fields, unsupported
from tokenizer_core.formats.hf_stages import (
    REPLACE,
    Spelled,
    flat,
    read_byte_level,
    read_metaspace,
    read_stage,
    write_byte_level,
    write_stage,
)
from tokenizer_core.stages import Decoder

_DECODERS: Spelled = {
    "Fuse": ("fuse", {}),
    "ByteFallback": ("byte_fallback", {}),
    "WordPiece": ("word_piece", {"prefix": "prefix", "cleanup": "cleanup"}),
    "CTC": ("ctc", {"pad_token": "pad", "word_delimiter_token": "delimiter", "cleanup": "cleanup"}),
    "BPEDecoder": ("bpe", {"suffix": "suffix"}),
    "Strip": ("strip", {"content": "content", "start": "start", "stop": "stop"}),
    "Replace": REPLACE,
}


def read_decoder(value: object, *, is_byte_level: bool) -> tuple[Decoder, ...]:
    """Read the decoders; a byte-level model's tokens are decoded to bytes also where a file names none."""
    if value is None:
        return () if is_byte_level else (Decoder("spaced"),)
    stages: list[Decoder] = []
    for kind, fields in flat(value, "decoder", "decoders"):
        if is_byte_level and kind != "ByteLevel":
            raise unsupported(fields.at("type"), kind, "ByteLevel, Sequence")
        match kind:
            case "ByteLevel":
                read_byte_level(fields)
                stages.append(Decoder("byte_level"))
            case "Metaspace":
                metaspace = read_metaspace(fields)
                drops_first = metaspace.prepend != "never"
                stages.append(Decoder("metaspace", replacement=metaspace.replacement, drops_first=drops_first))
            case "Strip":
                stages.append(_strip(fields))
            case _ if kind in _DECODERS:
                stages.append(read_stage(kind, fields, _DECODERS, Decoder))
            case _:
                wanted = (
                    "ByteLevel, WordPiece, CTC, Metaspace, BPEDecoder, Replace, Strip, Fuse, ByteFallback, Sequence"
                )
                raise unsupported(fields.at("type"), kind, wanted)
        fields.finish()
    return () if is_byte_level else tuple(stages)


def _strip(fields: Fields) -> Decoder:
    content = fields.take("content", str)
    if len(content) != 1:
        raise InvalidArtifact(f"{fields.at('content')} must be one character", field=fields.at("content"))
    return Decoder("strip", content=content, start=fields.size("start"), stop=fields.size("stop"))


def write_decoder(stages: tuple[Decoder, ...]) -> list[dict[str, Any]]:
    """Write the decoders of a model that is not byte-level."""
    return [_write(stage) for stage in stages if stage.type != "spaced"]


def _write(stage: Decoder) -> dict[str, Any]:
    match stage.type:
        case "metaspace":
            scheme = "always" if stage.drops_first else "never"
            return {"type": "Metaspace", "replacement": stage.replacement, "prepend_scheme": scheme, "split": True}
        case "byte_level":
            return write_byte_level(add_prefix_space=True, use_regex=True)
    if (written := write_stage(stage, _DECODERS)) is None:
        raise Unsupported(f"tokenizer.json cannot say the decoder {stage.type!r}", field="decoder")
    return written
