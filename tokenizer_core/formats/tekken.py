"""Read Mistral's ``tekken.json``: a rank file as JSON, whose ids stand behind those of the special tokens.

Source: ``mistral_common/tokens/tokenizers/tekken.py``. There no literal in a text ever becomes a special token, and
what a text becomes does not depend on the configurations for images and sound.
"""

from __future__ import annotations

import dataclasses
import os
import re
from pathlib import Path
from typing import Any

from tokenizer_core._kernel import Vocabulary
from tokenizer_core.arguments import path_of
from tokenizer_core.config import AddedToken, PipelineConfig, Settings, TokenizerParts
from tokenizer_core.errors import InvalidArtifact
from tokenizer_core.formats import files
from tokenizer_core.formats.added import reserve
from tokenizer_core.formats.fields import Fields, identifier, unsupported
from tokenizer_core.formats.hf_settings import templates_in
from tokenizer_core.stages import Pretokenizer

NAME = "tekken.json"

_ELSEWHERE = ("version", "type", "image", "multimodal", "audio", "model_settings_builder")
"""Fields that change no id of a text: the tokens of images, sound and settings of a chat."""

_WITHOUT_A_LIST = " ".join(
    (
        "<unk> <s> </s> [INST] [/INST] [AVAILABLE_TOOLS] [/AVAILABLE_TOOLS] [TOOL_RESULTS] [/TOOL_RESULTS]",
        "[TOOL_CALLS] [IMG] <pad> [IMG_BREAK] [IMG_END] [PREFIX] [MIDDLE] [SUFFIX] [SYSTEM_PROMPT] [/SYSTEM_PROMPT]",
        "[TOOL_CONTENT]",
    )
).split()
"""The special tokens of files up to version 7, which do not list them."""


_MAX_SPECIAL_TOKENS = 1 << 16
_BASE64 = re.compile("[A-Za-z0-9+/]+={0,2}")


def read(path: str | Path) -> TokenizerParts:
    """Read a ``tekken.json``, or the directory that holds it, with the chat templates beside it.

    Raises:
        ArtifactNotFound, InvalidArtifact, Unsupported: with the path of the field.
    """
    path = path_of(path)
    is_directory = os.path.isdir(path)  # noqa: PTH112  Path.is_dir raises where a directory cannot be searched
    file = path / NAME if is_directory else path
    data = files.read(file)
    beside, settings = templates_in(file.parent) if file.name == NAME else ({}, Settings())
    provenance = files.origin("tekken", {file.name: data} | beside)
    return parse(data, settings, name=files.name_of_file(file), provenance=provenance)


def parse(data: bytes, settings: Settings, **about: Any) -> TokenizerParts:
    """Read the bytes of the file; ``settings`` has the chat templates, and ``about`` goes into the parts."""
    fields = Fields(files.parse_json(data, NAME), "")
    config = Fields(fields.take("config", dict), "config")
    pattern = config.take("pattern", str)
    size, specials = config.size("default_vocab_size"), config.size("default_num_special_tokens")
    version = config.take("version", str)
    if not (number := re.fullmatch(r"v([0-9]{1,3})(m[0-9])?", version)):
        raise unsupported(config.at("version"), version, "v3, v7, v11, ...")
    config.optional("num_vocab_tokens", int)
    config.finish()
    tokens = _special_tokens(fields, specials, int(number[1]))
    lines = _rank_lines(fields, size - specials, specials)
    for key in _ELSEWHERE:
        fields.any(key)
    fields.finish()
    vocabulary = reserve(_vocabulary(lines), tokens, ignore_merges=True)
    ids = {token.content: token.id for token in tokens}
    pipeline = PipelineConfig(
        pretokenizer=(Pretokenizer.into_matches(pattern),),
        ignore_merges=True,
        added_tokens=tokens,
        prefix_ids=(ids["<s>"],) if "<s>" in ids else (),
    )
    bos, eos, pad, unk = (literal if literal in ids else None for literal in ("<s>", "</s>", "<pad>", "<unk>"))
    settings = dataclasses.replace(settings, bos=bos, eos=eos, pad=pad, unk=unk)
    return TokenizerParts(vocabulary, pipeline, settings, **about)


def _special_tokens(fields: Fields, count: int, version: int) -> tuple[AddedToken, ...]:
    """Read the special tokens; those that the file does not name are numbered, as mistral-common does it."""
    named: dict[int, str] = dict(enumerate(_WITHOUT_A_LIST))
    if fields.has("special_tokens"):
        named = {}
        for item, path in fields.items("special_tokens"):
            token = Fields(item, path)
            id = identifier(token.any("rank"), token.at("rank"))
            if id in named:
                raise InvalidArtifact(
                    f"another special token has the rank {id}", code="duplicate_id", field=token.at("rank")
                )
            named[id] = token.take("token_str", str)
            token.take("is_control", bool, True)
            token.finish()
    elif version > 7:
        raise InvalidArtifact("special_tokens is missing", field="special_tokens")
    fields.any("special_tokens")
    if count > _MAX_SPECIAL_TOKENS or any(id >= count for id in named):
        raise InvalidArtifact(
            f"there are {count} special tokens, at most {_MAX_SPECIAL_TOKENS}, and all ranks are below their number",
            code="id_out_of_range",
            field="config.default_num_special_tokens",
        )
    return tuple(AddedToken(id=id, content=named.get(id, f"<SPECIAL_{id}>"), special=True) for id in range(count))


def _vocabulary(lines: bytes) -> Vocabulary:
    try:
        return Vocabulary.from_tiktoken(lines)
    except InvalidArtifact as error:
        if line := re.fullmatch("line ([0-9]+)", error.place.get("field", "")):
            error.place["field"] = f"vocab[{int(line[1]) - 1}].token_bytes"
        raise


def _rank_lines(fields: Fields, count: int, shift: int) -> bytes:
    """Write the first ``count`` entries as a rank file whose ranks are ids; the file has more than the model uses."""
    entries = fields.items("vocab")
    if not 0 <= count <= len(entries):
        raise InvalidArtifact(
            f"the model has {count} entries, and the file {len(entries)}", field="config.default_vocab_size"
        )
    lines = []
    for rank, (item, path) in enumerate(entries[:count]):
        entry = Fields(item, path)
        if entry.take("rank", int) != rank:
            raise InvalidArtifact(f"the rank must be the place, {rank}", field=entry.at("rank"))
        token = entry.take("token_bytes", str)
        entry.any("token_str")
        entry.finish()
        if not _BASE64.fullmatch(token):
            raise InvalidArtifact("the token is not base64", field=entry.at("token_bytes"))
        lines.append(f"{token} {rank + shift}\n")
    return "".join(lines).encode()
