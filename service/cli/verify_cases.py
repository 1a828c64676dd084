"""The fixed texts and chats that ``tokd verify`` sends: plain ones, and what ids are known to differ on."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, NamedTuple

SENTENCES = (
    "The quick brown fox jumps over the lazy dog, doesn't it?",
    "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich.",
    "Portez ce vieux whisky au juge blond qui fume, s'il vous plaît.",
    "El pingüino Wenceslao hizo kilómetros bajo exhaustiva lluvia.",
    "Съешь же ещё этих мягких французских булок, да выпей чаю.",
    "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία.",
    "いろはにほへと、東京は今日も晴れです。カタカナもﾊﾝｶｸも。",
    "我能吞下玻璃而不伤身体。繁體中文也可以。",
    "키스의 고유조건은 입술끼리 만나야 하고 특별한 기술은 필요치 않다.",
    "نص حكيم له سر قاطع وذو شأن عظيم مكتوب على ثوب أخضر.",
    "דג סקרן שט בים מאוכזב ולפתע מצא חברה.",
    "ऋषियों को सताने वाले दुष्ट राक्षसों के राजा रावण का सर्वनाश।",
    "เป็นมนุษย์สุดประเสริฐเลิศคุณค่า ไม่มีช่องว่าง",
    "Đùa hơi nhiều: việc này không dễ đâu ạ.",
    "Pchnąć w tę łódź jeża lub ośm skrzyń fig.",
    "Pijamalı hasta yağız şoföre çabucak güvendi. İIıi",
    "Ἐν ἀρχῇ ἦν ὁ λόγος, καὶ ὁ λόγος ἦν πρὸς τὸν θεόν.",
    "සිංහල, தமிழ், తెలుగు, ಕನ್ನಡ, മലയാളം, ગુજરાતી, ਪੰਜਾਬੀ, বাংলা",
    "Հայերեն և ქართული ენა, ភាសាខ្មែរ, ພາສາລາວ, မြန်မာ",
    "ᚠᛇᚻ᛫ᛒᛦᚦ᛫ᚠᚱᚩᚠᚢᚱ 𐌰𐌽𐌸𐌰𐍂𐌰 𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𓀀𓁐",
)
SHAPES = (
    *(
        "a",
        "A",
        "z ",
        " z",
        "  z",
        "z  ",
        "\n",
        "\r\n",
        "\t",
        " ",
        "  ",
        "   ",
        "        ",
        "\n\n\n",
        " \n \n",
        "a\n\n b",
    ),
    *("0", "12", "123", "1234", "1234567890", "3.14159", "1,000,000", "١٢٣", "１２３", "½²³", "0x1F", "1e-9"),
    *("I'm", "you'LL", "they’ve", "don't don’t", "'s", "it's's", "!!!", "?!?!", "...", "--", "(a)", "[b]{c}", "$%^&*"),
    *(
        "é",
        "e\u0301",
        "\u1100\u1161\u11a8",
        "각",
        "ﬁ",
        "Å\u212b\u00c5",
        "\u200b",
        "\u00a0a\u00a0",
        "\ufeffa",
        "a\u200db",
    ),
    *("🙂", "👨‍👩‍👧‍👦", "👍🏽", "🇩🇪🇫🇷", "❤️", "🧑🏿‍🚀 go", "☎", "𝕏", "\U0001f9e0" * 5),
    *("\x00", "\x01\x02", "\x7f", "\x1b[0m", "a\x0bb\x0cc", "\u0085", "\u2028a\u2029", "\ufffd", "\ue000"),
    *("https://example.com/a?b=c&d=%20#e", "user@example.com", "C:\\Users\\x", "snake_case camelCase PascalCase"),
    "def f(x):\n\tif x > 0:\n\t\treturn {'a': [1, 2], \"b\": None}\n\n    # trailing   \n",
    "#include <stdio.h>\nint main(void) { return 0; }\n",
    '<div class="a">\n  <p>&nbsp;&lt;b&gt;</p>\n</div>',
    "| a | b |\n|---|---|\n| **x** | `y` |\n\n1. one\n   - two\n",
    *("a" * 500, " " * 300, "ab" * 300, "\n" * 100, "日本" * 100, "-" * 200, "9" * 100),
)
SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": 'a city, "quoted", naïve & <b>'},
        "days": {"type": "integer", "minimum": 1, "maximum": 14, "default": 3},
        "units": {"type": "string", "enum": ["celsius", "fahrenheit"]},
    },
    "required": ["city"],
}


class Case(NamedTuple):
    """A request, as vLLM's ``/tokenize`` takes it."""

    name: str
    body: dict[str, Any]


