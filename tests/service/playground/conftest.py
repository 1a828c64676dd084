"""A real browser: Debian's Chromium, without a window, on pages of a real server."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect, sync_playwright

from tests.support.paths import ROOT
from tests.support.server import RunServer, Server
from tests.support.waiting import PATIENCE_SECONDS

expect.set_options(timeout=PATIENCE_SECONDS * 1_000)

CHROMIUM = shutil.which("chromium")
REFUSED = "Failed to load resource"
"""How the browser itself logs an answer that is an error, or none."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Start a browser, for one module: while its driver runs, no other test can have an event loop."""
    if CHROMIUM is None:
        pytest.skip("there is no chromium; apt-get install chromium")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def server(
    run_server: RunServer, artifacts: tuple[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """Serve ``base``, ``framed`` and ``bare``; trained tokenizers are published elsewhere."""
    folder = tmp_path_factory.mktemp("trained")
    given = (str(ROOT / "artifacts" / "base"), *artifacts)
    with run_server(artifacts=given, trained=str(folder), access_log=False) as server:
        yield server


OpenPage = Callable[..., Page]


@pytest.fixture
def open_page(browser: Browser) -> Iterator[OpenPage]:
    """Open pages that log no error and ask no other host; ``refusals`` lets the server refuse, which is logged.

    ``answers`` has functions that answer in its place, by the pattern of a URL.
    """
    contexts, wrong = [], []

    def open_page(
        url: str,
        *,
        refusals: bool = False,
        answers: Mapping[str, Callable[[Route], None]] | None = None,
        **options: Any,
    ) -> Page:
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE_SECONDS * 1_000)

        def on_console(message: Any) -> None:
            if message.type in ("error", "warning") and not (refusals and message.text.startswith(REFUSED)):
                wrong.append(message.text)

        page.on("console", on_console)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        origin = "/".join(url.split("/")[:3])
        page.on(
            "request", lambda request: None if request.url.startswith((origin, "blob:")) else wrong.append(request.url)
        )
        for pattern, answer in (answers or {}).items():
            page.route(pattern, answer)
        page.goto(url)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert wrong == []
