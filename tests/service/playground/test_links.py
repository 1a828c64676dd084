"""A link restores what a view shows, in a new tab and in one that has the page."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from playwright.sync_api import Page, expect

from tests.service.playground.conftest import OpenPage
from tests.support.server import RunServer, Server


def link(page: Page, *names: str) -> str:
    """Return the page's address when its fragment has these fields, and what was done last."""
    page.wait_for_timeout(500)
    for name in names:
        expect(page).to_have_url(re.compile(rf"[#&]{name}="))
    return page.url


def test_the_choices_of_the_view_of_tokens_are_restored(server: Server, open_page: OpenPage) -> None:
    page = open_page(server.url, refusals=True)
    page.locator("#tokenizer").select_option(label="framed")
    page.locator("#text").fill("a <|eos|> b")
    page.get_by_role("button", name="The token itself").click()
    page.locator("#framed").check()
    page.locator("#whitespace").uncheck()
    shown = page.locator("#token-list .token").all_inner_texts()
    assert shown[0] == "<|bos|>"
    again = open_page(link(page, "text", "special", "framed", "spaces", "tokenizer"))
    expect(again.locator("#token-list .token")).to_have_text(shown)
    expect(again.locator("#framed")).to_be_checked()
    expect(again.locator("#whitespace")).not_to_be_checked()


NAMES = ("constructor", "__proto__", "toString", "hasOwnProperty")
PLACES = (
    "view={0}",
    "{0}=1&view=tokens",
    "view=merges&piece={0}&step={0}&merge={0}",
    "view=merges&piece=-1&step=-1.5",
    "view=train&model={0}&pattern={0}&size={0}",
    "view=chat&chat={0}&mask={0}&labels={0}",
    'view=chat&chat=[{{"role":"{0}","content":"{0}"}}]',
    "view=compare&with={0},{0}&compare={0}&tokenizer={0}",
    "view=audit&tokenizer={0}&special={0}",
)


@pytest.mark.parametrize("place", PLACES)
def test_a_link_that_names_what_every_object_has_opens_a_view(server: Server, open_page: OpenPage, place: str) -> None:
    for name in NAMES:
        page = open_page(f"{server.url}/#{place.format(name)}")
        page.wait_for_load_state("networkidle")
        expect(page.locator("[role=tabpanel]:visible")).to_have_count(1)
        expect(page.locator("[role=tab][aria-selected=true]")).to_have_count(1)
        if "view=train" in place:
            for field, value in (("#pattern", "cl100k_base"), ("#vocab-size", "512"), ("#model", "bpe")):
                expect(page.locator(field)).to_have_value(value)


def test_a_link_holds_what_its_view_changed_and_no_more(server: Server, open_page: OpenPage) -> None:
    page = open_page(server.url)
    page.locator("#text").fill("a secret of mine")
    for view in ("chat", "merges", "train", "audit", "compare"):
        page.locator(f"#tab-{view}").click()
        page.wait_for_load_state("networkidle")
        expect(page).to_have_url(f"{server.url}/#view={view}")
    page.get_by_role("checkbox", name="bare").uncheck()
    expect(page).to_have_url(f"{server.url}/#view=compare&with=base,framed")
    # The tab itself knows the rest.
    page.reload()
    page.locator("#tab-tokens").click()
    expect(page.locator("#text")).to_have_value("a secret of mine")
    expect(page).to_have_url(f"{server.url}/#view=tokens&text=a+secret+of+mine")
    page.locator("#text").fill("")
    again = open_page(link(page, "text"))
    expect(again.locator("#numbers dd").first).to_have_text("0")
    expect(again.locator("#text")).to_have_value("")


