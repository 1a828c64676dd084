"""The kernel's answer about a chat is the models' answer, byte for byte; what it does not take, the models answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any, ClassVar, cast

import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, example, given, settings
from pydantic import BaseModel, create_model

from service.errors import ServiceError
from service.http import plain_chats, response_binary
from service.http.fast_path import LeftToThread
from service.http.json_body import Parse, parser
from service.http.plain_chats import PlainBytes, PlainTextsOrChats, PlainTokenize
from service.http.response_json import Answer
from service.registry.registry import Registry
from service.registry.served import ServedTokenizer
from service.routes.compat import vllm
from service.routes.compat.plain_render import PlainRender
from service.routes.compat.render_chat import VllmRenderChatRequest, vllm_render_chat
from service.routes.count import count
from service.routes.encode import encode
from service.schemas.fields import under_limits
from service.schemas.inline import INLINE_CHAT_BYTES
from service.schemas.requests import CountRequest, EncodeRequest
from service.state import CurrentState, ServerState
from tests.core.chat.conversations import CONVERSATIONS, TEMPLATES, TOOLS, tokenizer
from tests.core.chat.test_forging import attacks, chats
from tests.service.conftest import MakeClient, state_of
from tests.service.http.chat_requests import RENDER, ROUTES, SOME, requests
from tests.support.connection import answered_at_once
from tokenizer_core import SegmentCache, StepsSpent, base_artifact

BYTES = "/encode, bytes"
PLAIN = ("one message", "system", "many turns", "thoughts", "tool call", "parts", "names")
Both = Callable[[str, str, bytes], tuple[tuple[bytes, int] | None, tuple[Any, ...]]]
Modelled = list[Callable[[bytes], Answer]]


def parser_of_values(model: type[BaseModel]) -> Parse:
    """Return the parser that makes Python's values of lists too."""
    return parser(create_model(model.__name__, __base__=model, LISTS=(ClassVar[tuple[str, ...]], ())))


def answered(ask: Callable[[], Answer]) -> tuple[Any, ...]:
    """Return an answer's bytes and number of ids, or its error."""
    try:
        answer = ask()
    except ServiceError as error:
        return error.code, error.path, error.detail, error.members
    return b"".join(map(bytes, answer.blocks)), answer.tokens


@pytest.fixture(scope="module", params=["text", "engine"])
def both(make_client: MakeClient, request: pytest.FixtureRequest) -> Both:
    """Ask the kernel, and the models of which lists stay JSON and of which they become values; these must agree.

    The kernel is asked twice, and keeps all or few of the segments of chats before; the models keep none.
    """
    engine = {"literals": ("*=engine",), "chat_parse": True, "chat_literals": "parse"}
    state = state_of(make_client(**(engine if request.param == "engine" else {})))
    segments = SegmentCache({"text": 16 << 20, "engine": 4 << 10}[request.param], shortest=1)

    @cache
    def routes(template: str) -> dict[str, tuple[Any, Modelled]]:
        """Return the kernel's and the models' answers by route; of bare bytes, those of `/encode`."""
        loaded = ServedTokenizer(tokenizer(template), template, segments=segments)
        registry = cast(Registry, SimpleNamespace(default=loaded, get=lambda _: loaded, of_model=lambda _: loaded))
        own: ServerState = replace(state, registry=registry, current=CurrentState())
        own.current.state = own
        limits = own.settings
        tokenize, render, to_encode, to_count = (
            under_limits(model, limits)
            for model in (vllm.VllmTokenizeRequest, VllmRenderChatRequest, EncodeRequest, CountRequest)
        )

        def modelled(model: type[BaseModel], answer: Callable[[ServerState, Any], Answer]) -> Modelled:
            ways = parser(model), parser_of_values(model)
            return [lambda body, parse=parse: answer(own, parse(body)) for parse in ways]

        return {
            RENDER: (
                PlainRender(own, render, "an-id"),
                modelled(render, lambda state, body: vllm_render_chat(state, body, "an-id")),
            ),
            "/encode": (
                PlainTextsOrChats("encode", lambda: registry, limits, 1),
                modelled(to_encode, encode),
            ),
            BYTES: (
                PlainBytes(lambda: registry, limits),
                modelled(to_encode, lambda state, body: encode(state, body, response_binary.write)),
            ),
            "/count": (
                PlainTextsOrChats("count", lambda: registry, limits, 1),
                modelled(to_count, count),
            ),
            "/tokenize": (
                PlainTokenize(lambda: registry, limits, own.engines),
                modelled(tokenize, vllm.tokenize),
            ),
        }

    def ask(path: str, template: str, body: bytes) -> tuple[tuple[bytes, int] | None, tuple[Any, ...]]:
        plain, modelled = routes(template)[path]
        found = []
        for _ in range(2):
            taken = plain.answer(body, may_take_long=True)
            found.append(None if taken is None else (b"".join(map(bytes, taken.blocks)), taken.tokens))
        fast = found[0]
        assert found[-1] == fast
        headers = [b"tokd-fingerprint", *([b"tokd-tokenizer", b"tokd-template"] if path == BYTES else [])]
        assert taken is None or [name for name, _ in taken.headers] == headers
        if path == BYTES and taken is not None:
            assert taken[3:] == modelled[0](body)[3:]
        of_json, of_values = (answered(lambda way=way: way(body)) for way in modelled)
        assert of_json == of_values, (path, template, body)
        return fast, of_values

    return ask


