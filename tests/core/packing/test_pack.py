"""Examples become packs whose members are what each example is alone, and no loss crosses a border."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenizer_core import (
    InvalidCorpus,
    InvalidOption,
    Packs,
    RowTooLong,
    TokdError,
    Tokenizer,
    base_artifact,
    pack,
    pack_files,
)

CHAT = [{"role": "user", "content": "What is 2 + 2?"}, {"role": "assistant", "content": "It is 4."}]
TOOL = {"type": "function", "function": {"name": "add", "description": "adds", "parameters": {"type": "object"}}}
EXAMPLES: list[dict[str, Any]] = [
    {"messages": CHAT},
    {"messages": CHAT, "source": "a column that is nobody's text"},
    {"text": "naïve 東京\n"},
    {"prompt": "1 + 1 =", "completion": " 2"},
    {"prompt": CHAT[:1], "completion": CHAT[1:]},
    {"input_ids": [5, 6, 7, 8], "labels": [-100, -100, 7, 8]},
    {"input_ids": [9, 9]},
    {"text": ""},
]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.open(base_artifact())


def members_of(packs: Packs) -> dict[int, list[tuple[list[int], list[int]]]]:
    """Return the ids and labels of the parts of every source row, in the order of the packs."""
    found: dict[int, list[tuple[list[int], list[int]]]] = {}
    for block in packs.blocks():
        for at in range(len(block)):
            start = block.token_offsets[at]
            borders = (start + block.cu_seqlens(at)).tolist()
            assert borders[-1] == block.token_offsets[at + 1]
            rows = block.source_rows[block.member_offsets[at] : block.member_offsets[at + 1]].tolist()
            for row, first, last in zip(rows, borders[:-1], borders[1:], strict=True):
                part = slice(first, last)
                assert block.position_ids[part].tolist() == [*range(last - first)]
                found.setdefault(row, []).append((block.input_ids[part].tolist(), block.labels[part].tolist()))
    return found


def alone(tokenizer: Tokenizer, example: dict[str, Any]) -> tuple[list[int], list[int]]:
    """Return the ids and labels of an example, made from the parts of the public interface."""
    end = tokenizer.special_tokens[tokenizer.settings.eos or ""]
    if "messages" in example or isinstance(example.get("prompt"), list):
        chat = tokenizer.encode_chat(example.get("messages") or example["prompt"] + example["completion"])
        return chat.ids.tolist(), chat.labels().tolist()
    if "text" in example:
        ids = [*tokenizer.encode(example["text"]).tolist(), end]
        return ids, ids
    if "prompt" in example:
        before = tokenizer.encode(example["prompt"]).tolist()
        behind = [*tokenizer.encode(example["completion"]).tolist(), end]
        return before + behind, [-100] * len(before) + behind
    return example["input_ids"], example.get("labels", example["input_ids"])


@pytest.mark.parametrize("method", ["best-fit", "none"])
def test_members_are_the_examples_with_no_loss_on_their_first_token(tokenizer: Tokenizer, method: Any) -> None:
    packs = pack(EXAMPLES, tokenizer, 64, method=method)
    found = members_of(packs)
    assert packs.trained == sum(label != -100 for parts in found.values() for _, labels in parts for label in labels)
    assert sorted(found) == [*range(len(EXAMPLES))]
    for row, example in enumerate(EXAMPLES):
        ids, labels = alone(tokenizer, example)
        assert found[row] == [(ids, [-100, *labels[1:]])]


def test_a_completion_of_messages_is_trained_on_without_the_turns_of_its_prompt(tokenizer: Tokenizer) -> None:
    more = [{"role": "user", "content": "And 3 + 3?"}, {"role": "assistant", "content": "6."}]
    row = pack([{"prompt": [*CHAT, more[0]], "completion": more[1:]}], tokenizer, 128).rows
    chat = tokenizer.encode_chat(CHAT + more)
    assert row.ids.tolist() == chat.ids.tolist()
    assert row.trained.tolist() == (chat.labels(train_on="last") != -100).tolist()


def test_tools_are_rendered_as_objects_or_as_json(tokenizer: Tokenizer) -> None:
    chatml = tokenizer.with_template(
        "{{ tools | tojson }}{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
    )
    objects, text = ({"messages": CHAT, "tools": tools} for tools in ([TOOL], json.dumps([TOOL])))
    packs = pack([objects, text], chatml, 256)
    (first, _), (second, _) = (members_of(packs)[row][0] for row in (0, 1))
    assert first == second == chatml.encode_chat(CHAT, tools=[TOOL]).ids.tolist()


@given(
    rows=st.lists(st.lists(st.integers(0, 500), min_size=1, max_size=30), max_size=20),
    length=st.sampled_from([8, 16, 24]),
    align=st.sampled_from([1, 4, 8]),
    seed=st.none() | st.integers(0, 9),
)
def test_padded_packs_are_all_of_one_length_and_padding_has_no_loss(
    rows: list[list[int]], length: int, align: int, seed: int | None
) -> None:
    tokenizer = Tokenizer.open(base_artifact())
    packs = pack(
        [{"input_ids": ids} for ids in rows], tokenizer, length, overflow="split", align=align, pad=True, seed=seed
    )
    for block in packs.blocks():
        assert set(np.diff(block.token_offsets).tolist()) == {length}
        assert not (block.seq_lengths % align).any()
    found = members_of(packs)
    assert packs.trained == sum(label != -100 for parts in found.values() for _, labels in parts for label in labels)
    for ids, labels in found.pop(-1, []):
        assert set(ids) == {tokenizer.pad_id}
        assert set(labels) == {-100}
    held: dict[int, list[int]] = {}
    for row, parts in found.items():
        for ids, labels in sorted(parts, key=lambda part: len(part[0]), reverse=True):
            size = len(ids)
            assert labels[0] == -100
            held.setdefault(row, []).extend(ids[:size])
    whole = {
        row: sum(-(-len(ids[at : at + length]) // align) * align for at in range(0, len(ids), length))
        for row, ids in enumerate(rows)
    }
    assert {row: len(ids) for row, ids in held.items()} == whole


@pytest.mark.parametrize(
    ("example", "options", "field"),
    [
        ({}, {}, ""),
        ({"text": "a", "messages": CHAT}, {}, "text"),
        ({"text": 5}, {}, "text"),
        ({"text": "a<|im_end|>"}, {}, "text"),
        ({"prompt": "a"}, {}, "completion"),
        ({"prompt": CHAT[:1], "completion": "b"}, {}, "completion"),
        ({"prompt": CHAT, "completion": CHAT}, {}, "prompt[1]"),
        ({"prompt": CHAT[:1], "completion": [{"role": "assistant", "content": 7}]}, {}, "completion[0].content"),
        ({"input_ids": [1, "2"]}, {}, "input_ids[1]"),
        ({"input_ids": [1, True]}, {}, "input_ids[1]"),
        ({"input_ids": [1, 32000]}, {}, "input_ids[1]"),
        ({"input_ids": [-1]}, {}, "input_ids[0]"),
        ({"input_ids": [1 << 80]}, {}, "input_ids"),
        ({"input_ids": "12"}, {}, "input_ids"),
        ({"input_ids": [1, 2], "labels": [1]}, {}, "labels"),
        ({"input_ids": [1, 2], "labels": [2, -100]}, {}, "labels[0]"),
        ({"messages": CHAT, "tools": "[{"}, {}, "tools"),
        ({"messages": "hi"}, {}, "messages"),
        ({"messages": CHAT}, {"special_tokens": "parse"}, "special_tokens"),
    ],
)
def test_an_example_that_cannot_be_is_refused_with_its_row_and_field(
    tokenizer: Tokenizer, example: dict[str, Any], options: Any, field: str
) -> None:
    with pytest.raises(TokdError) as caught:
        pack([{"input_ids": [1]}, example], tokenizer, 64, **options)
    assert caught.value.place["row"] == 1
    assert caught.value.place["field"] == field


@pytest.mark.parametrize(
    ("example", "train_on"),
    [
        ({"text": "a"}, "assistant"),
        ({"input_ids": [1]}, "last"),
        ({"messages": CHAT}, "completion"),
        ({"prompt": "a", "completion": "b"}, "assistant"),
    ],
)
def test_what_an_example_has_not_cannot_be_trained_on(tokenizer: Tokenizer, example: Any, train_on: Any) -> None:
    with pytest.raises(InvalidOption) as caught:
        pack([example], tokenizer, 64, train_on=train_on)
    assert caught.value.place == {"row": 0, "field": "train_on"}


def test_what_a_tokenizer_lacks_is_refused_by_name(tokenizer: Tokenizer) -> None:
    from tests.support.vocabularies import tiny_tokenizer

    tiny = tiny_tokenizer()
    with pytest.raises(InvalidOption, match="pad token"):
        pack([], tiny, 8, pad=True)
    with pytest.raises(InvalidOption, match="end-of-text"):
        pack([{"text": "a"}], tiny, 8)
    assert len(pack([{"text": "a"}], tiny, 8, eos=False)) == 1


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    lines = [json.dumps(example) + "\n" for example in EXAMPLES]
    (tmp_path / "in" / "a.jsonl").write_text("".join(lines[:3]) + "\n")
    (tmp_path / "in" / "b.jsonl").write_text("".join(lines[3:]))
    return tmp_path / "in"


def test_files_of_packs_hold_what_their_readers_expect(tokenizer: Tokenizer, corpus: Path, tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    for name in ("a.parquet", "a.arrow", "a.npy"):
        packs = pack_files(corpus, tokenizer, tmp_path / name, 64)
    blocks = [*packs.blocks()]
    wanted = [
        {
            "input_ids": block.input_ids[block.token_offsets[at] : block.token_offsets[at + 1]].tolist(),
            "labels": block.labels[block.token_offsets[at] : block.token_offsets[at + 1]].tolist(),
            "position_ids": block.position_ids[block.token_offsets[at] : block.token_offsets[at + 1]].tolist(),
            "seq_lengths": block.seq_lengths[block.member_offsets[at] : block.member_offsets[at + 1]].tolist(),
            "cu_seqlens": block.cu_seqlens(at).tolist(),
            "source_rows": block.source_rows[block.member_offsets[at] : block.member_offsets[at + 1]].tolist(),
        }
        for block in blocks
        for at in range(len(block))
    ]
    assert members_of(packs) == members_of(pack(EXAMPLES, tokenizer, 64))
    assert parquet.read_table(tmp_path / "a.parquet").to_pylist() == wanted
    with arrow.ipc.open_stream(str(tmp_path / "a.arrow")) as stream:
        assert stream.read_all().to_pylist() == wanted
    nemo = np.load(tmp_path / "a.npy", allow_pickle=True)
    for row, want in zip(nemo, wanted, strict=True):
        assert row["input_ids"] == want["input_ids"]
        assert row["seq_start_id"] == want["cu_seqlens"][:-1]
        # NeMo predicts the token behind a place, and masks by the place.
        assert row["loss_mask"] == [*(label != -100 for label in want["labels"][1:]), False]


def test_a_wrong_line_is_named_and_leaves_nothing(tokenizer: Tokenizer, corpus: Path, tmp_path: Path) -> None:
    cases: list[tuple[bytes, type[TokdError], str, str]] = [
        (b"[1]", InvalidCorpus, "invalid_corpus", r": not an object: \[1\]"),
        (b'{"text": ', InvalidCorpus, "invalid_corpus", ": not JSON: expecting value at column 10"),
        ('["東'.encode(), InvalidCorpus, "invalid_corpus", ": not JSON: unterminated string starting at column 2"),
        (b'{"text": "\xff"}', InvalidCorpus, "invalid_utf8", ": byte 28 is not UTF-8"),
        (b'{"text": ' + b"9" * 5000 + b"}", InvalidCorpus, "invalid_corpus", ": a number is too long"),
        (b"[" * 100_000, InvalidCorpus, "invalid_corpus", ": nested too deep"),
        (b'{"text": 1}', InvalidOption, "invalid_option", "text"),
        (b'{"mesages": [], "id": 1}', InvalidOption, "invalid_option", "has mesages, id; did you mean 'messages'"),
        (json.dumps({"input_ids": [*range(100)]}).encode(), RowTooLong, "row_too_long", "overflow"),
    ]
    for line, kind, code, said in cases:
        (corpus / "a.jsonl").write_bytes(b'{"text": "fine"}\n\n' + line + b"\n")
        with pytest.raises(kind, match=rf"line 3 of .*a\.jsonl.*{said}") as caught:
            pack_files(corpus, tokenizer, tmp_path / "out.parquet", 64)
        assert (caught.value.code, caught.value.place["line"]) == (code, 3)
        assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_an_output_that_says_no_format_or_is_there_is_refused(
    tokenizer: Tokenizer, corpus: Path, tmp_path: Path
) -> None:
    with pytest.raises(InvalidOption, match=r"\.parquet, \.arrow, \.npy"):
        pack_files(corpus, tokenizer, tmp_path / "out.csv", 64)
    (tmp_path / "out.npy").write_bytes(b"mine")
    with pytest.raises(FileExistsError):
        pack_files(corpus, tokenizer, tmp_path / "out.npy", 64)
    assert (tmp_path / "out.npy").read_bytes() == b"mine"
