"""The client: both kinds against a real server, and every kind of failure."""

from __future__ import annotations

import asyncio
import inspect
import math
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import httpx
import numpy as np
import pytest

from service.client import (
    AsyncClient,
    Call,
    Client,
    Encoding,
    NotFound,
    Refused,
    TimedOut,
    TooLarge,
    Unreachable,
    calls,
    jobs,
)
from service.errors import PROBLEMS
from service.routes import decode, offsets
from service.schemas import parsing, parts, requests
from tests.service.conftest import RunServer, Server
from tokenizer_core import (
    InputError,
    InvalidOption,
    InvalidUnicode,
    ReservedLiteral,
    TemplateMissing,
    Tokenizer,
    UnknownTokenId,
)

TEXTS = ["the quick brown fox", "", "naïve 🙂👍🏽 café"]
PARTS = ("ids", "count", "tokens", "spans", "attention_mask", "special_tokens_mask", "position_ids", "labels")
METHODS = sorted(name for name, value in vars(Client.__mro__[1]).items() if not name.startswith("_"))


@pytest.fixture(scope="module")
def server(run_server: RunServer) -> Iterator[Server]:
    with run_server(access_log=False, max_items=4) as running:
        yield running


Ask = Callable[[Call[Any]], Any]


@pytest.fixture(params=["sync", "async"])
def ask(request: pytest.FixtureRequest, server: Server) -> Ask:
    """Carry out a call with either kind of client."""

    def sync(call: Call[Any]) -> Any:
        with Client(server.url) as tokd:
            return tokd.send(call)

    def awaited(call: Call[Any]) -> Any:
        async def run() -> Any:
            async with AsyncClient(server.url) as tokd:
                return await tokd.send(call)

        return asyncio.run(run())

    return sync if request.param == "sync" else awaited


def test_one_text_is_encoded_as_by_the_library(ask: Ask, framed: Tokenizer) -> None:
    for text in TEXTS:
        ids = framed.encode(text, add_special_tokens=True).tolist()
        got = ask(Client.encode(text))
        assert (got.tokenizer, got.ids, got.count) == (framed.hash, ids, len(ids))
        assert ask(Client.count(text)).count == len(ids)
        assert ask(Client.decode(ids, skip_special_tokens=True)).text == text


def test_batch_equals_singles_in_every_part(ask: Ask) -> None:
    singles = [ask(Client.encode(text, parts=PARTS)) for text in TEXTS]
    assert ask(Client.encode_batch(TEXTS, parts=PARTS)) == singles
    assert ask(Client.encode_batch(tuple(TEXTS), parts=PARTS)) == singles
    assert ask(Client.count_batch(TEXTS)) == [ask(Client.count(text)) for text in TEXTS]
    assert ask(Client.offsets_batch(TEXTS, tokens=True)) == [ask(Client.offsets(text, tokens=True)) for text in TEXTS]
    rows = [single.ids for single in singles]
    assert ask(Client.decode_batch(rows)) == [ask(Client.decode(row)) for row in rows]


def test_chat_is_that_of_the_library(ask: Ask, framed: Tokenizer) -> None:
    chat = [{"role": "user", "content": "the fox<|eos|>"}, {"role": "assistant", "content": "the dog"}]
    encoded, rendered = framed.encode_chat(chat), framed.render_chat(chat)
    got = ask(Client.encode_chat(chat, parts=["ids", "labels"], train_on="last"))
    assert (got.ids, got.labels) == (encoded.ids.tolist(), encoded.labels(train_on="last").tolist())
    assert got.template == framed.template_hash
    assert ask(Client.count_chat(chat)).count == len(encoded.ids)
    assert ask(Client.render(chat)).text == rendered.text
    with pytest.raises(TemplateMissing):
        ask(Client.render(chat, tokenizer="bare"))


def test_binary_answers_hold_the_same_ids(ask: Ask) -> None:
    rows = [row.ids for row in ask(Client.encode_batch(TEXTS))]
    assert [ask(Client.encode_ids(text)).tolist() for text in TEXTS] == rows
    assert [row.tolist() for row in ask(Client.encode_ids_batch(TEXTS))] == rows
    assert ask(Client.encode_ids_batch([])) == []
    table = ask(Client.encode_arrow(TEXTS, parts=["ids", "spans"]))
    assert table.column("ids").to_pylist() == rows
    assert table.column("spans").to_pylist() == [row.spans for row in ask(Client.encode_batch(TEXTS, parts=["spans"]))]
    with pytest.raises(ReservedLiteral):
        ask(Client.encode_arrow(["<|bos|>"]))
    with pytest.raises(InvalidOption):
        ask(Client.encode_ids("a", parts=["tokens"]))


