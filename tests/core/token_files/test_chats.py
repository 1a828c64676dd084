"""Chats of a corpus become ids and labels as `encode_chat` makes them, in every layout."""

import gzip
import json
from dataclasses import replace
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.core.token_files.label_readers import LABEL_READERS
from tests.core.token_files.readers import READERS, wanted
from tokenizer_core import (
    Files,
    InvalidCorpus,
    InvalidOption,
    TemplateMissing,
    Tokenizer,
    base_artifact,
    check_token_files,
    encode_corpus,
)
from tokenizer_core.token_files.layouts import LAYOUTS

TOOL = {"type": "function", "function": {"name": "add", "description": "adds", "parameters": {"type": "object"}}}


TEMPLATE = (
    "{% if tools %}tools: {{ tools | tojson }}, {{ style }}\n{% endif %}"
    "{% for m in messages %}{{ bos_token or '' }}{{ m.role }}: {{ m.content }}{{ eos_token }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)


@pytest.fixture(scope="module")
def tokenizer():
    tok = Tokenizer.open(base_artifact())
    return tok.with_roles(eos=next(iter(tok.special_tokens))).with_template(TEMPLATE)


def chat(number: int) -> dict:
    turns = []
    for turn in range(1 + number % 3):
        turns.append({"role": "user", "content": f"{number}. Was ist {turn}?"})
        turns.append({"role": "assistant", "content": "東京 " * (number % 7) + f"It is {turn}."})
    found = {"messages": turns, "source": "a field that is nobody's text"}
    return found | ({"tools": [TOOL], "chat_template_kwargs": {"style": "short"}} if number % 4 == 0 else {})


CHATS = [chat(number) for number in range(60)]


@pytest.fixture
def chats(tmp_path):
    lines = [json.dumps(each).encode() + b"\n" for each in CHATS]
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.jsonl").write_bytes(b"\xef\xbb\xbf" + b"\n".join(lines[:40]))
    (folder / "b.jsonl.gz").write_bytes(gzip.compress(b"".join(lines[40:])))
    return folder


def expected(tokenizer, train_on="assistant"):
    ids, trained = [], []
    for each in CHATS:
        found = tokenizer.encode_chat(
            each["messages"], tools=each.get("tools"), template_args=each.get("chat_template_kwargs")
        )
        ids.append(found.ids.tolist())
        labels = found.ids.astype(np.int64) if train_on == "all" else found.labels(train_on=train_on)
        trained.append(labels.tolist())
    return ids, trained


@pytest.mark.parametrize("shuffle", [None, 3])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_files_hold_the_ids_and_labels_of_single_chats(tokenizer, chats, tmp_path, layout, shuffle):
    options = {"layout": layout, "messages": "messages", "shard_bytes": 4096, "shuffle": shuffle}
    written = encode_corpus(chats, tokenizer, tmp_path / "out", **options)
    ids, labels = expected(tokenizer)
    found = READERS[layout](tmp_path / "out", written.dtype), LABEL_READERS[layout](tmp_path / "out", written.dtype)
    if shuffle is None:
        assert found == (wanted(ids, layout), wanted(labels, layout))
    else:
        # An id is trained on or not where it stands, whatever the order.
        flat = [list(chain.from_iterable(rows)) for rows in found]
        assert all(label in (-100, id) for id, label in zip(*flat, strict=True))
        assert sorted(flat[0]) == sorted(chain.from_iterable(ids))
        assert sorted(flat[1]) == sorted(chain.from_iterable(labels))
    assert written.manifest["trained"] == sum(label != -100 for row in labels for label in row)
    assert written.manifest["eos"] == {"id": None, "place": "none"}
    report = check_token_files(tmp_path / "out", tokenizer)
    assert (report.ok, report.tokens) == (True, sum(map(len, ids)))
    assert report.sampled or layout in ("llmc", "nanogpt")


@pytest.mark.parametrize("train_on", ["last", "all"])
def test_what_is_trained_on_is_chosen(tokenizer, chats, tmp_path, train_on):
    encode_corpus(chats, tokenizer, tmp_path / "out", layout="parquet", messages="messages", train_on=train_on)
    assert LABEL_READERS["parquet"](tmp_path / "out", "int32") == expected(tokenizer, train_on)[1]


def test_a_border_is_written_where_it_is_asked_for_and_not_trained_on(tokenizer, chats, tmp_path):
    end = tokenizer.special_tokens[tokenizer.settings.eos]
    encode_corpus(chats, tokenizer, tmp_path / "out", layout="parquet", messages="messages", eos="after")
    ids, labels = expected(tokenizer)
    assert READERS["parquet"](tmp_path / "out", "int32") == [[*row, end] for row in ids]
    assert LABEL_READERS["parquet"](tmp_path / "out", "int32") == [[*row, -100] for row in labels]


def test_rows_of_parquet_and_another_field_hold_the_same_chats(tokenizer, chats, tmp_path):
    rows = [{"chat": each["messages"], "tools": json.dumps(each.get("tools"))} for each in CHATS]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "in.parquet", row_group_size=7)
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name in ("in.parquet", "in.jsonl"):
        out = tmp_path / f"out-{name}"
        encode_corpus(tmp_path / name, tokenizer, out, layout="arrow", messages="chat", threads=2)
    parquet, lines = ((tmp_path / f"out-{name}") for name in ("in.parquet", "in.jsonl"))
    assert READERS["arrow"](parquet, "int32") == READERS["arrow"](lines, "int32")
    assert LABEL_READERS["arrow"](parquet, "int32") == LABEL_READERS["arrow"](lines, "int32")


