"""Names of artifacts: what they are unless given, and which are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.core.formats.small import document, write
from tests.support.data import needs_data, vectors
from tokenizer_core import artifact
from tokenizer_core.errors import TokdError
from tokenizer_core.formats import files, hf_json


def test_names_come_from_the_directory_unless_given(parts, tmp_path):
    for place, name, expected in [("My Model", None, "my-model"), ("x", "y-1", "y-1"), ("...", None, "tokenizer")]:
        artifact.write(parts, tmp_path / "names" / place, name=name)
        assert artifact.read(tmp_path / "names" / place).name == expected


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("qwen2.5", "qwen2.5"),
        ("Llama3.1", "llama3.1"),
        ("Qwen2.5-7B", "qwen2.5-7b"),
        ("phi-3.5.json", "phi-3.5.json"),
        ("v1.0.", "v1.0"),
    ],
)
def test_a_dot_ends_nothing_in_the_name_of_a_directory(place, name, parts, tmp_path):
    artifact.write(parts, tmp_path / place)
    assert artifact.read(tmp_path / place).name == name
    assert artifact.holds(tmp_path / place, parts)
    source = write(tmp_path / "sources" / place, document())
    assert hf_json.read(source).name == hf_json.read(source / "tokenizer.json").name == name


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("llama3.1.tiktoken", "llama3.1"),
        ("Llama3.1.gguf", "llama3.1"),
        ("llama3.1", "llama3.1"),
        ("Qwen2.5.JSON", "qwen2.5"),
        ("models/llama3.1/tokenizer.model", "llama3.1"),
        ("models/phi-3.5/vocab.json", "phi-3.5"),
        ("/", "tokenizer"),
        ("..", "tokenizer"),
    ],
)
def test_of_the_name_of_a_file_only_the_ending_of_a_format_is_dropped(file, name):
    assert files.name_of_file(Path(file)) == name


BAD_NAMES = [
    "",
    ".",
    "..",
    ".hidden",
    "foo.",
    "x\n",
    "naïve",
    "nai\u0308ve",
    "~root",
    "C:\\x",
    "a/b",
    "a\0b",
    "sha256:../../x",
    "....//....//etc",
    "..%2f..%2fetc%2fpasswd",
    "con",
    "com1.json",
    "UPPER",
    "a" * 129,
    "ſ",
    "-x",
    5,
    b"a",
]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_bad_names_are_refused_and_nothing_is_written(name, parts, tmp_path):
    with pytest.raises(TokdError) as caught:
        artifact.write(parts, tmp_path / "place", name=name)
    assert caught.value.code == "invalid_name"
    assert not (tmp_path / "place").exists()


@pytest.mark.parametrize("name", ["a", "0", "llama-3.1_8b", "a" * 128, "console"])
def test_good_names_are_taken(name):
    assert files.check_name(name) == name


@needs_data
def test_every_name_of_the_vectors_is_refused():
    names = [case["input"]["artifact_name"] for case in vectors() if case["id"].startswith("name-")]
    assert names
    for name in names:
        with pytest.raises(TokdError) as caught:
            files.check_name(name)
        assert caught.value.code == "invalid_name"
