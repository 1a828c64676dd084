"""The view of tokens, as a person uses it: what is typed is shown in tokens, whatever is typed."""

from __future__ import annotations

import json
import re
import time

import pytest
from playwright.sync_api import Page, Route, expect

from tests.service.playground.conftest import OpenPage
from tests.support.paths import ROOT
from tests.support.server import Server
from tokenizer_core import Tokenizer

BASE = Tokenizer.open(ROOT / "artifacts" / "base")


def shown(page: Page) -> list[str]:
    """Return the texts of the tokens that are drawn."""
    return page.locator("#token-list .token").all_inner_texts()


def tokens_are(page: Page, count: int) -> None:
    expect(page.locator("#numbers dd").first).to_have_text(f"{count:,}")


def test_what_is_typed_is_shown_in_tokens(server: Server, open_page: OpenPage) -> None:
    page = open_page(server.url)
    page.locator("#text").fill("")
    page.locator("#text").press_sequentially("Hello, world")
    tokens_are(page, 3)
    assert shown(page) == ["Hello", ",", "␣world"]
    assert page.locator("#ids").input_value() == "13692 11 6548"


def test_pointing_at_a_token_tells_its_id_bytes_span_and_rank(server: Server, open_page: OpenPage) -> None:
    page = open_page(server.url)
    page.locator("#text").fill("Hello, world")
    tokens_are(page, 3)
    page.locator(".token").nth(2).hover()
    detail = page.locator("#token-detail")
    expect(detail).to_contain_text("id 6548")
    expect(detail).to_contain_text("span 6 to 12")
    expect(detail).to_contain_text("bytes 20 77 6F 72 6C 64")
    rank = BASE.merges.index((b" wor", b"ld")) if (b" wor", b"ld") in BASE.merges else None
    expect(detail).to_contain_text(re.compile(r"rank [\d,]+" if rank is None else f"rank {rank:,}"))


def test_half_characters_are_byte_chips_and_the_whole_character_is_bracketed(
    server: Server, open_page: OpenPage
) -> None:
    page = open_page(server.url)
    page.locator("#text").fill("\U0001fae0")
    tokens_are(page, len(BASE.encode("\U0001fae0")))
    assert "".join(page.locator(".byte").all_inner_texts()) == "\U0001fae0".encode().hex().upper()
    assert page.locator(".half.closes .whole").all_inner_texts() == ["\U0001fae0"]


@pytest.mark.parametrize(("label", "count"), [("Ordinary text", None), ("The token itself", 1)])
def test_the_meanings_of_a_reserved_literal_are_one_click_away(
    server: Server, open_page: OpenPage, label: str, count: int | None
) -> None:
    page = open_page(server.url, refusals=True)
    page.locator("#text").fill("<|im_end|>")
    expect(page.locator("#literal")).to_contain_text("What does it mean here?")
    page.get_by_role("button", name=label).click()
    tokens_are(page, count or len(BASE.encode("<|im_end|>", special_tokens="text")))
    expect(page.locator(".token.special")).to_have_count(count or 0)


def test_pasted_ids_are_decoded(server: Server, open_page: OpenPage) -> None:
    page = open_page(server.url)
    page.locator("#ids-part summary").click()
    page.locator("#ids").fill("[13692, 11, 6548]")
    page.locator("#decode").click()
    expect(page.locator("#text")).to_have_value("Hello, world")
    tokens_are(page, 3)


def test_ids_are_copied_in_one_click(server: Server, open_page: OpenPage) -> None:
    page = open_page(server.url, permissions=["clipboard-read", "clipboard-write"])
    page.locator("#text").fill("Hello, world")
    tokens_are(page, 3)
    page.locator("#ids-part summary").click()
    page.locator("#copy-ids").click()
    expect(page.locator("#copied")).to_have_text("Copied")
    assert json.loads(page.evaluate("navigator.clipboard.readText()")) == [13692, 11, 6548]


def test_ids_are_copied_where_the_browser_gives_no_clipboard(server: Server, open_page: OpenPage) -> None:
    """As over http from another machine, where a page is no secure one."""
    page = open_page(server.url, permissions=["clipboard-read", "clipboard-write"])
    page.locator("#text").fill("Hello, world")
    tokens_are(page, 3)
    page.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined, configurable: true})")
    page.locator("#copy-ids").click()
    expect(page.locator("#copied")).to_have_text("Copied")
    expect(page.locator("#copy-ids")).to_be_focused()
    page.evaluate("delete navigator.clipboard")
    assert json.loads(page.evaluate("navigator.clipboard.readText()")) == [13692, 11, 6548]


