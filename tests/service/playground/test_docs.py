"""The documentation in a browser: it is filtered, its examples run, and so do the programs that it shows for them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from service.auth.keys import entry, new_key
from tests.service.playground.conftest import OpenPage
from tests.support.server import RunServer, Server
from tests.support.waiting import PATIENCE_SECONDS

NODE = shutil.which("node")
JOBS = ("train-job", "encode-job")


@pytest.fixture(scope="module")
def reading(server: Server, browser: Browser) -> Iterator[Page]:
    """The documentation, with a job of each kind of its own that has ended."""
    page = browser.new_page()
    page.set_default_timeout(PATIENCE_SECONDS * 1_000)
    page.goto(f"{server.url}/docs")
    for path in JOBS:
        form = page.locator(f"form[data-path='{path}'][data-method=POST]").first
        form.get_by_role("button", name="Send").click()
        expect(form.locator("output")).to_contain_text("202")
        events = page.locator(f"form[data-path='{path}/{{id}}/events']")
        events.get_by_role("button", name="Send").click()
        expect(events.locator("output")).to_contain_text('"state":"succeeded"')
    yield page
    page.close()


def forms(page: Page) -> list[Any]:
    """Return the first example of every route."""
    firsts = [section.locator("form").first for section in page.locator("section").all()]
    assert len(firsts) > 30
    return firsts


def test_every_route_has_an_example_that_runs_and_is_answered_readably(reading: Page) -> None:
    for form in forms(reading):
        method, path = form.get_attribute("data-method"), form.get_attribute("data-path")
        # A job that is submitted once more would not have ended when its results are asked for.
        if (method, path) not in [("POST", job) for job in JOBS]:
            form.get_by_role("button", name="Send").click()
        output = form.locator("output pre")
        expect(output).to_be_visible()
        status, _, answer = output.inner_text().partition("\n")
        # The job of the examples has ended, and their names are taken.
        is_refused = method in ("PUT", "DELETE") or (method, path) == ("POST", "tokenizers")
        assert status in ({"409"} if is_refused else {"200", "202", "204"}), (path, answer)
        if form.get_attribute("data-answer") == "application/json":
            json.loads(answer)
            assert all(len(line) < 400 for line in answer.splitlines() if '"' not in line), answer


def test_every_example_runs_as_curl_as_python_and_as_javascript(reading: Page) -> None:
    if NODE is None:
        pytest.skip("there is no node")
    programs = []
    for form in forms(reading):
        names = form.locator(".programs b").all_inner_texts()
        assert names == ["curl", "Python", "JavaScript"]
        programs.append(form.locator(".programs pre").all_inner_texts())
    # One process a language: an interpreter takes longer to start than any of the examples.
    python = "\n".join(program for _, program, _ in programs)
    javascript = "\n".join(f"{{\n{program}\n}}" for _, _, program in programs)
    answers = [run(["bash", "-ec", program]) for program, _, _ in programs]
    refused = [json.loads(answer)["code"] for answer in answers if '"status":4' in answer]
    assert sorted(refused) == [
        "job_finished",
        "job_finished",
        "tokenizer_exists",
        "tokenizer_exists",
        "tokenizer_in_use",
    ]
    run([sys.executable, "-c", python])
    run([str(NODE), "--input-type=module", "--eval", javascript])


def run(command: list[str], **variables: str) -> str:
    env = {**os.environ, **variables}
    with TemporaryDirectory() as folder:
        done = subprocess.run(
            command, cwd=folder, env=env, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
        )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def test_the_three_programs_print_the_same_answer(reading: Page) -> None:
    form = reading.locator("form[data-path=encode]").first
    curl, python, javascript = form.locator(".programs pre").all_inner_texts()
    expected = json.loads(run(["bash", "-c", curl]))
    assert expected["ids"]
    assert eval(run([sys.executable, "-c", python])) == expected
    if NODE is not None:
        shown = javascript.replace("console.log(await answer.json())", "console.log(await answer.text())")
        assert json.loads(run([NODE, "--input-type=module", "--eval", shown])) == expected


def test_programs_say_what_is_typed_whatever_it_is(server: Server, open_page: OpenPage) -> None:
    page = open_page(f"{server.url}/docs")
    form = page.locator("form[data-path=count]").first
    text = 'it\'s "true" $HOME `id` \\ null <b>\u202e\U0001f642\u2028'
    form.locator("textarea").fill(json.dumps({"text": text, "special_tokens": "text"}, ensure_ascii=False))
    form.get_by_role("button", name="Send").click()
    expect(form.locator("output")).to_contain_text('"count"')
    expected = json.loads(form.locator("output").inner_text().partition("\n")[2])
    curl, python, _ = [each.text_content() for each in form.locator(".programs pre").all()]
    assert json.loads(run(["bash", "-c", str(curl)])) == expected
    assert eval(run([sys.executable, "-c", str(python)])) == expected


def test_a_number_of_64_bits_is_shown_with_all_its_digits(server: Server, open_page: OpenPage) -> None:
    page = open_page(f"{server.url}/docs")
    text = '{"a": [18446744073709551615, -1.50e10, {"b": "x, [y]: {\\"z\\"}"}], "c": {}, "d": []}'
    shown = page.evaluate("async text => (await import('./playground/readable.js')).readable(text)", text)
    assert shown == text
    many = json.dumps({"ids": list(range(2**63, 2**63 + 40)), "deep": [[{"k": ["v" * 90]}]]})
    shown = page.evaluate("async text => (await import('./playground/readable.js')).readable(text)", many)
    assert json.loads(shown) == json.loads(many)
    assert max(map(len, shown.splitlines())) < 110
    assert page.evaluate("async () => (await import('./playground/readable.js')).readable('[1,')") == "[1,"


def test_a_server_with_keys_shows_programs_that_send_one(
    run_server: RunServer, open_page: OpenPage, tmp_path: Any
) -> None:
    key = new_key()
    keys = tmp_path / "keys.toml"
    keys.write_text(entry("reader", ("encode",), key), "utf-8")
    with run_server(keys=str(keys), access_log=False) as server:
        page = open_page(f"{server.url}/docs")
        form = page.locator("form[data-path=count]").first
        page.locator("#key").fill(key)
        form.get_by_role("button", name="Send").click()
        expect(form.locator("output")).to_contain_text('"count"')
        curl, python, javascript = form.locator(".programs pre").all_inner_texts()
        assert key not in curl + python + javascript
        assert '"count"' in run(["bash", "-c", curl], KEY=key)
        assert "'count'" in run([sys.executable, "-c", python], KEY=key)
        if NODE is not None:
            assert "count:" in run([NODE, "--input-type=module", "--eval", javascript], KEY=key)


def test_no_answer_of_an_earlier_request_is_left_and_silence_is_told(server: Server, open_page: OpenPage) -> None:
    page = open_page(f"{server.url}/docs", refusals=True)
    form = page.locator("form[data-path=count]").first
    form.get_by_role("button", name="Send").click()
    expect(form.locator("output")).to_contain_text("200")
    page.context.set_offline(True)
    form.get_by_role("button", name="Send").click()
    expect(form.locator("output")).to_contain_text("no answer")
    expect(form.locator("output")).not_to_contain_text("200")


def test_the_filter_leaves_the_routes_that_have_all_words(server: Server, open_page: OpenPage) -> None:
    page = open_page(f"{server.url}/docs")
    every = page.locator("section:visible").count()
    page.get_by_label("Filter").fill("lattice merges")
    expect(page.locator("section:visible")).to_have_count(1)
    expect(page.locator("section:visible h2")).to_have_text("POST /explain")
    expect(page.locator("nav a:visible")).to_have_text(["POST /explain", "Errors"])
    page.get_by_label("Filter").fill("")
    expect(page.locator("section:visible")).to_have_count(every)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_documentation_has_no_serious_finding_of_accessibility(
    server: Server, open_page: OpenPage, scheme: str
) -> None:
    page = open_page(f"{server.url}/docs", color_scheme=scheme, bypass_csp=True)
    found = Axe().run(page).response["violations"]
    assert [(each["id"], each["nodes"][0]["html"]) for each in found if each["impact"] in ("serious", "critical")] == []


def test_a_narrow_window_needs_no_scrolling_aside(server: Server, open_page: OpenPage) -> None:
    page = open_page(f"{server.url}/docs", viewport={"width": 360, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