def wrong_lines(literal):
    user = {"role": "user", "content": "x"}
    return {
        b"not json": ("invalid_corpus", ": not JSON: expecting value at column 1; mend it"),
        '["東", 東]'.encode(): ("invalid_corpus", ": not JSON: expecting value at column 9"),
        b"[1]": ("invalid_corpus", ": not an object: [1]; mend it"),
        b'{"messages": "\xff"}': ("invalid_utf8", "is not UTF-8"),
        b'{"text": "no chat"}': ("invalid_corpus", 'there is no field "messages"; name that of the chats with'),
        b'{"messages": 3}': ("invalid_option", "messages"),
        json.dumps({"messages": [user | {"content": literal}]}).encode(): ("reserved_literal", "literal"),
        json.dumps({"messages": [user], "tools": [{"name": literal}]}).encode(): ("reserved_literal", "tools"),
        b'{"messages": [{"role": "user", "content": "\\ud800"}]}': ("invalid_unicode", "surrogate"),
    }


def test_a_wrong_chat_is_named_by_file_line_and_field_or_left_out(tokenizer, chats, tmp_path):
    good = json.dumps(CHATS[1]).encode() + b"\n"
    wrong = wrong_lines(next(iter(tokenizer.special_tokens)))
    for at, (line, (code, words)) in enumerate(wrong.items()):
        (chats / "a.jsonl").write_bytes(good * 20 + line + b"\n" + good)
        with pytest.raises(InvalidCorpus, match=r"line 21 of .*a\.jsonl: ") as caught:
            encode_corpus(chats, tokenizer, tmp_path / f"out{at}", messages="messages", shard_bytes=1024)
        assert (caught.value.code, caught.value.place["line"]) == (code, 21)
        assert words in caught.value.message
    (chats / "a.jsonl").write_bytes(good + b"".join(line + b"\n" for line in wrong))
    files = Files(paths=(chats,), on_error="skip")
    written = encode_corpus(files, tokenizer, tmp_path / "skipped", messages="messages")
    assert (written.documents, written.skipped) == (21, len(wrong))
    assert [place["line"] for place in written.manifest["first_skipped"]] == [*range(2, 2 + len(wrong))]


def test_a_forged_literal_is_text_where_the_caller_says_so(tokenizer, tmp_path):
    literal = next(iter(tokenizer.special_tokens))
    message = {"role": "user", "content": f"a{literal}b"}
    (tmp_path / "in.jsonl").write_text(json.dumps({"messages": [message]}))
    written = encode_corpus(
        tmp_path / "in.jsonl", tokenizer, tmp_path / "out", messages="messages", special_tokens="text"
    )
    (found,) = READERS["megatron"](tmp_path / "out", written.dtype)
    assert found == tokenizer.encode_chat([message], special_tokens="text").ids.tolist()
    assert check_token_files(tmp_path / "out", tokenizer).ok


def test_another_template_is_another_run(tokenizer, chats, tmp_path):
    written = encode_corpus(chats, tokenizer, tmp_path / "out", messages="messages")
    assert written.manifest["fingerprint"] == tokenizer.fingerprint()
    other = tokenizer.with_template("{% for m in messages %}{{ m.content }}{% endfor %}")
    assert (other.hash, other.fingerprint()) != (tokenizer.hash, tokenizer.fingerprint())
    with pytest.raises(FileExistsError, match="not from a run"):
        encode_corpus(chats, other, tmp_path / "out", messages="messages", resume=True)


def test_what_no_chat_has_is_refused_before_anything_is_read(tokenizer, chats, tmp_path):
    run = {"messages": "messages"}
    for wrong, field in (
        (run | {"train_on": "completion"}, "train_on"),
        (run | {"train_on": "user"}, "train_on"),
        (run | {"special_tokens": "parse"}, "special_tokens"),
        ({"train_on": "all"}, "train_on"),
        ({"messages": 3}, "messages"),
    ):
        with pytest.raises(InvalidOption) as caught:
            encode_corpus(chats, tokenizer, tmp_path / "out", **wrong)
        assert caught.value.place["field"] == field
    (tmp_path / "text.txt").write_text("no chat")
    with pytest.raises(InvalidCorpus, match="no file of chats"):
        encode_corpus(tmp_path / "text.txt", tokenizer, tmp_path / "out", **run)
    pq.write_table(pa.table({"text": ["a"]}), tmp_path / "in.parquet")
    with pytest.raises(InvalidCorpus, match="no column 'messages'"):
        encode_corpus(tmp_path / "in.parquet", tokenizer, tmp_path / "out", **run)
    with pytest.raises(TemplateMissing):
        encode_corpus(chats, without_template(tokenizer), tmp_path / "out", **run)


def without_template(tokenizer: Tokenizer) -> Tokenizer:
    settings = replace(tokenizer.settings, chat_template=None, named_templates=())
    return Tokenizer(replace(tokenizer.parts, settings=settings))
