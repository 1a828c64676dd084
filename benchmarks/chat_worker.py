"""Measure tokd and transformers on one chat and every template of ``DATA``, in turn."""

from __future__ import annotations

import os
import re
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any

from benchmarks.openers import SPECIAL_TOKENS
from tokenizer_core import AddedToken, TokdError, Tokenizer

VOCABULARY = "cl100k_base"
MESSAGES, CHARACTERS = 7, 2_400
BEGIN = 100_000
"""Where in the text the chat begins."""

CALLS = 20
"""In a row, of one library."""

TEMPLATE = "Qwen-Qwen3-0.6B"
"""Of all that is not measured for every template."""

GROWING = {
    "40 messages of 400 characters": (0, 40, 16_000),
    "a system prompt of 20,000, 10 messages of 200": (20_000, 10, 2_000),
    "100 messages of 2,900 characters": (0, 100, 290_000),
}
"""Conversations: characters of the system prompt, messages, and characters of all messages."""

_CONTROL = re.compile(r"<[|｜][^|｜<>\s'\"{}]{1,64}[|｜]>|\[/?[A-Z_]{4,}\]|</?s>|<[a-z_]+_of_turn>|</?tool[a-z_]*>")


def chat(text: str, messages: int, characters: int) -> list[dict[str, str]]:
    """Return a chat of the user and the assistant in turn, with the first ``characters`` of a text."""
    each = characters // messages
    roles = ("user", "assistant")
    return [{"role": roles[at % 2], "content": text[at * each : (at + 1) * each]} for at in range(messages)]


def build(data: Path, template: str) -> Tokenizer:
    """Return the public vocabulary with a template, and an added token for each control token of that."""
    source = (data / "templates" / f"{template}.jinja").read_text(encoding="utf-8")
    path = data / "vocabs" / f"{VOCABULARY}.tiktoken"
    plain = Tokenizer.from_tiktoken(path, pattern=VOCABULARY, special_tokens=SPECIAL_TOKENS[VOCABULARY])
    literals = dict.fromkeys(("<s>", "</s>", *_CONTROL.findall(source)))
    added = tuple(AddedToken(id=110_000 + at, content=literal, special=True) for at, literal in enumerate(literals))
    config = replace(plain.config, added_tokens=(*plain.config.added_tokens, *added))
    settings = replace(plain.settings, chat_template=source, bos="<s>", eos="</s>")
    return Tokenizer(replace(plain.parts, config=config, settings=settings))


def microseconds(work: Callable[[], Any]) -> float:
    """Return the processor time of one call."""
    start = time.process_time_ns()
    for _ in range(CALLS):
        work()
    return (time.process_time_ns() - start) / CALLS / 1e3


def measure(tokenizer: Tokenizer, messages: list[dict[str, str]], rounds: int) -> dict[str, Any]:
    """Compare and time both libraries; the reason if they cannot be compared."""
    from transformers import PreTrainedTokenizerFast

    try:
        ids = tokenizer.encode_chat(messages).ids.tolist()
    except TokdError as error:
        return {"equal": False, "why": f"refused: {error.code}"}
    with tempfile.TemporaryDirectory() as name:
        tokenizer.save(Path(name) / "chats", name="chats")
        theirs: Any = PreTrainedTokenizerFast.from_pretrained(Path(name) / "chats")
    if theirs.apply_chat_template(messages, tokenize=True, return_dict=False) != ids:
        return {"equal": False, "why": "other ids"}
    taken: dict[str, list[float]] = {"tokd": [], "transformers": []}
    for _ in range(rounds):
        taken["tokd"].append(microseconds(lambda: tokenizer.encode_chat(messages)))
        taken["transformers"].append(
            microseconds(lambda: theirs.apply_chat_template(messages, tokenize=True, return_dict=False))
        )
    medians = {name: statistics.median(times) for name, times in taken.items()}
    return {"equal": True, "ids": len(ids), **medians}


def growing(tokenizer: Tokenizer, text: str, system: int, messages: int, characters: int) -> dict[str, float]:
    """Time a conversation at each of its turns, and what a cache of its beginnings would save of that.

    Returns:
        The sums over all turns in microseconds: of ``encode_chat``, of encoding the whole rendering, and of encoding
        what the turn added to it, as if finding the rest in a cache cost nothing.
    """
    before = [{"role": "system", "content": text[:system]}] if system else []
    turns = before + chat(text[system:], messages, characters)
    sums, known = dict.fromkeys(("chat", "whole", "added"), 0.0), ""
    for end in range(len(before) + 1, len(turns) + 1, 2):
        rendering = tokenizer.render_chat(turns[:end]).text
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(known, rendering, strict=False)))
        known = rendering
        sums["chat"] += microseconds(partial(tokenizer.encode_chat, turns[:end]))
        for name, part in (("whole", rendering), ("added", rendering[same:])):
            sums[name] += microseconds(partial(tokenizer.encode, part, special_tokens="parse"))
    return sums


def work(folder: str, rounds: str) -> dict[str, Any]:
    """Measure every template, and conversations that grow."""
    data = Path(folder)
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    import transformers

    text = (data / "corpora" / "english.txt").read_text(encoding="utf-8")
    messages = chat(text[BEGIN:], MESSAGES, CHARACTERS)
    templates = sorted(path.stem for path in (data / "templates").glob("*.jinja"))
    found = {name: measure(build(data, name), messages, int(rounds)) for name in templates}
    tokenizer = build(data, TEMPLATE)
    grown = {name: growing(tokenizer, text, *sizes) for name, sizes in GROWING.items()}
    return {"version": transformers.__version__, "templates": found, "growing": grown}
