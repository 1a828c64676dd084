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
from hypothesis import strategies as st
from pydantic import BaseModel, create_model

from service.errors import ServiceError
from service.http.json_body import Parse, parser
from service.http.plain_chats import PlainTextsOrChats, PlainTokenize
from service.http.response_json import Answer
from service.registry.registry import Registry
from service.registry.served import ServedTokenizer
from service.routes.compat import vllm
from service.routes.compat.plain_render import PlainRender
from service.routes.compat.render_chat import VllmRenderChatRequest, vllm_render_chat
from service.routes.count import count
from service.routes.encode import encode
from service.schemas.fields import Object
from service.schemas.narrowing import list_of, narrow
from service.state import CurrentState, ServerState
from tests.core.chat.conversations import CONVERSATIONS, TEMPLATES, TOOLS, call, tokenizer
from tests.core.chat.test_forging import attacks, chats
from tests.service.conftest import MakeClient, state_of
from tests.support.connection import answered_at_once
from tests.support.odd_json import written
from tokenizer_core import SegmentCache, StepsSpent, base_artifact

RENDER = "/v1/chat/completions/render"
ROUTES = ("/encode", "/count", "/tokenize", RENDER)
PLAIN = ("one message", "system", "many turns", "thoughts", "tool call", "parts", "names")
SOME = (
    "Qwen-Qwen3-0.6B",
    "openai-gpt-oss-120b",
    "meta-llama-Llama-3.1-8B-Instruct",
    "GLM-4.6",
    "Reka-Edge",
)

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
        loaded = ServedTokenizer(tokenizer(template), template, segments=segments)
        registry = cast(Registry, SimpleNamespace(default=loaded, get=lambda _: loaded, of_model=lambda _: loaded))
        own: ServerState = replace(state, registry=registry, current=CurrentState())
        own.current.state = own
        limits = own.settings
        several = list_of(Object, limits.max_items)
        tokenize, render = (
            narrow(model, messages=type_)
            for model, type_ in ((vllm.VllmTokenizeRequest, several | None), (VllmRenderChatRequest, several))
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
                modelled(own.requests.to_encode, encode),
            ),
            "/count": (
                PlainTextsOrChats("count", lambda: registry, limits, 1),
                modelled(own.requests.to_count, count),
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
        assert taken is None or [name for name, _ in taken.headers] == [b"tokd-fingerprint"]
        of_json, of_values = (answered(lambda way=way: way(body)) for way in modelled)
        assert of_json == of_values, (path, template, body)
        return fast, of_values

    return ask


def bodies(messages: Any, tools: Any = None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield requests about a chat to each route, with the route."""
    for path in ROUTES:
        named = {"messages": messages} | ({} if tools is None else {"tools": tools})
        yield path, named
        yield path, {"add_generation_prompt": path in ("/encode", "/count"), **named}


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


_TEXT = st.one_of(
    st.sampled_from(["", " ", "a", "<|im_end|>", "<think>x</think>\n", "é\u2028\0\x1f", 'q"\\/\n', "</think> "]),
    st.text(max_size=12),
)
_NUMBER = st.one_of(
    st.integers(-3, 3), st.floats(allow_nan=False, allow_infinity=False), st.sampled_from([2**63, -(2**70), -0.0, 1e22])
)
_VALUE = st.recursive(
    st.one_of(st.none(), st.booleans(), _NUMBER, _TEXT),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_TEXT, inner, max_size=3)),
    max_leaves=6,
)
_PART = st.one_of(
    st.fixed_dictionaries({"type": st.just("text"), "text": _TEXT}),
    st.fixed_dictionaries({"type": st.sampled_from(["text", "image", "thinking"]), "text": _TEXT, "image": st.none()}),
    st.dictionaries(st.sampled_from(["type", "text", "content", "image_url", "x"]), _VALUE, max_size=3),
    _VALUE,
)
_TEXT_PARTS = st.lists(
    st.fixed_dictionaries({"type": st.just("text"), "text": _TEXT}, optional={"x": _VALUE}), max_size=3
)
_OBJECT = st.dictionaries(_TEXT, _VALUE, max_size=2)
_ARGUMENTS = st.one_of(_OBJECT, _OBJECT.map(json.dumps), _VALUE, _TEXT)
_CALLS = st.lists(_ARGUMENTS.map(lambda arguments: call(arguments)[0]), max_size=2)
_ROLE = st.sampled_from(["system", "user", "user", "assistant", "assistant", "tool", "User"])
_MESSAGE = st.fixed_dictionaries(
    {"role": _ROLE, "content": st.one_of(_TEXT, _TEXT, _TEXT_PARTS)},
    optional={"tool_calls": _CALLS, "reasoning_content": _TEXT, "name": _TEXT, "x": _VALUE},
)
_ODD_MESSAGE = st.fixed_dictionaries(
    {},
    optional={
        "role": st.one_of(_ROLE, _VALUE),
        "content": st.one_of(st.lists(_PART, max_size=3), st.none(), _VALUE),
        "tool_calls": st.one_of(st.lists(_VALUE, max_size=1), _VALUE),
        "images": _VALUE,
        "from": _TEXT,
    },
)
_FUNCTION = st.fixed_dictionaries(
    {"name": _TEXT},
    optional={"description": st.one_of(_TEXT, st.none()), "parameters": _OBJECT, "strict": _VALUE, "x": _VALUE},
)
_TOOL = st.fixed_dictionaries({"function": _FUNCTION}, optional={"type": st.just("function"), "x": _VALUE})
_ODD_TOOL = st.one_of(
    st.fixed_dictionaries({"function": st.dictionaries(st.sampled_from(["name", "parameters"]), _VALUE)}), _VALUE
)
_PLAIN_FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "tools": st.one_of(st.lists(_TOOL, max_size=2), st.none()),
    "documents": st.one_of(st.lists(_OBJECT, max_size=2), st.none()),
    "add_generation_prompt": st.booleans(),
    "continue_final_message": st.just(False),
    "template_args": st.dictionaries(st.sampled_from(["enable_thinking", "x", "reasoning_effort"]), _VALUE),
    "chat_template_kwargs": st.dictionaries(st.sampled_from(["enable_thinking", "x"]), _VALUE),
    "add_special_tokens": st.just(False),
    "special_tokens": st.sampled_from(["text", "text", "reject"]),
    "return": st.one_of(
        st.lists(st.sampled_from(["ids", "count"]), max_size=2),
        st.just(["spans", "labels", "assistant_mask", "message_index", "reserved_literals"]),
    ),
    "unused": st.sampled_from(["refuse", "report"]),
    "tokenizer": st.none(),
    "model": st.one_of(st.none(), st.just("m")),
    "return_token_strs": st.one_of(st.just(False), st.none()),
    "tool_choice": st.sampled_from([None, "", "auto", "required", "none"]),
    "reasoning_effort": st.sampled_from([None, "none", "low", "max"]),
    "temperature": st.sampled_from([0, 0.5, 1, None, 1e3]),
    "stop": st.one_of(_TEXT, st.lists(_TEXT, max_size=2)),
    "max_tokens": st.integers(0, 9),
    "stream": st.one_of(st.booleans(), st.none()),
    "kv_transfer_params": _OBJECT,
    "since": st.fixed_dictionaries(
        {"count": st.sampled_from([0, 1, 2, 10**6])}, optional={"hash": st.sampled_from(["", "0" * 32, "f" * 31])}
    ),
    "unknown": _VALUE,
}
_ODD_FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "tools": st.one_of(st.lists(_ODD_TOOL, max_size=2), _VALUE),
    "add_generation_prompt": st.none(),
    "continue_final_message": st.booleans(),
    "template_args": st.one_of(st.dictionaries(st.sampled_from(["tools", "range"]), _VALUE), _VALUE),
    "chat_template_kwargs": st.one_of(st.dictionaries(st.sampled_from(["bos_token", "x"]), _VALUE), _VALUE),
    "add_special_tokens": st.one_of(st.booleans(), st.none()),
    "special_tokens": st.sampled_from(["reject", "parse"]),
    "return": st.just(["spans"]),
    "unused": st.sampled_from(["refuse", "report"]),
    "return_token_strs": st.just(True),
    "text": st.none(),
    "unknown": _VALUE,
    "tool_choice": _VALUE,
    "reasoning_effort": _VALUE,
    "truncate_prompt_tokens": st.integers(-2, 9),
    "return_token_offsets": st.just(True),
    "required_prefix_token_ids": st.just([1]),
    "seed": _VALUE,
    "since": st.one_of(
        _VALUE,
        st.fixed_dictionaries({"count": _VALUE}, optional={"hash": _VALUE, "x": _VALUE}),
        st.just({"count": 2**31}),
    ),
}
_OF_ROUTE = {
    "/encode": (
        "tools",
        "documents",
        "add_generation_prompt",
        "template_args",
        *("special_tokens", "return", "tokenizer", "unused", "since"),
    ),
    "/count": ("tools", "documents", "add_generation_prompt", "template_args", "continue_final_message"),
    "/tokenize": ("tools", "add_generation_prompt", "chat_template_kwargs", "model", "return_token_strs"),
    RENDER: (
        *("tools", "documents", "chat_template_kwargs", "model", "tool_choice", "reasoning_effort", "temperature"),
        *("stop", "max_tokens", "stream", "kv_transfer_params", "since", "unknown"),
    ),
}


@st.composite
def _asked(draw: Any) -> tuple[str, str, bytes]:
    """Write a request as any program might; most hold a chat that is plain, with options that are."""
    path = draw(st.sampled_from(ROUTES))
    is_odd = draw(st.integers(0, 3)) == 0
    fields: dict[str, Any] = {"messages": draw(st.lists(_MESSAGE, min_size=1, max_size=4))}
    if is_odd and draw(st.booleans()):
        fields["messages"].insert(draw(st.integers(0, 4)), draw(st.one_of(_ODD_MESSAGE, _VALUE)))
    if path in ("/encode", "/count") and draw(st.integers(0, 9)) == 0:
        fields["messages"] = [fields["messages"], draw(st.lists(_MESSAGE, max_size=2))]
    for name in draw(st.lists(st.sampled_from(_OF_ROUTE[path]), max_size=2, unique=True)):
        fields[name] = draw(_PLAIN_FIELDS[name])
    if path == RENDER and draw(st.booleans()):
        fields["tools"] = draw(_PLAIN_FIELDS["tools"])
    if is_odd:
        name = draw(st.sampled_from(list(_ODD_FIELDS)))
        fields[name] = draw(_ODD_FIELDS[name])
    fields = {name: fields[name] for name in draw(st.permutations(list(fields)))}
    body = written(fields, draw) if draw(st.integers(0, 2)) == 0 else json.dumps(fields)
    return path, draw(st.sampled_from(SOME)), body.encode("utf-8", "surrogatepass")


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
@given(_asked())
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


def test_a_chat_that_takes_many_steps_leaves_the_event_loop(make_client: MakeClient) -> None:
    app = cast(Any, make_client().app)
    plain = app.json_routes["/encode"].json.plain
    body = json.dumps({"messages": [{"role": "user", "content": "fox " * 60_000}]}).encode()
    with pytest.raises(StepsSpent):
        plain.answer(body, may_take_long=False)
    assert plain.answer(body, may_take_long=True) is not None
