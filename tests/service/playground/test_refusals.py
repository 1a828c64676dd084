"""After a refusal nothing of what was shown before stands for what was refused, in any view."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, Route, expect

from tests.service.playground.conftest import OpenPage
from tests.support.server import Server

PROBLEM = {"code": "template_failed", "detail": "the template fails here", "path": "text"}


def refuse(route: Route) -> None:
    route.fulfill(status=422, content_type="application/problem+json", json=PROBLEM)


def test_a_reserved_literal_leaves_no_tokens_counts_or_ids(server: Server, open_page: OpenPage) -> None:
    page = open_page(server.url, refusals=True)
    page.locator("#ids-part summary").click()
    page.locator("#text").fill("Hello, world")
    expect(page.locator("#ids")).to_have_value("13692 11 6548")
    page.locator(".token").first.hover()
    expect(page.locator("#token-detail")).to_contain_text("13692")
    page.locator("#text").fill("<|im_end|>")
    expect(page.locator("#literal")).to_be_visible()
    nothing_of_tokens(page)
    page.locator("#text").fill("Hello, world")
    expect(page.locator("#copy-ids")).to_be_enabled()
    expect(page.locator("#token-list .token")).to_have_count(3)


def nothing_of_tokens(page: Page) -> None:
    expect(page.locator("#token-list .token")).to_have_count(0)
    expect(page.locator("#numbers dd")).to_have_count(0)
    expect(page.locator("#copy-ids")).to_be_disabled()
    expect(page.locator("#ids")).to_have_value("")
    expect(page.locator("#token-detail")).to_have_text("")


def nothing_of_compare(page: Page) -> None:
    expect(page.locator("#compare-columns .token")).to_have_count(0)


def nothing_of_merges(page: Page) -> None:
    expect(page.locator("#pieces button, #symbols .token, #step-table tr")).to_have_count(0)
    expect(page.locator("#step-told")).to_have_text("")


def nothing_of_chat(page: Page) -> None:
    for part in ("#rendered", "#legend", "#chat-count", "#chat-code"):
        expect(page.locator(part)).to_have_text("")


VIEWS = {
    "tokens": ("#text", "#token-list .token", "**/offsets", nothing_of_tokens),
    "compare": ("#compare-text", "#compare-columns .token", "**/offsets", nothing_of_compare),
    "merges": ("#merge-text", "#pieces button", "**/explain", nothing_of_merges),
    "chat": ("#messages textarea >> nth=1", "#rendered .author-user", "**/encode", nothing_of_chat),
}


@pytest.mark.parametrize("view", VIEWS)
def test_what_was_shown_is_gone_when_the_server_refuses(server: Server, open_page: OpenPage, view: str) -> None:
    field, shown, route, require_nothing = VIEWS[view]
    page = open_page(f"{server.url}/#view={view}", refusals=True)
    expect(page.locator(shown).first).to_be_visible()
    page.route(route, refuse)
    page.locator(field).fill("another text")
    expect(page.locator(f"#{view}-error")).to_contain_text("the template fails here (text)")
    require_nothing(page)
    page.unroute(route)
    page.locator(field).fill("a text that is taken")
    expect(page.locator(shown).first).to_be_visible()
    expect(page.locator(f"#{view}-error")).to_be_hidden()


def test_a_tokenizer_that_refuses_leaves_the_others_compared(server: Server, open_page: OpenPage) -> None:
    page = open_page(f"{server.url}/#view=compare", refusals=True)
    expect(page.locator("#compare-columns article")).to_have_count(3)
    bare = page.locator("#compare-picks input").nth(2).get_attribute("value")

    def answer(route: Route) -> None:
        if route.request.post_data_json["tokenizer"] == bare:
            refuse(route)
        else:
            route.continue_()

    page.route("**/offsets", answer)
    page.locator("#compare-text").fill("another text")
    expect(page.locator("#compare-error")).to_have_text("bare: the template fails here (text)")
    expect(page.locator("#compare-columns h3")).to_have_text(["base", "framed"])


def test_a_refused_job_does_not_show_the_one_before(server: Server, open_page: OpenPage) -> None:
    page = open_page(f"{server.url}/#view=train", refusals=True)
    page.locator("#corpus").fill("low lower lowest newer newest " * 20)
    page.locator("#vocab-size").fill("262")
    page.get_by_role("button", name="Train", exact=True).click()
    expect(page.get_by_role("button", name="Download")).to_be_visible()
    page.locator("#vocab-size").fill("1")
    page.get_by_role("button", name="Train", exact=True).click()
    expect(page.locator("#train-error")).to_be_visible()
    expect(page.locator("#job")).to_be_hidden()


def test_an_audit_that_fails_shows_no_points_of_another(server: Server, open_page: OpenPage) -> None:
    page = open_page(f"{server.url}/#view=audit", refusals=True)
    page.locator("#run-audit").click()
    expect(page.locator("#points li").nth(10)).to_be_visible()
    page.route("**/check", refuse)
    page.locator("#run-audit").click()
    expect(page.locator("#audit-error")).to_contain_text("the template fails here")
    expect(page.locator("#points li")).to_have_count(0)
    expect(page.locator("#audit-verdict")).to_have_text("")
