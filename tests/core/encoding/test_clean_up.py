"""``clean_up_tokenization_spaces``: text as transformers decodes it, 4.57.6 and 5.24.0 alike where the key is true."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.core.formats.small import document
from tests.core.formats.small import write as write_layout
from tokenizer_core import Tokenizer, Unsupported

WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "it",
    "'",
    "s",
    "don",
    "t",
    "n't",
    ".",
    ",",
    "?",
    "!",
    "the",
    "##s",
    "do",
    "not",
    "m",
    "ve",
    "re",
    "'m",
    "'s",
    "'ve",
    "'re",
    "hello",
    "1",
]
TRUTH = {
    (5, 6, 7): "it's",
    (5, 6, 7, 15, 12, 26, 11): "it's the, hello.",
    (8, 6, 9, 15, 13, 14, 11): "don't the?!.",
    (17, 18, 6, 20): "do not've",
    (26, 6, 7, 1, 6, 9, 11, 11, 6, 6, 7): "hello's [UNK]'t..'' s",
    (5, 6, 21, 6, 20, 6, 19): "it're've'm",
    (6, 5, 6): "' it '",
    (15, 12, 12, 6, 6, 6, 7, 11, 13): "the,,'''s.?",
}


def bert(folder: Path, **config: object) -> Tokenizer:
    folder.mkdir(exist_ok=True)
    (folder / "vocab.txt").write_text("".join(f"{word}\n" for word in WORDS), "utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizer", **config}), "utf-8")
    return Tokenizer.load(folder)


def test_text_is_cleaned_up_where_the_files_ask_for_it(tmp_path: Path) -> None:
    tokenizer = bert(tmp_path / "true", clean_up_tokenization_spaces=True)
    tokenizer.save(tmp_path / "saved")
    for one in (tokenizer, Tokenizer.open(tmp_path / "saved"), Tokenizer.load(tmp_path / "saved")):
        assert {ids: one.decode(list(ids)) for ids in TRUTH} == TRUTH
        assert one.decode_bytes([5, 6, 7]) == b"it's"
    for config in ({}, {"clean_up_tokenization_spaces": False}):
        plain = bert(tmp_path / "false", **config)
        assert plain.decode([5, 6, 7]) == "it ' s"
        # No id depends on it.
        assert plain.hash == tokenizer.hash


def test_a_stream_gives_the_text_that_is_decoded_at_once_however_it_is_split(tmp_path: Path) -> None:
    tokenizer = bert(tmp_path / "true", clean_up_tokenization_spaces=True)
    for ids, text in TRUTH.items():
        for splits in range(1 << len(ids) - 1):
            stream, parts, row = tokenizer.stream_decoder(), "", []
            for at, id in enumerate(ids):
                row.append(id)
                if splits >> at & 1:
                    parts, row = parts + stream.push(row), []
            assert parts + stream.push(row) + stream.finish() == text


def test_other_settings_of_a_tokenizer_keep_the_clean_up(tmp_path: Path) -> None:
    tokenizer = bert(tmp_path / "true", clean_up_tokenization_spaces=True)
    assert tokenizer.with_template("{{ messages }}").decode([5, 6, 7]) == "it's"


def test_bpe_is_not_cleaned_up_and_what_transformers_5_calls_a_corruption_is_refused(tmp_path: Path) -> None:
    key = "clean_up_tokenization_spaces"
    tokenizer = Tokenizer.from_hf(write_layout(tmp_path / "plain", document(), tokenizer_config__json={key: True}))
    assert tokenizer.decode(tokenizer.encode("he , the 's")) == "he , the 's"
    forced = {key: True, f"{key}_for_bpe_even_though_it_will_corrupt_output": True}
    with pytest.raises(Unsupported, match="even_though"):
        Tokenizer.from_hf(write_layout(tmp_path / "forced", document(), tokenizer_config__json=forced))
