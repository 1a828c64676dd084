"""Random requests with a chat, as any program might write them."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from tests.core.chat.conversations import call
from tests.support.odd_json import written

RENDER = "/v1/chat/completions/render"
ROUTES = ("/encode", "/count", "/tokenize", RENDER)
SOME = (
    "Qwen-Qwen3-0.6B",
    "openai-gpt-oss-120b",
    "meta-llama-Llama-3.1-8B-Instruct",
    "GLM-4.6",
    "Reka-Edge",
)

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
        st.sampled_from([{"count": 2**31}, {"count": 2**31 + 1}]),
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
def requests(draw: Any) -> tuple[str, str, bytes]:
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
