"""A chat that is continued begins with the engine's ids exactly, and goes on as the whole chat does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.core.chat.conversations import TEMPLATES, TOOLS, built, call, source
from tests.support.data import needs_data
from tokenizer_core import HistoryRewritten, InvalidOption, TokdError, Tokenizer, UnknownTokenId
from tokenizer_core import continue_chat as continued
from tokenizer_core import prefix_stable as stable

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
DROPS = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if m.reasoning_content and loop.last %}{{ m.reasoning_content }}{% endif %}{{ m.content }}<|im_end|>\n"
    "{% endfor %}"
)
RETURNS = (
    "{% for m in messages %}<|start|>{{ m.role }}<|message|>{{ m.content }}"
    "{% if loop.last and m.role == 'assistant' %}<|return|>{% else %}<|end|>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant{% endif %}"
)
UNMARKED = "{% for m in messages %}<s>{{ m.role }}: {{ m.content }}\n{% endfor %}"
CHAT = [
    {"role": "user", "content": "ab"},
    {"role": "assistant", "content": "cd"},
    {"role": "user", "content": "ef"},
    {"role": "assistant", "content": "gh"},
    {"role": "user", "content": "ij"},
]
STEPS: dict[str, tuple[list[dict[str, Any]], int, dict[str, Any]]] = {
    "an answer, then a user": (CHAT[:3], 2, {}),
    "two answers, then a user": (CHAT, 4, {}),
    "reasoning, then a user": ([CHAT[0], {**CHAT[1], "reasoning_content": "hm"}, CHAT[2]], 2, {}),
    "a call, then its result": (
        [
            CHAT[0],
            {"role": "assistant", "content": "", "tool_calls": call({"city": "x"})},
            {"role": "tool", "name": "get_weather", "tool_call_id": "abcdefghi", "content": "3"},
        ],
        2,
        {"tools": TOOLS},
    ),
}


def ids_of(tokenizer: Tokenizer, text: str) -> list[int]:
    return tokenizer.encode(text, special_tokens="parse").tolist()


def test_the_turn_that_the_prefix_left_open_is_closed_and_said() -> None:
    tokenizer = built(CHATML)
    end = tokenizer.special_tokens["<|im_end|>"]
    behind = ids_of(tokenizer, "\n<|im_start|>user\nef<|im_end|>\n<|im_start|>assistant\n")
    for seen in ([1, 2, 3], [1, 2, end], [end]):
        found = continued(tokenizer, CHAT[:3], seen, new_from=2, add_generation_prompt=True)
        inserted = [] if seen[-1] == end else [end]
        assert found.ids.dtype == np.uint32
        assert found.ids.tolist() == seen + inserted + behind
        assert (found.appended, found.inserted) == (len(inserted + behind), tuple(inserted))
        assert not found.retokenized_equal
        assert len(found.assistant_mask) == found.appended


def test_masks_are_those_of_the_new_ids() -> None:
    tokenizer = built(CHATML)
    end = tokenizer.special_tokens["<|im_end|>"]
    found = continued(tokenizer, CHAT[:4], [1, end], new_from=2)
    trained = [id for id, mask in zip(found.ids[2:].tolist(), found.assistant_mask.tolist(), strict=True) if mask]
    assert trained == ids_of(tokenizer, "gh<|im_end|>")


def test_ids_that_are_those_of_the_template_give_the_whole_chat() -> None:
    tokenizer = built(CHATML)
    whole = tokenizer.encode_chat(CHAT, add_generation_prompt=True).ids.tolist()
    past = tokenizer.encode_chat(CHAT[:4]).ids.tolist()
    assert whole[: len(past)] == past
    for seen in (past[:-1], past[:-2]):
        found = continued(tokenizer, CHAT, seen, new_from=4, add_generation_prompt=True)
        assert found.ids.tolist() == whole
        assert found.retokenized_equal


def test_a_turn_that_ends_otherwise_while_it_is_the_last_is_joined() -> None:
    tokenizer = built(RETURNS)
    ends = [tokenizer.special_tokens[literal] for literal in ("<|return|>", "<|end|>")]
    behind = ids_of(tokenizer, "<|start|>user<|message|>ef<|end|>")
    for end in ends:
        found = continued(tokenizer, CHAT[:3], [5, end], new_from=2)
        assert found.ids.tolist() == [5, end, *behind]
    assert continued(tokenizer, CHAT[:3], [5], new_from=2).ids.tolist() == [5, ends[1], *behind]


def test_a_template_that_rewrites_history_is_refused_with_the_message() -> None:
    tokenizer = built(DROPS)
    chat = [CHAT[0], {**CHAT[1], "reasoning_content": "hm"}, CHAT[2]]
    with pytest.raises(HistoryRewritten) as caught:
        continued(tokenizer, chat, [1], new_from=2)
    assert (caught.value.code, caught.value.place["field"]) == ("history_rewritten", "messages[1]")
    assert stable(tokenizer, chat) == [False]
    assert stable(tokenizer, CHAT) == [True, True]
    assert stable(built(CHATML), CHAT[:1]) == []


def test_a_template_without_an_end_of_a_turn_is_refused() -> None:
    with pytest.raises(InvalidOption) as caught:
        continued(built(UNMARKED), CHAT[:3], [1], new_from=2)
    assert caught.value.place["field"] == "new_from"
    assert "no special token" in caught.value.message
    assert stable(built(UNMARKED), CHAT) == [False, False]


@pytest.mark.parametrize("at", [0, -1, 3, 1 << 70, "2", True, None])
def test_a_place_that_is_none_is_refused(at: Any) -> None:
    with pytest.raises(InvalidOption) as caught:
        continued(built(CHATML), CHAT[:3], [1], new_from=at)
    assert caught.value.place["field"] == "new_from"


def test_ids_that_are_none_are_refused_with_their_place() -> None:
    for wrong in ([1, 1 << 30], [1, -1]):
        with pytest.raises(UnknownTokenId) as caught:
            continued(built(CHATML), CHAT[:3], wrong, new_from=2)
        assert caught.value.place["index"] == 1


def test_an_empty_prefix_is_a_turn_that_is_open() -> None:
    found = continued(built(CHATML), CHAT[:3], [], new_from=2)
    assert found.ids[0] == built(CHATML).special_tokens["<|im_end|>"]


@needs_data
@pytest.mark.parametrize("template", TEMPLATES)
def test_every_template_continues_its_own_ids_exactly_or_says_why_not(template: str) -> None:
    tokenizer = built(source(template))
    specials = set(tokenizer.special_tokens.values())
    for chat, at, options in STEPS.values():
        try:
            whole = tokenizer.encode_chat(chat, add_generation_prompt=True, **options).ids.tolist()
            past = tokenizer.encode_chat(chat[:at], **options).ids.tolist()
        except TokdError:
            continue
        seen = [7, 8, 9]
        try:
            found = continued(tokenizer, chat, seen, new_from=at, add_generation_prompt=True, **options)
        except HistoryRewritten:
            last = max(place for place, id in enumerate(past) if id in specials)
            if whole[:last] == past[:last] and whole[last] in specials:
                pytest.fail("the ids go on, and are said not to")
            continue
        except InvalidOption:
            # No special token ends the turn.
            continue
        assert found.ids[: len(seen)].tolist() == seen
        assert len(found.inserted) == 1
        last = max(place for place, id in enumerate(past) if id in specials)
        exact = continued(tokenizer, chat, past[:last], new_from=at, add_generation_prompt=True, **options)
        assert exact.retokenized_equal
        assert exact.ids.tolist() == whole


@needs_data
def test_most_templates_can_be_continued() -> None:
    outcomes = {"continued": 0, "rewritten": 0, "no end": 0, "refused": 0}
    for template in TEMPLATES:
        chat, at, options = STEPS["an answer, then a user"]
        try:
            continued(built(source(template)), chat, [7], new_from=at, **options)
            outcomes["continued"] += 1
        except HistoryRewritten:
            outcomes["rewritten"] += 1
        except InvalidOption:
            outcomes["no end"] += 1
        except TokdError:
            outcomes["refused"] += 1
    assert outcomes["continued"] >= 25, outcomes
