"""Coloured tokens in notebooks: all of the text, nothing that runs, legible on any background."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from itertools import product
from typing import Any, get_args

import numpy as np
import pytest

from tests.support.paths import ROOT
from tokenizer_core import EncodedChat, Tokenizer, Unit, token_html
from tokenizer_core.token_html import FILM, FILMS, GREY, MOST_CHARACTERS, MOST_TOKENS, shown_tokens

BASE = Tokenizer.open(ROOT / "artifacts" / "base")
TEXT = "naïve 東京 🙂👍🏽 e\u0301 tab\tend\n"
HOSTILE = {
    "markup": "<script>alert(1)</script><img src=x onerror=alert(1)>\"' & </bdi></div></span>",
    "direction": "a\u202eb\u2066c\u200f d\u2069",
    "controls": "\x00\x01\x1b[31m\x7f\u0085\u2028",
    "marks": "a" + "\u0301" * 1_000_000,
    "one long token": "=" * 1_000_000,
}


class Reader(HTMLParser):
    """Reads what a page would show: elements, attributes, text, and whether every element is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.attributes.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "small" not in self.open:
            self.text += data


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    assert {tag for tag, _ in reader.attributes} <= {"div", "span", "bdi", "p", "small", "table", "tr", "th", "td"}
    assert {name for _, attributes in reader.attributes for name in attributes} <= {"style", "title"}
    return reader


def tips(reader: Reader) -> list[str]:
    return [str(attributes["title"]) for tag, attributes in reader.attributes if tag == "span"]


def chat(content: str, role: str = "user") -> EncodedChat:
    messages = [{"role": role, "content": content}, {"role": "assistant", "content": "Yes."}]
    return BASE.encode_chat(messages)


@pytest.mark.parametrize("unit", get_args(Unit))
def test_every_token_is_there_once_with_its_id_and_span_and_all_of_the_text(unit: Unit) -> None:
    found = BASE.offsets(TEXT, unit)
    reader = read(found._repr_html_())
    spans = zip(found.ids.tolist(), found.spans.tolist(), strict=True)
    names = {"byte": "bytes", "char": "characters", "utf16": "UTF-16 units"}
    assert tips(reader) == [f"id {id}, {names[unit]} {start} to {end}" for id, (start, end) in spans]
    shown = reader.text.removeprefix(f"{len(found.ids)} tokens").replace("↵", "")
    assert re.sub(r"\[(.*?) +\]", r"\1", shown) == TEXT.replace("\t", "\\t")


def test_the_tokens_of_one_character_stand_behind_it_in_brackets() -> None:
    ids = BASE.encode("\U0001fae0").tolist()
    assert len(ids) > 1
    html = BASE.offsets("\U0001fae0", "byte")._repr_html_()
    assert "[<bdi>\U0001fae0</bdi> " in html
    assert re.findall(r"<small>(\d+)</small>", html) == [str(id) for id in ids]


def test_spans_of_every_unit_show_the_same() -> None:
    shown = {
        re.sub(r'title="[^"]*"', "", BASE.offsets(TEXT * 50, unit)._repr_html_()) for unit in ("byte", "char", "utf16")
    }
    assert len(shown) == 1


def test_text_that_no_token_covers_is_shown_without_a_colour() -> None:
    html = shown_tokens("a b", np.array([7, 8], np.uint32), np.array([[0, 1], [2, 3]], np.uint32))
    assert "</span><bdi> </bdi><span" in html


def test_a_token_of_no_text_is_shown_by_its_id() -> None:
    html = shown_tokens("a", np.array([101, 7], np.uint32), np.array([[0, 0], [0, 1]], np.uint32))
    assert "<small>101</small></span><span" in html
    assert "[" not in html


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_text_and_bounded(name: str) -> None:
    text = HOSTILE[name]
    found, many = BASE.offsets(text, special_tokens="text"), chat(text)
    for html in (found._repr_html_(), many._repr_html_()):
        reader = read(html)
        assert len(html) < MOST_TOKENS * (MOST_CHARACTERS + 400)
        assert all(c.isprintable() or c == "\n" for c in reader.text)
    if name == "markup":
        assert text in read(found._repr_html_()).text


def test_a_hostile_role_is_text_and_roles_are_bounded() -> None:
    tokenizer = BASE.with_template("{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}")
    messages = [{"role": f"<b>{at}{'x' * 5000}", "content": "hi"} for at in range(100)]
    html = tokenizer.encode_chat(messages)._repr_html_()
    assert "<b>" not in html
    assert len(read(html).text) < 200_000


def test_a_chat_tells_the_author_of_each_token_and_what_is_trained_on() -> None:
    encoded = chat("Is it 2?")
    html = encoded._repr_html_()
    told = [tip for tip in tips(read(html)) if tip]
    assert len(told) == len(encoded.ids)
    expected = ["template" if at < 0 else f"{encoded.rendered.roles[at]}, message {at}" for at in encoded.message_index]
    assert [tip.rpartition(", by ")[2] for tip in told] == expected
    # One more of each is in the legend.
    assert html.count("text-decoration:underline") == int(encoded.assistant_mask.sum()) + 1
    assert html.count("outline:1px solid") == int(encoded.control.sum()) + 1


def test_a_long_text_shows_its_first_tokens_and_says_so() -> None:
    found = BASE.offsets("The quick brown fox. " * 50_000)
    reader = read(found._repr_html_())
    assert len(tips(reader)) == MOST_TOKENS
    assert f"The first {MOST_TOKENS:,} of {len(found.ids):,} tokens." in reader.text


def test_a_tokenizer_shows_its_facts_and_a_sample() -> None:
    text = read(BASE._repr_html_()).text
    for word in ("base", BASE.hash, "32,000", "Tokenization turns", "naïve"):
        assert word in text


def test_a_tokenizer_without_ids_for_the_sample_shows_its_facts(tmp_path: Any) -> None:
    written = json.loads((ROOT / "artifacts" / "base" / "tokenizer.json").read_text(encoding="utf-8"))
    written["model"] = {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "[UNK]"}
    written |= {"added_tokens": [], "pre_tokenizer": {"type": "Whitespace"}, "decoder": None, "post_processor": None}
    (tmp_path / "tokenizer.json").write_text(json.dumps(written), encoding="utf-8")
    text = read(Tokenizer.from_hf(tmp_path / "tokenizer.json")._repr_html_()).text
    assert "special tokens" in text
    assert "Tokenization" not in text


def luminance(color: tuple[float, ...]) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (each / 255 for each in color)]
    return float(np.dot((0.2126, 0.7152, 0.0722), linear))


@pytest.mark.parametrize(("film", "page"), [*product((*FILMS, GREY), ("light", "dark"))])
def test_text_keeps_its_contrast_on_every_colour_of_a_light_and_a_dark_page(film: str, page: str) -> None:
    # The grounds and the texts of JupyterLab's two themes.
    ground, text = ((255.0,) * 3, (33.0,) * 3) if page == "light" else ((17.0,) * 3, (255.0,) * 3)
    mixed = tuple(FILM * float(c) + (1 - FILM) * g for c, g in zip(film.split(","), ground, strict=True))
    light, dark = sorted((luminance(mixed), luminance(text)), reverse=True)
    assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_the_page_alone_decides_the_colour_of_the_text() -> None:
    html = BASE._repr_html_() + chat("hi")._repr_html_()
    assert not re.search(r"[;\"]color:", html)
    assert token_html.GREY in html
