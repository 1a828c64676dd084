"""README and docs: what they show is run, what they list is complete."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryFile
from typing import NamedTuple

import pytest
from pydantic import BaseModel

import service.schemas.parts
import tokenizer_core
from service import settings
from service.app import create_app
from service.errors import PROBLEMS
from service.routes import compare, decode, offsets
from service.schemas import encode_jobs, parsing, requests, training
from tests.support import api_page
from tests.support.paths import ROOT
from tests.support.server import listening
from tokenizer_core import training_settings
from tokenizer_core.errors import CLASS_OF_CODE

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "start").glob("*.md"))]
SHOWN_ADDRESS = "127.0.0.1:8000"
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A fenced block of a page, and the answer that the next block shows, if it comes at once."""

    page: Path
    line: int
    language: str
    text: str
    answer: tuple[str, str] | None


def blocks(language: str) -> list[Block]:
    """Return all blocks of a language; the answer is the ``json`` or ``text`` block that follows at once."""
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        fences = list(FENCE.finditer(text))
        for fence, following in zip_longest(fences, fences[1:]):
            if fence[1] != language:
                continue
            adjacent = following is not None and not text[fence.end() : following.start()].strip()
            answer = (following[1], following[2]) if adjacent and following[1] in {"json", "text"} else None
            found.append(Block(page, text.count("\n", 0, fence.start()) + 1, language, fence[2], answer))
    return found


def place(block: Block) -> str:
    """Name a block by page and line."""
    return f"{block.page.name}:{block.line}"


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that looks like a clone: the artifacts, and ``tokd`` on the path."""
    folder = tmp_path_factory.mktemp("docs")
    shutil.copytree(ROOT / "artifacts" / "base", folder / "artifacts" / "base")
    command = folder / "bin" / "tokd"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m service.cli "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    return folder


def assert_only_scratch(sandbox: Path) -> None:
    """Require that what a page shows writes below ``scratch`` alone, which Git ignores; jobs publish elsewhere."""
    assert {path.name for path in sandbox.iterdir()} - {"scratch"} == {"artifacts", "bin"}
    published = re.compile(r"base|\.jobs|\.encoded|[0-9a-f]{64}([-+].*)?")
    assert [path.name for path in (sandbox / "artifacts").iterdir() if not published.fullmatch(path.name)] == []


def environment(sandbox: Path) -> dict[str, str]:
    """Return variables under which the sandbox's commands find this project and nothing of the caller's settings."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(settings.ENV_PREFIX)}
    path = f"{sandbox / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return {**inherited, "PATH": path, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"}


@pytest.fixture(scope="module")
def address(sandbox: Path) -> Iterator[str]:
    """Serve ``artifacts/base`` as the README does, on a free port."""
    command = [str(sandbox / "bin" / "tokd"), "serve", "--port", "0"]
    with TemporaryFile() as log:
        server = subprocess.Popen(command, cwd=sandbox, env=environment(sandbox), stdout=subprocess.DEVNULL, stderr=log)
        try:
            yield listening(server, log).removeprefix("http://")
        finally:
            server.terminate()
            server.wait(timeout=30)


@pytest.mark.parametrize(
    "page", [page for page in PAGES if "```bash" in page.read_text(encoding="utf-8")], ids=lambda page: page.name
)
def test_shown_commands_give_the_shown_answers(page: Path, sandbox: Path, address: str) -> None:
    # In their order: a block may need the files of those before it.
    for block in blocks("bash"):
        if block.page == page:
            run_block(block, sandbox, address)


def run_block(block: Block, sandbox: Path, address: str) -> None:
    """Run one block of commands, and compare what it prints with the answer that the page shows."""
    script = block.text.replace(SHOWN_ADDRESS, address)
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=sandbox,
        env=environment(sandbox),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{place(block)}: {done.stderr}"
    assert_only_scratch(sandbox)
    if block.answer is None:
        return
    language, shown = block.answer
    if language == "json":
        assert json.loads(done.stdout) == json.loads(shown), place(block)
    else:
        # A line of three dots stands for anything.
        pattern = re.escape(shown.strip()).replace(r"\.\.\.", r"(?s:.*)")
        assert re.fullmatch(pattern, done.stdout.strip()), f"{place(block)}: {done.stdout}"


def is_installed(block: Block) -> bool:
    """Tell whether what a block imports is there; only one page shows packages of others that may not be."""
    names = re.findall(r"^(?:import|from) (\w+)", block.text, re.MULTILINE)
    return block.page.name != "use-it-from.md" or all(importlib.util.find_spec(name) for name in names)


