"""Corpora that lie elsewhere: which places and addresses a submission may name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.service.routes.train_job.conftest import SETTINGS, Board, MakeBoard, json_refused
from tokenizer_core import Bounds


def test_file_below_a_root_is_taken_and_read_in_place(make_board: MakeBoard, tmp_path: Path) -> None:
    root = tmp_path / "corpora"
    (root / "deep").mkdir(parents=True)
    (root / "deep" / "a.txt").write_text("text")
    (root / "link.txt").symlink_to(root / "deep" / "a.txt")
    board = make_board(corpus_roots=(str(root),))
    for files in (["deep/a.txt"], ["link.txt"], ["deep"], ["deep/*.txt", "**/*.txt"], ["*/a.txt"]):
        corpus = {"files": [f"{root}/{name}" for name in files]}
        job = board.submit({"corpus": corpus, "settings": SETTINGS})
        assert board.store.get(job["id"], None).recipe["corpus"]["paths"] == corpus["files"]
    assert board.files() == []


@pytest.mark.parametrize(
    "name",
    [
        "/etc/passwd",
        "/",
        "",
        "relative.txt",
        "ROOT/../secret.txt",
        "ROOT/deep/../../secret.txt",
        "ROOT/out.txt",
        "ROOT/out",
        "ROOT/outdir/secret.txt",
        "ROOT/outdir/*.txt",
        "ROOTS/a.txt",
        "ROOT/a\0.txt",
        "file:///etc/passwd",
        "file://ROOT/a.txt",
        "simplecache::file:///etc/passwd",
        "ROOT/a.txt::file:///etc/passwd",
        "%2e%2e/secret.txt",
        "ROOT/%2e%2e/%2e%2e/../secret.txt",
        "//etc/passwd",
        "/proc/self/environ",
        "~/secret.txt",
        "/*/passwd",
        "/[e]tc/passwd",
        "ROOT" + "/*" * 16_000,
    ],
)
def test_path_that_leads_out_of_the_roots_is_refused(refusing: Board, name: str) -> None:
    root = str(refusing.trained.parent / "corpora")
    files = [f"{root}/a.txt", name.replace("ROOT", root)]
    json_refused(refusing, {"corpus": {"files": files}, "settings": SETTINGS}, "path_forbidden", "corpus.files[1]")


@pytest.mark.parametrize("kind", ["files", "urls"])
def test_a_corpus_of_too_long_names_is_refused_before_any_is_looked_at(
    refusing: Board, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    looked_at: list[str] = []
    monkeypatch.setattr(Bounds, "local", lambda _, path, *__, **___: looked_at.append(path))
    name = (str(refusing.trained.parent / "corpora") if kind == "files" else "https://example.org") + "/d" * 1500
    json_refused(refusing, {"corpus": {kind: [name] * 1000}, "settings": SETTINGS}, "body_too_large", f"corpus.{kind}")
    assert looked_at == []


def test_without_roots_and_schemes_nothing_of_the_server_or_the_net_is_read(board: Board, tmp_path: Path) -> None:
    body = {"corpus": {"files": [str(tmp_path)]}, "settings": SETTINGS}
    json_refused(board, body, "path_forbidden", "corpus.files[0]")
    body = {"corpus": {"urls": ["https://example.org/a.txt"]}, "settings": SETTINGS}
    json_refused(board, body, "scheme_forbidden", "corpus.urls[0]")


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/a.txt",
        "file:///etc/passwd",
        "FILE:///etc/passwd",
        "local:///etc/passwd",
        "simplecache::file:///etc/passwd",
        "https::file:///etc/passwd",
        "https://example.org/a.txt::file:///etc/passwd",
        "//example.org/a.txt",
        "/etc/passwd",
        "https://example.org/a\0.txt",
        "https://example.org/a%00.txt",
        "s3://bucket/key",
    ],
)
def test_url_of_another_scheme_is_refused(refusing: Board, url: str) -> None:
    urls = ["https://example.org/a.txt", url]
    json_refused(refusing, {"corpus": {"urls": urls}, "settings": SETTINGS}, "scheme_forbidden", "corpus.urls[1]")


@pytest.mark.parametrize(
    "url",
    [
        "https:///etc/passwd",
        "https:/etc/passwd",
        "https://",
        "https://localhost/a.txt",
        "https://LOCALHOST./a.txt",
        "https://a.localhost/a.txt",
        "https://127.0.0.1/a.txt",
        "https://127.1/a.txt",
        "https://2130706433/a.txt",
        "https://0x7f000001/a.txt",
        "https://0/a.txt",
        "https://[::1]/a.txt",
        "https://[::]/a.txt",
        "https://[::ffff:127.0.0.1]/a.txt",
        "https://[::ffff:10.0.0.1]/a.txt",
        "https://[fe80::1%25eth0]/a.txt",
        "https://10.0.0.1/a.txt",
        "https://172.16.0.1/a.txt",
        "https://192.168.0.1/a.txt",
        "https://169.254.169.254/latest/meta-data",
        "https://%31%32%37.0.0.1/a.txt",
        "https://192.88.99.1/a.txt",
        "https://[fec0::1]/a.txt",
        "https://[3fff::1]/a.txt",
        "https://[2002:a00:1::]/a.txt",
        "https://[64:ff9b::a00:1]/a.txt",
        "https://[2606:4700::1111%25eth0]/a.txt",
        "https://%6cocalhost/a.txt",
        "https://metadata.google.internal/a.txt",
        "https://user:pass@example.org/a.txt",
    ],
)
def test_url_to_a_private_address_is_refused(refusing: Board, url: str) -> None:
    urls = ["https://example.org/a.txt", url]
    json_refused(refusing, {"corpus": {"urls": urls}, "settings": SETTINGS}, "address_forbidden", "corpus.urls[1]")


def test_what_is_no_url_is_refused(refusing: Board) -> None:
    json_refused(refusing, {"corpus": {"urls": ["https://["]}, "settings": SETTINGS}, "invalid_value", "corpus.urls[0]")


def test_url_of_an_allowed_scheme_is_taken(make_board: MakeBoard) -> None:
    board = make_board(corpus_schemes=("https", "s3"))
    urls = ["https://example.org/a.txt", "https://93.184.216.34/a.jsonl.zst", "s3://bucket/part-*.parquet"]
    job = board.submit({"corpus": {"urls": urls, "column": "body"}, "settings": SETTINGS})
    corpus = board.store.get(job["id"], None).recipe["corpus"]
    assert (corpus["paths"], corpus["column"]) == (urls, "body")


def test_parquet_in_a_compression_is_refused_where_its_name_tells(make_board: MakeBoard, tmp_path: Path) -> None:
    board = make_board(corpus_roots=(str(tmp_path),), corpus_schemes=("https",))
    (tmp_path / "a.parquet.gz").write_bytes(b"")
    (tmp_path / "b.parquet.gz").mkdir()
    (tmp_path / "b.parquet.gz" / "c.txt").write_text("text")
    for corpus in (
        {"files": [f"{tmp_path}/a.parquet.gz"]},
        {"urls": ["https://example.org/a.parquet.zst?b=c"]},
        {"urls": ["https://example.org/a.gz"], "format": "parquet"},
    ):
        (kind,) = corpus.keys() & {"files", "urls"}
        json_refused(board, {"corpus": corpus, "settings": SETTINGS}, "invalid_value", f"corpus.{kind}[0]")
    board.submit({"corpus": {"files": [f"{tmp_path}/b.parquet.gz"]}, "settings": SETTINGS})
    board.submit({"corpus": {"files": [f"{tmp_path}/a.parquet.gz"], "format": "text"}, "settings": SETTINGS})
