"""What callers give a client that no request can hold: refused by its name before anything is sent."""

from __future__ import annotations

from array import array
from collections import UserList, deque
from fractions import Fraction
from typing import Any

import httpx
import numpy as np
import pyarrow as pa
import pytest

from service.client import AsyncClient, Client, calls, jobs
from tokenizer_core import InvalidOption, InvalidUnicode


@pytest.mark.parametrize("kind", [Client, AsyncClient])
@pytest.mark.parametrize(
    ("field", "options"),
    [
        ("key", {"key": "ü"}),
        ("key", {"key": "a\nb"}),
        ("key", {"key": "tokd_1 "}),
        ("key", {"key": 5}),
        ("headers", {"headers": {"x": "ü"}}),
        ("headers", {"headers": {"ü": "x"}}),
        ("url", {"url": "http://[::1"}),
        ("url", {"url": "http://localhost:port"}),
        ("url", {"url": "http://ü‥.com"}),
        ("url", {"url": "http://localhost/\ud800"}),
        *(
            ("url", {"url": value})
            for value in (None, b"http://a", "", "localhost:8000", "/path", "http://", "ftp://a")
        ),
        *(
            ("url", {"url": value})
            for value in (
                "http://a..b",
                "http://xn--a",
                f"http://{'a' * 64}",
                "http://a:99999",
                "http://a:-1",
                "http://a?b",
            )
        ),
        *(("headers", {"headers": {name: "1"}}) for name in ("", "a b", "a:", "Content-Length", "content-type")),
        *(("transport", {"transport": value}) for value in (5, "/run/tokd.sock", httpx.Client)),
        *(("headers", {"headers": value}) for value in (5, "x: y", [("x", "y")], np.array([1, 2]))),
        *(
            ("timeout", {"timeout": value})
            for value in (None, "5", True, 0, -1.0, float("nan"), float("inf"), 10**5000, Fraction(1, 10**400))
        ),
        *(("concurrency", {"concurrency": value}) for value in (None, "3", 2.0, True, 0, -1)),
        *(("tries", {"tries": value}) for value in (None, "3", 2.0, True, [10**5000])),
    ],
)
def test_a_client_that_cannot_be_is_refused_by_the_argument(kind: Any, field: str, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption, match=field) as caught:
        kind(**options)
    assert caught.value.place["field"] == field


def test_a_transport_is_one_of_the_kind_of_client() -> None:
    for kind, other in ((Client, httpx.AsyncHTTPTransport()), (AsyncClient, httpx.HTTPTransport())):
        with pytest.raises(InvalidOption, match=f"not {type(other).__name__}"):
            kind(transport=other)


@pytest.mark.parametrize("url", ["http://localhost.", "http://my_host", "http://ü.com/tokd/", "http://[::1]:65535"])
def test_a_url_may_have_any_host_and_a_path(url: str) -> None:
    Client(url).close()


