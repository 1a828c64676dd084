"""The other views of the page, each used as a person would."""

from __future__ import annotations

import re
import tarfile
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, Route, expect

from service.auth.keys import entry, new_key
from service.routes.playground import FOLDER
from tests.service.playground.conftest import OpenPage
from tests.support.paths import ROOT
from tests.support.server import RunServer, Server

VIEWS = ("tokens", "compare", "merges", "chat", "train", "audit")
CORPUS = "low lower lowest newer newest wider widest "


def test_tokenizers_stand_beside_each_other_with_their_differences_marked(server: Server, open_page: OpenPage) -> None:
    page = open_page(f"{server.url}/#view=compare")
    expect(page.locator("#compare-columns article")).to_have_count(3)
    page.locator("#compare-text").fill("understanding")
    columns = page.locator("#compare-columns article")
    expect(columns.first.locator(".differs").first).to_be_visible()
    expect(page.locator("#fertility .group")).to_have_count(20)
    page.get_by_role("checkbox", name="bare").uncheck()
    page.get_by_role("checkbox", name="framed").uncheck()
    expect(columns).to_have_count(1)
    expect(page.locator("#compare-columns .differs")).to_have_count(0)


def test_merges_are_stepped_through_forwards_and_backwards(server: Server, open_page: OpenPage) -> None:
    page = open_page(f"{server.url}/#view=merges")
    page.get_by_role("button", name="hug pug pun bun hugs").click()
    expect(page.locator("#pieces button")).to_have_count(5)
    page.get_by_role("button", name="lower").first.click()
    expect(page.locator("#pieces button")).to_have_count(1)
    symbols = page.locator("#symbols bdi")
    assert symbols.all_inner_texts() == list("lower")
    page.get_by_role("button", name="Next").click()
    expect(page.locator("#step-told")).to_contain_text("rank")
    expect(symbols).to_have_count(4)
    page.get_by_role("button", name="Last").click()
    assert symbols.all_inner_texts() == ["lower"]
    page.get_by_role("button", name="Back").click()
    expect(symbols).to_have_count(2)


def test_a_chat_shows_who_wrote_what_and_what_is_trained_on(server: Server, open_page: OpenPage) -> None:
    page = open_page(f"{server.url}/#view=chat")
    expect(page.locator("#rendered .author-assistant").last).to_have_text("A piece of text with a number.")
    expect(page.locator("#rendered .literal")).to_have_text("<|im_end|>")
    page.get_by_label("assistant mask").check()
    expect(page.locator("#rendered .masked").first).to_contain_text("A piece of text")
    page.get_by_label("labels").check()
    expect(page.locator("#rendered .labelled").last).to_contain_text("<|im_end|>")
    page.get_by_label("generation prompt").check()
    expect(page.locator("#rendered")).to_contain_text(re.compile("assistant↵\\s*$"))
    page.get_by_label("Content of message 2").fill("<b>bold</b>")
    expect(page.locator("#rendered")).to_contain_text("<b>bold</b>")
    page.get_by_text("The same as code").click()
    expect(page.locator("#chat-code")).to_contain_text("curl -s")
    expect(page.locator("#chat-code")).to_contain_text("client.encode_chat(")


def test_a_job_is_submitted_watched_compared_and_downloaded(
    server: Server, open_page: OpenPage, tmp_path: Path
) -> None:
    page = open_page(f"{server.url}/#view=train")
    page.locator("#corpus").fill(CORPUS * 20)
    page.locator("#vocab-size").fill("262")
    page.get_by_role("button", name="Train", exact=True).click()
    expect(page.locator("#job-state")).to_contain_text("succeeded")
    expect(page.locator("#job-result .token")).to_have_count(6)
    expect(page.locator("#job-chart figcaption")).to_contain_text("tokens a byte, by merges: ")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    download.value.save_as(tmp_path / "mine.tar.gz")
    with tarfile.open(tmp_path / "mine.tar.gz") as archive:
        assert any(name.endswith("manifest.json") for name in archive.getnames())
    page.get_by_role("button", name="Compare with the chosen tokenizer").click()
    expect(page.locator("#compare-columns article")).to_have_count(2)