def cases() -> list[Case]:
    """Return all cases, always the same ones."""
    return [*_texts(), *_chats()]


def _texts() -> Iterator[Case]:
    for at, text in enumerate((*SENTENCES, *SHAPES)):
        yield Case(f"text {at}", {"prompt": text})
    rng = random.Random(20_261_127)  # noqa: S311 - the same texts every time
    letters = "".join(
        chr(code) for first in (0x20, 0xC0, 0x400, 0x5D0, 0x3040, 0x4E00, 0x1F600) for code in range(first, first + 80)
    )
    for at in range(20):
        text = "".join(rng.choices(letters, k=rng.choice((3, 20, 200))))
        yield Case(f"random text {at}", {"prompt": text})


def _said(*turns: str) -> list[dict[str, Any]]:
    return [{"role": ("user", "assistant")[at % 2], "content": text} for at, text in enumerate(turns)]


def _chats() -> Iterator[Case]:
    system = {"role": "system", "content": "Be brief.\n\nAnswer in French."}
    histories = {
        "one turn": _said("Hello"),
        "a system message": [system, *_said("Hello")],
        "three turns": _said("What is 2 + 2?", "4", "And 3 + 3?"),
        "five turns and a system message": [system, *_said("a", "b", "c", "d", "e")],
        "white space": _said("  padded  \n", "\n answer \n\n", " again\t"),
        "no text": _said("", "", "x"),
        "many scripts": _said(SENTENCES[6], SENTENCES[4], SENTENCES[9]),
        "emoji": _said("👨‍👩‍👧‍👦 👍🏽", "🇩🇪 ok 🙂"),
        "code": _said("```python\nprint('hi')\n```", "It prints `hi`.", "<b>&amp;</b>"),
        "text parts": [{"role": "user", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]}],
        "a long turn": _said("word " * 500),
        "reasoning": [
            *_said("Why?"),
            {"role": "assistant", "reasoning_content": "Because\n\nof it.", "content": "So."},
            *_said("Really?"),
        ],
        "thinking in the text": _said("Why?", "<think>\nHm.\n</think>\n\nSo.", "Really?"),
    }
    options: dict[str, dict[str, Any]] = {
        "": {},
        ", no prompt for an answer": {"add_generation_prompt": False},
        ", thinking on": {"chat_template_kwargs": {"enable_thinking": True}},
        ", thinking off": {"chat_template_kwargs": {"enable_thinking": False}},
    }
    for name, messages in histories.items():
        for option, body in options.items():
            yield Case(f"chat: {name}{option}", {"messages": messages, **body})
    yield Case(
        "chat: an answer that goes on",
        {"messages": _said("Count", "1, 2,"), "add_generation_prompt": False, "continue_final_message": True},
    )
    yield Case("chat: an effort", {"messages": _said("Why?"), "chat_template_kwargs": {"reasoning_effort": "low"}})
    yield from _with_tools()


def _function(name: str, parameters: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {"name": name, "description": "of a place", "parameters": parameters, **more},
    }


def _with_tools() -> Iterator[Case]:
    turned = {**SCHEMA, "properties": dict(reversed(SCHEMA["properties"].items()))}  # type: ignore[attr-defined]
    tools = {
        "a tool": [_function("weather", SCHEMA)],
        "keys in another order": [_function("weather", dict(reversed(turned.items())))],
        "two tools": [_function("weather", SCHEMA), _function("now", {"type": "object", "properties": {}})],
        "a strict tool": [_function("weather", SCHEMA, strict=True)],
        "a tool of many scripts": [_function("météo", {"type": "object", "properties": {"城市": {"type": "string"}}})],
    }
    calls = {
        "": [],
        ", called": ['{"city": "Paris", "days": 2}'],
        ", called with keys in another order": ['{"days": 2, "city": "Paris"}'],
        ", called with much": ['{"city": "Zürich 🙂", "days": 1.50, "units": null, "more": {"a": [1, {"b": true}]}}'],
        ", called twice": ['{"city": "Oslo"}', '{"city": "東京"}'],
    }
    for name, given in tools.items():
        for how, sent in calls.items():
            made = [
                {"id": f"call{at:05}", "type": "function", "function": {"name": "weather", "arguments": arguments}}
                for at, arguments in enumerate(sent)
            ]
            messages: list[dict[str, Any]] = _said("How is the weather?")
            if made:
                messages.append({"role": "assistant", "content": "", "tool_calls": made})
                messages += [
                    {"role": "tool", "tool_call_id": call["id"], "name": "weather", "content": '{"sky": "clear ☀"}'}
                    for call in made
                ]
            yield Case(f"chat: {name}{how}", {"messages": messages, "tools": given})
