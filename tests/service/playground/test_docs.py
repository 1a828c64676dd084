"""The documentation in a browser: it is filtered, and its examples run."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.service.playground.conftest import OpenPage
from tests.support.server import Server


def test_the_filter_leaves_the_routes_that_have_all_words(server: Server, open_page: OpenPage) -> None:
    page = open_page(f"{server.url}/docs")
    every = page.locator("section:visible").count()
    page.get_by_label("Filter").fill("lattice merges")
    expect(page.locator("section:visible")).to_have_count(1)
    expect(page.locator("section:visible h2")).to_have_text("POST /explain")
    expect(page.locator("nav a:visible")).to_have_text(["POST /explain", "Errors"])
    page.get_by_label("Filter").fill("")
    expect(page.locator("section:visible")).to_have_count(every)


def test_an_example_is_sent_and_its_answer_shown(server: Server, open_page: OpenPage) -> None:
    page = open_page(f"{server.url}/docs")
    example = page.locator("form[data-path=explain]").first
    example.get_by_role("button", name="Send").click()
    expect(example.locator("output")).to_contain_text('"kind":"merges"')
