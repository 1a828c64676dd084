"""A grid of conversations, real templates, and a tokenizer with every family's control tokens."""

from __future__ import annotations

from functools import cache
from typing import Any

import regex

from tests.support.data import DATA, PRESENT
from tokenizer_core import AddedToken, Tokenizer
from tokenizer_core._kernel import Vocabulary
from tokenizer_core.config import PipelineConfig, Settings, TokenizerParts
from tokenizer_core.stages import Normalizer, Pattern, Pretokenizer

Conversation = list[dict[str, Any]]

TEMPLATES = sorted(path.stem for path in (DATA / "templates").glob("*.jinja")) if PRESENT else []

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": 'Get "it" <é>\n',
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string", "description": "c", "enum": ["a", "b"]}},
                "required": ["city"],
            },
        },
    }
]


def call(arguments: Any) -> list[dict[str, Any]]:
    return [{"id": "abcdefghi", "type": "function", "function": {"name": "get_weather", "arguments": arguments}}]


CONVERSATIONS: dict[str, Conversation] = {
    "one message": [{"role": "user", "content": "Hi there"}],
    "empty": [{"role": "user", "content": ""}],
    "system": [{"role": "system", "content": "Be  terse. "}, {"role": "user", "content": "Hé <b>'x'</b> &amp; "}],
    "many turns": [
        {"role": "system", "content": ""},
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "\n ok 你好 👩‍👩‍👧 \n"},
        {"role": "user", "content": "\t end  "},
    ],
    "thoughts": [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "<think>\nhm\n</think>\n\nx "},
        {"role": "user", "content": "b"},
        {"role": "assistant", "content": "y  \n"},
    ],
    "tool call": [
        {"role": "user", "content": "w?"},
        {"role": "assistant", "content": "", "tool_calls": call({"city": "Zürich", "n": 3, "f": 1.5, "d": [1, None]})},
        {"role": "tool", "name": "get_weather", "tool_call_id": "abcdefghi", "content": '{"t": 3}'},
        {"role": "assistant", "content": "3 deg", "reasoning_content": "r \n"},
    ],
    "tool call as text": [
        {"role": "user", "content": "w?"},
        {"role": "assistant", "content": None, "tool_calls": call('{"city": "Zürich"}')},
        {"role": "tool", "tool_call_id": "abcdefghi", "content": "3"},
        {"role": "user", "content": "thanks"},
    ],
    "parts": [
        {"role": "user", "content": [{"type": "text", "text": "part 1 "}, {"type": "text", "text": "part\n2"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "re "}]},
    ],
    "names": [
        {"role": "user", "content": "x", "name": "bob"},
        {"role": "assistant", "content": "İSTANBUL ß", "thinking": "t"},
        {"role": "user", "content": "e\u0301\u200b {{ 7*7 }} "},
    ],
}

_CONTROL = regex.compile(r"<[|｜][^|｜<>\s'\"{}]{1,64}[|｜]>|\[/?[A-Z_]{4,}\]|</?s>|<[a-z_]+_of_turn>|</?tool[a-z_]*>")


@cache
def source(template: str) -> str:
    return (DATA / "templates" / f"{template}.jinja").read_text("utf-8")


def literals(template: str) -> tuple[str, ...]:
    """Return what looks like a control token in a template's source, and the tokens of beginning and end."""
    return tuple(dict.fromkeys(("<s>", "</s>", *_CONTROL.findall(source(template)))))


@cache
def tokenizer(
    template: str, *, normalizer: tuple[Any, ...] = (), normalized: bool = False, also: tuple[str, ...] = ()
) -> Tokenizer:
    """Build a tokenizer of bytes whose added tokens are the template's and ``also``; every third is not special."""
    vocabulary = Vocabulary.from_tokens([(byte, bytes([byte])) for byte in range(256)], [])
    added = tuple(
        AddedToken(id=1000 + at, content=literal, special=at % 3 != 2, normalized=normalized)
        for at, literal in enumerate(dict.fromkeys((*literals(template), *also)))
    )
    config = PipelineConfig(
        normalizer=tuple(Normalizer(name) for name in normalizer),
        pretokenizer=(Pretokenizer("split", pattern=Pattern("name", "gpt2")),),
        added_tokens=added,
    )
    settings = Settings(chat_template=source(template), bos="<s>", eos="</s>")
    return Tokenizer(TokenizerParts(vocabulary=vocabulary, config=config, settings=settings))


@cache
def built(source: str, template: str | None = None) -> Tokenizer:
    """Build a tokenizer of bytes with a template, and a special token for each literal in ``source``."""
    vocabulary = Vocabulary.from_tokens([(byte, bytes([byte])) for byte in range(256)], [])
    found = dict.fromkeys(("<s>", "</s>", *_CONTROL.findall(source), "<|user|>", "<|assistant|>", "<|tool|>"))
    added = tuple(AddedToken(id=1000 + at, content=literal, special=True) for at, literal in enumerate(found))
    config = PipelineConfig(pretokenizer=(Pretokenizer("split", pattern=Pattern("name", "gpt2")),), added_tokens=added)
    settings = Settings(chat_template=template or source, bos="<s>", eos="</s>")
    return Tokenizer(TokenizerParts(vocabulary=vocabulary, config=config, settings=settings))
