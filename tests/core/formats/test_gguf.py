"""GGUF: llama.cpp's ids for real vocabularies, and no number of the file is believed."""

from __future__ import annotations

import struct
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from tests.core.formats.mutations import damaged, seeds, survives
from tests.core.formats.small import BYTES, MERGES, WORDS, document, write
from tests.support.data import needs_data, shared
from tokenizer_core import TokdError, Tokenizer
from tokenizer_core.config import PipelineConfig
from tokenizer_core.formats.gguf_patterns import PRETOKENIZERS

STRING, ARRAY = 8, 9
TOKENS = [*(entry for entry, _ in BYTES), *WORDS, "<s>", "<|end|>", "<user>", "[PAD267]", "unused"]
TYPES = [1] * (len(TOKENS) - 5) + [3, 3, 4, 4, 5]


def string(text: str | bytes) -> bytes:
    data = text.encode() if isinstance(text, str) else text
    return struct.pack("<Q", len(data)) + data


def value(content: Any) -> bytes:
    """Write a value with its type."""
    match content:
        case bool():
            return struct.pack("<I?", 7, content)
        case int():
            return struct.pack("<Ii", 5, content)
        case str():
            return struct.pack("<I", STRING) + string(content)
        case [str(), *_]:
            return struct.pack("<IIQ", ARRAY, STRING, len(content)) + b"".join(map(string, content))
        case [float(), *_]:
            return struct.pack(f"<IIQ{len(content)}f", ARRAY, 6, len(content), *content)
        case list():
            return struct.pack(f"<IIQ{len(content)}i", ARRAY, 5, len(content), *content)
        case bytes():
            return content
    raise TypeError(content)


KEYS: dict[str, Any] = {
    "general.architecture": "llama",
    "llama.rope.scale": struct.pack("<If", 6, 1.5),
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": "gpt-2",
    "tokenizer.ggml.tokens": TOKENS,
    "tokenizer.ggml.token_type": TYPES,
    "tokenizer.ggml.merges": MERGES,
    "tokenizer.ggml.bos_token_id": 264,
    "tokenizer.ggml.eos_token_id": 265,
    "tokenizer.ggml.add_bos_token": True,
    "tokenizer.chat_template": "{{ messages[0].content }}",
    "tokenizer.chat_template.tool_use": "{{ tools }}",
}


def gguf(version: int = 3, **changes: Any) -> bytes:
    """Write a file; ``changes`` are by the last word of a key, and ``None`` leaves it out."""
    return written(
        {key: changes.get(key.rpartition(".")[2], content) for key, content in KEYS.items()}, version=version
    )


def written(keys: dict[str, Any], version: int = 3) -> bytes:
    """Write a file with these keys, but those that are ``None``."""
    kept = {key: content for key, content in keys.items() if content is not None}
    head = b"GGUF" + struct.pack("<IQQ", version, 0, len(kept))
    return head + b"".join(string(key) + value(content) for key, content in kept.items()) + b"tensors"


def load(tmp_path: Path, content: bytes) -> Tokenizer:
    path = tmp_path / "made.gguf"
    path.write_bytes(content)
    return Tokenizer.load(path)


def test_a_file_gives_the_ids_of_its_tokenizer_json(tmp_path):
    found = load(tmp_path, gguf())
    layout = Tokenizer.from_hf(write(tmp_path / "hf", document()))
    for text in ("hello the then é", "12 ab\n\n x", "<|end|>[PAD267]unused"):
        assert found.encode(text, special_tokens="text").tolist() == layout.encode(text, special_tokens="text").tolist()
    assert found.special_tokens == {"<s>": 264, "<|end|>": 265}
    assert found.encode("<user>").tolist() == [266]
    assert found.encode("he", add_special_tokens=True).tolist() == [264, 256]
    assert (found.settings.bos, found.settings.eos, found.settings.pad) == ("<s>", "<|end|>", None)
    assert found.templates.keys() == {"default", "tool_use"}
    assert found.provenance["imported_from"]["format"] == "gguf"
    found.save(tmp_path / "saved")
    assert Tokenizer.open(tmp_path / "saved").hash == found.hash
    assert Tokenizer.load(tmp_path / "saved").hash == found.hash


@pytest.mark.parametrize("name", PRETOKENIZERS)
def test_every_known_pretokenizer_compiles_and_covers_text(name, tmp_path):
    found = load(tmp_path, gguf(pre=name))
    text = "I'LL say 12345 \u4e00\u4e8c \ud55c\uad6d  é!\n\n\tx ¿?"
    assert found.decode(found.encode(text)) == text
    assert isinstance(found.config, PipelineConfig)


def array(kind: int, length: int, content: bytes = b"") -> bytes:
    return struct.pack("<IIQ", ARRAY, kind, length) + content