def test_files_are_chosen_or_dropped_as_a_corpus(server: Server, open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page(f"{server.url}/#view=train")
    for name in ("one.txt", "two.txt"):
        (tmp_path / name).write_text(f"text of {name}", "utf-8")
    page.locator("#corpus-files").set_input_files([tmp_path / "one.txt", tmp_path / "two.txt"])
    expect(page.locator("#corpus")).to_have_value("text of one.txt\ntext of two.txt")
    dropped = page.evaluate_handle(
        """text => {
          const data = new DataTransfer();
          data.items.add(new File([text], "marks.txt"));
          return data;
        }""",
        "a" + "\u0301" * 1_000_000,
    )
    page.dispatch_event("#corpus", "drop", {"dataTransfer": dropped})
    expect(page.locator("#corpus + [role=status]")).to_contain_text("left out of this field")


def fill_corpus(page: Page, words: int, tokens: int) -> None:
    page.evaluate(
        """words_wanted => {
          const words = Array.from({length: words_wanted}, (_, at) => (at * 2654435761 % 4294967296).toString(36));
          document.getElementById('corpus').value = words.join(' ');
        }""",
        words,
    )
    page.locator("#vocab-size").fill(str(tokens))


def test_a_running_job_is_cancelled(server: Server, open_page: OpenPage) -> None:
    page = open_page(f"{server.url}/#view=train")
    fill_corpus(page, 300_000, 60_000)
    page.get_by_role("button", name="Train", exact=True).click()
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#job-state")).to_contain_text("cancelled")


@pytest.mark.parametrize("model", ["wordpiece", "word", "character"])
def test_other_models_are_trained_and_their_newest_tokens_shown(
    server: Server, open_page: OpenPage, model: str
) -> None:
    page = open_page(f"{server.url}/#view=train")
    page.locator("#corpus").fill(CORPUS * 20)
    page.locator("#model").select_option(model)
    page.get_by_role("button", name="Train", exact=True).click()
    expect(page.locator("#job-state")).to_contain_text("succeeded")
    expect(page.locator("#job-result .token").first).to_be_visible()
    expect(page.locator("#job-result")).to_contain_text("tokens a byte of this corpus")


def test_merging_is_watched_live(server: Server, open_page: OpenPage) -> None:
    page = open_page(f"{server.url}/#view=train")
    fill_corpus(page, 900_000, 200_000)
    # What is seen while the job runs is noted down: it may be over before a driver looks.
    page.evaluate(
        """() => {
          window.seen = [];
          new MutationObserver(() => window.seen.push(document.getElementById('job').innerText))
            .observe(document.getElementById('job'), {subtree: true, childList: true, characterData: true});
        }"""
    )
    page.get_by_role("button", name="Train", exact=True).click()
    expect(page.locator("#job-state")).to_contain_text("succeeded")
    live = [text for text in page.evaluate("window.seen") if "merging" in text]
    assert any(re.search(r"[\d,.]+ merges a second", text) for text in live)
    assert any(re.search(r"newest: .+", text) for text in live)
    expect(page.locator("#job-result")).to_contain_text("The newest tokens")
    expect(page.locator("#job-result")).not_to_contain_text("null")
    expect(page.locator("#job-chart figcaption")).to_contain_text(re.compile(r"tokens a byte, by merges: 1 to 0\.\d+"))


def test_an_audit_shows_its_points_with_evidence(server: Server, open_page: OpenPage) -> None:
    page = open_page(f"{server.url}/#view=audit")
    page.locator("#tokenizer").select_option(label="bare")
    page.locator("#run-audit").click()
    expect(page.locator("#points li").nth(10)).to_be_visible()
    page.locator("#points summary").first.click()
    expect(page.locator("#points pre").first).to_be_visible()


def test_a_file_is_audited_where_the_server_allows_it(
    run_server: RunServer, open_page: OpenPage, server: Server, tmp_path: Path
) -> None:
    expect(open_page(f"{server.url}/#view=audit").locator("#audit-upload")).to_be_hidden()
    with run_server(check_uploads=True, access_log=False) as allowing:
        page = open_page(f"{allowing.url}/#view=audit", refusals=True)
        page.locator("#audit-file").set_input_files(ROOT / "artifacts" / "base" / "tokenizer.json")
        expect(page.locator("#points li").nth(10)).to_be_visible()
        expect(page.locator("#audit-verdict")).to_contain_text("uploaded: ")
        wrong = tmp_path / "tokenizer.json"
        wrong.write_text("<script>document.title = 'run'</script>", "utf-8")
        page.locator("#audit-file").set_input_files(wrong)
        expect(page.locator("#audit-error")).to_contain_text("invalid_file")
        expect(page.locator("#points li")).to_have_count(0)


def test_the_models_that_the_server_trains_are_offered(server: Server, open_page: OpenPage) -> None:
    """The server's description is answered as one with more models would write it, and the job as it would be sent."""
    sent: list[dict[str, Any]] = []

    def describe(route: Route) -> None:
        document = route.fetch().json()
        document["components"]["schemas"]["TrainingSettings"]["properties"]["model"] = {
            "enum": ["bpe", "unigram", "new"]
        }
        route.fulfill(json=document)

    def submit(route: Route) -> None:
        sent.append(route.request.post_data_json["settings"])
        route.fulfill(status=422, content_type="application/problem+json", json={"code": "invalid_settings"})

    answers = {"**/openapi.json": describe, "**/train-job": submit}
    page = open_page(f"{server.url}/#view=train", refusals=True, answers=answers)
    page.locator("#corpus").fill("low lower")
    expect(page.locator("#model option")).to_have_text(["byte-level BPE", "Unigram", "new"])
    page.get_by_role("button", name="Train", exact=True).click()
    expect(page.locator("#train-error")).to_be_visible()
    page.locator("#model").select_option("unigram")
    expect(page.locator("#pattern-part")).to_be_hidden()
    page.get_by_role("button", name="Train", exact=True).click()
    page.wait_for_timeout(300)
    assert sent == [
        {"vocab_size": 512, "model": "bpe", "pattern": "cl100k_base"},
        {"vocab_size": 512, "model": "unigram"},
    ]


def test_the_page_is_used_with_the_keyboard_alone(server: Server, open_page: OpenPage) -> None:
    page = open_page(server.url)
    page.locator("#text").focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("Hello, world")
    expect(page.locator("#numbers dd").first).to_have_text("3")
    while page.evaluate("document.activeElement.id") != "token-list":
        page.keyboard.press("Tab")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    expect(page.locator("#token-detail")).to_contain_text("id 6548")
    page.locator("#tab-tokens").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#tab-compare")).to_be_focused()
    expect(page.locator("#compare")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", VIEWS)
def test_no_view_has_a_serious_finding_of_accessibility(
    server: Server, open_page: OpenPage, view: str, scheme: str
) -> None:
    # The audit's own script is put into the page, which its policy forbids to everyone else.
    page = open_page(f"{server.url}/#view={view}", color_scheme=scheme, bypass_csp=True)
    expect(page.locator("#tokenizer option").first).to_be_attached()
    page.wait_for_load_state("networkidle")
    found = Axe().run(page).response["violations"]
    assert [(each["id"], each["nodes"][0]["html"]) for each in found if each["impact"] in ("serious", "critical")] == []


def used_compare(page: Page) -> None:
    page.locator("#compare-text").fill("a \U0001fae0 b")
    expect(page.locator("#compare-columns .byte").first).to_be_visible()


def used_merges(page: Page) -> None:
    page.get_by_role("button", name="hug pug pun bun hugs").click()
    page.get_by_role("button", name="Last").click()


def used_train(page: Page) -> None:
    page.locator("#corpus").fill(CORPUS * 20)
    page.get_by_role("button", name="Train", exact=True).click()
    expect(page.get_by_role("button", name="Download")).to_be_visible()


def used_audit(page: Page) -> None:
    page.locator("#run-audit").click()
    page.locator("#points summary").nth(10).click()


USES = {"compare": used_compare, "merges": used_merges, "train": used_train, "audit": used_audit}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", USES)
def test_no_view_in_use_has_a_serious_finding_or_is_wider_than_its_window(
    server: Server, open_page: OpenPage, view: str, scheme: str
) -> None:
    window = {"width": 360, "height": 700}
    page = open_page(f"{server.url}/#view={view}", color_scheme=scheme, viewport=window, bypass_csp=True)
    page.wait_for_load_state("networkidle")
    USES[view](page)
    found = Axe().run(page).response["violations"]
    assert [(each["id"], each["nodes"][0]["html"]) for each in found if each["impact"] in ("serious", "critical")] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize("view", VIEWS)
def test_a_narrow_window_needs_no_scrolling_aside(server: Server, open_page: OpenPage, view: str) -> None:
    page = open_page(f"{server.url}/#view={view}", viewport={"width": 360, "height": 700})
    page.wait_for_load_state("networkidle")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_the_first_token_is_seen_on_a_phone_and_before_the_figures(server: Server, open_page: OpenPage) -> None:
    page = open_page(server.url, viewport={"width": 360, "height": 640})
    first = page.locator("#token-list .token").first
    expect(first).to_be_in_viewport(ratio=1)
    assert first.bounding_box()["y"] < page.locator("#numbers").bounding_box()["y"]  # type: ignore[index]
    assert "A token is" in page.locator("#tokens").inner_text()


@pytest.mark.parametrize("width", [360, 900, 1200])
def test_no_tab_moves_when_another_is_chosen(server: Server, open_page: OpenPage, width: int) -> None:
    page = open_page(server.url, viewport={"width": width, "height": 700})
    page.wait_for_load_state("networkidle")
    places = set()
    for view in VIEWS:
        page.locator(f"#tab-{view}").click()
        expect(page.locator(f"#tab-{view}")).to_have_attribute("aria-selected", "true")
        page.wait_for_load_state("networkidle")
        places.add(str([tab.bounding_box() for tab in page.locator("[role=tab]").all()]))
    assert len(places) == 1


def test_a_small_corpus_is_offered_and_can_be_trained_on(server: Server, open_page: OpenPage) -> None:
    page = open_page(f"{server.url}/#view=train")
    page.get_by_role("button", name="Take a small corpus").click()
    expect(page.locator("#corpus")).to_have_value(re.compile("^All human beings"))
    page.get_by_role("button", name="Train", exact=True).click()
    expect(page.locator("#job-result")).to_contain_text("512 tokens, ")


def test_a_server_that_comes_back_is_found_again(server: Server, open_page: OpenPage) -> None:
    page = open_page(server.url, refusals=True)
    page.context.set_offline(True)
    page.locator("#text").fill("Hello, world")
    expect(page.locator("#away")).to_be_visible()
    page.context.set_offline(False)
    expect(page.locator("#away")).to_be_hidden()
    expect(page.locator("#numbers dd").first).to_have_text("3")


def test_a_server_that_is_stopped_and_started_again_is_found_again(run_server: RunServer, open_page: OpenPage) -> None:
    with run_server(access_log=False) as first:
        page = open_page(first.url, refusals=True)
        expect(page.locator("#token-list .token").first).to_be_visible()
        port = int(first.url.rpartition(":")[2])
    page.locator("#text").fill("Hello, world")
    expect(page.locator("#away")).to_be_visible()
    with run_server(access_log=False, port=port):
        expect(page.locator("#away")).to_be_hidden()
        expect(page.locator("#numbers dd").first).not_to_have_text("0")
        page.locator("#text").fill("")
        expect(page.locator("#numbers dd").first).to_have_text("0")


@pytest.mark.parametrize("view", VIEWS)
def test_every_control_of_a_view_is_reached_with_the_keyboard(server: Server, open_page: OpenPage, view: str) -> None:
    page = open_page(f"{server.url}/#view={view}")
    page.wait_for_load_state("networkidle")
    page.evaluate("document.activeElement.blur()")
    missed = page.evaluate(CONTROLS)
    assert len(missed) > 3
    for _ in range(3 * len(missed)):
        page.keyboard.press("Tab")
        missed = page.evaluate(LEFT)
        if not missed:
            break
    assert missed == []


CONTROLS = """() => {
  const seen = [...document.querySelectorAll("button, input, select, textarea, summary, a[href]")];
  window.left = new Set(seen.filter((each) => each.checkVisibility() && !each.disabled && each.tabIndex >= 0));
  return [...window.left].map((each) => each.outerHTML);
}"""
LEFT = """() => {
  // What got a focus of its own, such as one token of a list, stands for the list.
  window.left.delete(document.activeElement);
  return [...window.left].filter((each) => each.checkVisibility()).map((each) => each.outerHTML);
}"""


def test_a_key_is_asked_for_and_kept_in_the_tab(run_server: RunServer, open_page: OpenPage, tmp_path: Path) -> None:
    key = new_key()
    keys = tmp_path / "keys.toml"
    keys.write_text(entry("reader", ("encode",), key), "utf-8")
    with run_server(keys=str(keys), access_log=False) as server:
        page = open_page(server.url, refusals=True)
        page.locator("#key").fill("wrong")
        page.get_by_role("button", name="Use it in this tab").click()
        expect(page.locator("#key-wrong")).to_contain_text("not known")
        page.locator("#key").fill(key)
        page.get_by_role("button", name="Use it in this tab").click()
        expect(page.locator("#token-list .token").first).to_be_visible()
        page.reload()
        expect(page.locator("#token-list .token").first).to_be_visible()
        expect(page.locator("#key-form")).to_be_hidden()


def test_the_whole_page_weighs_under_250_kb_and_no_script_is_long() -> None:
    files = {path.name: path.read_bytes() for path in FOLDER.iterdir()}
    assert sum(map(len, files.values())) < 250_000
    assert {name: data.count(b"\n") for name, data in files.items() if data.count(b"\n") >= 400} == {}


def test_the_types_of_the_client_name_its_methods() -> None:
    script, types = ((FOLDER / f"client.{suffix}").read_text("utf-8") for suffix in ("js", "d.ts"))
    methods = re.findall(r"^  (?:async )?\*?(\w+)\([^;]*\{", script.partition("export class Tokd {")[2], re.MULTILINE)
    declared = re.findall(r"^  (\w+)\(", types.partition("export class Tokd {")[2], re.MULTILINE)
    assert len(declared) > 15
    assert sorted({*methods} - {"if", "for", "try", "while"}) == sorted(declared)
