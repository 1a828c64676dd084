"""A chat that is continued begins with the engine's ids exactly, and goes on as the whole chat does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.core.chat.conversations import TEMPLATES, TOOLS, built, call, source
from tests.support.data import needs_data
from tokenizer_core import HistoryRewritten, InvalidOption, TokdError, Tokenizer, UnknownTokenId
from tokenizer_core import continue_chat as continued
from tokenizer_core import prefix_stable as stable
from tokenizer_core._kernel import Vocabulary

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
    for seen in (past, past[:-1], past[:-2]):
        # With the line break behind the turn, with the turn's end alone, and cut off before that.
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


BREAKS = CHATML.replace("<|im_start|>", "\n\n\n# ")
"""Writes a line break behind a turn and two before the next: where merges know two, they join the first two."""
TWICE = CHATML.replace("<|im_end|>", "\n<|im_end|>\n<|end|>")
CLOSED = CHATML.replace("{% if add", "{% if not add_generation_prompt %}</s>{% endif %}{% if add")
"""Ends a chat, and no turn, with the tokenizer's own end."""
PROMPTS = CHATML[: CHATML.index("{% if add")] + "{{ '<|im_start|>assistant\n' }}"
"""Begins the next turn always."""


def texts_of(tokenizer: Tokenizer, seen: str, **options: Any) -> str:
    """Return what is put behind a prefix, as text."""
    ids = ids_of(tokenizer, seen)
    found = continued(tokenizer, CHAT[:3], ids, new_from=2, add_generation_prompt=True, **options)
    assert found.ids[: len(ids)].tolist() == ids
    return tokenizer.decode(found.ids[len(ids) :])


@pytest.mark.parametrize(
    ("template", "behind", "prefixes"),
    [
        (CHATML, "\n<|im_start|>user\nef<|im_end|>\n<|im_start|>assistant\n", {"x": "<|im_end|>", "x</s>": ""}),
        (
            TWICE,
            "\n<|im_start|>user\nef\n<|im_end|>\n<|end|>\n<|im_start|>assistant\n",
            {
                "x": "<|im_end|>\n<|end|>",
                "x\n": "<|im_end|>\n<|end|>",
                "x\n<|im_end|>": "\n<|end|>",
                "x\n<|im_end|>\n": "<|end|>",
                "x<|im_end|>\n<|end|>": "",
            },
        ),
        (CLOSED, "\n<|im_start|>user\nef<|im_end|>\n<|im_start|>assistant\n", {"x<|im_end|>": ""}),
        (PROMPTS, "\n<|im_start|>user\nef<|im_end|>\n<|im_start|>assistant\n", {"x<|im_end|>": ""}),
    ],
    ids=["one end", "two ends", "the end of a chat", "a prompt that is always written"],
)
def test_what_the_prefix_has_of_the_end_is_not_written_again(
    template: str, behind: str, prefixes: dict[str, str]
) -> None:
    tokenizer = built(template)
    for seen, end in prefixes.items():
        assert texts_of(tokenizer, seen) == end + behind, seen


def test_what_ends_a_chat_alone_stays_and_a_turn_that_is_begun_is_ended() -> None:
    user = "<|im_start|>user\nef<|im_end|>\n<|im_start|>assistant\n"
    assert texts_of(built(CLOSED), "x<|im_end|>\n</s>") == user
    begun = "x<|im_end|>\n<|im_start|>assistant\n"
    for template in (CHATML, PROMPTS):
        assert texts_of(built(template), begun) == "<|im_end|>\n" + user


def test_a_part_of_a_token_behind_the_end_is_not_written_again() -> None:
    vocabulary = Vocabulary.from_tokens(
        [*((byte, bytes([byte])) for byte in range(256)), (256, b"\n\n")], [(10, 10, 256)]
    )
    tokenizer = built(BREAKS).with_parts(replace(built(BREAKS).parts, vocabulary=vocabulary))
    whole = tokenizer.encode_chat(CHAT[:3], add_generation_prompt=True)
    past = tokenizer.encode_chat(CHAT[:2]).ids.tolist()
    assert (past[-1], 256 in whole.ids) == (10, True)
    found = continued(tokenizer, CHAT[:3], past, new_from=2, add_generation_prompt=True)
    assert found.ids[: len(past)].tolist() == past
    assert tokenizer.decode(found.ids) == whole.rendered.text
    assert not found.retokenized_equal


def test_an_empty_answer_ends_too() -> None:
    tokenizer, chat = built(CHATML), [CHAT[0], {"role": "assistant", "content": ""}, CHAT[2]]
    whole = tokenizer.encode_chat(chat).ids.tolist()
    past = tokenizer.encode_chat(chat[:2]).ids.tolist()
    for seen in (past, past[:-1], past[:-2]):
        assert continued(tokenizer, chat, seen, new_from=2).ids.tolist() == whole
    end = tokenizer.special_tokens["<|im_end|>"]
    assert continued(tokenizer, chat, [7], new_from=2).ids.tolist() == [7, *whole[whole.index(end, len(past) - 3) :]]


def test_a_template_that_rewrites_history_is_refused_with_the_message() -> None:
    tokenizer = built(DROPS)
    chat = [CHAT[0], {**CHAT[1], "reasoning_content": "hm"}, CHAT[2]]
    with pytest.raises(HistoryRewritten) as caught:
        continued(tokenizer, chat, [1], new_from=2)
    assert (caught.value.code, caught.value.place["field"]) == ("history_rewritten", "messages[1]")
    assert 'rewritten="keep"' in caught.value.message
    assert stable(tokenizer, chat) == [False]
    assert stable(tokenizer, CHAT) == [True, True]
    assert stable(built(CHATML), CHAT[:1]) == []


