"""What somebody else names as a corpus stays within bounds, and every refusal says which."""

from __future__ import annotations

import errno
import functools
import gzip
import http.server
import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from tokenizer_core import Bounds, CorpusForbidden, CorpusNotFound, CorpusTooLarge, Recipe, TrainingRun
from tokenizer_core.corpus import web_files
from tokenizer_core.corpus.files import Files, sources
from tokenizer_core.zstd import zstd

Serve = Callable[..., str]


def count(tmp_path: Path, bounds: Bounds, *paths: str, **corpus: Any) -> TrainingRun:
    """Count a corpus in a new run."""
    recipe = Recipe.from_dict({"corpus": {"paths": list(paths), **corpus}, "vocab_size": 300})
    run = TrainingRun(tmp_path / "run", recipe, bounds=bounds)
    run.count()
    return run


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Make a directory with a text, beside one that is nobody's business."""
    (tmp_path / "root" / "deep").mkdir(parents=True)
    (tmp_path / "root" / "deep" / "a.txt").write_text("some text", encoding="utf-8")
    (tmp_path / "root2").mkdir()
    (tmp_path / "root2" / "secret.txt").write_text("a secret", encoding="utf-8")
    return tmp_path / "root"


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Start web servers that answer what they are told: a status, headers, a body."""
    servers = []

    def start(answers: dict[str, tuple[int, dict[str, str], bytes]], host: str = "127.0.0.1") -> str:
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status, headers, body = answers[self.path]
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        server = http.server.ThreadingHTTPServer((host, 0), Handler)
        threading.Thread(target=functools.partial(server.serve_forever, poll_interval=0.01), daemon=True).start()
        servers.append(server)
        return f"http://{host}:{server.server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("path", ["deep/a.txt", "deep", "**/*.txt", "ROOT/deep/a.txt", "ROOT", "file://ROOT/deep"])
def test_what_lies_below_a_root_is_read(tmp_path: Path, root: Path, path: str) -> None:
    run = count(tmp_path, Bounds(roots=(root,)), path.replace("ROOT", str(root)))
    run.merge()
    assert run.report().corpus["documents"] == 1


@pytest.mark.parametrize(
    "path",
    [
        "../root2/secret.txt",
        "deep/../../root2/secret.txt",
        "deep/../a.txt",
        "/etc/passwd",
        "/etc/*",
        "/nowhere/at/all.txt",
        "*/../../root2/*",
        "ROOT2/secret.txt",
        "ROOT2",
        "file:///etc/passwd",
        "local://ROOT2/secret.txt",
        "link/secret.txt",
        "link",
        "link.txt",
        "*.txt",
        "dead.txt",
        "loop.txt",
    ],
)
def test_what_lies_outside_the_roots_is_refused_whether_it_is_there_or_not(
    tmp_path: Path, root: Path, path: str
) -> None:
    (root / "link").symlink_to(tmp_path / "root2")
    (root / "link.txt").symlink_to(tmp_path / "root2" / "secret.txt")
    (root / "dead.txt").symlink_to(tmp_path / "root2" / "nothing.txt")
    with pytest.raises((CorpusForbidden, CorpusNotFound)) as raised:
        count(tmp_path, Bounds(roots=(root,)), path.replace("ROOT", str(root)), format="text")
    assert raised.value.place == {"field": "corpus"}
    if path != "loop.txt":
        assert raised.value.code == "path_forbidden"
    assert list((tmp_path / "run" / "counts").iterdir()) == []


@pytest.mark.parametrize("path", ["l*/*.txt", "*/deep/*", "**/*.txt", "ROOT/[l]ink/secret.txt"])
@pytest.mark.parametrize("shut", [False, True])
def test_of_what_lies_behind_a_link_out_of_the_roots_no_name_is_told(
    tmp_path: Path, root: Path, path: str, monkeypatch: pytest.MonkeyPatch, *, shut: bool
) -> None:
    if shut:
        list_directory = os.scandir

        def scandir(path: Any) -> Any:
            if "link" in Path(path).parts:
                raise PermissionError(errno.EACCES, "Permission denied", str(path))
            return list_directory(path)

        monkeypatch.setattr(os, "scandir", scandir)
    (tmp_path / "root2" / "deep").mkdir()
    (tmp_path / "root2" / "deep" / "secret.txt").write_text("another secret")
    (root / "link").symlink_to(tmp_path / "root2")
    with pytest.raises(CorpusForbidden) as raised:
        count(tmp_path, Bounds(roots=(root,)), path.replace("ROOT", str(root)), format="text")
    assert raised.value.message == f"{root}/link is outside the directories that a corpus may lie in"


@pytest.mark.parametrize("path", [".own/a/0.txt", ".own/*/*.txt", "link.txt", ".own", "nowhere/../.own/a/0.txt"])
def test_a_directory_that_is_closed_is_of_no_root_above_it(tmp_path: Path, root: Path, path: str) -> None:
    for name in ("a", "b"):
        (root / ".own" / name).mkdir(parents=True)
        (root / ".own" / name / "0.txt").write_text("secret")
    (root / "link.txt").symlink_to(root / ".own" / "a" / "0.txt")
    bounds = Bounds(roots=(root / ".own" / "b", root), closed=(root / ".own",))
    with pytest.raises(CorpusForbidden) as raised:
        count(tmp_path, bounds, f"{root}/{path}")
    assert raised.value.code == "path_forbidden"
    count(tmp_path, bounds, "0.txt", f"{root}/.own/b/*.txt", f"{root}/deep")


@pytest.mark.parametrize("roots", [True, False])
def test_a_path_that_no_file_can_have_is_refused_before_it_is_looked_at(
    tmp_path: Path, root: Path, *, roots: bool
) -> None:
    bounds = Bounds(roots=(root,)) if roots else Bounds()
    most = f"{root}{'/*' * 4095}"[:4095]
    assert bounds.local(most, "corpus").path == Path(most)
    # Half a million directories, each looked at with all that stand before it, would take hours.
    for path in (f"{most}/", f"{root}{'/*' * 500_000}", "é" * 2048):
        with pytest.raises(CorpusForbidden, match=r"no path has more than 4095; name a shorter one") as raised:
            bounds.local(path, "corpus.paths[3]")
        assert (raised.value.code, raised.value.place) == ("path_forbidden", {"field": "corpus.paths[3]"})
    # One of them ends with a slash, which is no part of the path that the system sees.
    for path in (most, most[:-1]):
        with pytest.raises(CorpusNotFound, match="the pattern has too many directories"):
            count(tmp_path, bounds, path, format="text")


@pytest.mark.parametrize("name", ["[a]", "a*", "../up"])
def test_an_upload_is_found_by_its_name_and_what_is_beside_it_is_not(tmp_path: Path, root: Path, name: str) -> None:
    (tmp_path / "up").mkdir()
    (root / "a").mkdir()
    uploads = root / name
    uploads.mkdir(exist_ok=True)
    for directory in (root / "a", uploads):
        (directory / "x[y]*.txt").write_text(str(directory))
    bounds = Bounds(roots=(uploads, root), closed=(uploads.parent,), uploads=uploads)
    (source,) = sources(Files(paths=(f"{uploads}/x[y]*.txt",)), bounds)
    with source.open() as file:
        assert file.read() == str(uploads).encode()
    for path in ("..", "../a/x[y]*.txt", "x[y]*.txt/../../a/x[y]*.txt"):
        with pytest.raises(CorpusForbidden):
            sources(Files(paths=(f"{uploads}/{path}",), format="text"), bounds)


@pytest.mark.parametrize("name", ["we[i]rd", "*", "a?", "**"])
@pytest.mark.parametrize("given", ["as it is", "relative", "through a link"])
def test_below_a_root_whose_name_looks_like_a_pattern_paths_and_patterns_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, given: str
) -> None:
    root, other = tmp_path / name, tmp_path / "weird"
    for directory in (root / "deep", other):
        directory.mkdir(parents=True)
        (directory / "a.txt").write_text("some text")
    (root / "b[1].txt").write_text("some text")
    (tmp_path / "link").symlink_to(root)
    monkeypatch.chdir(tmp_path)
    bounds = Bounds(roots=(Path(name) if given == "relative" else tmp_path / "link" if "link" in given else root,))

    def found(*paths: str) -> list[str]:
        return [source.name for source in sources(Files(paths=paths), bounds)]

    for path in ("deep", "deep/a.txt", "de*/*.txt", "**/a.txt", "deep/[a].txt"):
        for place in (path, f"{root}/{path}"):
            assert [Path(file).resolve() for file in found(place)] == [root / "deep" / "a.txt"]
    assert len(found(str(root))) == len(found(f"{root}/**/*.txt")) == 2
    assert len(found(f"{root}/b[1].txt")) == 1
    # What the name would match as a pattern is no root.
    for path in (f"{other}/a.txt", f"{tmp_path}/?eird/a.txt", f"{tmp_path}/wei[r]d/*"):
        with pytest.raises(CorpusForbidden):
            found(path)


def test_a_link_that_is_made_after_the_look_is_refused(tmp_path: Path, root: Path) -> None:
    (source,) = sources(Files(paths=("deep/a.txt",)), Bounds(roots=(root,)))
    (root / "deep" / "a.txt").unlink()
    (root / "deep" / "a.txt").symlink_to(tmp_path / "root2" / "secret.txt")
    with pytest.raises(CorpusForbidden):
        source.open()
    (root / "deep" / "a.txt").unlink()
    (root / "deep").rmdir()
    (tmp_path / "root2" / "secret.txt").rename(tmp_path / "root2" / "a.txt")
    (root / "deep").symlink_to(tmp_path / "root2")
    with pytest.raises(CorpusForbidden):
        source.open()


def test_the_path_that_is_refused_is_named(tmp_path: Path, root: Path) -> None:
    with pytest.raises(CorpusForbidden) as raised:
        count(tmp_path, Bounds(roots=(root,)), "deep/a.txt", "/etc/passwd", format="text")
    assert raised.value.place == {"field": "corpus.paths[1]"}


@pytest.mark.parametrize(
    "url",
    [
        "memory://a.txt",
        "ftp://127.0.0.1/a.txt",
        "HTTP://127.0.0.1:1/a.txt",
        "simplecache::https://a.org/a.txt",
        "x://",
        "s3://a::file:///etc/passwd",
    ],
)
def test_a_scheme_that_is_not_allowed_is_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(CorpusForbidden) as raised:
        count(tmp_path, Bounds(schemes=frozenset({"https", "s3"})), url)
    assert raised.value.code == "scheme_forbidden"
    assert raised.value.place == {"field": "corpus"}


@pytest.mark.parametrize(
    "url", ["https://127.0.0.1:9/a.txt", "http://localhost/a.txt", "http://[::1]/a.txt", "ftp://a.org/a"]
)
def test_addresses_that_are_not_public_are_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(CorpusForbidden) as raised:
        count(tmp_path, Bounds(public_addresses_only=True), url)
    assert raised.value.code == "address_forbidden"


def test_files_of_the_web_are_read_through_redirects(tmp_path: Path, serve: Serve) -> None:
    packed = gzip.compress(b"some text<|end|>and more")
    table = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"text": ["of a", "table"]}), table)
    there = serve({"/b.txt.gz?x=1": (200, {"Content-Length": str(len(packed)), "ETag": '"1"'}, packed)})
    here = serve(
        {
            "/a.txt.gz": (302, {"Location": f"{there}/b.txt.gz?x=1"}, b""),
            "/a.parquet": (200, {"Content-Length": str(table.stat().st_size)}, table.read_bytes()),
            "/up": (301, {"Location": "/up"}, b""),
            "/none.txt": (404, {}, b""),
            "/short.txt": (200, {"Content-Length": "99"}, b"some"),
        }
    )
    run = count(tmp_path, Bounds(schemes=frozenset({"http"})), f"{here}/a.txt.gz", f"{here}/a.parquet")
    run.merge()
    assert run.report().corpus["documents"] == 3
    for name, reason in (("up", "more than 5 redirects"), ("none.txt", "the answer is 404")):
        with pytest.raises(CorpusNotFound, match=reason):
            count(tmp_path, Bounds(), f"{here}/{name}", format="text")
    with pytest.raises(Exception, match="cut short"):
        count(tmp_path, Bounds(), f"{here}/short.txt")


def test_a_redirect_does_not_lead_out_of_the_bounds(
    tmp_path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = serve({"/secret.txt": (200, {}, b"a secret")}, "127.0.0.2")
    outer = serve(
        {
            "/in": (302, {"Location": f"{inner}/secret.txt"}, b""),
            "/file": (302, {"Location": "file:///etc/passwd"}, b""),
        }
    )
    is_public = web_files.is_public
    monkeypatch.setattr(web_files, "is_public", lambda address: address == "127.0.0.1" or is_public(address))
    bounds = Bounds(public_addresses_only=True, schemes=frozenset({"http"}))
    for path, code in (("in", "address_forbidden"), ("file", "scheme_forbidden")):
        with pytest.raises(CorpusForbidden) as raised:
            count(tmp_path, bounds, f"{outer}/{path}", format="text")
        assert raised.value.code == code
    with pytest.raises(CorpusForbidden):
        count(tmp_path, Bounds(), f"{outer}/file", format="text")


def bomb_parquet(path: Path) -> None:
    """Write a text of a million bytes that stands in many rows and takes no more room than one."""
    pyarrow.parquet.write_table(pyarrow.table({"text": ["a" * 1_000_000] * 60}), path)
    assert path.stat().st_size < 1_000_000


@pytest.mark.parametrize("name", ["a.txt.gz", "a.txt.zst", "a.jsonl.gz", "a.txt", "a.parquet"])
def test_more_than_the_bound_is_refused_before_it_is_unpacked(tmp_path: Path, name: str) -> None:
    path, spaces = tmp_path / name, b" " * (64 << 20)
    if name.endswith(".parquet"):
        bomb_parquet(path)
    else:
        path.write_bytes(
            gzip.compress(spaces, 1)
            if name.endswith("gz")
            else zstd.compress(spaces)
            if "zst" in name
            else b"x" * 9000000
        )
    with pytest.raises(CorpusTooLarge) as raised:
        count(tmp_path, Bounds(max_bytes=8 << 20), str(path))
    assert raised.value.place["field"] == "corpus"
    assert list((tmp_path / "run" / "counts").iterdir()) == []


def test_the_bound_is_that_of_all_files_whichever_of_them_are_counted_already(tmp_path: Path) -> None:
    for number in range(4):
        (tmp_path / f"{number}.jsonl").write_text(json.dumps({"text": "word " * 200}), encoding="utf-8")
    size = (tmp_path / "0.jsonl").stat().st_size
    recipe = Recipe.from_dict({"corpus": {"paths": [str(tmp_path / "*.jsonl")]}, "vocab_size": 300})
    TrainingRun(tmp_path / "run", recipe, shard_bytes=1, bounds=Bounds(max_bytes=4 * size)).count()
    with pytest.raises(CorpusTooLarge):
        TrainingRun(tmp_path / "run", recipe, shard_bytes=1, bounds=Bounds(max_bytes=4 * size - 1)).count()
    texts = Recipe.from_dict({"corpus": {"texts": ["word " * 3]}, "vocab_size": 300})
    with pytest.raises(CorpusTooLarge):
        TrainingRun(tmp_path / "run", texts, bounds=Bounds(max_bytes=14)).count()
