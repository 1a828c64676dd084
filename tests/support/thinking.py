"""An artifact whose template thinks and calls tools as Qwen3's does, with the response template to it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.paths import ROOT
from tokenizer_core import Tokenizer

MARKS = ("<think>", "</think>", "<tool_call>", "</tool_call>")
TEMPLATE = (
    "{% if tools %}<|im_start|>system\n{{ tools | tojson }}<|im_end|>\n{% endif %}"
    "{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if m.role == 'assistant' %}"
    "{% if m.reasoning_content %}<think>\n{{ m.reasoning_content }}\n</think>\n\n{% endif %}{{ m.content }}"
    "{% for call in m.tool_calls or [] %}{% if m.content or not loop.first %}{{ '\n' }}{% endif %}<tool_call>\n"
    '{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}\n</tool_call>'
    "{% endfor %}{% else %}{{ m.content }}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% if enable_thinking %}<think>\n{% endif %}{% endif %}"
)
RESPONSE_TEMPLATE = {
    "version": 1,
    "defaults": {"role": "assistant"},
    "start_anchor": "<|im_start|>assistant\n",
    "fields": {
        "reasoning_content": {
            "open": "<think>\n",
            "close": "\n</think>\n\n",
            "content": "text",
            "content_args": {"strip": False},
        },
        "tool_calls": {
            "open_pattern": r"\n?<tool_call>\n",
            "close": "\n</tool_call>",
            "repeats": True,
            "content": "json",
            "transform": {"type": "function", "function": "{content}"},
        },
        "content": {"close": "<|im_end|>", "content": "text", "content_args": {"strip": False}},
    },
}
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}},
    },
}
CALLED = (
    "<think>\nI should call.\n</think>\n\nOk."
    '\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Köln", "days": 3}}\n</tool_call>'
    '\n<tool_call>\n{"name": "get_weather", "arguments": {}}\n</tool_call><|im_end|>'
)
"""An output with everything."""


def save_thinking(directory: Path) -> Path:
    """Write the artifact ``directory / "thinking"``: the vocabulary of the base artifact with the marks behind it."""
    layout, base = directory / "layout", ROOT / "artifacts" / "base"
    layout.mkdir()
    model = json.loads((base / "tokenizer.json").read_text(encoding="utf-8"))
    plain = {**model["added_tokens"][0], "special": False}
    first = 1 + max(token["id"] for token in model["added_tokens"])
    model["added_tokens"] += [{**plain, "id": first + at, "content": mark} for at, mark in enumerate(MARKS)]
    (layout / "tokenizer.json").write_text(json.dumps(model), encoding="utf-8")
    config = json.loads((base / "tokenizer_config.json").read_text(encoding="utf-8"))
    del config["added_tokens_decoder"]
    config |= {"eos_token": "<|im_end|>", "chat_template": TEMPLATE, "response_template": RESPONSE_TEMPLATE}
    (layout / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    Tokenizer.from_hf(layout).save(directory / "thinking", name="thinking")
    return directory / "thinking"