@pytest.mark.parametrize(
    "page", [page for page in PAGES if "```python" in page.read_text(encoding="utf-8")], ids=lambda page: page.name
)
def test_shown_python_runs(page: Path, sandbox: Path, address: str) -> None:
    # A block that opens a tokenizer stands alone.
    forget = "for name in [*globals()]: name.startswith('__') or globals().pop(name)\n"
    found = [block.text for block in blocks("python") if block.page == page and is_installed(block)]
    shown = "\n".join(forget * bool(re.search(r"^from .* import .*\bTokenizer\b", text, re.M)) + text for text in found)
    program = shown.replace(SHOWN_ADDRESS, address)
    command = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(command, cwd=sandbox, env=environment(sandbox), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert_only_scratch(sandbox)


def section(page: str, title: str) -> str:
    """Return the text under a heading of the second level."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found is not None, f"{page} has no section {title!r}"
    return found[1]


def test_every_route_is_documented() -> None:
    pages = "".join((ROOT / "docs" / page).read_text(encoding="utf-8") for page in ("http.md", "compat.md"))
    documented = set(re.findall(r"`((?:GET|POST|PUT|DELETE) /[^`]*)`", pages))
    every = settings.Settings(artifacts=(str(ROOT / "artifacts" / "base"),), check_uploads=True)
    paths = create_app(every).openapi()["paths"]
    routes = {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}
    assert routes <= documented
    assert documented - routes <= {"GET /", "GET /client.js", "GET /docs", "GET /openapi.json"}


@pytest.mark.parametrize(
    ("page", "title", "model"),
    [
        ("http.md", "`POST /encode`", requests.EncodeRequest),
        ("http.md", "`POST /decode`", decode.DecodeRequest),
        ("http.md", "`POST /offsets`", offsets.OffsetsRequest),
        ("http.md", "`POST /count`", requests.CountRequest),
        ("http.md", "`POST /render`", requests.RenderRequest),
        ("http.md", "`POST /parse`", parsing.ParseRequest),
        ("http.md", "`POST /parse`", parsing.Output),
        ("http.md", "`POST /compare`", compare.CompareRequest),
        ("http.md", "`POST /train-job`", training.TrainJobRequest),
        ("http.md", "`POST /train-job`", training.CorpusRequest),
        ("training.md", "Settings", training.TrainingSettings),
        ("http.md", "`POST /encode-job`", encode_jobs.EncodeJobRequest),
        ("http.md", "`POST /encode-job`", encode_jobs.EncodingSettings),
    ],
)
def test_every_option_of_a_route_is_documented(page: str, title: str, model: type[BaseModel]) -> None:
    text = section(page, title)
    options = {field.alias or name for name, field in model.model_fields.items()}
    assert {option for option in options if f"`{option}`" not in text} == set()


def test_the_table_of_settings_is_the_real_one() -> None:
    assert settings.markdown() in (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")


def test_the_table_of_parts_is_the_real_one() -> None:
    table = service.schemas.parts.markdown()
    assert table in (ROOT / "docs" / "http.md").read_text(encoding="utf-8"), table


def test_the_table_of_training_settings_is_the_real_one() -> None:
    table = "".join(f"- `{each.name}` ({each.shown_default}): {each.text}\n" for each in training_settings().values())
    assert table in (ROOT / "docs" / "training.md").read_text(encoding="utf-8"), table


def test_the_page_of_the_python_api_is_that_of_the_docstrings() -> None:
    assert api_page.PAGE.read_text(encoding="utf-8") == api_page.page(), "python -m tests.support.api_page writes it"


def test_every_error_code_is_documented() -> None:
    text = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    documented = dict(re.findall(r"^- `(\w+)` \((\d+)\): ", text, re.MULTILINE))
    assert documented == {code: str(problem.status) for code, problem in PROBLEMS.items()}
    assert {code for code in CLASS_OF_CODE if f"`{code}`" not in text} == set()


def test_measured_tables_are_those_that_the_benchmarks_wrote() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.search(r"<!-- encode avx2 -->\n(.*?)<!-- end of encode avx2 -->\n", text, re.DOTALL)
    assert shown is not None
    document = ROOT / "benchmarks" / "results" / "avx2" / "encode.md"
    rows = shown[1].splitlines()
    assert len(rows) > 2
    assert set(rows) <= set(document.read_text(encoding="utf-8").splitlines())


def test_readme_is_a_front_door() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 130


def test_every_folder_that_readme_draws_is_there() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    drawn = text[text.index("## How it is built") : text.index("## Read on")]
    folders = re.findall(r"\b(?:service|tokenizer_core)(?:/[a-z_]+)+", drawn)
    assert len(folders) >= 8
    assert [folder for folder in folders if not (ROOT / folder).is_dir()] == []


def headings(page: Path) -> set[str]:
    """Return what links to a page's headings end with, as GitHub makes it."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def leads_nowhere(page: Path, target: str) -> bool:
    """Tell whether a link names a file that is not there, or a heading that the file does not have."""
    if target.startswith("http"):
        return False
    name, _, heading = target.partition("#")
    file = page.parent / name if name else page
    return not file.exists() or (bool(heading) and heading not in headings(file))


def test_names_of_the_library_on_the_pages_are_there() -> None:
    roots = {"tokenizer_core": tokenizer_core, "Tokenizer": tokenizer_core.Tokenizer}
    named = {
        (page.name, root, name)
        for page in PAGES
        for root, name in re.findall(r"`(tokenizer_core|Tokenizer)\.(\w+)", page.read_text(encoding="utf-8"))
    }
    assert named
    assert {each for each in named if not hasattr(roots[each[1]], each[2])} == set()


def test_links_between_pages_lead_somewhere() -> None:
    dead = [
        (page.name, target)
        for page in [*PAGES, ROOT / "CHANGELOG.md", ROOT / "artifacts" / "README.md"]
        for target in re.findall(r"\]\(([^)]+)\)", page.read_text(encoding="utf-8"))
        if leads_nowhere(page, target)
    ]
    assert dead == []
