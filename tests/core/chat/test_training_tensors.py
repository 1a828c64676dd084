"""Masks and labels by hand: who wrote which token, and what is trained."""

from __future__ import annotations

from time import thread_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import vocabularies
from tokenizer_core import ChatPolicy, EncodedChat, InvalidOption, InvalidUnicode, Span

PLAIN = "{% for m in messages %}{{ m.role }}:{{ m.content }}<|end|>\n{% endfor %}"
MARKED = (
    "{% for m in messages %}{% if m.role == 'assistant' %}A:{% generation %}{{ m.content }}<|end|>{% endgeneration %}\n"
    "{% else %}{{ m.role }}:{{ m.content }}<|end|>\n{% endif %}{% endfor %}"
)
CHAT = [
    {"role": "user", "content": "one"},
    {"role": "assistant", "content": "two!"},
    {"role": "user", "content": "three"},
    {"role": "assistant", "content": "four"},
]


def encoded(template: str, messages: list[dict[str, str]] = CHAT) -> EncodedChat:
    return vocabularies.tokenizer("tiny").with_template(template).encode_chat(messages)


def trained(chat: EncodedChat, train_on: str | list[str]) -> str:
    labels = chat.labels(train_on=train_on)
    assert all(label in (-100, int(token)) for label, token in zip(labels, chat.ids, strict=True))
    kept = chat.spans[labels != -100]
    return "".join(chat.rendered.text[start:end] for start, end in kept)


@pytest.mark.parametrize("template", [PLAIN, MARKED])
def test_labels_are_the_turns_and_their_ends(template: str) -> None:
    chat = encoded(template)
    assert trained(chat, "assistant") == "two!<|end|>four<|end|>"
    assert trained(chat, "last") == "four<|end|>"
    assert trained(chat, "user") == "one<|end|>three<|end|>"
    assert trained(chat, ["user", "assistant"]) == "one<|end|>two!<|end|>three<|end|>four<|end|>"
    assert chat.assistant_mask.tolist() == (chat.labels() != -100).astype(int).tolist()
    with pytest.raises(InvalidOption, match="no message has the role 'tool'"):
        chat.labels(train_on="tool")
    for wrong in (None, 5, [5], b"user"):
        with pytest.raises(InvalidOption, match="roles of messages"):
            chat.labels(train_on=wrong)


@pytest.mark.parametrize("said", ["two!", ""])
def test_all_that_is_generated_is_trained_whoever_wrote_it(said: str) -> None:
    """As the masks of transformers, which know blocks and no messages: an empty answer still has its end."""
    chat = encoded(MARKED, [*CHAT[:1], {"role": "assistant", "content": said}, CHAT[2]])
    assert trained(chat, "assistant") == trained(chat, "last") == trained(chat, ["assistant"]) == f"{said}<|end|>"


def test_a_block_behind_what_the_assistant_says_is_trained_alone() -> None:
    chat = encoded(OUTSIDE)
    assert trained(chat, "assistant") == trained(chat, ["assistant"]) == "<|end|><|end|>"
    assert trained(chat, "last") == "<|end|>"


def test_a_token_that_straddles_is_trained() -> None:
    chat = encoded("{% for m in messages %}{{ m.role[0] }}{{ m.content }}{% endfor %}")
    straddling = chat.rendered.text.index("atwo!")
    token = next(at for at, (start, end) in enumerate(chat.spans) if start <= straddling + 1 < end)
    assert chat.labels()[token] == chat.ids[token]
    start = chat.spans[token][0]
    assert bool(chat.straddling()[token]) == (start <= straddling)
    assert not encoded(PLAIN).straddling().any()


def test_every_token_knows_its_message() -> None:
    chat = encoded(PLAIN)
    for (start, end), message in zip(chat.spans, chat.message_index, strict=True):
        writers = {span.message for span in chat.rendered.spans if span.start < end and start < span.end}
        assert message in writers if writers else message == -1
    assert chat.attention_mask.tolist() == [1] * len(chat.ids)
    assert chat.position_ids.tolist() == list(range(len(chat.ids)))
    assert chat.rendered.generated == ()
    assert len(encoded(MARKED).rendered.generated) == 2


TURNED = "{% for m in messages|reverse %}{{ m.content }}{{ m.role[0] }}{{ m.content }}{% endfor %}<|end|>"
BARE = "{% for m in messages %}{{ m.content }}{% endfor %}"
BLOCKS = (
    "{% for m in messages %}{{ m.role }}{% if m.role == 'assistant' %}{% generation %}!{% endgeneration %}"
    "{{ m.content }}{% generation %}{{ m.content }}<|end|>{% endgeneration %}"
    "{% else %}{{ m.content }}{% endif %}\n{% endfor %}"
)
OUTSIDE = (
    "{% for m in messages %}{{ m.content }}{% if m.role == 'assistant' %}{% generation %}<|end|>{% endgeneration %}"
    "{% endif %}{% endfor %}"
)
SAID = st.sampled_from(["", "a", "aaa", "the fox", " ", "<|end|>", "日本", "👍\n\n", "\n"])
MESSAGES = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant", "tool"]), "content": SAID}),
    min_size=1,
    max_size=6,
)