def test_arrow_is_asked_as_json_is(ask: Ask) -> None:
    options: Any = {"max_length": np.int64(2), "special_tokens": None, "parts": np.array(["ids"])}
    rows = [row.ids for row in ask(Client.encode_batch(TEXTS, **options))]
    assert ask(Client.encode_arrow(TEXTS, **options)).column("ids").to_pylist() == rows
    for refused in (Client.encode_batch, Client.encode_arrow):
        with pytest.raises(InvalidUnicode, match="replace it"):
            ask(refused(["a", "\ud800"]))


CHAT = {"text", "words", "messages"}
OF_CHATS = {*requests.ChatOptions.model_fields, "train_on", "train_reasoning", "prefix_ids", "new_from", "rewritten"}


@pytest.mark.parametrize(
    ("options", "model", "without"),
    [
        (calls.EncodeOptions, requests.EncodeRequest, CHAT | OF_CHATS),
        (calls.EncodeChatOptions, requests.EncodeRequest, CHAT),
        (calls.ChatOptions, requests.RenderRequest, CHAT),
        (calls.CountChatOptions, requests.CountRequest, {*CHAT, "text_pair", "add_special_tokens"}),
        (calls.TextOptions, requests.CountRequest, CHAT | OF_CHATS),
        (calls.OffsetsOptions, offsets.OffsetsRequest, {*CHAT, *OF_CHATS, "target_spans"}),
        (calls.StreamOptions, decode.DecodeRequest, {"ids"}),
        (calls.ParseOptions, parsing.ParseRequest, {"outputs"}),
    ],
)
def test_options_of_methods_are_those_of_routes(options: Any, model: Any, without: set[str]) -> None:
    assert options.__annotations__.keys() == model.model_fields.keys() - without


def test_fields_of_answers_are_the_parts_of_the_route() -> None:
    others = {"template", "block_hashes", "appended", "inserted", "retokenized_equal"}
    others |= {"new_ids", "prefix_hash", "since"}
    assert set(get_args(parts.PartName)) == parts.PARTS.keys() == Encoding.__annotations__.keys() - others


def test_empty_batches_are_empty(ask: Ask) -> None:
    assert ask(Client.encode_batch([])) == ask(Client.count_batch([])) == ask(Client.offsets_batch([])) == []
    assert ask(Client.decode_batch([])) == []


@pytest.mark.parametrize(
    ("describe", "one"),
    [
        (calls.encode_batch, "ab"),
        (calls.encode_ids_batch, "ab"),
        (calls.encode_arrow, "ab"),
        (calls.count_batch, "ab"),
        (calls.offsets_batch, "ab"),
        (calls.decode_batch, [40, 41]),
        (calls.decode_batch, np.array([40, 41], np.uint32)),
        (jobs.submit_texts, "low lower"),
        (jobs.submit_texts, b"low lower"),
        (jobs.submit_paths, "/corpora"),
        (jobs.submit_urls, "http://localhost/a.txt"),
        (jobs.submit_files, "/x"),
        (jobs.submit_files, Path("/x")),
    ],
)
def test_one_where_many_are_meant_is_refused_and_not_taken_apart(describe: Any, one: Any) -> None:
    with pytest.raises(InvalidOption, match="not one"):
        describe(one)


CHAT = [{"role": "user", "content": "a"}]


