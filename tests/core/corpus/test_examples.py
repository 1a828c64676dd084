"""Rows of Parquet are the objects that were written, without the nulls that Arrow puts into structs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tokenizer_core import InvalidCorpus, Tokenizer, base_artifact, encode_corpus, pack_files
from tokenizer_core.corpus.examples import examples
from tokenizer_core.corpus.files import Files, sources

TEMPLATE = "{% for m in messages %}{{ m | tojson }}<|im_end|>{% endfor %}{{ tools | tojson }}{{ documents | tojson }}"


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "arguments": arguments}}


def tool(name: str, **properties: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": properties}}}


# Hardly two objects have the same members, so Arrow puts nulls into them.
# Members stand in the order of the first object that has them.
CHATS: list[dict[str, Any]] = [
    {
        "messages": [
            {"role": "user", "content": "weather?"},
            {"role": "assistant", "tool_calls": [call("weather", city="Kiel"), call("time", zone="CET", days=[1])]},
            {"role": "tool", "content": "3", "name": "weather"},
        ],
        "tools": [
            tool("weather", city={"type": "string", "enum": ["Kiel", None]}),
            tool("time", zone={"min": 1}),
        ],
        "chat_template_kwargs": {"style": "short"},
    },
    {
        "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "x", "thinking": {"a": [1]}}],
        "documents": [{"title": "t", "text": "x"}, {"text": "y", "pages": [{"number": 1}, {"label": "i"}]}],
        "chat_template_kwargs": {"depth": 2},
    },
]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.open(base_artifact()).with_template(TEMPLATE)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(chat) + "\n" for chat in CHATS))
    names = ("messages", "tools", "documents", "chat_template_kwargs")
    table = pa.table({name: [chat.get(name) for chat in CHATS] for name in names})
    assert "zone: string" in str(table.schema)
    pq.write_table(table, tmp_path / "a.parquet")
    return tmp_path / "a.jsonl", tmp_path / "a.parquet"


def test_objects_of_parquet_are_those_that_were_written(files: tuple[Path, Path]) -> None:
    lines, rows = ([example.value for example in examples(sources(Files(paths=(path,)))[0])] for path in files)
    assert rows == lines == CHATS


@pytest.mark.parametrize("train_on", ["assistant", "all"])
def test_chats_of_parquet_have_the_ids_and_labels_of_the_same_chats_in_lines(
    tokenizer: Tokenizer, files: tuple[Path, Path], tmp_path: Path, train_on: Any
) -> None:
    tables = []
    for path in files:
        encode_corpus(path, tokenizer, tmp_path / f"{path.name}-out", layout="parquet", messages="messages")
        packs = pack_files(path, tokenizer, tmp_path / f"{path.name}.packed.parquet", 1024, train_on=train_on)
        encoded = pq.read_table(tmp_path / f"{path.name}-out" / "train-00000-of-00001.parquet").to_pydict()
        tables.append((encoded, packs.block(0, len(packs)).input_ids.tolist()))
    assert tables[0] == tables[1]


def test_nulls_of_lines_strings_lists_and_maps_stay(tmp_path: Path) -> None:
    written = '{"city": "Kiel", "zone": null}'
    value = {"messages": [{"role": "user", "content": written, "given": {"zone": None}}], "tools": "[null]"}
    (tmp_path / "a.jsonl").write_text(json.dumps(value))
    (source,) = sources(Files(paths=(tmp_path / "a.jsonl",)))
    assert [example.value for example in examples(source)] == [value]
    kind = pa.list_(
        pa.struct(
            [
                ("content", pa.string()),
                ("list", pa.large_list(pa.int32())),
                ("map", pa.map_(pa.string(), pa.struct([("a", pa.int32()), ("b", pa.int32())]))),
                ("pair", pa.list_(pa.struct([("a", pa.int32())]), 2)),
            ]
        )
    )
    rows = [
        [
            {
                "content": written,
                "list": [1, None],
                "map": [("k", {"a": 1}), ("none", None)],
                "pair": [{"a": None}, None],
            }
        ],
        [{"map": []}, None],
    ]
    pq.write_table(pa.table({"messages": pa.array(rows, kind), "n": [None, 1]}), tmp_path / "a.parquet")
    (source,) = sources(Files(paths=(tmp_path / "a.parquet",)))
    assert [example.value for example in examples(source)] == [
        {
            "messages": [
                {"content": written, "list": [1, None], "map": {"k": {"a": 1}, "none": None}, "pair": [{}, None]}
            ]
        },
        {"messages": [{"map": {}}, None], "n": 1},
    ]


def test_a_map_with_a_key_twice_is_refused(tmp_path: Path) -> None:
    rows = pa.array([[("a", 1), ("a", 2)]], pa.map_(pa.string(), pa.int32()))
    pq.write_table(pa.table({"messages": rows}), tmp_path / "a.parquet")
    (source,) = sources(Files(paths=(tmp_path / "a.parquet",)))
    with pytest.raises(InvalidCorpus, match="2 entries has 1 keys"):
        list(examples(source))