def test_a_step_of_a_piece_is_restored(server: Server, open_page: OpenPage) -> None:
    page = open_page(f"{server.url}/#view=merges")
    page.get_by_role("button", name="I work").click()
    expect(page.locator("#pieces button")).to_have_count(2)
    page.locator("#pieces button").last.click()
    page.get_by_role("button", name="Next").click()
    page.get_by_role("button", name="Next").click()
    told = page.locator("#step-told").inner_text()
    again = open_page(link(page, "merge", "piece", "step"))
    expect(again.locator("#step-told")).to_have_text(told)
    expect(again.locator("#pieces button").last).to_have_attribute("aria-pressed", "true")


def test_a_chat_with_its_switches_is_restored(server: Server, open_page: OpenPage) -> None:
    page = open_page(f"{server.url}/#view=chat")
    page.get_by_label("Content of message 2").fill("A question of mine")
    page.get_by_label("generation prompt").check()
    page.get_by_label("labels").check()
    again = open_page(link(page, "chat", "generation", "labels"))
    expect(again.locator("#rendered .author-user").last).to_have_text("A question of mine")
    expect(again.get_by_label("generation prompt")).to_be_checked()
    expect(again.locator("#rendered .labelled").last).to_be_visible()


def test_compared_tokenizers_are_restored(server: Server, open_page: OpenPage) -> None:
    page = open_page(f"{server.url}/#view=compare")
    page.get_by_role("checkbox", name="bare").uncheck()
    page.locator("#compare-text").fill("a text of mine")
    expect(page.locator("#compare-columns article")).to_have_count(2)
    again = open_page(link(page, "compare", "with"))
    expect(again.locator("#compare-columns h3")).to_have_text(["base", "framed"])
    expect(again.locator("#compare-text")).to_have_value("a text of mine")


def test_a_job_and_its_settings_are_restored(server: Server, open_page: OpenPage) -> None:
    page = open_page(f"{server.url}/#view=train")
    page.locator("#model").select_option("wordpiece")
    page.locator("#vocab-size").fill("40")
    page.locator("#corpus").fill("low lower lowest newer newest " * 20)
    page.get_by_role("button", name="Train", exact=True).click()
    expect(page.get_by_role("button", name="Download")).to_be_visible()
    newest = page.locator("#job-result .token").all_inner_texts()
    again = open_page(link(page, "job", "model", "size"))
    expect(again.locator("#job-result .token")).to_have_text(newest)
    expect(again.locator("#job-result")).not_to_contain_text("NaN")
    expect(again.locator("#model")).to_have_value("wordpiece")
    expect(again.locator("#vocab-size")).to_have_value("40")
    expect(again.locator("#pattern-part")).to_be_hidden()


def test_a_link_is_followed_in_a_tab_that_has_the_page(server: Server, open_page: OpenPage) -> None:
    page = open_page(server.url)
    page.locator("#text").fill("what was here before")
    link(page, "text")
    page.goto(f"{server.url}/#view=tokens&text=Hello%2C+world")
    expect(page.locator("#text")).to_have_value("Hello, world")
    assert parse_qs(page.url.partition("#")[2])["text"] == ["Hello, world"]


def test_a_job_is_followed_to_its_end_by_a_page_that_saw_its_server_go(
    run_server: RunServer, open_page: OpenPage, tmp_path: Path
) -> None:
    settings = {"access_log": False, "trained": str(tmp_path)}
    with run_server(**settings) as first:
        page = open_page(f"{first.url}/#view=train", refusals=True)
        page.locator("#corpus").fill("low lower lowest newer newest " * 20)
        page.locator("#vocab-size").fill("262")
        page.get_by_role("button", name="Train", exact=True).click()
        expect(page.get_by_role("button", name="Download")).to_be_visible()
        address, port = link(page, "job"), int(first.url.rpartition(":")[2])
    page.locator("#tab-audit").click()
    page.locator("#run-audit").click()
    expect(page.locator("#away")).to_be_visible()
    page.locator("#tab-train").click()
    with run_server(**settings, port=port):
        expect(page.locator("#away")).to_be_hidden()
        again = open_page(address, refusals=True)
        expect(again.get_by_role("button", name="Download")).to_be_visible()
