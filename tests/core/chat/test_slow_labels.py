"""Labels and authors of one rendering are those of the slow truth, which renders the history again before each turn."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.chat import slow_labels, test_turns
from tests.core.chat.conversations import CONVERSATIONS, TEMPLATES, TOOLS, built, call, source
from tests.support.data import needs_data
from tokenizer_core import EncodedChat, InvalidOption, TokdError, Tokenizer
from tokenizer_core.chat.rendered import History

ARGUMENTS = {"template_args": test_turns.ARGUMENTS}
TRAINED = ("assistant", "last", ["assistant"], ["user"], ["assistant", "system", "user", "tool"])

OWN = {
    name: value.replace("PROMPT", "")
    for name, value in vars(test_turns).items()
    if name.isupper() and isinstance(value, str) and "{%" in value
}
OWN["MARKED"] = OWN["CHATML"].replace("{{ m.content }}", "{% generation %}{{ m.content }}{% endgeneration %}")
OWN["THINKS"] = test_turns.CHATML.replace("PROMPT", "<think>\n")
OWN["ASKS"] = OWN["CHATML"].replace("assistant\n{%", "assistant\n{% if tools %}<think>{% endif %}{%")
OWN["ENDS"] = OWN["CHATML"].replace("assistant\n{% endif %}", "assistant\n{% else %}{{ eos_token }}{% endif %}")
OWN["REMEMBERS"] = (
    "{% set ns = namespace(last='') %}{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n"
    "{% set ns.last = m.role %}{% endfor %}{% if add_generation_prompt %}"
    "<|im_start|>assistant\n{% if ns.last == 'tool' %}<think>{% endif %}{% endif %}"
)
OWN["TWO LOOPS"] = (
    "{% for m in messages %}{% if m.role == 'system' %}{{ m.content }}<|end|>{% endif %}{% endfor %}"
    "{% set rest = messages[1:] %}{% for m in rest %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def require_equal(chat: EncodedChat) -> None:
    """Hold all that is told of the ids of a chat against the slow truth."""
    assert chat.message_index.tolist() == slow_labels.message_index(chat).tolist()
    for train_on in TRAINED:
        if isinstance(train_on, list) and not set(train_on) <= set(chat.rendered.roles):
            with pytest.raises(InvalidOption):
                chat.labels(train_on=train_on)
            continue
        for reasoning in ("all", "written", "none"):
            found = chat.labels(train_on=train_on, reasoning=reasoning, lost_calls="ignore")  # type: ignore[arg-type]
            assert found.tolist() == slow_labels.labels(chat, train_on, reasoning).tolist(), (train_on, reasoning)
    mask = slow_labels.labels(chat, "assistant", "all") != slow_labels.IGNORED
    assert chat.assistant_mask.tolist() == mask.astype(np.int64).tolist()
    starts = [slow_labels.Truth(chat).turns([at]) for at in range(len(chat.rendered.roles))]
    assert [chat.begin(at) for at in range(len(starts))] == [turns[0][0] if turns else None for turns in starts]


def encoded(tokens: Tokenizer, messages: list[dict[str, Any]], **options: Any) -> EncodedChat | None:
    try:
        return tokens.encode_chat(messages, **options)
    except TokdError:
        return None


PIECES = [
    "", "a", " b ", "\n", "é", "🙂", "你好", "<think>", "</think>", "<think>r</think>", "<|im_end|>", "assistant",
    "\u3000", "<|end|>", "[THINK]", "\n\n</think>\n\n",
]  # fmt: skip


def messages_of(draw: random.Random, count: int) -> list[dict[str, Any]]:
    """Return messages, whose roles mostly follow one another as those of an agent do."""
    text = lambda: "".join(draw.choice(PIECES) for _ in range(draw.randrange(4)))  # noqa: E731
    messages: list[dict[str, Any]] = [{"role": "system", "content": text()}] if draw.random() < 0.5 else []
    role = "user"
    while len(messages) < count:
        message: dict[str, Any] = {"role": role, "content": text()}
        after = {"user": "assistant", "assistant": "user", "tool": "assistant"}[role]
        if role == "assistant":
            if draw.random() < 0.3:
                message["reasoning_content"] = text()
            if draw.random() < 0.3:
                message["tool_calls"], after = call({"city": text()}), "tool"
        if role == "tool":
            message |= {"name": "get_weather", "tool_call_id": "abcdefghi"}
        messages.append(message)
        role = draw.choice(("user", "assistant", "tool")) if draw.random() < 0.1 else after
    return messages


def options_of(draw: random.Random, messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Return options of a rendering, seldom more than one."""
    options: dict[str, Any] = {"template_args": dict(test_turns.ARGUMENTS)}
    if draw.random() < 0.4:
        options["tools"] = TOOLS
    if draw.random() < 0.3:
        options["template_args"]["enable_thinking"] = draw.random() < 0.5
    if draw.random() < 0.2:
        options["special_tokens"] = "parse"
    if draw.random() < 0.3:
        options["add_generation_prompt"] = True
    elif messages[-1]["role"] == "assistant" and draw.random() < 0.5:
        options["continue_final_message"] = True
    return options


