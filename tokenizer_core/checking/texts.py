"""Small texts that the audit encodes; written for this purpose."""

from __future__ import annotations

import sys
import unicodedata

from tokenizer_core.tokenizer import Tokenizer

ENGLISH = """\
The harbour master kept two logbooks. The first was the official one, bound in green cloth, where every arrival stood
with its tonnage, its cargo and the hour at which the pilot had come aboard. The second was a school exercise book, and
in it she wrote what the official one had no column for: that the cook of the Meridian whistled, that fog smells of iron
an hour before anybody can see it, that the crane on the eastern quay groans on the same note as her grandmother's door.
Nobody had asked her for this. "Weather," she'd say when someone wondered what she was scribbling, and it wasn't a lie.
In the winter of the long strike, when no ship came for 41 days, the green book had nothing but dates; the other one
grew by sixty pages. Years later, when historians wanted to know how people had lived through those weeks, they didn't
open the official log at all. They sat in the reading room, turned the ruled pages, and laughed out loud at the cook.
"""

CHINESE = """\
清晨六点，菜市场的灯还没有全亮，卖豆腐的老周已经把木板擦了三遍。他说豆腐这东西很诚实，水多一分就软，火大一点就老，瞒不过任何人的舌头。
对面卖鱼的年轻人喜欢听收音机，新闻里讲到远方的风暴，他就抬头看看天，好像那片云马上就要飘到自己的摊子上来。
七点以后人渐渐多了，孩子背着书包从中间跑过去，奶奶们一边挑白菜，一边谈论昨天晚上的电视剧。有人问价钱，有人只是来打个招呼。
下雨的时候，大家把塑料布拉开，雨点打在上面，声音像炒豆子。老周说，他在这里站了二十七年，最爱听的就是这个声音，因为雨天的人走得慢，愿意多说两句话。
"""

CODE = '''\
from __future__ import annotations

import heapq
from collections.abc import Iterator


class Timetable:
    """Trains by departure; the next one first."""

    def __init__(self, trains: list[tuple[int, str]] | None = None) -> None:
        self._heap = list(trains or [])
        heapq.heapify(self._heap)

    def add(self, minute: int, line: str) -> None:
        if not 0 <= minute < 24 * 60:
            raise ValueError(f"minute {minute} is not within one day")
        heapq.heappush(self._heap, (minute, line))

    def __iter__(self) -> Iterator[str]:
        while self._heap:
            minute, line = heapq.heappop(self._heap)
            yield f"{minute // 60:02d}:{minute % 60:02d}\\t{line}"


fn median(values: &mut [f64]) -> Option<f64> {
    if values.is_empty() { return None; }
    values.sort_by(|a, b| a.total_cmp(b));
    let mid = values.len() / 2;
    Some(if values.len() % 2 == 0 { (values[mid - 1] + values[mid]) / 2.0 } else { values[mid] })
}

const total = orders.filter(o => o.paid && !o.refunded).reduce((sum, o) => sum + o.price * 1.19, 0); // EUR
'''

FORMULAS = r"""
Let $f\colon \mathbb{R}^n \to \mathbb{R}$ be twice differentiable; then
\[ f(x + h) = f(x) + \nabla f(x)^\top h + \tfrac{1}{2}\, h^\top \nabla^2 f(\xi)\, h,
   \qquad \xi = x + \theta h,\ 0 < \theta < 1. \]
\begin{align}
  \int_{0}^{\infty} x^{k} e^{-\lambda x}\, \mathrm{d}x &= \frac{k!}{\lambda^{k+1}},
  & \sum_{i=1}^{n} i^2 &= \frac{n(n+1)(2n+1)}{6}, \\
  \lim_{n \to \infty} \left(1 + \frac{z}{n}\right)^{n} &= e^{z}, & \Pr[|X - \mu| \ge t] &\le \frac{\sigma^2}{t^2}.
\end{align}
∀ε > 0 ∃δ > 0: |x − a| < δ ⇒ |f(x) − f(a)| < ε;  A ∪ (B ∩ C) = (A ∪ B) ∩ (A ∪ C);  2.998×10⁸ m·s⁻¹
H₂SO₄ + 2 NaOH → Na₂SO₄ + 2 H₂O
"""

PROSE: dict[str, str] = {"english": ENGLISH, "chinese": CHINESE, "code": CODE, "formulas": FORMULAS}
"""The four kinds of text whose fertility is measured."""

HARD: dict[str, str] = {
    "empty": "",
    "one space": " ",
    "spaces": "   a  b   c    \u00a0 \u3000 \u2003x   ",
    "newlines": "one\ntwo\r\nthree\rfour\n\n\n  five \n\t\n\x0b\x0c\x85\u2028\u2029six",
    "tabs": "\tif x:\n\t\treturn\t1\t\n\t\t\t",
    "contractions": "I'll we've THEY'RE it's ʼn 'S 'ſ can't’ve I'M",
    "digits": "7 42 365 1024 31415 271828 1234567890 ١٢٣٤ ④⑤ ½",
    "emoji": "😀👍🏽👩‍👩‍👧‍👦🏴󠁧󠁢󠁥󠁮󠁧󠁿🇩🇪🇯🇵 ❤️☝🏿 1️⃣",
    "combining marks": "e\u0301 é n\u0303 Z\u0351\u036b\u0343 \u0644\u064e\u0651 \u1112\u1161\u11ab 한",
    "scripts": "Ελλάδα Россия ישראל العربية हिन्दी தமிழ் ไทย မြန်မာ ქართული አማርኛ ខ្មែរ 日本語カタカナ 한국어 𐍈𝔘𠜎",
    "right to left": "abc \u202eאבג\u202c 123 \u200fعربي\u200e xyz",
    "control characters": "\x00\x01\x1f\x7f\x80\x9f\ufeff\u200b\u00ad",
    "last code points": "\ue000\ufdd0\uffff\U0010fffd\U0010ffff\ufffd",
    "json": '{"a": [1, -2.5e10, null, "\\u00e9\\n"], "b": {"c": true}}',
    "markup": '<p class="x">&amp;<br/></p> [link](https://example.org/a?b=c&d=%20#e) **bold** `code` <|not_a_token|>',
    "long word": "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft" * 4,
    "one letter": "a" * 2_000,
    "one character": "好" * 500,
    "code": CODE,
}
"""Texts at which tokenizers break, by what is hard about them."""


def every_character() -> str:
    """Return every character that this Python's Unicode version knows, in order; about 300,000.

    Later versions leave the normal forms of these characters alone, so a comparison of normal forms stays valid.
    """
    return "".join(
        character
        for character in map(chr, range(sys.maxunicode + 1))
        if unicodedata.category(character) not in ("Cn", "Cs")
    )


def covered(text: str, tokenizer: Tokenizer) -> str:
    """Leave out the characters with a byte that the vocabulary has no token for; their encoding is refused."""
    missing = tokenizer.parts.vocabulary.missing_bytes
    if not missing:
        return text
    return "".join(character for character in text if not set(character.encode()) & set(missing))


def hard(tokenizer: Tokenizer) -> dict[str, str]:
    """Return the hard texts as far as the vocabulary covers them."""
    return {name: covered(text, tokenizer) for name, text in HARD.items()}


def prose(tokenizer: Tokenizer) -> dict[str, str]:
    """Return the four kinds of text as far as the vocabulary covers them."""
    return {name: covered(text, tokenizer) for name, text in PROSE.items()}