REFUSED = {
    "no gguf": (b"GGUX", "unknown_format", "made.gguf"),
    "nothing behind the magic": (b"GGUF", "invalid_file", "made.gguf"),
    "version 1": (gguf(version=1), "unsupported", "made.gguf"),
    "the other byte order": (gguf(version=0x03000000), "unsupported", "made.gguf"),
    "2^63 keys": (b"GGUF" + struct.pack("<IQQ", 3, 0, 1 << 63), "invalid_file", "made.gguf"),
    "a key of 2^63 bytes": (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1 << 63), "invalid_file", "made.gguf"),
    "2^63 tokens": (gguf(tokens=array(STRING, 1 << 63)), "invalid_file", "tokenizer.ggml.tokens"),
    "2^22 tokens that are not there": (gguf(tokens=array(STRING, 1 << 22)), "invalid_file", "tokenizer.ggml.tokens"),
    "2^22 numbers that are not there": (gguf(scale=array(12, 1 << 22)), "invalid_file", "llama.rope.scale"),
    "a token of 2^63 bytes": (
        gguf(tokens=array(STRING, 1, struct.pack("<Q", 1 << 63))),
        "invalid_file",
        "tokenizer.ggml.tokens",
    ),
    "an array of arrays": (gguf(scale=array(ARRAY, 1)), "unsupported", "llama.rope.scale"),
    "an unknown type": (gguf(scale=struct.pack("<I", 13)), "invalid_file", "llama.rope.scale"),
    "no model": (gguf(model=None), "invalid_file", "tokenizer.ggml.model"),
    "a model as a number": (gguf(model=7), "invalid_file", "tokenizer.ggml.model"),
    "tokens as numbers": (gguf(tokens=[1, 2]), "invalid_file", "tokenizer.ggml.tokens"),
    "types as words": (gguf(token_type=["a"] * len(TOKENS)), "invalid_file", "tokenizer.ggml.token_type"),
    "too few types": (gguf(token_type=[1]), "invalid_file", "tokenizer.ggml.token_type"),
    "no merges": (gguf(merges=None), "invalid_file", "tokenizer.ggml.merges"),
    "a merge of nothing": (gguf(merges=["h e", "q"]), "invalid_file", "tokenizer.ggml.merges[1]"),
    "a first merge like a header": (gguf(merges=["#version x"]), "invalid_file", "tokenizer.ggml.merges[0]"),
    "two merges in one": (gguf(merges=["h e\nl l"]), "invalid_file", "tokenizer.ggml.merges[0]"),
    "a merge outside": (gguf(merges=["z z"]), "merge_out_of_vocab", "tokenizer.ggml.merges[0]"),
    "a token twice": (gguf(tokens=["a", "a", *TOKENS[2:]]), "duplicate_token", "tokenizer.ggml.tokens[1]"),
    "an id outside": (gguf(eos_token_id=len(TOKENS)), "id_out_of_range", "tokenizer.ggml.eos_token_id"),
    "a negative id": (gguf(eos_token_id=-1), "id_out_of_range", "tokenizer.ggml.eos_token_id"),
    "no bos to add": (gguf(bos_token_id=None), "invalid_file", "tokenizer.ggml.add_bos_token"),
    "an unknown pretokenizer": (gguf(pre="gpt2"), "unsupported", "tokenizer.ggml.pre"),
    "the default pretokenizer": (gguf(pre=None), "unsupported", "tokenizer.ggml.pre"),
    "a key twice": (
        b"GGUF" + struct.pack("<IQQ", 3, 0, 2) + (string("a") + value(1)) * 2,
        "invalid_file",
        "made.gguf",
    ),
    "a family that is not read": (gguf(model="rwkv"), "unsupported", "tokenizer.ggml.model"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_wrong_is_refused_with_its_key_and_takes_no_memory(name, tmp_path):
    content, code, field = REFUSED[name]
    tracemalloc.start()
    try:
        with pytest.raises(TokdError) as caught:
            load(tmp_path, content)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (caught.value.code, caught.value.place["field"]) == (code, field)
    assert peak < 4_000_000


def test_a_directory_with_two_files_is_not_guessed(tmp_path):
    load(tmp_path, gguf())
    assert Tokenizer.load(tmp_path).special_tokens["<s>"] == 264
    (tmp_path / "other.gguf").write_bytes(gguf())
    with pytest.raises(TokdError) as caught:
        Tokenizer.load(tmp_path)
    assert caught.value.code == "unknown_format"


def test_damage_gives_an_error_or_a_tokenizer(tmp_path):
    data, path = gguf(), tmp_path / "made.gguf"
    for source in seeds(300):
        survives(Tokenizer.load, path, damaged(data, source))
    for end in range(0, len(data) - len(b"tensors"), 37):
        path.write_bytes(data[:end])
        with pytest.raises(TokdError):
            Tokenizer.load(path, format="gguf")


@needs_data
@pytest.mark.parametrize("name", ["gpt-2", "falcon", "deepseek-llm", "command-r", "llama-spm", "phi-3"])
def test_the_golden_cases_are_those_of_llama_cpp(name):
    path = shared(f"gguf/ggml-vocab-{name}.gguf")
    ours = Tokenizer.load(path)
    texts = Path(f"{path}.inp").read_bytes().decode().split("\n__ggml_vocab_test__\n")
    rows = Path(f"{path}.out").read_text("utf-8").split("\n")
    assert len(texts) == len(rows)
    for text, row in zip(texts, rows, strict=True):
        assert ours.encode(text, special_tokens="text").tolist() == [int(id) for id in row.split()], text


def test_text_is_composed_where_the_library_of_the_model_does_it_and_llama_cpp_does_not(tmp_path):
    for pre, composes in (("qwen2", True), ("gpt-2", False)):
        tokenizer = load(tmp_path, gguf(pre=pre))
        composed, apart = (tokenizer.encode(text, special_tokens="text").tolist() for text in ("\xe9", "e\u0301"))
        assert tokenizer.decode(composed) == "\xe9"
        assert (apart == composed) is composes, pre


@needs_data
def test_merges_make_no_control_token_as_in_llama_cpp():
    tokenizer = Tokenizer.load(shared("gguf/ggml-vocab-llama-spm.gguf"))
    for literal in ("<s>", "</s>"):
        ids = tokenizer.encode(literal, special_tokens="text").tolist()
        assert tokenizer.special_tokens[literal] not in ids
        assert tokenizer.decode(ids) == literal
