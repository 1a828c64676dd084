"""Conversations of agents, and what turns of them cost tokd and transformers as libraries."""

from __future__ import annotations

import json
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.chat_worker import build
from benchmarks.worker import digest

SYSTEM, ASKED, RESULT = 6_000, 400, 3_000
"""Characters of the system prompt, of a user's message and of a tool's result."""

TASK = 10
"""Turns until the assistant answers and the user asks again."""

TOOLS = 12


class Trace:
    """A conversation with tools, always the same one for a seed: each turn is a call and its result."""

    def __init__(self, data: Path, seed: str) -> None:
        self._rng = random.Random(seed)
        self._prose, self._code = (
            (data / "corpora" / f"{name}.txt").read_text("utf-8") for name in ("english", "code")
        )
        fields = [{f"argument_{at}": {"type": "string", "description": self._cut(60)} for at in range(4)}] * TOOLS
        self.tools = [
            {
                "type": "function",
                "function": {
                    "name": f"tool_{at}",
                    "description": self._cut(300),
                    "parameters": {"type": "object", "properties": properties, "required": ["argument_0"]},
                },
            }
            for at, properties in enumerate(fields)
        ]
        self._messages = [self._said("system", SYSTEM), self._said("user", ASKED)]
        self._ends: list[int] = []

    def messages(self, turn: int, *, as_text: bool = False) -> list[dict[str, Any]]:
        """Return what is sent at a turn; arguments of calls are objects, or JSON as clients of engines send it."""
        while len(self._ends) <= turn:
            self._take_turn()
        sent = self._messages[: self._ends[turn]]
        return [_with_text(message) for message in sent] if as_text else sent

    def _take_turn(self) -> None:
        number = len(self._ends)
        if number and number % TASK == 0:
            self._messages += [self._said("assistant", ASKED), self._said("user", ASKED)]
        arguments = {"argument_0": self._cut(150), "argument_1": self._rng.randrange(1000)}
        function = {"name": f"tool_{self._rng.randrange(TOOLS)}", "arguments": arguments}
        call = {"id": f"call{number:05}", "type": "function", "function": function}
        result = {"role": "tool", "tool_call_id": call["id"], "content": self._cut(RESULT, code=True)}
        self._messages += [{"role": "assistant", "content": "", "tool_calls": [call]}, result]
        self._ends.append(len(self._messages))

    def _said(self, role: str, characters: int) -> dict[str, Any]:
        return {"role": role, "content": self._cut(characters)}

    def _cut(self, characters: int, *, code: bool = False) -> str:
        source = self._code if code else self._prose
        while True:
            start = self._rng.randrange(len(source) - characters)
            text = source[start : start + characters]
            # Of these literals transformers makes tokens, whoever wrote them.
            if "<s>" not in text and "</s>" not in text:
                return text


def _with_text(message: dict[str, Any]) -> dict[str, Any]:
    if "tool_calls" not in message:
        return message
    calls = [call | {"function": _arguments_as_text(call["function"])} for call in message["tool_calls"]]
    return message | {"tool_calls": calls}


def _arguments_as_text(function: dict[str, Any]) -> dict[str, Any]:
    return function | {"arguments": json.dumps(function["arguments"], ensure_ascii=False)}


def _milliseconds(work: Callable[[], Any], calls: int) -> float:
    taken = []
    for _ in range(calls):
        start = time.process_time_ns()
        work()
        taken.append((time.process_time_ns() - start) / 1e6)
    return statistics.median(taken)


def work(folder: str, template: str, turns: str) -> dict[str, Any]:
    """Compare and time both libraries at some turns of a conversation; each turn is new to both."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    import transformers

    tokenizer, trace = build(Path(folder), template), Trace(Path(folder), template)
    with tempfile.TemporaryDirectory() as name:
        tokenizer.save(Path(name) / "chats", name="chats")
        theirs: Any = transformers.PreTrainedTokenizerFast.from_pretrained(Path(name) / "chats")
    found = []
    for turn in json.loads(turns):
        messages = trace.messages(turn)
        ours = partial(tokenizer.encode_chat, messages, tools=trace.tools, add_generation_prompt=True)
        other = partial(theirs.apply_chat_template, messages, tools=trace.tools, add_generation_prompt=True)
        ids = ours().ids.tolist()
        if other(tokenize=True, return_dict=False) != ids:
            raise SystemExit(f"{template}: transformers gives other ids at turn {turn}: no speed is shown")
        times = {"library": _milliseconds(ours, 9), "transformers": _milliseconds(other, 1)}
        found.append({"turn": turn, "ids": len(ids), "proof": digest(ids), **times})
    return {"version": transformers.__version__, "turns": found}