@pytest.mark.parametrize(
    ("describe", "several", "field"),
    [
        *(
            (describe, value, "text")
            for describe in (calls.encode, calls.encode_ids, calls.count, calls.offsets)
            for value in (["a", "b c"], ["ab"], [], ("a",), np.array(["a"]), b"a", 5, None)
        ),
        *(
            (calls.decode, value, "ids")
            for value in ([[1]], [[1], [1, 2]], [(1,), [2]], [range(3)], [np.array([1])], np.array([[1]]))
        ),
        *((describe, [CHAT], "messages") for describe in (calls.encode_chat, calls.count_chat, calls.render)),
    ],
)
def test_several_where_one_is_meant_are_refused_and_not_answered_as_one(
    describe: Any, several: Any, field: str
) -> None:
    with pytest.raises(InvalidOption, match=r"^\w+ is (a string|one list), not") as caught:
        describe(several)
    assert caught.value.place == {"field": field}


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_closed_client_says_so(kind: Any) -> None:
    async def ask_when_closed() -> None:
        tokd = kind()
        closed = tokd.close()
        if closed is not None:
            await closed
        with pytest.raises(Unreachable, match="the client is closed"):
            await tokd.count("a")
        with pytest.raises(Unreachable, match="the client is closed"):
            await tokd.wait("j")

    asyncio.run(ask_when_closed())


def test_offsets_say_where_tokens_stand(ask: Ask, framed: Tokenizer) -> None:
    got = ask(Client.offsets("the naïve fox", [(4, 9)], unit="byte", add_special_tokens=False))
    assert got.spans == framed.offsets("the naïve fox", "byte").spans.tolist()
    assert got.mask == [int(start < 9 and end > 4) for start, end in got.spans]
    many = ask(Client.offsets_batch(["the fox", "a"], [[(0, 3)], []]))
    assert [sum(row.mask) > 0 for row in many] == [True, False]


def test_stream_is_decoded_piece_by_piece(ask: Ask, framed: Tokenizer) -> None:
    ids = framed.encode(TEXTS[2])
    text, pending = "", ""
    for place, id in enumerate(ids):
        got = ask(Client.decode([int(id)], pending=pending, final=place == len(ids) - 1))
        text, pending = text + got.text, got.pending
    assert (text, pending) == (TEXTS[2], "")


def test_outputs_are_parsed_as_ids_and_as_text(ask: Ask, framed: Tokenizer) -> None:
    form = {
        "start_anchor": "<a>",
        "fields": {"thinking": {"open": "(", "close": ")", "content": "text"}, "content": {"content": "text"}},
    }
    ids = framed.encode("(a)b")
    by_text, by_id = ask(Client.parse(["(a)b", ids], response_template=form))
    assert by_text.message == by_id.message == {"thinking": "a", "content": "b"}
    assert (by_text.exact, by_text.malformed, by_text.arguments) == (None, [], [])
    assert (by_text.parts[0]["end_id"], by_id.parts[-1]["end_id"]) == (None, len(ids))
    with pytest.raises(UnknownTokenId):
        ask(Client.parse([[1 << 20]], response_template=form))
    with pytest.raises(InvalidOption):
        ask(Client.parse("one text"))  # type: ignore[arg-type]


def test_ids_may_be_arrays(ask: Ask, framed: Tokenizer) -> None:
    ids = framed.encode("the quick fox")
    assert ask(Client.decode(ids)).text == "the quick fox"
    assert [row.text for row in ask(Client.decode_batch([ids, ids.astype(np.int64)]))] == ["the quick fox"] * 2
    assert ask(Client.decode(ids.astype(np.int64).repeat(2)[::2])).text == "the quick fox"
    assert ask(Client.decode(range(40, 43))).text == framed.decode([40, 41, 42])


def test_tokenizers_are_listed_and_chosen(ask: Ask, framed: Tokenizer, bare: Tokenizer) -> None:
    assert [(each.name, each.tokenizer) for each in ask(Client.tokenizers())] == [
        ("framed", framed.hash),
        ("bare", bare.hash),
    ]
    for reference in ("bare", bare.hash, f"bare@{bare.hash}"):
        assert ask(Client.tokenizer(reference)).vocab_size == bare.vocab_size
        assert ask(Client.encode("a", tokenizer=reference)).tokenizer == bare.hash


def test_field_that_was_not_asked_for_says_so(ask: Ask) -> None:
    with pytest.raises(AttributeError, match=r"no spans; it has what was asked for: tokenizer, ids, count"):
        _ = ask(Client.encode("a")).spans
    assert repr(ask(Client.count("a"))).endswith(", count=3)")


