"""Masks and labels by hand: who wrote which token, and what is trained."""

from __future__ import annotations

import pytest

from tests import vocabularies
from tokenizer_core import EncodedChat, InvalidOption

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


@pytest.mark.parametrize("said", ["two!", ""])
def test_all_that_is_generated_is_trained_whoever_wrote_it(said: str) -> None:
    """As the masks of transformers, which know blocks and no messages: an empty answer still has its end."""
    chat = encoded(MARKED, [*CHAT[:1], {"role": "assistant", "content": said}, CHAT[2]])
    assert trained(chat, "assistant") == trained(chat, "last") == trained(chat, ["assistant"]) == f"{said}<|end|>"


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
