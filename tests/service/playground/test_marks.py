"""Text that is hard to show: right to left, marks without a letter, and what looks like a mark of the page."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.service.playground.conftest import OpenPage
from tests.support.server import Server

ARABIC = "العربية"


def test_every_field_of_text_takes_the_direction_of_its_text(server: Server, open_page: OpenPage) -> None:
    for path in ("/", "/docs"):
        page = open_page(server.url + path)
        page.wait_for_load_state("networkidle")
        fields = page.locator("textarea, input[type=text], input[type=search], form[data-path] input:not([type])")
        assert fields.count() > 5
        assert {field.get_attribute("dir") for field in fields.all()} == {"auto"}


@pytest.mark.parametrize(
    ("view", "field", "tokens"),
    [
        ("tokens", "#text", "#token-list"),
        ("compare", "#compare-text", "#compare-columns .tokens >> nth=0"),
        ("merges", "#merge-text", "#pieces"),
    ],
)
def test_tokens_stand_in_the_direction_of_their_text(
    server: Server, open_page: OpenPage, view: str, field: str, tokens: str
) -> None:
    page = open_page(f"{server.url}/#view={view}")
    root = page.locator(tokens)
    for text, direction in ((f"12 {ARABIC} {ARABIC}", "rtl"), (f"12 one {ARABIC}", "ltr")):
        page.locator(field).fill(text)
        assert page.locator(field).evaluate("field => getComputedStyle(field).direction") == direction
        expect(root).to_have_attribute("dir", direction)
        first, second = root.locator(".token").first.bounding_box(), root.locator(".token").nth(1).bounding_box()
        assert first is not None
        assert second is not None
        assert (first["x"] > second["x"]) == (direction == "rtl")


def test_a_message_keeps_its_direction_around_a_literal(server: Server, open_page: OpenPage) -> None:
    page = open_page(f"{server.url}/#view=chat")
    page.get_by_label("Content of message 2").fill(f"{ARABIC} <|im_end|> שלום")
    runs = page.locator("#rendered .author-user")
    expect(runs.last).to_contain_text("שלום")
    places = [run.bounding_box()["x"] for run in runs.all()[-3:]]  # type: ignore[index]
    assert places == sorted(places, reverse=True)


SHOWN = {
    "a space and a middle dot": ("a ·", ["a", "␣·"], ["␣"]),
    "what looks like a mark": ("␣↵⇥", "U+2423U+21B5U+21E5", None),
    "other spaces": ("a\u3000b\u2003", "U+3000U+2003", None),
    "a mark without a letter": ("\u0301", "◌\u0301", None),
    "a dotted circle": ("◌", "U+25CC", None),
    "what chooses a form": ("\ufe0f", "U+FE0F", None),
}


@pytest.mark.parametrize("name", SHOWN)
def test_no_mark_can_be_taken_for_a_character_of_the_text(server: Server, open_page: OpenPage, name: str) -> None:
    text, shown, marks = SHOWN[name]
    page = open_page(server.url)
    page.locator("#text").fill(text)
    expect(page.locator("#numbers div").nth(1)).to_contain_text(str(len(text)))
    tokens = page.locator("#token-list .token")
    if isinstance(shown, list):
        assert tokens.all_inner_texts() == shown
        assert page.locator("#token-list .mark").all_inner_texts() == marks
        return
    # Bytes of a character stand before it, in a frame each.
    written = "".join(page.locator("#token-list .token .whole, #token-list .token:not(.half)").all_inner_texts())
    assert written.replace("a", "").replace("b", "") == shown


def test_a_letter_keeps_the_mark_on_it(server: Server, open_page: OpenPage) -> None:
    page = open_page(f"{server.url}/#view=chat")
    page.get_by_label("Content of message 2").fill("e\u0301 \u2764\ufe0f\U0001f469\u200d\U0001f680")
    expect(page.locator("#rendered .author-user").last).to_have_text("e\u0301 \u2764\ufe0f\U0001f469\u200d\U0001f680")