def bodies(messages: Any, tools: Any = None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield requests about a chat to each route, with the route."""
    for path in (*ROUTES, BYTES):
        named = {"messages": messages} | ({} if tools is None else {"tools": tools})
        yield path, named
        yield path, {"add_generation_prompt": path in ("/encode", "/count", BYTES), **named}


def require_equal(both: Both, path: str, template: str, body: dict[str, Any], *, ascii_only: bool = True) -> bool:
    """Compare both answers; tell whether the kernel gave one."""
    fast, modelled = both(path, template, json.dumps(body, ensure_ascii=ascii_only).encode())
    assert fast is None or fast == modelled, (path, body)
    return fast is not None


@pytest.mark.parametrize("template", TEMPLATES)
def test_the_kernel_renders_real_templates_as_the_models_do(both: Both, template: str) -> None:
    taken = 0
    for name, messages in CONVERSATIONS.items():
        for tools in (None, TOOLS, []):
            for path, body in bodies(messages, tools):
                is_taken = require_equal(both, path, template, body, ascii_only=tools is None)
                taken += is_taken
                if not is_taken and name in PLAIN:
                    # All that it leaves of plain chats is what the models refuse, and what vLLM would.
                    _, modelled = both(path, template, json.dumps(body).encode())
                    assert len(modelled) > 2 or (
                        path in ("/tokenize", RENDER) and (name == "tool call" or tools == [])
                    ), body
    # This one wants a variable of its own, so the models refuse all.
    assert taken > 20 or template == "fireworks-ai-llama-3-firefunction-v2"


@pytest.mark.slow
@pytest.mark.parametrize("template", TEMPLATES)
def test_forged_chats_have_the_ids_of_the_models(both: Both, template: str) -> None:
    for attack in attacks(template):
        for messages, tools in chats(attack):
            for path, body in bodies(messages, tools):
                require_equal(both, path, template, body)


@pytest.mark.slow
@pytest.mark.skipif(not TEMPLATES, reason="the templates are not there")
@pytest.mark.parametrize("path", ROUTES)
@pytest.mark.parametrize("name", ["messages", "tools", "mess\\u0061ges"])
@pytest.mark.parametrize("first", ['[{"role":"user","content":"a"}]', "null", "[]", "1"])
@pytest.mark.parametrize("last", ['[{"role":"user","content":"b"}]', "null", "[]", '"x"', "{}"])
def test_of_equal_fields_the_last_counts(both: Both, path: str, name: str, first: str, last: str) -> None:
    text = '"text":"c",' if path in ("/encode", "/count") else '"prompt":"c",'
    for more in ("", text, '"messages":[{"role":"user","content":"d"}],'):
        body = f'{{{more}"{name}":{first},"{name}":{last}}}'.encode()
        fast, modelled = both(path, TEMPLATES[0], body)
        assert fast is None or fast == modelled, body


@pytest.mark.skipif(not TEMPLATES, reason="the templates are not there")
@settings(max_examples=500, deadline=None, suppress_health_check=list(HealthCheck))
@given(requests())
@example(("/encode", SOME[0], b'{"messages":[]}'))
@example(("/encode", SOME[0], b'{"messages":[[{"role":"user","content":"a"}]]}'))
@example(("/encode", SOME[0], b'{"messages":[{"role":"user","content":"a"}}'))
@example(("/encode", SOME[0], b'{"messages":[{"role":"user","content":"a"}],"messages":[]}'))
@example(("/encode", SOME[0], b'{"messages":[{"role":"user","content":"a","content":"b"}]}'))
@example(("/encode", SOME[0], b'{"messages":[{"role":"user","content":"a\\ud800"}]}'))
@example(("/encode", SOME[0], b'{"messages":[{"role":"user","content":NaN}]}'))
@example(("/encode", SOME[0], b'{"messages":[{"role":"user","content":"a"}],"tools":[1]}'))
@example(("/encode", SOME[0], b'{"messages":[{"role":"user","content":"a","x":' + b"[" * 99 + b"]" * 99 + b"}]}"))
@example(("/encode", SOME[0], b'{"messages":[{"role":"user","content":"a","x":' + b"[" * 100 + b"]" * 100 + b"}]}"))
@example(("/encode", SOME[0], b'{"messages":[{"role":"user","content":"a"}],"since":{"count":2147483648}}'))
@example(("/encode", SOME[0], b'{"messages":[{"role":"user","content":"a"}],"since":{"count":2147483649}}'))
@example((RENDER, SOME[0], b'{"messages":[{"role":"user","content":"a"}],"since":{"count":0,"count":1}}'))
@example(("/tokenize", SOME[0], b'{"messages":[{"role":"assistant","content":"a","tool_calls":[]}]}'))
@example(("/tokenize", SOME[0], b'{"messages":[{"role":"user","content":"a","tool_calls":[{}]}]}'))
@example((RENDER, SOME[0], b'{"messages":[{"role":"user","content":"a"}],"x":nul}'))
@example((RENDER, SOME[0], b'{"messages":[{"role":"user","content":"a"}],"x":NaN}'))
@example((RENDER, SOME[0], b'{"messages":[{"role":"user","content":"a"}],"temperature":0,"temperature":1}'))
@example((RENDER, SOME[0], b'{"x":1,"messages":[{"role":"user","content":"a"}],"model":"\x7f"}'))
@example(
    (
        RENDER,
        SOME[0],
        b'{"messages":[{"role":"user","content":"a"}],"reasoning_effort":"low","chat_template_kwargs":{}}',
    )
)
def test_the_kernel_answers_about_chats_as_the_models_do(both: Both, asked: tuple[str, str, bytes]) -> None:
    path, template, body = asked
    if path == "/encode":
        fast, modelled = both(BYTES, template, body)
        assert fast is None or fast == modelled
    fast, modelled = both(path, template, body)
    assert fast is None or fast == modelled


@pytest.mark.parametrize("path", ["/tokenize", RENDER])
def test_each_model_has_its_own_literals_and_length(make_client: MakeClient, path: str) -> None:
    models, lengths = ("a=base", "b=base"), ("a=50", "b=60")
    app: Any = make_client(
        artifacts=(base_artifact(),), models=models, literals=("a=engine",), max_model_len=lengths
    ).app
    route, headers = app.json_routes[path], ((b"x-request-id", b"h"),)
    plain, handler = route.json.plain.for_request(headers), route.negotiate(headers) if route.negotiate else route.json
    messages, found = [{"role": "user", "content": "a fox <|im_end|>"}], set()
    # What an answer has beside the ids is kept; that of another model must not be taken.
    for model in ("a", "b", "base", "a", "b"):
        body = json.dumps({"model": model, "messages": messages}).encode()
        fast, slow = (
            (b"".join(map(bytes, answer.blocks)), answer.headers, answer.tokens)
            for answer in (plain.answer(body, may_take_long=False), handler.answer(handler.parse(body)))
        )
        assert fast == slow
        found.add(fast)
    assert len(found) == 3


def test_a_plain_chat_is_answered_where_it_is_read(client: TestClient) -> None:
    app = cast(Any, client.app)
    body = json.dumps({"messages": [{"role": "user", "content": "the fox"}]}).encode()
    for path in ROUTES:
        found = answered_at_once(app, path, body)
        assert found is not None, path
        answer = client.post(path, content=body, headers={"content-type": "application/json"})
        assert answer.status_code == 200
        if path == RENDER:
            # Each answer has an id of its own.
            assert answer.json() | {"request_id": ""} == json.loads(found[1]) | {"request_id": ""}
        else:
            assert answer.content == bytes(found[1]), path


def test_literals_that_the_server_refuses_are_left_to_the_models(make_client: MakeClient) -> None:
    body = json.dumps({"messages": [{"role": "user", "content": "the <|eos|>"}]}).encode()
    app = cast(Any, make_client(chat_literals="reject").app)
    for path in ROUTES:
        assert app.json_routes[path].json.plain.answer(body, may_take_long=True) is None


def test_a_chat_that_takes_many_steps_leaves_the_event_loop(
    make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plain_chats, "inline_steps", lambda size: size)
    plain = cast(Any, make_client().app).json_routes["/encode"].json.plain
    body = json.dumps({"messages": [{"role": "user", "content": "fox"}] * 100}).encode()
    with pytest.raises(StepsSpent):
        plain.answer(body, may_take_long=False)
    assert plain.answer(body, may_take_long=True) is not None


@pytest.mark.parametrize("path", ROUTES)
def test_a_long_chat_leaves_the_event_loop_before_it_is_rendered(
    make_client: MakeClient, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    plain = cast(Any, make_client().app).json_routes[path].json.plain
    letters = "a" * (INLINE_CHAT_BYTES - len(_user("")))
    assert plain.answer(_user(letters), may_take_long=False) is not None
    monkeypatch.setattr(plain_chats, "inline_steps", lambda _: pytest.fail("rendered"))
    body = _user(letters + "a")
    with pytest.raises(LeftToThread):
        plain.answer(body, may_take_long=False)
    assert plain.answer(body, may_take_long=True) is not None


def _user(content: str) -> bytes:
    return json.dumps({"messages": [{"role": "user", "content": content}]}).encode()