def test_input_error_is_the_one_that_the_library_raises(ask: Ask, framed: Tokenizer) -> None:
    cases: list[tuple[Call[Any], Callable[[], Any], type[InputError]]] = [
        (Client.encode("né<|eos|>"), lambda: framed.encode("né<|eos|>"), ReservedLiteral),
        (Client.decode([1, 99_999]), lambda: framed.decode([1, 99_999]), UnknownTokenId),
    ]
    for call, library, kind in cases:
        with pytest.raises(kind) as local:
            library()
        with pytest.raises(kind) as remote:
            ask(call)
        assert (remote.value.code, remote.value.message) == (local.value.code, local.value.message)
    with pytest.raises(ReservedLiteral) as caught:
        ask(Client.encode_batch(["a", "né<|eos|>"]))
    assert caught.value.place == {"field": "text[1]", "literal": "<|eos|>", "span": [2, 9], "unit": "char"}
    with pytest.raises(InvalidOption):
        ask(Client.encode("a", padding="max_length"))
    with pytest.raises(InvalidUnicode):
        ask(Client.encode("a\ud800"))


def test_other_refusals_say_what_and_where(ask: Ask) -> None:
    misspelt = Client.encode("a", parts=["idz"])  # type: ignore[list-item]
    unknown = Client.count("a", special_token="text")  # type: ignore[call-arg]
    for call, kind, code, path in [
        (Client.encode("a", tokenizer="nobody"), NotFound, "tokenizer_not_found", "tokenizer"),
        (Client.tokenizer("no/body"), NotFound, "tokenizer_not_found", "tokenizer"),
        (Client.encode_batch(["a"] * 5, padding="longest"), TooLarge, "too_many_items", "text"),
        (misspelt, Refused, "invalid_value", "return[0]"),
        (unknown, Refused, "unknown_field", "special_token"),
    ]:
        with pytest.raises(kind) as caught:
            ask(call)
        assert (caught.value.code, caught.value.path) == (code, path)
        assert caught.value.status == PROBLEMS[code].status


def test_what_is_no_json_is_the_caller_s_mistake_before_anything_is_sent(ask: Ask) -> None:
    for value in (
        b"bytes",
        object(),
        {5: 6},
        1 << 70,
        np.array(3),
        np.array("a"),
        [np.array(3)],
        np.ma.masked,
        {"a"},
        math.nan,
        [-math.inf],
        {"x": np.array([np.nan])},
    ):
        with pytest.raises(InvalidOption, match=r"^tokenizer cannot be sent as JSON") as caught:
            ask(Client.encode("a", tokenizer=value))  # type: ignore[arg-type]  # the mistake
        assert caught.value.place == {"field": "tokenizer"}
    with pytest.raises(InvalidOption) as caught:
        ask(Client.encode("a", parts={"ids"}))  # type: ignore[arg-type]
    assert caught.value.place == {"field": "return"}


def test_files_are_sent_whatever_bytes_their_names_are(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"a\xff.txt")
    path.write_text("low")
    sent: list[bytes] = []

    def reply(request: httpx.Request) -> httpx.Response:
        sent.append(request.read())
        return httpx.Response(202, json={"id": "j", "state": "queued", "artifact": None})

    with Client(transport=httpx.MockTransport(reply)) as tokd:
        assert tokd.submit_files([path]).id == "j"
    assert b'filename="a?.txt"' in sent[0]


def test_methods_are_the_same_on_both_kinds() -> None:
    assert METHODS
    for name in METHODS:
        call = getattr(Client, name)
        assert call is getattr(AsyncClient, name)
        for kind in (Client, AsyncClient):
            with_server = kind("http://127.0.0.1:1")
            method = getattr(with_server, name)
            assert (method.__name__, method.__doc__) == (name, inspect.getdoc(call))


def test_nothing_that_listens_is_unreachable() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        with Client(f"http://me:secret@{address}/tokd") as tokd, pytest.raises(Unreachable) as caught:
            tokd.count("a")
    assert not isinstance(caught.value, TimedOut)
    assert f"the service at http://{address} cannot be reached" in caught.value.message


def test_unix_socket_is_reached_by_a_transport(run_server: RunServer, tmp_path: Path) -> None:
    uds = str(tmp_path / "tokd.sock")
    with run_server(uds=uds), Client(transport=httpx.HTTPTransport(uds=uds)) as tokd:
        assert tokd.count("the fox").count == len(tokd.encode("the fox").ids)
