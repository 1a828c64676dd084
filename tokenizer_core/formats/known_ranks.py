"""Rank files that models ship under a known name: their patterns and special tokens, which the files do not hold.

Sources: ``tiktoken_ext/openai_public.py``; ``tokenizer.py`` of Llama 3.1; ``tokenization_qwen.py``;
``tokenization_kimi.py``. A name counts only with the number of ranks that belongs to it.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

from tokenizer_core.config import TokenizerParts
from tokenizer_core.errors import Unsupported
from tokenizer_core.formats import files, tiktoken
from tokenizer_core.formats.gguf_patterns import KIMI
from tokenizer_core.formats.hf_roles import CONFIG, load, take_decoder, take_literal
from tokenizer_core.formats.hf_settings import templates_in
from tokenizer_core.stages import Normalizer

_LLAMA = (
    *("begin_of_text", "end_of_text", "reserved_special_token_0", "reserved_special_token_1", "finetune_right_pad_id"),
    *("step_id", "start_header_id", "end_header_id", "eom_id", "eot_id", "python_tag"),
    *(f"reserved_special_token_{number}" for number in range(2, 247)),
)
_QWEN = ("endoftext", "im_start", "im_end", *(f"extra_{number}" for number in range(205)))


def _numbered(words: tuple[str, ...], first: int) -> dict[str, int]:
    return {f"<|{word}|>": id for id, word in enumerate(words, first)}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """The facts that belong to a file.

    Attributes:
        ranks: how many lines it has.
        special_tokens: ids by literal; ``None`` if ``tokenizer_config.json`` beside the file names them.
        nfc: whether the model's library composes the text first.
        roles: the literals of bos and eos.
        has_directory: whether templates lie beside it.
    """

    ranks: int
    pattern: str
    special_tokens: dict[str, int] | None
    nfc: bool = False
    roles: tuple[str | None, str | None] = (None, "<|endoftext|>")
    has_directory: bool = False


_GPT2_END = {"<|endoftext|>": 50256}
_CL100K = {"<|endoftext|>": 100257, **_numbered(("fim_prefix", "fim_middle", "fim_suffix"), 100258)}
_KNOWN: dict[str, _Known] = {
    "r50k_base.tiktoken": _Known(ranks=50256, pattern="gpt2", special_tokens=_GPT2_END),
    "p50k_base.tiktoken": _Known(ranks=50280, pattern="gpt2", special_tokens=_GPT2_END),
    "cl100k_base.tiktoken": _Known(
        ranks=100256, pattern="cl100k_base", special_tokens=_CL100K | {"<|endofprompt|>": 100276}
    ),
    "o200k_base.tiktoken": _Known(
        ranks=199998, pattern="o200k_base", special_tokens={"<|endoftext|>": 199999, "<|endofprompt|>": 200018}
    ),
    "qwen.tiktoken": _Known(
        ranks=151643, pattern="qwen2", special_tokens=_numbered(_QWEN, 151643), nfc=True, has_directory=True
    ),
    "tokenizer.model": _Known(
        ranks=128000,
        pattern="llama3",
        special_tokens=_numbered(_LLAMA, 128000),
        roles=("<|begin_of_text|>", "<|end_of_text|>"),
        has_directory=True,
    ),
    "tiktoken.model": _Known(
        ranks=163584, pattern=KIMI, special_tokens=None, roles=("[BOS]", "[EOS]"), has_directory=True
    ),
}
_RESERVED = 256
"""Ids behind Kimi's ranks; those without a name are reserved."""

DIRECTORY_FILES = tuple(name for name, known in _KNOWN.items() if known.has_directory)
"""The names of rank files in the directories of models."""


def read(path: Path) -> TokenizerParts | None:
    """Read a rank file whose name and number of ranks are known; ``None`` for any other."""
    known = _KNOWN.get(path.name)
    if known is None or len(files.read(path).splitlines()) != known.ranks:
        return None
    literals, roles = known.special_tokens, known.roles
    if literals is None:
        literals, roles = _of_kimi(path, known)
    parts = tiktoken.read(path, pattern=known.pattern, special_tokens=literals)
    bos, eos = (role if role in literals else None for role in roles)
    settings = dataclasses.replace(parts.settings, bos=bos, eos=eos)
    if known.has_directory:
        read, beside = templates_in(path.parent)
        settings = dataclasses.replace(beside, bos=bos, eos=eos)
        origin = parts.provenance["imported_from"]
        hashes = origin["files"] | {name: files.sha256(data) for name, data in read.items()}
        parts = dataclasses.replace(parts, provenance={"imported_from": {**origin, "files": hashes}})
    normalizer = (Normalizer("nfc"),) if known.nfc else ()
    config = dataclasses.replace(parts.config, normalizer=normalizer)
    return dataclasses.replace(parts, config=config, settings=settings)


def _of_kimi(path: Path, known: _Known) -> tuple[dict[str, int], tuple[str | None, str | None]]:
    """Name the ids behind the ranks as Kimi's own code does, by ``tokenizer_config.json``."""
    data = files.read_optional(path.parent / CONFIG)
    if data is None:
        raise Unsupported(
            f"{path.name} has no {CONFIG} beside it, which names its special tokens; fetch it, or give the pattern and "
            "the special tokens",
            field=CONFIG,
        )
    config = load({CONFIG: data}, CONFIG)
    named = {token.id: token.content for token, _ in take_decoder(config)}
    ids = range(known.ranks, known.ranks + _RESERVED)
    literals = {named.get(id, f"<|reserved_token_{id}|>"): id for id in ids}
    return literals, (take_literal(config, "bos_token"), take_literal(config, "eos_token"))