@pytest.mark.parametrize(
    ("kind", "field", "describe"),
    [
        (InvalidOption, "idempotency_key", lambda: jobs.submit_texts(["a"], idempotency_key="ключ")),
        (InvalidOption, "idempotency_key", lambda: jobs.submit_files(["a"], idempotency_key="a\nb")),
        (InvalidUnicode, "pattern", lambda: jobs.submit_files(["a"], settings={"pattern": "\ud800"})),
        (InvalidUnicode, "\\ud800", lambda: jobs.submit_files(["a"], settings={"\ud800": 1})),
        *((InvalidOption, "settings", lambda v=v: jobs.submit_files(["a"], settings=v)) for v in (5, [], np.arange(2))),
        *(
            (InvalidOption, "vocab_size", lambda submit=submit: submit(["a"], vocab_size=300))
            for submit in (jobs.submit_texts, jobs.submit_files, jobs.submit_paths, jobs.submit_urls)
        ),
        *((InvalidOption, "name", lambda v=v: jobs.submit_files(["a"], name=v)) for v in (5, b"a", 10**5000)),
        *((InvalidOption, "files", lambda v=v: jobs.submit_files(v)) for v in (None, 5, np.array("a"), "a")),
        *((InvalidOption, "files", lambda v=v: jobs.submit_files([v])) for v in (None, 5, b"a", "a\0", "\ud800")),
        *((InvalidOption, "texts", lambda v=v: jobs.submit_texts(v)) for v in (None, 5, np.array("a"), "a", {"a": 1})),
        *((InvalidOption, "texts", lambda v=v: calls.encode_arrow(v)) for v in (None, 5, [b"a", 5], [5], {"a": 1})),
        *(
            (InvalidOption, "texts", lambda v=v: calls.encode_arrow(pa.array(v)))
            for v in ([1], [True], [b"a"], [["a"]])
        ),
        (InvalidOption, "texts", lambda: calls.encode_arrow(pa.chunked_array([[1], [2]]))),
        *((InvalidOption, "texts", lambda v=v: calls.encode_batch(v)) for v in (None, 5, np.array("a"), "a")),
        (InvalidOption, "stride", lambda: calls.encode_ids("a", max_length=5, stride=1)),
        (InvalidOption, "stride", lambda: calls.encode_ids_batch(["a"], max_length=5, stride=0)),
        (InvalidOption, "return_", lambda: calls.encode("a", return_=["ids"])),  # type: ignore[call-arg]
        (InvalidOption, "text_pair", lambda: calls.encode_arrow("a", text_pair=[5])),
        (InvalidOption, "text_pair", lambda: calls.encode_arrow(["a"], text_pair=["b", "c"])),
        *((InvalidOption, "ids", lambda v=v: calls.decode_batch(v)) for v in (None, 5, np.array(3), [1, 2])),
        *((InvalidOption, "job_id", lambda v=v: jobs.job(v)) for v in (None, 5, b"a", "", ".", "..")),
        *((InvalidOption, "job_id", lambda v=v: jobs.job_path(jobs.TRAIN, v)) for v in (None, ".", "..")),
        *((InvalidOption, "reference", lambda v=v: calls.tokenizer(v)) for v in (5, "", ".", "..")),
        (InvalidUnicode, "texts", lambda: calls.encode_arrow(["\ud800"])),
        (InvalidUnicode, "limit", lambda: jobs.jobs(limit="\ud800")),
        (InvalidUnicode, "name", lambda: jobs.submit_files(["a"], name="\ud800")),
        (InvalidUnicode, "column", lambda: jobs.submit_files(["a"], column="\ud800")),
        (InvalidUnicode, "job_id", lambda: jobs.job("\ud800")),
        (InvalidUnicode, "states", lambda: jobs.jobs("\ud800")),
        (InvalidUnicode, "before", lambda: jobs.jobs(before="\ud800")),
        (InvalidUnicode, "reference", lambda: calls.tokenizer("\ud800")),
    ],
)
def test_what_no_request_can_hold_is_refused_before_it_is_sent(kind: Any, field: str | None, describe: Any) -> None:
    with pytest.raises(kind) as caught:
        describe()
    assert caught.value.place.get("field") == field


@pytest.mark.parametrize("kind", [tuple, deque, UserList])
def test_any_sequence_is_taken_as_a_list_is(kind: Any) -> None:
    ids, chat = [100, 101, 102], [{"role": "user", "content": "hi"}]
    for describe in (calls.render, calls.encode_chat, calls.count_chat):
        assert calls.to_json(describe(kind(chat)).body) == calls.to_json(describe(chat).body)
        with pytest.raises(InvalidOption, match="messages is one list"):
            describe(kind([kind(chat)]))
    for same in (kind(ids), range(100, 103), array("I", ids), np.array(ids)):
        assert calls.to_json(calls.decode(same).body) == calls.to_json(calls.decode(ids).body)
        assert calls.to_json(calls.decode_batch(kind([same])).body) == calls.to_json(calls.decode_batch([ids]).body)
        with pytest.raises(InvalidOption, match="ids is one list"):
            calls.decode(kind([same]))
        with pytest.raises(InvalidOption, match="not one list"):
            calls.decode_batch(same)


def test_texts_may_be_a_column_of_arrow_of_any_kind_of_strings() -> None:
    column, schema = ["naïve", "", "fox", "fox"], pa.schema([("text", pa.large_string())])
    strings = pa.array(column)
    for given in (
        strings,
        strings.cast(pa.large_string()),
        strings.cast(pa.string_view()),
        strings.dictionary_encode(),
        pa.chunked_array([column[:1], [], column[1:]]),
        pa.chunked_array([column]).dictionary_encode(),
        pa.table({"text": column})["text"],
    ):
        rows = calls.encode_arrow(given).rows
        assert rows is not None
        sent = pa.ipc.open_stream(rows.part(0, len(column)).body).read_all()
        assert (sent.schema, sent["text"].to_pylist()) == (schema, column)


def test_a_request_without_a_url_is_refused() -> None:
    with Client() as tokd, pytest.raises(InvalidOption, match="URL"):
        tokd.tokenizer("x" * 70_000)
