"""The last message goes on within a field of any name, as in transformers: reasoning that was cut off, above all."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.core.chat.conversations import TEMPLATES, built, source
from tests.support.data import needs_data
from tests.support.paths import ROOT
from tokenizer_core import InvalidOption, TokdError, continue_chat

USER = {"role": "user", "content": "Q"}
A: dict[str, Any] = {"role": "assistant"}
PARTS = [{"type": "text", "text": "h"}, {"type": "text", "text": "m"}]
CASES: dict[str, tuple[dict[str, Any], str]] = {
    "reasoning_content of reasoning_content": ({**A, "content": "", "reasoning_content": "hm "}, "reasoning_content"),
    "thinking of reasoning_content": ({**A, "content": "", "reasoning_content": "hm"}, "thinking"),
    "reasoning_content of thinking": ({**A, "content": "ab", "thinking": "h\nm"}, "reasoning_content"),
    "reasoning of reasoning": ({**A, "content": "ab", "reasoning": "hm"}, "reasoning"),
    "reasoning of reasoning_content": ({**A, "content": "", "reasoning_content": "hm"}, "reasoning"),
    "content beside reasoning": ({**A, "content": "ab ", "reasoning_content": "hm"}, "content"),
    "reasoning_content of nothing": ({**A, "content": "ab"}, "reasoning_content"),
    "reasoning_content in parts": ({**A, "content": "ab", "reasoning_content": PARTS}, "reasoning_content"),
    "role": ({**A, "content": "ab"}, "role"),
}
ENDS: dict[str, dict[str, str]] = json.loads(
    (ROOT / "tests" / "core" / "chat" / "continued_fields.json").read_text("utf-8")
)
"""The last 60 characters of what transformers 5.24.0 renders (``render_jinja_template``); it refuses other cases."""

ARGUMENTS = {"functions": "", "datetime": "", "date_string": ""}
THINKS = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if m.thinking %}<think>{{ m.thinking | trim }}</think>{% endif %}"
    "{{ m.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


@needs_data
@pytest.mark.parametrize("template", TEMPLATES)
def test_every_template_ends_where_it_does_in_transformers(template: str) -> None:
    tokenizer = built(source(template))
    for name, (message, field) in CASES.items():
        try:
            chat = tokenizer.render_chat(
                [USER, message], continue_final_message=field, template_args=ARGUMENTS, content_format="sent"
            )
        except TokdError:
            assert name not in ENDS[template], name
            continue
        assert chat.text[-60:] == ENDS[template][name], name


def test_reasoning_goes_on_by_each_of_its_names() -> None:
    for given, asked in (
        ("reasoning", "reasoning"),
        ("reasoning_content", "thinking"),
        ("thinking", "reasoning_content"),
    ):
        chat = built(THINKS).encode_chat([USER, {**A, "content": "ab", given: "hm "}], continue_final_message=asked)
        assert chat.rendered.text.endswith("assistant\n<think>hm")
        assert chat.rendered.spans[-1][:2] == (1, given)
        assert chat.rendered.spans[-1].end == len(chat.rendered.text)
    two = [USER, {**A, "content": "ab", "thinking": "one", "reasoning_content": "two"}]
    assert built(THINKS).render_chat(two, continue_final_message="thinking").text.endswith("<think>one")
    with pytest.raises(InvalidOption, match="cannot be continued"):
        built(THINKS).render_chat(two, continue_final_message="reasoning_content")


def test_true_is_the_content() -> None:
    chat = [USER, {**A, "content": "ab", "thinking": "hm"}]
    whole = built(THINKS).render_chat(chat, continue_final_message=True).text
    assert whole == built(THINKS).render_chat(chat, continue_final_message="content").text
    assert whole.endswith("<think>hm</think>ab")


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("reasoning_content", "no text in reasoning_content"),
        ("n", "no text in n"),
        ("other", "does not read other"),
        ("", "the name of a field"),
        (1, "the name of a field"),
        (["content"], "the name of a field"),
    ],
)
def test_what_cannot_go_on_is_refused(field: Any, words: str) -> None:
    chat = [USER, {**A, "content": "ab", "other": "x", "n": 5}]
    with pytest.raises(InvalidOption, match=words) as caught:
        built(THINKS).render_chat(chat, continue_final_message=field)
    assert caught.value.place == {"field": "continue_final_message"}
    with pytest.raises(InvalidOption, match="choose one"):
        built(THINKS).render_chat(chat, continue_final_message="content", add_generation_prompt=True)


def test_a_chat_that_begins_with_ids_ends_within_reasoning() -> None:
    chat = [USER, {**A, "content": "ab"}, USER, {**A, "content": "", "thinking": "hm"}]
    end = built(THINKS).special_tokens["<|im_end|>"]
    found = continue_chat(built(THINKS), chat, [7, end], new_from=2, continue_final_message="thinking")
    assert built(THINKS).decode(found.ids[2:]).endswith("assistant\n<think>hm")
