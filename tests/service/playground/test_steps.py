"""The steps of the other families, on vocabularies whose sums a reader can check."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import tokenizers
from playwright.sync_api import Page, expect
from tokenizers import models, pre_tokenizers

from tests.service.playground.conftest import OpenPage
from tests.support.server import RunServer, Server
from tokenizer_core import Tokenizer

SCORES = {"<unk>": -20.0, **dict.fromkeys("hugspnb", -5.0), "hu": -3.0, "ug": -3.0, "un": -3.0, "hug": -4.0, "gs": -7.0}
ENTRIES = ("[UNK]", "I", "work", "l", "lo", "low", "##e", "##er", "##w")


@pytest.fixture(scope="module")
def stepping(run_server: RunServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serve ``unigram`` and ``wordpiece``, which cut at white space."""
    folder = tmp_path_factory.mktemp("families")
    wordpiece = models.WordPiece({entry: id for id, entry in enumerate(ENTRIES)}, unk_token="[UNK]")
    for name, model in (("unigram", models.Unigram(list(SCORES.items()), unk_id=0)), ("wordpiece", wordpiece)):
        made = tokenizers.Tokenizer(model)
        made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        made.save(str(folder / f"{name}.json"))
        Tokenizer.from_hf(folder / f"{name}.json").save(folder / name, name=name)
    artifacts = (str(folder / "unigram"), str(folder / "wordpiece"))
    with run_server(artifacts=artifacts, access_log=False) as server:
        yield server


def told(page: Page) -> str:
    return page.locator("#step-told").inner_text()


def marked(page: Page) -> list[str]:
    """Return the cells of the row of this step."""
    return [cell for row in page.locator("tr.now").all() for cell in row.inner_text().split("\t")]


def test_the_lattice_of_a_piece_is_gone_through_place_by_place(stepping: Server, open_page: OpenPage) -> None:
    page = open_page(f"{stepping.url}/#view=merges")
    page.locator("#tokenizer").select_option(label="unigram")
    page.get_by_role("button", name="hug pug pun bun hugs").click()
    expect(page.locator("#pieces button")).to_have_text(["hug", "pug", "pun", "bun", "hugs"])
    page.locator("#pieces button").last.click()
    symbols = page.locator("#symbols bdi")
    assert symbols.all_inner_texts() == list("hugs")
    expected = (
        (["h", "u", "g", "s"], "to character 1: the best of 1, 0 before and score -5, makes -5"),
        (["hu", "g", "s"], "to character 2: the best of 2, 0 before and score -3, makes -3"),
        (["hug", "s"], "to character 3: the best of 3, 0 before and score -4, makes -4"),
        (["hug", "s"], "to character 4: the best of 2, -4 before and score -5, makes -9"),
    )
    for texts, sentence in expected:
        page.get_by_role("button", name="Next").click()
        assert (symbols.all_inner_texts(), told(page)) == (texts, sentence)
    assert marked(page) == ["best way", "3 to 4", "s", "4", "-5", "-9"]
    assert page.locator("tr.chosen").all_inner_texts() == [
        "best way\t0 to 3\thug\t11\t-4\t-4",
        "best way\t3 to 4\ts\t4\t-5\t-9",
    ]
    page.get_by_role("button", name="Back").click()
    page.get_by_role("button", name="Back").click()
    assert (symbols.all_inner_texts(), told(page)) == expected[1]


def test_the_longest_matches_of_a_word_are_gone_through(stepping: Server, open_page: OpenPage) -> None:
    page = open_page(f"{stepping.url}/#view=merges")
    page.locator("#tokenizer").select_option(label="wordpiece")
    page.get_by_role("button", name="lower").first.click()
    symbols = page.locator("#symbols bdi")
    expect(symbols).to_have_text(list("lower"))
    page.get_by_role("button", name="Next").click()
    assert (symbols.all_inner_texts(), told(page)) == (["low", "e", "r"], "low is the longest entry at character 0")
    page.get_by_role("button", name="Next").click()
    assert (symbols.all_inner_texts(), told(page)) == (["low", "##er"], "##er is the longest entry at character 3")
    assert marked(page) == ["2", "3 to 5", "##er", "7"]
    page.get_by_role("button", name="First").click()
    expect(symbols).to_have_text(list("lower"))
    page.get_by_role("button", name="I work").click()
    expect(page.locator("#pieces button")).to_have_text(["I", "work"])
    page.get_by_role("button", name="hug pug pun bun hugs").click()
    page.get_by_role("button", name="Last").click()
    expect(page.locator("#step-told")).to_have_text("no entry goes on: the whole word is unknown")


def test_unknown_text_is_marked_and_never_drawn_as_cheap(stepping: Server, open_page: OpenPage) -> None:
    page = open_page(f"{stepping.url}/#view=compare")
    page.locator("#compare-text").fill("low สวัสดี")
    columns = page.locator("#compare-columns article")
    expect(columns.last.locator(".token")).to_have_count(2)
    expect(columns.last.locator(".unknown")).to_have_text("สวัสดี")
    expect(columns.last.locator(".hint")).to_contain_text("2 tokens")
    expect(columns.last.locator(".lost")).to_have_text("60 % of the characters are unknown")
    # A number that says nothing is none to compare with.
    expect(columns.first.locator(".hint")).not_to_contain_text("more than the fewest")
    thai = page.locator("#fertility .group", has_text="thai").locator(".line")
    expect(thai.last).to_contain_text("*, ")
    expect(thai.last).to_contain_text("% unknown")
    expect(thai.last.locator(".bar")).to_have_count(0)
    expect(page.locator("#fertility .hint")).to_contain_text("say nothing")
    page.locator("#tokenizer").select_option(label="wordpiece")
    page.locator("#tab-tokens").click()
    page.locator("#text").fill("low สวัสดี")
    expect(page.locator("#numbers")).to_contain_text("of them unknown")
    # The text before may be shown still, of which more is unknown.
    expect(page.locator("#token-list .unknown")).to_have_count(1)
    expect(page.locator("#token-list .unknown")).to_have_text("สวัสดี")