def turn_of(chat: EncodedChat, message: int) -> list[tuple[int, int]]:
    """Say by the definition, with a look at everything, what of a text a message is trained on."""
    spans = [span for span in chat.rendered.spans if span.message is not None]
    own = [span for span in spans if span.message == message and span.field != "role"]
    blocks = chat.rendered.generated
    if blocks and chat.rendered.roles[message] == "assistant":
        if own:
            start, end = own[0].start, max(span.end for span in own)
            among = [block for block in blocks if block[0] < end and start < block[1]]
            if among:
                return among
        before = max((span.end for span in spans if span.message < message), default=0)
        behind = min((span.start for span in spans if span.message > message), default=len(chat.rendered.text))
        return [block for block in blocks if before <= block[0] and block[1] <= behind]
    if chat.rendered.roles[message] == "assistant":
        return model_turn_of(chat, message, own)
    if not own:
        return []
    start, end = own[0].start, max(span.end for span in own)
    foreign = min((span.start for span in chat.rendered.spans if span.start >= end), default=len(chat.rendered.text))
    closing = [at for at in range(len(chat.ids)) if end <= chat.spans[at][0] < foreign and chat.control[at]]
    return [(start, int(chat.spans[closing[0]][1]) if closing else end)]


def model_turn_of(chat: EncodedChat, message: int, own: list[Span]) -> list[tuple[int, int]]:
    """Say the same of a turn of the assistant; none of these templates begins one by itself."""
    parts = [(start, end) for of, start, end in chat.rendered.parts if of == message]
    if not parts:
        return []
    specials = [span for span, control in zip(chat.spans.tolist(), chat.control.tolist(), strict=True) if control]
    ((begin, end),) = parts
    inside = [span for span in specials if begin <= span[0] and span[1] <= end]
    start = own[0].start if own else inside[0][0] if inside else end
    said = own[-1].end if own else start
    closing = [span for span in inside if span[0] >= said]
    if not closing:
        text, callers = chat.rendered.text, {at for span in chat.rendered.spans for at in range(span.start, span.end)}
        behind = [span for span in specials if span[0] >= end][:1]
        closing = [s for s in behind if not text[end : s[0]].strip() and not callers & set(range(end, s[1]))]
    return [(start, closing[-1][1] if closing else said)]


@settings(max_examples=150, deadline=None)
@given(template=st.sampled_from([PLAIN, MARKED, TURNED, BARE, BLOCKS, OUTSIDE]), messages=MESSAGES)
def test_masks_are_what_the_characters_say(template: str, messages: list[dict[str, str]]) -> None:
    chat = encoded(template, messages)
    tokens = [set(range(start, end)) for start, end in chat.spans.tolist()]
    authors = {at: span.message for span in chat.rendered.spans for at in range(span.start, span.end)}
    known = [[authors[at] for at in sorted(token) if authors.get(at) is not None] for token in tokens]
    assert chat.message_index.tolist() == [found[0] if found else -1 for found in known]
    for role in set(chat.rendered.roles):
        turns = [turn_of(chat, at) for at, each in enumerate(chat.rendered.roles) if each == role]
        trained = {at for spans in turns for start, end in spans for at in range(start, end)}
        expected = [int(id) if token & trained else -100 for token, id in zip(tokens, chat.ids.tolist(), strict=True)]
        assert chat.labels(train_on=[role]).tolist() == expected


@pytest.mark.parametrize("template", [PLAIN, MARKED])
def test_a_chat_of_many_messages_costs_no_more_for_each(template: str) -> None:
    """Where every turn looked at every other, 12,000 messages took half a minute."""
    chat = encoded(template, CHAT[:2] * 6_000)
    began = thread_time()
    assert (chat.assistant_mask == (chat.labels() != -100)).all()
    assert set(chat.message_index.tolist()) >= set(range(12_000))
    assert not chat.straddling().any()
    assert thread_time() - began < 5


@pytest.mark.parametrize("policy", ["text", "reject", "parse"])
def test_a_lone_surrogate_is_told_at_its_field(policy: ChatPolicy) -> None:
    tokenizer = vocabularies.tokenizer("tiny").with_template(PLAIN)
    with pytest.raises(InvalidUnicode) as caught:
        tokenizer.encode_chat([*CHAT[:1], {"role": "assistant", "content": "two\ud800"}], special_tokens=policy)
    assert caught.value.place["field"] == "messages[1].content"
