"""The files of a BERT: ``vocab.txt`` with its settings, GGUF, and ``tokenizer.json``, as Hugging Face reads them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers.implementations import BertWordPieceTokenizer

from tests.core.formats.mutations import damaged, damaged_json, seeds, survives
from tests.core.formats.test_gguf import KEYS, gguf, written
from tests.support.data import needs_data, shared
from tokenizer_core import TokdError, Tokenizer

WORDS = ["[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "##s", "them", "été", "ete", "É", "日", "."]
TEXT = "The thes ÉTÉ 日them. [MASK]"


def write(place: Path, lines: list[str] | bytes = WORDS, **config: Any) -> Path:
    """Write a directory with a ``vocab.txt`` and the ``tokenizer_config.json`` that is given."""
    place.mkdir(exist_ok=True)
    vocab = lines if isinstance(lines, bytes) else "".join(f"{line}\n" for line in lines).encode()
    (place / "vocab.txt").write_bytes(vocab)
    if config:
        (place / "tokenizer_config.json").write_text(json.dumps(config), "utf-8")
    return place


SETTINGS: list[dict[str, Any]] = [
    {},
    {"do_lower_case": True, "tokenizer_class": "BertTokenizer"},
    {"do_lower_case": False, "tokenizer_class": "DistilBertTokenizerFast", "model_max_length": 512},
    {"tokenizer_class": "DPRQuestionEncoderTokenizer"},
    {"tokenizer_class": "LxmertTokenizerFast", "strip_accents": False},
    {"do_lower_case": False, "strip_accents": True},
    {"do_lower_case": True, "strip_accents": False, "tokenize_chinese_chars": False},
]


@pytest.mark.parametrize("settings", SETTINGS)
def test_vocab_txt_gives_the_ids_of_berts_own_tokenizer(settings: dict[str, Any], tmp_path: Path) -> None:
    place = write(tmp_path / "bert", **settings)
    peer = BertWordPieceTokenizer(
        str(place / "vocab.txt"),
        lowercase=settings.get("do_lower_case", True),
        strip_accents=settings.get("strip_accents"),
        handle_chinese_chars=settings.get("tokenize_chinese_chars", True),
    )
    for path in (place, place / "vocab.txt"):
        found = Tokenizer.load(path)
        truth = peer.encode(TEXT)
        assert found.encode(TEXT, special_tokens="parse", add_special_tokens=True).tolist() == truth.ids
        assert found.decode(truth.ids, skip_special_tokens=True) == peer.decode(truth.ids)
    assert found.special_tokens == {word: WORDS.index(word) for word in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")}
    assert (found.settings.unk, found.settings.pad) == ("[UNK]", "[PAD]")
    assert found.provenance["imported_from"]["format"] == "vocab_txt"
    found.save(tmp_path / "saved")
    assert Tokenizer.open(tmp_path / "saved").hash == Tokenizer.load(tmp_path / "saved").hash == found.hash


def test_roles_have_the_literals_that_the_files_name(tmp_path: Path) -> None:
    words = ["<pad>", "<unk>", "<s>", "</s>", "[UNK]", "a"]
    roles = {"pad_token": "<pad>", "unk_token": {"content": "<unk>"}, "cls_token": "<s>", "sep_token": "</s>"}
    found = Tokenizer.load(write(tmp_path / "bert", words, **roles))
    assert found.encode("a b", add_special_tokens=True).tolist() == [2, 5, 1, 3]


def test_an_empty_line_is_nobodys_and_line_ends_may_be_those_of_windows(tmp_path: Path) -> None:
    found = Tokenizer.load(write(tmp_path / "bert", "[UNK]\r\n[CLS]\r\n\r\n[SEP]\r\na\u2028b".encode()))
    assert found.encode("a", special_tokens="text").tolist() == [0]
    assert found.token_bytes(4) == "a\u2028b".encode()


@pytest.mark.parametrize(
    ("config", "truth"),
    [
        # Of transformers 4.57.6 and 5.24.0: what is not special is found in the normalized text.
        ({}, {"the <Tool> them": [6, 14, 8], "the<Tool>them": [6, 14, 8], "the <tool> them": [6, 14, 8]}),
        ({"additional_special_tokens": ["<Tool>"]}, {"the <Tool> them": [6, 14, 8], "<tool>": [2, 2, 2]}),
        ({"do_lower_case": False}, {"the <Tool> them": [6, 14, 8], "<tool>": [2, 2, 2]}),
    ],
)
def test_added_tokens_json_lists_added_tokens(
    config: dict[str, Any], truth: dict[str, list[int]], tmp_path: Path
) -> None:
    place = write(tmp_path / "bert", tokenizer_class="BertTokenizer", **config)
    (place / "added_tokens.json").write_text('{"<Tool>": 14}')
    tokenizer = Tokenizer.load(place)
    assert {text: tokenizer.encode(text, special_tokens="parse").tolist() for text in truth} == truth
    tokenizer.save(tmp_path / "saved")
    assert Tokenizer.open(tmp_path / "saved").hash == tokenizer.hash
    (place / "added_tokens.json").write_text('{"<Tool>": 40}')
    with pytest.raises(TokdError) as caught:
        Tokenizer.load(place)
    assert caught.value.code == "id_conflict"


REFUSED: dict[str, tuple[list[str] | bytes, dict[str, Any], str, str]] = {
    "no utf-8": (b"[UNK]\n\xff\n", {}, "invalid_file", "vocab.txt"),
    "a line twice": ([*WORDS, "the"], {}, "duplicate_token", "vocab.txt line 15"),
    "no [CLS]": (["[UNK]", "[SEP]"], {}, "invalid_file", "cls_token"),
    "a role that is no entry": (WORDS, {"pad_token": "<pad>"}, "invalid_file", "pad_token"),
    "another class": (WORDS, {"tokenizer_class": "BertJapaneseTokenizer"}, "unsupported", "tokenizer_class"),
    "no basic tokenizer": (WORDS, {"do_basic_tokenize": False}, "unsupported", "do_basic_tokenize"),
    "words that are never split": (WORDS, {"never_split": ["a"]}, "unsupported", "never_split"),
    "a flag that is none": (WORDS, {"do_lower_case": "yes"}, "invalid_file", "do_lower_case"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_wrong_is_refused_with_its_place(name: str, tmp_path: Path) -> None:
    lines, config, code, field = REFUSED[name]
    with pytest.raises(TokdError) as caught:
        Tokenizer.load(write(tmp_path / "bert", lines, **config))
    assert caught.value.code == code
    assert caught.value.place["field"].endswith(field)


BERT = {
    "model": "bert",
    "pre": "bert-bge",
    "tokens": [word if word[0] == "[" else word[2:] if word[:2] == "##" else f"▁{word}" for word in WORDS],
    "token_type": [3 if word[0] == "[" and word != "[unused0]" else 1 for word in WORDS],
    "merges": None,
    "bos_token_id": 3,
    "eos_token_id": 4,
    "add_bos_token": None,
}


def test_gguf_gives_the_ids_of_the_vocab_txt(tmp_path: Path) -> None:
    (tmp_path / "made.gguf").write_bytes(gguf(**BERT))
    found, other = Tokenizer.load(tmp_path / "made.gguf"), Tokenizer.load(write(tmp_path / "bert", do_lower_case=False))
    # The file has no id of the unknown token, and no role but these two.
    assert found.encode("the the 日them.", add_special_tokens=True).tolist() == (
        other.encode("the the 日them.", add_special_tokens=True).tolist()
    )
    assert found.special_tokens.keys() == other.special_tokens.keys()


@pytest.mark.parametrize(
    ("said", "settings"),
    [
        ({"lowercase": False}, {"do_lower_case": False}),
        ({"lowercase": True, "strip_accents": False}, {"do_lower_case": True, "strip_accents": False}),
        ({"strip_accents": False}, {"strip_accents": False}),
    ],
)
def test_gguf_may_say_what_the_normalizer_does(
    said: dict[str, bool], settings: dict[str, bool], tmp_path: Path
) -> None:
    keys = {key: BERT.get(key.rpartition(".")[2], value) for key, value in KEYS.items()}
    keys |= {f"tokenizer.ggml.normalizer.{key}": value for key, value in said.items()}
    (tmp_path / "made.gguf").write_bytes(written(keys))
    found = Tokenizer.load(tmp_path / "made.gguf")
    assert found.config.normalizer == Tokenizer.load(write(tmp_path / "bert", **settings)).config.normalizer


@needs_data
def test_the_golden_cases_of_bge_are_those_of_llama_cpp() -> None:
    path = shared("gguf/ggml-vocab-bert-bge.gguf")
    found = Tokenizer.load(path)
    texts = Path(f"{path}.inp").read_bytes().decode().split("\n__ggml_vocab_test__\n")
    rows = Path(f"{path}.out").read_text("utf-8").split("\n")
    for text, row in zip(texts, rows, strict=True):
        assert found.encode(text, special_tokens="text").tolist() == [int(id) for id in row.split()], text
    assert found.encode("hello", add_special_tokens=True).tolist() == [101, 7592, 102]


def test_damage_gives_an_error_or_a_tokenizer(tmp_path: Path) -> None:
    place = write(tmp_path / "bert", do_lower_case=True, unk_token="[UNK]")
    vocab, config = ((place / name).read_bytes() for name in ("vocab.txt", "tokenizer_config.json"))
    saved = tmp_path / "saved"
    Tokenizer.load(place).save(saved)
    document = json.loads((saved / "tokenizer.json").read_bytes())
    (saved / "manifest.json").unlink()
    data = gguf(**BERT)
    for source in seeds(300):
        survives(Tokenizer.load, place / "vocab.txt", damaged(vocab, source))
        (place / "vocab.txt").write_bytes(vocab)
        survives(lambda _: Tokenizer.load(place), place / "tokenizer_config.json", damaged(config, source))
        (place / "tokenizer_config.json").write_bytes(config)
        changed = json.dumps(damaged_json(document, source)).encode()
        survives(lambda _: Tokenizer.load(saved), saved / "tokenizer.json", changed)
        survives(Tokenizer.load, tmp_path / "made.gguf", damaged(data, source))