@needs_data
@pytest.mark.parametrize("template", TEMPLATES)
def test_the_labels_of_real_templates(template: str) -> None:
    tokens, draw, compared = built(source(template)), random.Random(template), 0
    chats = [*CONVERSATIONS.values(), test_turns.PLAIN, test_turns.CALLS, test_turns.EMPTY, test_turns.TURNS]
    for messages in [*chats, *(messages_of(draw, draw.randrange(1, 9)) for _ in range(4)), messages_of(draw, 40)]:
        chat = encoded(tokens, messages, **options_of(draw, messages))
        if chat is not None:
            require_equal(chat)
            compared += 1
    assert compared or template == "llama-cpp-deepseek-r1"


@needs_data
def test_most_templates_write_a_history_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of other templates the prompt may depend on the messages before it, so these are rendered again."""
    counts = dict.fromkeys(TEMPLATES, 0)
    rendered = History.render

    def counted(history: History, count: int | None, begins: bool) -> Any:
        counts[template] += 1
        return rendered(history, count, begins)

    monkeypatch.setattr(History, "render", counted)
    for template in TEMPLATES:
        chat = encoded(built(source(template)), [*test_turns.PLAIN, *test_turns.PLAIN[1:]], tools=TOOLS, **ARGUMENTS)
        if chat is not None:
            chat.labels()
    # One rendering tells whether a template ends turns late.
    assert [template for template, count in counts.items() if count > 1] == [
        "CohereForAI-c4ai-command-r-plus-tool_use",
        "CohereForAI-c4ai-command-r7b-12-2024-tool_use",
        "HuggingFaceTB-SmolLM3-3B",
        "Kimi-K2-Thinking",
        "Reka-Edge",
        "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B",
        "deepseek-ai-DeepSeek-V3.1",
        "deepseek-ai-DeepSeek-V3.2",
        "fireworks-ai-llama-3-firefunction-v2",
        "google-gemma-4-31B-it",
        "google-gemma-4-31B-it-interleaved",
        "microsoft-Phi-3.5-mini-instruct",
        "openai-gpt-oss-120b",
        "unsloth-Apriel-1.5",
    ]


@pytest.mark.parametrize("template", OWN)
@settings(max_examples=10, deadline=None)
@given(draw=st.randoms(use_true_random=False), count=st.integers(1, 9))
def test_the_labels_of_templates_of_every_kind(template: str, draw: random.Random, count: int) -> None:
    messages = messages_of(draw, count)
    chat = encoded(built(OWN[template]), messages, **options_of(draw, messages))
    if chat is not None:
        require_equal(chat)