HOSTILE = {
    "markup": "<img src=x onerror=\"document.title='run'\"><script>document.title='run'</script>",
    "direction": "a\u202eb\u2066c\u200f d\u2069",
    "controls": "\x01\x1b[31m\x7f\u0085",
    "marks": "a" + "\u0301" * 1000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_shown_as_text(server: Server, open_page: OpenPage, name: str) -> None:
    text = HOSTILE[name]
    page = open_page(server.url)
    page.evaluate(SET_TEXT, text)
    tokens_are(page, len(BASE.encode(text, special_tokens="text")))
    assert page.title() == "tokd"
    assert page.locator("#token-list img, #token-list script").count() == 0
    if name == "markup":
        assert "".join(shown(page)).replace("␣", " ") == text
    if name == "direction":
        assert "U+202E" in page.locator("#token-list").inner_text()
    assert page.locator("#token-list").bounding_box()["height"] < 700  # type: ignore[index]


SET_TEXT = """text => {
  const field = document.getElementById('text');
  field.value = text;
  field.dispatchEvent(new Event('input'));
}"""


def test_a_lone_surrogate_is_refused_with_its_place(server: Server, open_page: OpenPage) -> None:
    page = open_page(server.url, refusals=True)
    page.evaluate(
        """() => {
          const field = document.getElementById('text');
          field.value = 'a\\ud800b';
          field.dispatchEvent(new Event('input'));
        }"""
    )
    expect(page.locator("#tokens-error")).to_contain_text("(text)")


@pytest.mark.parametrize("is_pasted", [True, False], ids=["pasted", "set by script"])
def test_a_million_combining_marks_are_all_counted_and_stay_usable(
    server: Server, open_page: OpenPage, is_pasted: bool
) -> None:
    text = "a" + "\u0301" * 1_000_000
    page = open_page(server.url)
    page.locator("#text").fill("")
    tokens_are(page, 0)
    if is_pasted:
        page.locator("#text").focus()
        page.keyboard.insert_text(text)
    else:
        page.evaluate(SET_TEXT, text)
    expect(page.locator("#numbers dd").first).to_have_text(f"{len(BASE.encode(text)):,}")
    expect(page.locator("#text + [role=status]")).to_contain_text("left out of this field")
    assert page.locator("#token-list .token").count() < 3_000
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.evaluate(SET_TEXT, "Hello, world")
    tokens_are(page, 3)


def test_a_late_answer_is_dropped(server: Server, open_page: OpenPage) -> None:
    page = open_page(server.url)
    tokens_are(page, len(BASE.encode(page.locator("#text").input_value())))
    held: list[Route] = []

    def hold(route: Route) -> None:
        if route.request.post_data_json["text"] == "slow":
            held.append(route)
        else:
            route.continue_()

    page.route("**/offsets", hold)
    page.locator("#text").fill("slow")
    page.wait_for_function("() => true")
    page.locator("#text").fill("Hello, world")
    for route in held:
        route.continue_()
    tokens_are(page, 3)
    page.wait_for_timeout(300)
    assert shown(page) == ["Hello", ",", "␣world"]


def test_a_megabyte_stays_usable_because_only_what_is_seen_is_drawn(server: Server, open_page: OpenPage) -> None:
    text = "The quick brown fox. " * 50_000
    page = open_page(server.url)
    page.evaluate(SET_TEXT, text)
    tokens_are(page, len(BASE.encode(text)))
    assert 0 < page.locator("#token-list .token").count() < 3_000
    page.locator("#token-list").evaluate("list => list.scrollTo(0, list.scrollHeight)")
    expect(page.locator("#token-list .block").last.locator(".token").first).to_be_attached()
    page.locator("#text").fill("Hello, world")
    tokens_are(page, 3)


def test_typing_has_one_request_under_way_and_drops_late_answers(server: Server, open_page: OpenPage) -> None:
    page = open_page(server.url)
    page.locator("#text").fill("")
    tokens_are(page, 0)
    under_way = {"now": 0, "most": 0, "all": 0}

    def began(request: object) -> None:
        under_way["now"] += 1
        under_way["all"] += 1
        under_way["most"] = max(under_way["most"], under_way["now"])

    def ended(request: object) -> None:
        under_way["now"] -= 1

    page.on("request", began)
    page.on("requestfinished", ended)
    text = "the quick brown fox " * 50
    page.evaluate(
        """async text => {
          const field = document.getElementById('text');
          for (let at = 1; at <= text.length; at++) {
            field.value = text.slice(0, at); field.dispatchEvent(new Event('input'));
            if (at % 10 === 0) await new Promise(done => setTimeout(done, 1));
          }
        }""",
        text,
    )
    tokens_are(page, len(BASE.encode(text)))
    assert under_way["most"] == 1
    assert 1 < under_way["all"] < len(text)


def test_ten_thousand_characters_are_shown_at_once(server: Server, open_page: OpenPage) -> None:
    page = open_page(server.url)
    text = "The quick brown fox jumps over it. " * 286
    page.evaluate(SET_TEXT, text)
    count = len(BASE.encode(text))
    tokens_are(page, count)
    # The least of several, because other tests use the machine too.
    least = min(page.evaluate(TIMED, text + "x" * more) for more in range(1, 16))
    assert least < 50


TIMED = """async text => {
  await new Promise(done => setTimeout(done, 100));
  const field = document.getElementById('text');
  const drawn = new Promise(done => {
    const watch = new MutationObserver(() => { watch.disconnect(); done(); });
    watch.observe(document.getElementById('token-list'), {childList: true});
  });
  const start = performance.now();
  field.value = text; field.dispatchEvent(new Event('input'));
  await drawn;
  return performance.now() - start;
}"""


def test_the_state_is_in_the_fragment_which_no_server_sees(server: Server, open_page: OpenPage) -> None:
    page = open_page(server.url)
    page.locator("#text").fill("a secret of mine")
    page.locator("#tokenizer").select_option(label="framed")
    expect(page).to_have_url(re.compile("#.*(secret.*tokenizer|tokenizer.*secret)"))
    again = open_page(page.url)
    expect(again.locator("#text")).to_have_value("a secret of mine")
    expect(again.locator("#tokenizer option:checked")).to_have_text("framed")


def test_two_tabs_do_not_disturb_each_other(server: Server, open_page: OpenPage) -> None:
    first = open_page(server.url)
    second = first.context.new_page()
    second.goto(server.url)
    first.locator("#text").fill("Hello, world")
    second.locator("#text").fill("one")
    tokens_are(first, 3)
    tokens_are(second, 1)


def test_the_page_loads_within_a_tenth_of_a_second(server: Server) -> None:
    durations = []
    for _ in range(5):
        started = time.perf_counter()
        assert server.client.get("/").status_code == 200
        durations.append(time.perf_counter() - started)
    assert min(durations) < 0.1
