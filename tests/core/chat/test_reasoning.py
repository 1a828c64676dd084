"""Labels without reasoning: what is left is trained on as before, and what goes is what stands between two marks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.core.chat.conversations import TEMPLATES, TOOLS, built, call, tokenizer
from tests.support.data import needs_data
from tokenizer_core import EncodedChat, InvalidOption, TokdError

THINKS = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.role == 'assistant' %}"
    "<think>\n{{ m.reasoning_content }}\n</think>\n\n{% endif %}{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\nPROMPT{% endif %}"
)
ASKED = {"role": "user", "content": "Q"}
THOUGHT = {"role": "assistant", "content": "A", "reasoning_content": "R"}
EMPTY = {"role": "assistant", "content": "A", "reasoning_content": ""}
TURNS = [
    ASKED,
    {"role": "assistant", "content": "", "reasoning_content": "thoughts", "tool_calls": call({"city": "x"})},
    {"role": "tool", "name": "get_weather", "tool_call_id": "abcdefghi", "content": "T"},
    {"role": "assistant", "content": "A"},
]


def trained(chat: EncodedChat, **options: Any) -> str:
    """Return the text of all tokens that are trained on."""
    spans = chat.spans[chat.labels(lost_calls="ignore", **options) >= 0]
    return "".join(chat.rendered.text[start:end] for start, end in spans)


@pytest.mark.parametrize("prompt", ["", "<think>\n"])
@pytest.mark.parametrize(
    ("message", "reasoning", "expected"),
    [
        (THOUGHT, "all", "R\n</think>\n\nA<|im_end|>"),
        (THOUGHT, "written", "R\n</think>\n\nA<|im_end|>"),
        (THOUGHT, "none", "A<|im_end|>"),
        (EMPTY, "all", "\n</think>\n\nA<|im_end|>"),
        (EMPTY, "written", "A<|im_end|>"),
        (EMPTY, "none", "A<|im_end|>"),
    ],
)
def test_reasoning_is_trained_on_as_asked(prompt: str, message: dict[str, Any], reasoning: str, expected: str) -> None:
    found = trained(built(THINKS.replace("PROMPT", prompt)).encode_chat([ASKED, message]), reasoning=reasoning)
    keeps_marks = "</think>" in expected and not prompt
    assert found == ("<think>\n" if keeps_marks else "") + expected


def test_a_mark_within_an_answer_is_no_reasoning() -> None:
    chat = built(THINKS.replace("<think>\n{{ m.reasoning_content }}\n</think>\n\n", "").replace("PROMPT", ""))
    said = {"role": "assistant", "content": "write <think> and </think>"}
    encoded = chat.encode_chat([ASKED, said])
    assert trained(encoded, reasoning="none") == trained(encoded) == "write <think> and </think><|im_end|>"


@needs_data
@pytest.mark.parametrize("template", TEMPLATES)
def test_of_real_templates_only_reasoning_goes(template: str) -> None:
    try:
        chat = tokenizer(template).encode_chat(TURNS, tools=TOOLS)
    except TokdError:
        pytest.skip("the template does not take this chat")
    every, written, none = (chat.labels(reasoning=kept, lost_calls="ignore") for kept in ("all", "written", "none"))
    # Less is trained on from one to the next, and what is has the same label.
    for more, less in ((every, written), (written, none)):
        assert np.array_equal(less[less >= 0], more[less >= 0])
    assert "thoughts" not in trained(chat, reasoning="none")
    if "get_weather" in trained(chat):
        assert "get_weather" in trained(chat, reasoning="none")
    assert trained(chat, reasoning="none").count("A") >= 1


def test_other_words_are_refused() -> None:
    with pytest.raises(InvalidOption) as caught:
        built(THINKS).encode_chat([ASKED]).labels(reasoning="some")  # type: ignore[arg-type]
    assert caught.value.place == {"field": "reasoning"}
