"""Words, one text beside many, and the length of a model in ``/encode``: those of the library, in every format."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from service.client import Client
from tests.service.conftest import MakeClient
from tokenizer_core import InvalidOption, Tokenizer

ROWS = [["the", "quick", "fox's", "tokenization"], [], ["Hello"]]
LABELS = [[1, 0, 2, 3], [], [4]]
ARROW = {"content-type": "application/vnd.apache.arrow.stream", "accept": "application/vnd.apache.arrow.stream"}
WORDS, NUMBERS = pa.list_(pa.string()), pa.list_(pa.int64())


def stream(options: dict, columns: dict[str, pa.Array]) -> bytes:
    table = pa.table(columns).replace_schema_metadata({"tokd": json.dumps(options)})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as written:
        written.write_table(table)
    return sink.getvalue().to_pybytes()


def rows_of(content: bytes) -> dict[str, list]:
    return pa.ipc.open_stream(io.BytesIO(content)).read_all().to_pydict()


def nulls(values: np.ndarray) -> list[int | None]:
    return [None if value < 0 else value for value in values.tolist()]


def test_words_are_those_of_the_library(make_client: MakeClient) -> None:
    base = Tokenizer.open("artifacts/base")
    expected = base.encode_pair_batch(ROWS, None, unit="char", word_labels=LABELS)
    asked = {"words": ROWS, "word_labels": LABELS}
    parts = ["ids", "spans", "word_ids", "labels", "count", "type_ids", "overflow_of"]
    with make_client(artifacts=("artifacts/base",)) as client:
        plain = client.post("/encode", json=asked).json()
        full = client.post("/encode", json={**asked, "return": parts}).json()
        one = client.post("/encode", json={"words": ROWS[0], "word_labels": LABELS[0], "return": parts}).json()
        columns = {"words": pa.array(ROWS, WORDS), "word_labels": pa.array(LABELS, NUMBERS)}
        table = client.post("/encode", content=stream({"return": parts}, columns), headers=ARROW)
        no_row = client.post("/encode", content=stream({}, {"words": pa.array([], WORDS)}), headers=ARROW)
        none = client.post("/encode", json={"words": [], "word_labels": []}).json()
        empty = client.post("/encode", json={"words": [[]], "word_labels": [[]]}).json()
        octets = client.post("/encode", json={"words": ROWS[0]}, headers={"accept": "application/octet-stream"})
    assert plain.keys() == {"tokenizer", "ids", "count", "word_ids", "labels"}
    assert plain["ids"] == full["ids"] == [row.ids.tolist() for row in expected]
    assert plain["word_ids"] == full["word_ids"] == [nulls(row.word_ids) for row in expected]
    assert plain["labels"] == full["labels"] == [row.labels.tolist() for row in expected]
    assert full["spans"] == [row.spans.tolist() for row in expected]
    full.pop("tokenizer")
    assert {name: one[name] for name in parts} == {name: full[name][0] for name in parts}
    assert rows_of(table.content) == full
    assert rows_of(no_row.content) == {"ids": [], "count": [], "word_ids": []}
    assert (none["count"], empty["count"]) == ([], [0])
    assert np.frombuffer(octets.content, "<u4").tolist() == plain["ids"][0]


def test_words_have_windows_padding_and_a_frame(make_client: MakeClient) -> None:
    asked = {"words": ROWS[0] * 9, "word_labels": LABELS[0] * 9, "max_length": 8, "stride": 2}
    shaped = {
        "padding": "max_length",
        "pad_token": "<|pad|>",
        "return": ["ids", "labels", "word_ids", "attention_mask"],
    }
    with make_client(artifacts=("artifacts/base",)) as client:
        rows = client.post("/encode", json={**asked, **shaped}).json()
        bare = client.post("/encode", json={"words": ROWS[0] * 9, "word_labels": LABELS[0] * 9}).json()
    for mask, labels, words in zip(rows["attention_mask"], rows["labels"], rows["word_ids"], strict=True):
        assert len(mask) == 8
        assert all(
            label == -100 and word is None for at, label, word in zip(mask, labels, words, strict=True) if not at
        )
    assert sorted(label for label in bare["labels"] if label >= 0) == sorted(LABELS[0] * 9)


def test_a_text_tells_the_pieces_of_its_ids(make_client: MakeClient) -> None:
    base = Tokenizer.open("artifacts/base")
    with make_client(artifacts=("artifacts/base",)) as client:
        answer = client.post("/encode", json={"text": "The quick fox", "return": ["ids", "word_ids"]}).json()
    assert answer["word_ids"] == nulls(base.encode_pair("The quick fox", None, word_ids=True).word_ids)
    assert answer["ids"] == base.encode("The quick fox").tolist()


@pytest.mark.parametrize(
    ("asked", "status", "path"),
    [
        ({"words": [["a", ""]]}, "invalid_option", "words[0][1]"),
        ({"words": ["a", ""]}, "invalid_option", "words[1]"),
        ({"words": [["a"], ["b", 3]]}, "invalid_type", "words[1][1]"),
        ({"words": "a"}, "invalid_type", "words"),
        ({"words": [["a"], ["b", "c<|im_end|>"]]}, "reserved_literal", "words[1][1]"),
        ({"words": ["b", "c<|im_end|>"]}, "reserved_literal", "words[1]"),
        ({"words": ["a"], "text": "a"}, "invalid_option", "words"),
        ({"words": ["a"], "messages": [{"role": "user", "content": "a"}]}, "invalid_option", "words"),
        ({"words": ["a"], "text_pair": "a"}, "invalid_option", "text_pair"),
        ({"words": ["a"], "dropout": 0.5, "seed": 1}, "invalid_option", "dropout"),
        ({"words": ["a"], "return": ["truncated"]}, "invalid_option", "return"),
        ({"words": ["a"], "word_labels": [1, 2]}, "invalid_option", "word_labels"),
        ({"words": [["a"], ["b"]], "word_labels": [[1], [1, 2]]}, "invalid_option", "word_labels[1]"),
        ({"words": [["a"], ["b"]], "word_labels": [[1]]}, "invalid_option", "word_labels"),
        ({"words": [["a"]], "word_labels": [1]}, "invalid_type", "word_labels"),
        ({"words": ["a"], "word_labels": ["x"]}, "invalid_type", "word_labels[0]"),
        ({"words": ["a"], "word_labels": [1 << 70]}, "invalid_option", "word_labels"),
        ({"text": "a", "word_labels": [1]}, "invalid_option", "word_labels"),
        ({"words": ["a"] * 1001}, "too_many_items", "words"),
        ({"words": [["a"] * 600, ["b"] * 600]}, "too_many_ids", "words"),
        ({"words": ["a"], "stride": 1}, "invalid_option", "stride"),
        ({"words": ["a"], "return": ["segmentations"], "nbest": 1}, "invalid_option", "words"),
        ({"text": "q " * 20, "text_pair": ["a"] * 60}, "invalid_option", "text_pair"),
        ({"text": "q", "text_pair": ["a", "b<|im_end|>"]}, "reserved_literal", "text_pair[1]"),
        ({"text": "q<|im_end|>", "text_pair": ["a", "b"]}, "reserved_literal", "text"),
        ({"text": ["q"], "text_pair": "a"}, "invalid_type", "text_pair"),
        ({"text": "a", "truncation": False}, "invalid_value", "truncation"),
    ],
)
def test_what_cannot_be_is_refused_at_its_place(make_client: MakeClient, asked: dict, status: str, path: str) -> None:
    with make_client(artifacts=("artifacts/base",), max_ids=1000) as client:
        answer = client.post("/encode", json=asked)
    assert answer.status_code in (413, 422)
    assert (answer.json()["code"], answer.json()["path"]) == (status, path)


@pytest.mark.parametrize(
    ("columns", "path"),
    [
        ({"words": pa.array([["a", None]], WORDS)}, "words[0][1]"),
        ({"words": pa.array([["a"], None], WORDS)}, "words[1]"),
        ({"words": pa.array([["a"]], WORDS), "word_labels": pa.array([[None]], NUMBERS)}, "word_labels[0][0]"),
        ({"words": pa.array([["a"]], WORDS), "word_labels": pa.array([["x"]], WORDS)}, None),
        ({"words": pa.array(["a"])}, None),
        ({"words": pa.array([[1]], NUMBERS)}, None),
        ({"text_pair": pa.array(["a"])}, "text"),
    ],
)
def test_bad_columns_are_refused_at_their_place(make_client: MakeClient, columns: dict, path: str | None) -> None:
    with make_client(artifacts=("artifacts/base",)) as client:
        answer = client.post("/encode", content=stream({}, columns), headers=ARROW)
    assert answer.status_code in (400, 422)
    assert answer.json().get("path") == path


def test_one_text_stands_beside_each_of_many(make_client: MakeClient) -> None:
    passages = ["one two", "", "the quick brown fox " * 9]
    asked = {"max_length": 12, "truncation": "only_second", "return": ["ids", "spans", "sequence_ids", "truncated"]}
    with make_client() as client:
        shared = client.post("/encode", json={"text": "what?", "text_pair": passages, **asked}).json()
        pairs = client.post("/encode", json={"text": ["what?"] * 3, "text_pair": passages, **asked}).json()
        none = client.post("/encode", json={"text": "what?", "text_pair": []}).json()
        body = stream({"text": "what?", "return": ["ids"]}, {"text_pair": pa.array(passages)})
        table = client.post("/encode", content=body, headers=ARROW)
        whole = client.post("/encode", json={"text": ["what?"] * 3, "text_pair": passages}).json()
        counted = client.post("/count", json={"text": "what?", "text_pair": passages})
    assert shared == pairs
    assert none["ids"] == []
    assert rows_of(table.content)["ids"] == whole["ids"]
    assert counted.json()["path"] == "text_pair"


def test_truncation_without_a_length_has_the_models(make_client: MakeClient, tmp_path: Path) -> None:
    source = Path("artifacts/base")
    layout = tmp_path / "short"
    layout.mkdir()
    for file in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja"):
        text = (source / file).read_text()
        layout.joinpath(file).write_text(text.replace("{", '{"model_max_length": 7,', 1) if "config" in file else text)
    Tokenizer.load(layout).save(tmp_path / "artifact")
    short, base = Tokenizer.open(tmp_path / "artifact"), Tokenizer.open(source)
    text = "the quick brown fox jumps over the lazy dog"
    assert len(short.encode_pair(text, None, truncation="longest_first").ids) == 7
    assert len(short.encode_pair(text, None, truncation=True, max_length=5).ids) == 5
    assert len(short.encode_pair(text, None).ids) == base.count(text)
    # Nothing is cut where the model names no length.
    assert len(base.encode_pair(text, None, truncation=True).ids) == base.count(text)
    with make_client(artifacts=(str(tmp_path / "artifact"), "artifacts/base")) as client:
        counts = {}
        for name, more in (("artifact", {}), ("artifact", {"text_pair": text}), ("base", {})):
            for truncation in (True, "longest_first", "only_first", None):
                asked = {"text": text, "tokenizer": name, "truncation": truncation, "return": ["count"], **more}
                answer = client.post("/encode", json=asked).json()
                counts[name, len(more), truncation] = answer.get("count", answer.get("path"))
        chat = {"messages": [{"role": "user", "content": text}], "truncation": True, "tokenizer": "artifact"}
        assert client.post("/encode", json=chat).json()["count"] == 7
    whole = base.count(text)
    assert {key[2]: count for key, count in counts.items() if key[:2] == ("artifact", 0)} == {
        True: 7,
        "longest_first": 7,
        "only_first": 7,
        None: whole,
    }
    assert counts["artifact", 1, True] == 7
    assert counts["artifact", 1, "only_first"] == "truncation"
    assert {count for key, count in counts.items() if key[0] == "base"} == {whole}


def test_the_client_sends_words_and_shared_texts(run_server, artifacts: tuple[str, str]) -> None:
    with run_server() as server, Client(server.url) as tokd:
        rows = tokd.encode_words_batch(ROWS, word_labels=LABELS)
        assert tokd.encode_words(ROWS[0], word_labels=LABELS[0]) == rows[0]
        assert tokd.encode_words_batch([]) == []
        with pytest.raises(InvalidOption, match="empty"):
            tokd.encode_words([])
        assert [row.word_ids for row in rows][1] == [None] * len(rows[1].ids)
        shared = tokd.encode_batch("what?", text_pair=["a", "b b"])
        assert shared == tokd.encode_batch(["what?", "what?"], text_pair=["a", "b b"])
        assert [row.tolist() for row in tokd.encode_ids_batch("what?", text_pair=["a", "b b"])] == [
            row.ids for row in shared
        ]
