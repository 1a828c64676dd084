"""A response template that is derived from a chat template reads back what that writes."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.core.chat.conversations import TEMPLATES, source
from tests.support.data import needs_data
from tokenizer_core import TokdError
from tokenizer_core._kernel import ResponseParser, ResponseTemplate, chat_json
from tokenizer_core.chat.rendered import render_checked
from tokenizer_core.chat.templates import compiled
from tokenizer_core.responses.derive import Derived, derive
from tokenizer_core.responses.probes import shared_start

SPECIALS = {"bos_token": "<s>", "eos_token": "</s>"}

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if m.reasoning_content %}<think>\n{{ m.reasoning_content }}\n</think>\n\n{% endif %}{{ m.content }}"
    "CALLS<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
LOOP = "{% for c in m.tool_calls %}BODY{% endfor %}"
JSON = LOOP.replace(
    "BODY", '\n<tool_call>\n{"name": "{{ c.function.name }}", "arguments": {{ args | tojson }}}\n</tool_call>'
)
JSON = JSON.replace("args", "c.function.arguments")
EACH = "{% for k, v in c.function.arguments.items() %}BODY{% endfor %}"
PARAMETERS = "\n<tool_call>\n<function={{ c.function.name }}>\n" + EACH + "</function>\n</tool_call>"
PARAMETERS = PARAMETERS.replace("BODY", "<parameter={{ k }}>\n{{ v if v is string else v | tojson }}\n</parameter>\n")
COMMA = "{% if not loop.last %}, {% endif %}"
PYTHON = f"{{{{ c.function.name }}}}({EACH}){COMMA}".replace("BODY", "{{ k }}={{ v | tojson }}" + COMMA)
PYTHON = "{% if m.tool_calls %}<|calls|>[" + LOOP.replace("BODY", PYTHON) + "]<|end_calls|>{% endif %}"

WITHOUT_CALLS = {
    "HuggingFaceTB-SmolLM3-3B": "writes none",
    "Kimi-K2-Thinking": "fails on calls: its sandbox refuses append",
    "LFM2-8B-A1B": "writes none",
    "google-gemma-2-2b-it": "writes none",
    "microsoft-Phi-3.5-mini-instruct": "writes none",
}
"""Templates of which no calls are derived, and why."""

WRONG = {
    "google-gemma-4-31B-it": {"null"},
    "google-gemma-4-31B-it-interleaved": {"null"},
    "openbmb-MiniCPM5-1B": {"lists", "objects"},
}
"""Kinds of arguments that are not read back: they are written as Python writes them."""

AS_TEXT = {
    "ByteDance-Seed-OSS": {"lists", "objects"},
    "MiniMax-M3": {"null", "lists", "objects"},
}
"""Kinds of arguments that the template writes as other values, such as texts, so that they are read as these."""

LONGER: tuple[str, ...] = ("CohereForAI-c4ai-command-r-plus-tool_use", "CohereForAI-c4ai-command-r7b-12-2024-tool_use")
LONGER += ("fireworks-ai-llama-3-firefunction-v2",)
"""Templates that go on behind the last turn."""

BY_MARKS = {
    "Qwen-QwQ-32B",
    "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B",
    "deepseek-ai-DeepSeek-V3.1",
    "llama-cpp-deepseek-r1",
}
"""Templates that leave reasoning out, and whose generation prompt begins it."""

TEXTS = (
    "Red",
    "it's",
    '"so"',
    "a\\b",
    "\n",
    "\t",
    "{}[],:=()",
    "<b>",
    "&amp;",
    " ",
    "3",
    "true",
    "é",
    "👩‍👩‍👧",
    "#`",
    "|",
)


def fields_of(derived: Derived) -> list[str]:
    return [] if derived.spec is None else [field for field in derived.spec["fields"] if field != "head"]


def read(spec: dict[str, Any], prompt: str, text: str, tools: list[Any]) -> dict[str, Any]:
    parser = ResponseParser(ResponseTemplate(json.dumps(spec)), prompt, json.dumps(tools))
    parser.feed(text)
    message: dict[str, Any] = json.loads(parser.finish())["message"]
    return message


def render(template: str, messages: list[Any], tools: list[Any], **options: Any) -> Any:
    return render_checked(
        compiled(template),
        chat_json(messages, "messages"),
        specials=list(SPECIALS.items()),
        tools=chat_json(tools, "tools") if tools else None,
        arguments=chat_json({"functions": "[]", "datetime": "today"}, "template_args"),  # firefunction needs both.
        **options,
    )


@pytest.mark.parametrize(
    ("calls", "content"),
    [(JSON, "json"), (LOOP.replace("BODY", PARAMETERS), "xml-inline"), (PYTHON, "python-call-list")],
)
def test_each_way_to_write_calls_is_found(calls: str, content: str) -> None:
    derived = derive(compiled(CHATML.replace("CALLS", calls)), SPECIALS)
    assert fields_of(derived) == ["reasoning_content", "tool_calls", "content"]
    assert derived.spec is not None
    assert derived.spec["fields"]["tool_calls"]["content"] == content


def test_what_is_not_written_is_told() -> None:
    derived = derive(compiled(CHATML.replace("CALLS", "").replace("reasoning_content", "nothing")), SPECIALS)
    assert fields_of(derived) == ["content"]
    assert derived.notes == ("reasoning_content: the template writes none", "tool_calls: the template writes none")
    assert derive(compiled("{{ messages | length }}"), SPECIALS) == (None, ("content: the template writes none",))


def test_a_template_of_many_steps_is_not_tried_hundreds_of_times() -> None:
    begun = time.process_time()
    derived = derive(compiled("{% for i in range(40000) %}{% set x = i * 2 %}{% endfor %}" + CHATML), SPECIALS)
    assert derived.spec is None
    assert "takes more steps" in derived.notes[0]
    # A rendering with all the steps that a chat may take needs a tenth of a second.
    assert time.process_time() - begun < 5


def test_marks_in_content_stay_content() -> None:
    spec = derive(compiled(CHATML.replace("CALLS", JSON)), SPECIALS).spec
    assert spec is not None
    text = "see <think> and <|im_end|>\n<|im_start|>user\nno"
    assert read(spec, "<|im_start|>assistant\n", text, []) == {"role": "assistant", "content": text}


@needs_data
def test_the_templates_without_calls_are_these() -> None:
    derived = {name: derive(compiled(source(name)), SPECIALS) for name in TEMPLATES}
    assert {name for name, each in derived.items() if "tool_calls" not in fields_of(each)} == set(WITHOUT_CALLS)
    able = [name for name in TEMPLATES if "tool_calls" in source(name) or "tool_call" in source(name)]
    assert sum("tool_calls" in fields_of(derived[name]) for name in able) / len(able) >= 0.8
    for table, words in ((WRONG, " in arguments are not read"), (AS_TEXT, " in arguments are written as")):
        kinds = {
            name: {note[len("tool_calls: ") :].partition(words)[0] for note in each.notes if words in note}
            for name, each in derived.items()
        }
        assert {name: kind for name, kind in kinds.items() if kind} == table
    marked = {name for name, each in derived.items() if any("by its marks" in note for note in each.notes)}
    assert marked == BY_MARKS


@needs_data
@pytest.mark.parametrize("name", TEMPLATES)
def test_random_turns_are_read_back(name: str) -> None:
    template, draw = source(name), random.Random(name)
    spec = derive(compiled(template), SPECIALS).spec
    assert spec is not None
    unread = WRONG.get(name, set()) | AS_TEXT.get(name, set())
    asked = [{"role": "user", "content": "Ask?"}]
    compared = 0
    for _ in range(100):
        message, tools = turn(draw, spec, unread)
        try:
            begun = render(template, asked, tools, add_generation_prompt=True).text
            whole = render(template, [*asked, message], tools)
            text = whole.text
            if name in LONGER:
                text = shared_start(text, render(template, [*asked, message, *asked], tools).text)
        except TokdError:
            continue
        own = [(path, begin, end) for at, path, begin, end in whole.spans if at == 1 and path != "role"]
        anchor = max(text.rfind(each, 0, own[0][1]) + len(each) for each in spec["start_anchor"])
        start = len(begun) if text.startswith(begun) else anchor
        found = read(spec, text[:start], text[start:], tools)
        again = render(template, [*asked, {**found, **with_ids(found)}], tools).text
        assert again == whole.text
        compared += 1
        written = dict.fromkeys(("content", "reasoning_content"), "")
        for path, begin, end in own:
            if path in ("content", "reasoning_content", "thinking", "reasoning"):
                written["content" if path == "content" else "reasoning_content"] += text[begin:end]
        if name != "openai-gpt-oss-120b":  # Beside calls, it writes content as reasoning.
            assert {field: found.get(field, "") for field in written} == written
        calls = {path.partition("]")[0] for path, *_ in own if path.startswith("tool_calls")}
        if "tool_calls" in spec["fields"]:
            assert arguments(found) == arguments(message)[: len(calls)]
    assert compared >= 30


@needs_data
@pytest.mark.parametrize("mark", [" <|constrain|>json", "<|channel|>commentary json"])
def test_what_a_model_is_known_to_write_is_read_too(mark: str) -> None:
    spec = derive(compiled(source("openai-gpt-oss-120b")), SPECIALS).spec
    assert spec is not None
    begin = " to=functions.f" if "channel" in mark else "<|channel|>commentary to=functions.f"
    text = f'<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant{begin}{mark}<|message|>{{"a": 1}}<|call|>'
    found = read(spec, "<|end|><|start|>assistant", text, [])
    assert (found["reasoning_content"], found["content"], arguments(found)) == ("Hm.", "", [("f", {"a": 1})])


@needs_data
@pytest.mark.parametrize("name", ["deepseek-ai-DeepSeek-R1-Distill-Qwen-32B", "llama-cpp-deepseek-r1"])
def test_white_space_between_reasoning_and_calls_is_no_content(name: str) -> None:
    spec = derive(compiled(source(name)), SPECIALS).spec
    assert spec is not None
    call = "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{}\n```<｜tool▁call▁end｜>"
    for said, content in (("", ""), ("Hi.", "\n\nHi.")):  # The template keeps white space before content.
        found = read(spec, "<｜Assistant｜><think>\n", f"Hm.\n</think>\n\n{said}{call}<｜tool▁calls▁end｜>", [])
        assert (found["reasoning_content"], found["content"], arguments(found)) == ("Hm.", content, [("f", {})])


def turn(draw: random.Random, spec: dict[str, Any], unread: set[str]) -> tuple[dict[str, Any], list[Any]]:
    """Draw a message, and the tools that it calls."""

    def text() -> str:
        return "".join(draw.choices(TEXTS, k=draw.randrange(6)))

    def value(depth: int = 0) -> Any:
        kinds: list[Callable[[], Any]] = [
            text,
            lambda: draw.randrange(-99, 1000),
            lambda: draw.random(),
            lambda: draw.random() < 0.5,
        ]
        kinds += [] if "null" in unread else [lambda: None]
        if depth < 2 and "lists" not in unread:
            kinds += [lambda: [value(depth + 1) for _ in range(draw.randrange(3))]]
            kinds += [lambda: {key: value(depth + 1) for key in draw.sample(["a", "b_c", "D"], draw.randrange(3))}]
        return draw.choice(kinds)()

    message: dict[str, Any] = {"role": "assistant", "content": "Say " + text().strip() + "."}
    if draw.random() < 0.5:
        message["reasoning_content"] = "Hm " + text().strip() + "."
    tools = []
    if "tool_calls" in spec["fields"] and draw.random() < 0.7:
        message["tool_calls"] = []
        for at in range(draw.choice([1, 1, 2])):
            given = {key: value() for key in draw.sample(["city", "n", "is_it", "x1"], draw.randrange(4))}
            types = {key: {"type": type_of(each), "description": "D."} for key, each in given.items()}
            schema = {"type": "object", "properties": types, "required": []}
            function = {"name": f"call_{at}", "description": "Do.", "parameters": schema}
            tools.append({"type": "function", "function": function})
            called = {"name": f"call_{at}", "arguments": given}
            message["tool_calls"].append({"id": f"abcdefgh{at}", "type": "function", "function": called})
        if draw.random() < 0.5:
            message["content"] = ""
    return message, tools


def type_of(value: Any) -> str:
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "null")


def with_ids(message: dict[str, Any]) -> dict[str, Any]:
    if "tool_calls" not in message:
        return {}
    return {"tool_calls": [{"id": f"abcdefgh{at}", **each} for at, each in enumerate(message["tool_calls"])]}


def arguments(message: dict[str, Any]) -> list[Any]:
    return [(each["function"]["name"], each["function"]["arguments"]) for each in message.get("tool_calls", [])]


@needs_data
def test_it_does_not_depend_on_the_order_of_sets() -> None:
    program = (
        "import json; from tests.core.chat.conversations import TEMPLATES, source;"
        "from tests.core.responses.test_derived import SPECIALS; from tokenizer_core.chat.templates import compiled;"
        "from tokenizer_core.responses.derive import derive;"
        "print(json.dumps([derive(compiled(source(name)), SPECIALS) for name in TEMPLATES[::5]]))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": seed}, check=True, capture_output=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1
