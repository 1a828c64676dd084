"""The view of a chat: its messages, tools and switches, and the programs that say the same."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Route, expect

from tests.service.playground.conftest import OpenPage
from tests.support.paths import ROOT
from tests.support.server import RunServer, Server
from tests.support.thinking import CALLED, save_thinking
from tests.support.waiting import PATIENCE_SECONDS
from tokenizer_core import Tokenizer

BASE = Tokenizer.open(ROOT / "artifacts" / "base")
TOOL = {"type": "function", "function": {"name": "look_up", "description": "d", "parameters": {}}}


def test_messages_come_and_go_and_have_roles(server: Server, open_page: OpenPage) -> None:
    page = open_page(f"{server.url}/#view=chat")
    page.get_by_role("button", name="Add a message").click()
    expect(page.get_by_label("Content of message 4")).to_be_focused()
    page.keyboard.type("And then?")
    page.get_by_label("Role of message 4").select_option("user")
    expect(page.locator("#rendered .author-user").last).to_have_text("And then?")
    page.get_by_role("button", name="Remove message 1").click()
    expect(page.locator("#rendered .author-system")).to_have_count(0)
    expect(page.locator("#messages .message")).to_have_count(3)


def test_tools_are_given_to_the_template_and_shown_as_theirs(server: Server, open_page: OpenPage) -> None:
    page = open_page(f"{server.url}/#view=chat", refusals=True)
    page.locator("#tokenizer").select_option(label="framed")
    page.get_by_text("Tools and template arguments").click()
    page.locator("#tools").fill(json.dumps([TOOL]))
    expect(page.locator("#rendered .author-other", has_text="look_up")).to_be_visible()
    expect(page.locator("#legend")).to_contain_text("tools")
    page.locator("#tools").fill("[{")
    expect(page.locator("#chat-error")).to_contain_text("Tools: this is not JSON")
    page.locator("#tools").fill("")
    page.locator("#arguments").fill("[]")
    expect(page.locator("#chat-error")).to_contain_text("template_args")


def test_the_programs_of_a_chat_run_and_give_its_ids(server: Server, open_page: OpenPage) -> None:
    page = open_page(f"{server.url}/#view=chat", permissions=["clipboard-read", "clipboard-write"])
    page.get_by_label("generation prompt").check()
    page.get_by_label("Content of message 2").fill('it\'s "true" $HOME `id` \\ null \U0001f642 <|im_end|>')
    expect(page.locator("#rendered")).to_contain_text("`id`")
    page.get_by_text("The same as code").click()
    programs = []
    for name in ("curl", "Python"):
        page.get_by_role("button", name=f"Copy {name}").click()
        expect(page.locator("#chat-code button", has_text="Copied").last).to_be_visible()
        programs.append(page.evaluate("navigator.clipboard.readText()"))
    commands = [["bash", "-c", programs[0]], [sys.executable, "-c", programs[1]]]
    curl, python = [
        subprocess.run(each, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=True).stdout
        for each in commands
    ]
    messages = json.loads(page.evaluate("new URLSearchParams(location.hash.slice(1)).get('chat')"))
    expected = BASE.encode_chat(messages, add_generation_prompt=True).ids.tolist()
    assert json.loads(curl)["ids"] == expected
    assert json.loads(python) == expected


@pytest.mark.parametrize("text", ["a" + "\u0301" * 1_000_000, "The quick brown fox. " * 50_000], ids=["marks", "long"])
def test_a_message_of_a_megabyte_is_counted_and_stays_usable(server: Server, open_page: OpenPage, text: str) -> None:
    page = open_page(f"{server.url}/#view=chat")
    page.get_by_label("Content of message 2").focus()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(text)
    messages = [
        {"role": "system", "content": "You are brief."},
        {"role": "user", "content": text},
        {"role": "assistant", "content": "A piece of text with a number."},
    ]
    count = len(BASE.encode_chat(messages).ids)
    expect(page.locator("#chat-count")).to_contain_text(f"{count:,} tokens")
    expect(page.locator("#rendered")).to_contain_text("characters more")
    page.get_by_label("Content of message 2").fill("short")
    expect(page.locator("#rendered .author-user").last).to_have_text("short")


def test_what_the_model_wrote_becomes_a_message(
    run_server: RunServer, open_page: OpenPage, tmp_path_factory: pytest.TempPathFactory
) -> None:
    thinking = str(save_thinking(tmp_path_factory.mktemp("thinking")))
    with run_server(artifacts=(thinking,), access_log=False) as server:
        page = open_page(f"{server.url}/#view=chat")
        page.get_by_role("button", name="Remove message 3").click()
        page.get_by_text("What the model wrote").click()
        page.get_by_label("Its answer to these messages").fill(CALLED)
        expect(page.locator("#parsed")).to_contain_text('"reasoning_content": "I should call."')
        expect(page.locator("#parsed-state")).to_have_text("The message renders back to this text.")
        page.get_by_label("Its answer to these messages").fill("<think>\nI")
        expect(page.locator("#parsed-state")).to_contain_text("Unfinished: reasoning_content.")
        page.get_by_label("Its answer to these messages").fill("")
        expect(page.locator("#parsed")).to_have_text("")
        assert not Axe().run(page).response["violations"]


TYPED = """async ([selector, text]) => {
  const field = document.querySelector(selector);
  for (let at = 1; at <= text.length; at++) {
    field.value = text.slice(0, at); field.dispatchEvent(new Event('input'));
    if (at % 10 === 0) await new Promise(done => setTimeout(done, 1));
  }
  field.value = "end"; field.dispatchEvent(new Event('input'));
}"""


@pytest.mark.parametrize(
    ("view", "field", "shown", "last"),
    [
        (
            "chat",
            "#messages .message:nth-child(2) textarea",
            "#rendered .author-user >> nth=-1",
            "#rendered .author-user",
        ),
        ("compare", "#compare-text", "#compare-columns .tokens >> nth=2", "#fertility .group"),
    ],
)
def test_what_needs_several_answers_has_one_request_under_way_too(
    server: Server, open_page: OpenPage, view: str, field: str, shown: str, last: str
) -> None:
    page = open_page(f"{server.url}/#view={view}")
    # The network may be idle before the page has begun to ask.
    expect(page.locator(last).first).to_be_visible()
    under_way = {"now": 0, "most": 0, "all": 0}

    def answer(route: Route) -> None:
        under_way["now"] += 1
        under_way["all"] += 1
        under_way["most"] = max(under_way["most"], under_way["now"])
        answered = route.fetch()
        under_way["now"] -= 1
        route.fulfill(response=answered)

    page.route("**/*", answer)
    text = "the quick brown fox " * 50
    page.evaluate(TYPED, [field, text])
    expect(page.locator(shown)).to_contain_text(re.compile(r"^\s*e\s*n\s*d\s*$"))
    assert under_way["most"] == 1
    assert 1 < under_way["all"] < len(text)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_chat_with_all_its_marks_has_no_serious_finding_of_accessibility(
    server: Server, open_page: OpenPage, scheme: str
) -> None:
    page = open_page(f"{server.url}/#view=chat", color_scheme=scheme, bypass_csp=True)
    for name in ("assistant mask", "labels", "generation prompt"):
        page.get_by_label(name).check()
    page.get_by_text("Tools and template arguments").click()
    page.get_by_text("The same as code").click()
    expect(page.locator("#rendered .labelled").last).to_be_visible()
    found = Axe().run(page).response["violations"]
    assert [(each["id"], each["nodes"][0]["html"]) for each in found if each["impact"] in ("serious", "critical")] == []