def test_ids_of_a_rewritten_history_are_kept_on_request() -> None:
    tokenizer = built(DROPS)
    chat = [CHAT[0], {**CHAT[1], "reasoning_content": "hm"}, CHAT[2]]
    end = tokenizer.special_tokens["<|im_end|>"]
    behind = ids_of(tokenizer, "\n<|im_start|>user\nef<|im_end|>\n")
    past = tokenizer.encode_chat(chat[:2]).ids.tolist()
    assert "hm" in tokenizer.decode(past)
    for seen in (past, past[:-1], past[:-2], [5, end], [5]):
        found = continued(tokenizer, chat, seen, new_from=2, rewritten="keep")
        closed = seen[: seen.index(end, max(0, len(seen) - 2))] if end in seen[-2:] else seen
        assert found.ids.tolist() == [*closed, end, *behind]
        assert found.inserted == (() if end in seen[-2:] else (end,))
        assert not found.retokenized_equal
    assert continued(tokenizer, CHAT[:3], [5], new_from=2, rewritten="keep").ids.tolist() == [5, end, *behind]
    with pytest.raises(InvalidOption) as caught:
        continued(tokenizer, chat, [5], new_from=2, rewritten=True)  # type: ignore[arg-type]
    assert caught.value.place["field"] == "rewritten"


def test_a_turn_of_which_nothing_is_left_cannot_be_kept() -> None:
    template = CHATML.replace(
        "{% for m in messages %}", "{% for m in messages if messages[2] is not defined or m.role == 'user' %}"
    )
    with pytest.raises(HistoryRewritten) as caught:
        continued(built(template), CHAT[:3], [5], new_from=2, rewritten="keep")
    assert "send the ids of the whole chat" in caught.value.message


def test_a_turn_that_the_next_one_ends_is_kept_on_request() -> None:
    tokenizer = built(UNMARKED)
    mark = tokenizer.special_tokens["<s>"]
    behind = ids_of(tokenizer, "user: ef\n")
    for seen in ([1], [1, mark]):
        found = continued(tokenizer, CHAT[:3], seen, new_from=2, rewritten="keep")
        assert found.ids.tolist() == [1, mark, *behind]
        assert found.inserted == ((mark,) if seen == [1] else ())


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
@pytest.mark.parametrize("rewritten", ["refuse", "keep"])
def test_every_template_continues_its_own_ids_and_an_engine_s(template: str, rewritten: Any) -> None:
    tokenizer = built(source(template))
    specials = set(tokenizer.special_tokens.values())
    for name, (chat, at, options) in STEPS.items():
        options = {**options, "add_generation_prompt": True}
        try:
            whole = tokenizer.encode_chat(chat, **options)
            past = tokenizer.encode_chat(chat[:at], **{**options, "add_generation_prompt": False}).ids.tolist()
            found = continued(tokenizer, chat, [7, 8, 9], new_from=at, rewritten=rewritten, **options)
        except TokdError:
            # The template takes no such chat, ends no turn with a special token, or writes history otherwise.
            continue
        ids, end = whole.ids.tolist(), len(whole.ids) - found.appended
        assert found.ids.tolist() == [7, 8, 9, *ids[end:]], name
        assert list(found.inserted) == ids[end : end + len(found.inserted)] != []
        # An engine stops at the end of the turn.
        stopped = continued(tokenizer, chat, [7, 8, 9, *found.inserted], new_from=at, rewritten=rewritten, **options)
        assert stopped.ids.tolist() == found.ids.tolist() or ids[end] in past[-3:-1], name
        # A template writes more behind that, up to what begins the next turn.
        behind = next((place for place in range(end + 1, len(ids)) if ids[place] in specials), end + 1)
        for cut in range(end, behind + 1):
            seen = ids[:cut]
            assert continued(tokenizer, chat, seen, new_from=at, rewritten=rewritten, **options).ids.tolist() == ids, (
                name
            )
        if ids[: len(past)] == past:
            assert continued(tokenizer, chat, past, new_from=at, rewritten=rewritten, **options).ids.tolist() == ids, (
                name
            )


@needs_data
@pytest.mark.parametrize(
    ("template", "step", "inserted"),
    [
        ("CohereForAI-c4ai-command-r7b-12-2024-tool_use", "an answer", "<|END_RESPONSE|><|END_OF_TURN_TOKEN|>"),
        ("CohereForAI-c4ai-command-r7b-12-2024-tool_use", "a call", "<|END_ACTION|><|END_OF_TURN_TOKEN|>"),
        ("unsloth-Apriel-1.5", "an answer", "<|end|>\n</s>"),
        ("Qwen-Qwen2.5-7B-Instruct", "a call", "</tool_call><|im_end|>"),
        ("moonshotai-Kimi-K2", "a call", "<|tool_call_end|><|tool_calls_section_end|><|im_end|>"),
    ],
)
def test_all_that_closes_an_open_turn_is_put_in(template: str, step: str, inserted: str) -> None:
    tokenizer = built(source(template))
    chat, at, options = next(value for name, value in STEPS.items() if name.startswith(step))
    found = continued(tokenizer, chat, [7], new_from=at, **options, add_generation_prompt=True)
    assert tokenizer.decode(list(found.inserted)) == inserted


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
    assert outcomes["continued"] >= 27, outcomes
