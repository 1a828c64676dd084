"""What a model has to write is what is trained on: from the end of the generation prompt to the end of the turn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.core.chat.conversations import CONVERSATIONS, TEMPLATES, TOOLS, built, call, source
from tests.support.data import needs_data
from tests.support.paths import ROOT
from tokenizer_core import EncodedChat, TokdError

PLAIN = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "bc"}, {"role": "user", "content": "d"}]
CALLS = [
    {"role": "user", "content": "a"},
    {"role": "assistant", "content": "", "tool_calls": call({"city": "x"})},
    {"role": "tool", "name": "get_weather", "tool_call_id": "abcdefghi", "content": "3"},
    {"role": "assistant", "content": "e", "reasoning_content": "r"},
]
EMPTY = [{"role": "user", "content": "a"}, {"role": "assistant", "content": ""}]

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if m.reasoning_content %}<think>\n{{ m.reasoning_content }}\n</think>\n\n{% endif %}{{ m.content }}"
    "{% for c in m.tool_calls %}<tool_call>\n{{ c.function | tojson }}\n</tool_call>{% endfor %}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\nPROMPT{% endif %}"
)
CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "x"}}\n</tool_call><|im_end|>'
CHANNELS = (
    "{% for m in messages %}{% if m.role == 'assistant' %}"
    "{% if m.tool_calls %}<|start|>assistant<|channel|>commentary to={{ m.tool_calls[0].function.name }}<|message|>"
    "{{ m.tool_calls[0].function.arguments | tojson }}<|call|>"
    "{% else %}<|start|>assistant<|channel|>final<|message|>{{ m.content }}<|end|>{% endif %}"
    "{% elif m.role == 'tool' %}<|start|>{{ messages[1].tool_calls[0].function.name }} to=assistant<|channel|>"
    "{{ m.content }}<|end|>{% else %}<|start|>{{ m.role }}<|message|>{{ m.content }}<|end|>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant{% endif %}"
)
NEXT_ENDS = (
    "{% for m in messages %}{{ '<|assistant|>' if m.role == 'assistant' else '<|user|>' }}\n{{ m.content }}"
    "{% for c in m.tool_calls %}<tool_call>{{ c.function.name }}</tool_call>{% endfor %}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
BRACKETS = (
    "{% for m in messages %}{% if m.role == 'user' %}[INST] {{ m.content }} [/INST]{% else %} {{ m.content }}</s>"
)
BRACKETS += "{% endif %}{% endfor %}"
WITHIN = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n"
    "{% if loop.last and add_generation_prompt %}<|im_start|>assistant\n{% endif %}{% endfor %}"
)
IN_THE_TURN = (
    "{% for m in messages %}{% if m.role == 'assistant' %}<|turn|>model\n{{ m.content }}"
    "{% for c in m.tool_calls %}<|call|>{{ c.function.name }}<|end_call|>{% endfor %}"
    "{% if m.tool_calls %}<|response|>{% for k in range(loop.index0 + 1, messages | length) %}"
    "{% if messages[k].role == 'tool' %}response:{{ m.tool_calls[0].function.name }}{{ messages[k].content }}"
    "{% endif %}{% endfor %}{% else %}<|end|>\n{% endif %}"
    "{% elif m.role != 'tool' %}<|turn|>{{ m.role }}\n{{ m.content }}<|end|>\n{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|turn|>model\n{% endif %}"
)
BY_NUMBER = CHATML.replace(
    "{% for m in messages %}", "{% for i in range(messages | length) %}{% set m = messages[i] %}"
)
"""Writes messages by their numbers, without a loop over them, as EXAONE 4's does."""
GATHERED = (
    "{% set ns = namespace(out='') %}{% for i in range(messages | length) %}{% set m = messages[i] %}"
    "{% if m.role == 'assistant' %}{% set ns.out = ns.out ~ 'assistant: ' ~ m.content %}"
    "{% for c in m.tool_calls %}{% set ns.out = ns.out ~ '<tool_call>' ~ c.function.name ~ '</tool_call>' %}"
    "{% endfor %}{% set ns.out = ns.out ~ '\n\n<sep>' %}"
    "{% else %}{% set ns.out = ns.out ~ 'human: ' ~ m.content ~ '<sep>' %}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{% set ns.out = ns.out ~ 'assistant:' %}{% endif %}{{ ns.out }}"
)
"""Writes all messages at once, as Reka Edge's does, and ends turns with no special token."""
LATE = (
    "{% for m in messages %}{% if not loop.first %}<|end|>{% endif %}<|{{ m.role }}|>{{ m.content }}"
    "{% for c in m.tool_calls %}<|call|>{{ c.function.name }}<|end_call|>{% endfor %}{% endfor %}"
    "<|end|>{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
"""Ends a turn where the next begins, as Jamba's does."""
DROPS = BY_NUMBER.replace("m.reasoning_content %}", "m.reasoning_content and i == messages | length - 1 %}")
"""Leaves reasoning out of history."""


def trained(chat: EncodedChat, **options: Any) -> list[str]:
    """Return the texts that a chat trains on, token by token put together."""
    text, labels = chat.rendered.text, chat.labels(lost_calls="ignore", **options)
    texts, last = [], -1
    for (start, end), label in zip(chat.spans.tolist(), labels.tolist(), strict=True):
        if label >= 0:
            texts += [text[start:end]] if start != last else []
            if start == last:
                texts[-1] += text[start:end]
            last = end
    return texts


@pytest.mark.parametrize(
    ("template", "messages", "expected"),
    [
        (CHATML, PLAIN, ["bc<|im_end|>"]),
        (CHATML, EMPTY, ["<|im_end|>"]),
        (CHATML, CALLS, [CALL, "<think>\nr\n</think>\n\ne<|im_end|>"]),
        (CHATML.replace("PROMPT", "<think>\n"), CALLS, [CALL, "r\n</think>\n\ne<|im_end|>"]),
        (
            CHANNELS,
            CALLS,
            [
                '<|channel|>commentary to=get_weather<|message|>{"city": "x"}<|call|>',
                "<|channel|>final<|message|>e<|end|>",
            ],
        ),
        (NEXT_ENDS, PLAIN, ["\nbc<|user|>"]),
        (NEXT_ENDS, CALLS, ["\n<tool_call>get_weather</tool_call>", "\ne"]),
        (BRACKETS, PLAIN, [" bc</s>"]),
        (WITHIN, PLAIN, ["bc<|im_end|>"]),
        (IN_THE_TURN, CALLS, ["<|call|>get_weather<|end_call|><|response|>", "e<|end|>"]),
        (LATE, PLAIN, ["bc<|end|>"]),
        (LATE, CALLS, ["<|call|>get_weather<|end_call|><|end|>", "e<|end|>"]),
        (LATE, CALLS[:2], ["<|call|>get_weather<|end_call|><|end|>"]),
        (BY_NUMBER, PLAIN, ["bc<|im_end|>"]),
        (BY_NUMBER, EMPTY, ["<|im_end|>"]),
        (BY_NUMBER, CALLS, [CALL, "<think>\nr\n</think>\n\ne<|im_end|>"]),
        (BY_NUMBER.replace("PROMPT", "<think>\n"), CALLS, [CALL, "r\n</think>\n\ne<|im_end|>"]),
        (GATHERED, PLAIN, [" bc\n\n<sep>"]),
        (GATHERED, CALLS, [" <tool_call>get_weather</tool_call>\n\n<sep>", " e\n\n<sep>"]),
        (DROPS, [*CALLS, PLAIN[2], CALLS[3]], [CALL, "e<|im_end|>", "<think>\nr\n</think>\n\ne<|im_end|>"]),
        (
            BY_NUMBER.replace(
                "<|im_start|>{{", "{% if m.role == 'assistant' %}{% continue %}{% endif %}<|im_start|>{{"
            ),
            PLAIN,
            [],
        ),
    ],
    ids=[
        "a turn",
        "an empty turn",
        "calls and reasoning",
        "reasoning begun by the prompt",
        "channels",
        "turns that the next one ends",
        "calls that the next turn does not end",
        "no headings",
        "a prompt within the loop",
        "answers of tools in the turn",
        "ends with the next turn",
        "ends of calls with the next turn",
        "the end of a call with the end of the chat",
        "by number",
        "by number, empty",
        "by number, calls and reasoning",
        "by number, reasoning begun by the prompt",
        "all at once",
        "all at once, calls",
        "by number, history rewritten",
        "by number, left out",
    ],
)
def test_a_turn_is_what_the_model_has_to_write(
    template: str, messages: list[dict[str, Any]], expected: list[str]
) -> None:
    assert trained(built(template.replace("PROMPT", "")).encode_chat(messages)) == expected


def test_blocks_of_a_template_win() -> None:
    marked = CHATML.replace("PROMPT", "").replace(
        "{{ m.content }}", "{% generation %}{{ m.content }}{% endgeneration %}"
    )
    chat = [{"role": "user", "content": ""}, {"role": "assistant", "content": "bc"}]
    assert trained(built(marked).encode_chat(chat)) == ["bc"]


TRL: dict[str, Any] = json.loads((ROOT / "tests" / "core" / "chat" / "trl_turns.json").read_text("utf-8"))
"""What the training templates of TRL 1.16 train on, of the models whose turns they begin where the prompt ends."""

CHATS = {**CONVERSATIONS, "plain": PLAIN, "calls": CALLS, "empty": EMPTY}


@needs_data
@pytest.mark.parametrize("template", TRL)
def test_turns_are_those_of_trl_s_training_templates(template: str) -> None:
    tokens = built(source(template))
    for name, theirs in TRL[template]["turns"].items():
        has_tools = name.endswith(" with tools")
        chat = tokens.encode_chat(CHATS[name.removesuffix(" with tools")], tools=TOOLS if has_tools else None)
        assert [turn.strip() for turn in trained(chat)] == [turn.strip() for turn in theirs], name


TURNS = [
    {"role": "user", "content": "Q"},
    {"role": "assistant", "content": "", "reasoning_content": "R", "tool_calls": call({"city": "x"})},
    {"role": "tool", "name": "get_weather", "tool_call_id": "abcdefghi", "content": "T"},
    {"role": "assistant", "content": "A"},
]
ARGUMENTS = {"functions": "", "datetime": "", "date_string": ""}


def row_of(template: str) -> str:
    """Return what a real template trains on as a row of the table in ``template_turns.md``."""
    cells = ["", ""]
    as_text = [{**TURNS[1], "tool_calls": call('{"city": "x"}')}]
    for messages in (TURNS, [TURNS[0], *as_text, *TURNS[2:]], [TURNS[0], TURNS[3]]):
        try:
            chat = built(source(template)).encode_chat(messages, tools=TOOLS, template_args=ARGUMENTS)
        except TokdError:
            continue
        turns = ["".join(chat.rendered.text[slice(*span)] for span in chat._turns([at])) for at in range(len(messages))]
        cells = [turns[-1], turns[1] if len(turns) > 2 else ""]
        break
    written = (cell.replace("\n", "↵").replace("|", "\\|") for cell in cells)
    return f"| {template} | " + " | ".join(f"`{cell}`" if cell else "" for cell in written) + " |"


@needs_data
@pytest.mark.parametrize("template", TEMPLATES)
def test_the_page_says_what_each_template_trains_on(template: str) -> None:
    assert row_of(template) in Path(__file__).with_name("template_turns.md").read_text("utf-8").splitlines()
