"""Answers parsed as transformers 5.24 parses them; ``make_vectors.py`` wrote its messages and events."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tokenizer_core import Tokenizer

DOCUMENT: dict[str, Any] = json.loads((Path(__file__).parent / "vectors.json").read_text("utf-8"))
TOOLS, TEMPLATES = DOCUMENT["tools"], DOCUMENT["templates"]
CASES = [
    pytest.param(case["spec"], vector, id=f"{name}-{at}")
    for name, case in TEMPLATES.items()
    for at, vector in enumerate(case["vectors"])
]


def joined(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Join the chunks of a region, which may be cut in another way."""
    found: list[dict[str, Any]] = []
    for event in events:
        if event["type"] == "region_chunk" and found and found[-1]["type"] == "region_chunk":
            found[-1] = {**found[-1], "text": found[-1]["text"] + event["text"]}
        else:
            found.append(event)
    return found


def parsed(tokenizer: Tokenizer, spec: dict[str, Any], vector: dict[str, Any], texts: list[str]) -> Any:
    parser = tokenizer.chat_parser(response_template=spec, prompt=vector["prompt"], tools=TOOLS)
    events = parser.initial_events
    for text in texts:
        events += parser.feed(text)
    found = parser.finish()
    return found, joined(events + parser.final_events)


@pytest.mark.parametrize(("spec", "vector"), CASES)
def test_the_message_and_the_events_are_those_of_transformers(
    tiny: Tokenizer, spec: dict[str, Any], vector: dict[str, Any]
) -> None:
    text = vector["text"]
    found, events = parsed(tiny, spec, vector, [text])
    assert "".join(text[part.start : part.end] for part in found.parts) == text
    if "message" in vector and not any(one.reason in ("unclaimed", "invalid_json") for one in found.malformed):
        assert found.message == vector["message"]
        assert events == joined(vector["events"])
    else:
        assert found.malformed
    chance = random.Random(text)
    for _ in range(3):
        cuts = sorted(chance.choices(range(len(text) + 1), k=chance.randrange(12)))
        texts = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
        again, same = parsed(tiny, spec, vector, texts)
        assert (again.message, again.parts, again.malformed, same) == (
            found.message,
            found.parts,
            found.malformed,
            events,
        )
