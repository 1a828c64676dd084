"""Submission as a form: files that are streamed to the disk, and forms that are made to do harm."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import pytest

from service.routes.jobs.uploads import MAX_FIELD_BYTES, MAX_FILES
from tests.service.problems import assert_problem
from tests.service.routes.train_job.conftest import (
    CORPUS,
    SETTINGS,
    Board,
    MakeBoard,
    form,
    post,
    refused,
    settings_part,
)


@pytest.mark.parametrize("settings_first", [True, False])
def test_form_as_curl_sends_it_is_a_job(board: Board, settings_first: bool) -> None:
    parts = [("corpus", "big.txt", CORPUS), settings_part(), ("name", None, b"mine")]
    answer = post(board, *(reversed(parts) if settings_first else parts))
    assert answer.status_code == 202, answer.text
    job = answer.json()
    assert (job["name"], job["settings"]["vocab_size"]) == ("mine", 260)
    assert board.files() == [f"{job['id']}/corpus-0000.txt"]
    assert (board.store.directory / board.files()[0]).read_bytes() == CORPUS


def test_form_of_a_library_is_a_job(board: Board) -> None:
    files = {"corpus": ("a.jsonl", b'{"text":"a b"}\n'), "settings": ("s", json.dumps(SETTINGS), "application/json")}
    assert board.client.post("/train-job", files=files).status_code == 202


def test_several_files_keep_their_bytes_and_their_kinds(board: Board) -> None:
    contents = [CORPUS, b"", b"\r\n--x", b"--x--\r\n--y", bytes(range(256)) * 300, b"\r\n" * 5000, b"\r\n--" * 3000]
    names = ["a.txt", "b.TXT", "c.jsonl", "d.ndjson.gz", "e.parquet", "f.txt.zst", "g.jsonl.gz"]
    boundary = "----WebKitFormBoundary7MA4YWxkTrZu0gW"
    body, headers = form(*zip(["corpus"] * 7, names, contents, strict=True), settings_part(), boundary=boundary)
    answer = board.client.post("/train-job", content=body, headers=headers)
    assert answer.status_code == 202, answer.text
    ends = [".txt", ".txt", ".jsonl", ".ndjson.gz", ".parquet", ".txt.zst", ".jsonl.gz"]
    job = answer.json()["id"]
    assert board.files() == [f"{job}/corpus-{index:04d}{end}" for index, end in enumerate(ends)]
    assert [(board.store.directory / name).read_bytes() for name in board.files()] == contents


def test_same_bytes_under_one_key_are_one_job(board: Board) -> None:
    key = {"idempotency-key": "k"}
    first = post(board, ("corpus", "a.txt", CORPUS), settings_part(), **key).json()
    again = post(board, settings_part(), ("corpus", "renamed.txt", CORPUS), **key)
    assert (again.status_code, again.json()) == (202, first)
    assert board.directories() == [first["id"]]
    for parts in [
        [("corpus", "a.txt", CORPUS + b"x"), settings_part()],
        [("corpus", "a.jsonl", CORPUS), settings_part()],
        [("corpus", "a.txt", CORPUS), settings_part(vocab_size=261)],
        [("corpus", "a.txt", CORPUS), settings_part(), ("name", None, b"x")],
        [("corpus", "a.txt", CORPUS), settings_part(), ("format", None, b"jsonl")],
        [("corpus", "a.txt", CORPUS), settings_part(), ("field", None, b"body")],
    ]:
        assert_problem(post(board, *parts, **key), "idempotency_conflict", "header idempotency-key")
    assert board.directories() == [first["id"]]
    two = [("corpus", "a.txt", b"a"), ("corpus", "b.txt", b"b")]
    one = post(board, *two, settings_part(), **{"idempotency-key": "order"}).json()
    assert post(board, *two[::-1], settings_part(), **{"idempotency-key": "order"}).json() == one


@pytest.mark.parametrize(
    "filename", ["../../../etc/cron.d/x.txt", "/etc/passwd.txt", "a\\..\\b.txt", "C:\\x.txt", "..txt", "\0.txt", ".txt"]
)
def test_name_of_a_file_never_becomes_a_path(board: Board, filename: str) -> None:
    answer = post(board, ("corpus", filename, CORPUS), settings_part())
    assert answer.status_code in (202, 400), answer.text
    assert all(name.endswith("/corpus-0000.txt") for name in board.files())


def test_file_whose_name_says_nothing_needs_a_format(board: Board) -> None:
    for name in ("big", "big.csv", "big.gz", "txt"):
        refused(board, post(board, ("corpus", name, CORPUS), settings_part()), "invalid_value", "corpus")
    assert post(board, ("corpus", "big", CORPUS), ("format", None, b"text"), settings_part()).status_code == 202
    answer = post(board, ("corpus", "big", CORPUS), ("format", None, b"csv"), settings_part())
    assert_problem(answer, "invalid_settings", "format")
    assert post(board, ("corpus", None, CORPUS), settings_part()).status_code == 202


@pytest.mark.parametrize(
    "value",
    ["*=a.jsonl", "*=latin-1''a.jsonl", "*=utf-8''%zz", "*=utf-8''", "*=\"utf-8''a.jsonl\"", "*0=a", "*0*=utf-8''a"],
)
def test_file_named_in_no_form_that_is_known_is_refused_and_not_taken_for_text(refusing: Board, value: str) -> None:
    _, headers = form()
    body = f'--x\r\ncontent-disposition: form-data; name="corpus"; filename{value}\r\n\r\na\r\n--x--\r\n'.encode()
    answer = refusing.client.post("/train-job", content=body, headers=headers)
    assert_problem(answer, "invalid_multipart", "corpus")
    assert refusing.directories() == []


@pytest.mark.parametrize(
    ("name", "form"),
    [("a.parquet.gz", None), ("a.PARQUET.ZST", None), ("a.parquet.gz", "parquet"), ("a.gz", "parquet")],
)
@pytest.mark.parametrize("format_first", [True, False])
def test_parquet_in_a_compression_is_refused_as_no_run_reads_it(
    refusing: Board, name: str, form: str | None, format_first: bool
) -> None:
    parts = [("corpus", name, CORPUS)] + ([] if form is None else [("format", None, form.encode())])
    answer = post(refusing, *(reversed(parts) if format_first else parts), settings_part())
    refused(refusing, answer, "invalid_value", "corpus")


def test_text_in_a_compression_may_be_called_parquet_when_its_format_is_said(board: Board) -> None:
    parts = [("format", None, b"text"), ("corpus", "a.parquet.gz", CORPUS), settings_part()]
    assert post(board, *parts).status_code == 202


@pytest.mark.parametrize(
    ("parts", "code", "path"),
    [
        ([settings_part()], "missing_field", "corpus"),
        ([("corpus", "a.txt", b""), settings_part()], "empty_corpus", "corpus"),
        ([("corpus", "a.txt", CORPUS), ("settings", None, b"vocab_size=3")], "invalid_json", "settings"),
        ([("corpus", "a.txt", CORPUS), ("settings", None, b"")], "invalid_json", "settings"),
        ([("corpus", "a.txt", CORPUS), ("settings", None, b"[]")], "invalid_type", "settings"),
        ([("corpus", "a.txt", CORPUS), ("settings", None, b"\xff")], "invalid_unicode", "settings"),
        ([("corpus", "a.txt", CORPUS), ("settings", None, b'{"vocab_size":NaN}')], "invalid_json", "settings"),
        ([("corpus", "a.txt", CORPUS), settings_part(vocab_size=10**9)], "invalid_settings", "settings.vocab_size"),
        ([("corpus", "a.txt", CORPUS), settings_part(threads=3)], "unknown_field", "settings.threads"),
        ([("corpus", "a.txt", CORPUS), settings_part(), settings_part()], "invalid_value", "settings"),
        ([("corpus", "a.txt", CORPUS), ("name", None, b"a"), ("name", None, b"b")], "invalid_value", "name"),
        ([("corpus", "a.txt", CORPUS), ("name", None, b"../a")], "invalid_settings", "name"),
        ([("corpus", "a.txt", CORPUS), ("name", None, b"\xff")], "invalid_unicode", "name"),
        ([("corpus", "a.txt", CORPUS), ("file", "b.txt", b"")], "unknown_field", "file"),
        ([("corpus", "a.txt", CORPUS), ("settings", None, b" " * (MAX_FIELD_BYTES + 1))], "body_too_large", "settings"),
        ([("corpus", "a.txt", CORPUS), ("settings", None, b'{"bos":"\\ud800"}')], "invalid_unicode", "settings.bos"),
        ([("corpus", "a.txt", b"x")] * (MAX_FILES + 1), "too_many_parts", "corpus"),
    ],
)
def test_bad_form_is_refused_with_the_part(refusing: Board, parts: Any, code: str, path: str | None) -> None:
    answer = post(refusing, *parts)
    assert_problem(answer, code, "settings.vocab_size" if code == "invalid_type" and path is None else path)
    assert refusing.directories() == []


@pytest.mark.parametrize(
    "content_type",
    [
        "multipart/form-data",
        "multipart/form-data; boundary=",
        'multipart/form-data; boundary=""',
        "multipart/form-data; boundary=" + "x" * 71,
        "multipart/form-data; boundary=é",
        "multipart/form-data; charset=utf-8",
    ],
)
def test_form_without_a_boundary_is_refused(refusing: Board, content_type: str) -> None:
    body, _ = form(("corpus", "a.txt", CORPUS), settings_part())
    headers = {b"content-type": content_type.encode("latin-1")}
    answer = refusing.client.post("/train-job", content=body, headers=headers)
    refused(refusing, answer, "invalid_multipart", "header content-type")


def test_media_type_without_end_is_refused_before_it_is_taken_apart(refusing: Board) -> None:
    body, _ = form(("corpus", "a.txt", CORPUS), settings_part())
    headers = {"content-type": "multipart/form-data" + ";" * 1100 + "boundary=x"}
    answer = refusing.client.post("/train-job", content=body, headers=headers)
    refused(refusing, answer, "unsupported_media_type", "header content-type")


HEAD = b'--x\r\ncontent-disposition: form-data; name="corpus"; filename="a.txt"\r\n'


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "invalid_multipart"),
        (b"no form at all", "invalid_multipart"),
        (b"--y\r\n", "invalid_multipart"),
        (b"--x", "invalid_multipart"),
        (HEAD, "invalid_multipart"),
        (HEAD + b"\r\ntext", "invalid_multipart"),
        (HEAD + b"\r\ntext\r\n--x", "invalid_multipart"),
        (HEAD + b"\r\ntext\r\n--x-", "invalid_multipart"),
        (b"--x\r\n\r\ntext\r\n--x--\r\n", "invalid_multipart"),
        (b'--x\r\ncontent-disposition: form-data; name=""\r\n\r\ntext\r\n--x--\r\n', "invalid_multipart"),
        (b'--x\r\ncontent-disposition: attachment; name="corpus"\r\n\r\ntext\r\n--x--\r\n', "invalid_multipart"),
        (HEAD + b'content-disposition: form-data; name="name"\r\n\r\ntext\r\n--x--\r\n', "invalid_multipart"),
        (HEAD + b"a: " + b"x" * 5000 + b"\r\n\r\ntext\r\n--x--\r\n", "invalid_multipart"),
        (HEAD + b"a" * 5000 + b": x\r\n\r\ntext\r\n--x--\r\n", "invalid_multipart"),
        (HEAD + b"a: b\r\n" * 9 + b"\r\ntext\r\n--x--\r\n", "invalid_multipart"),
        (HEAD + b"no header\r\n\r\ntext\r\n--x--\r\n", "invalid_multipart"),
        (HEAD + b"content-transfer-encoding: base64\r\n\r\ndGV4dA==\r\n--x--\r\n", "unsupported_encoding"),
        (HEAD + b"content-type: text/plain; charset=utf-16\r\n\r\ntext\r\n--x--\r\n", "unsupported_charset"),
    ],
)
def test_broken_form_is_refused_and_leaves_nothing(refusing: Board, body: bytes, code: str) -> None:
    _, headers = form()
    answer = refusing.client.post("/train-job", content=body, headers=headers)
    assert answer.json()["code"] == code, answer.text
    assert 400 <= answer.status_code < 500
    assert refusing.directories() == []


def test_corpus_over_the_limit_is_refused_declared_or_not(make_board: MakeBoard) -> None:
    board = make_board(max_corpus_bytes=4096)
    assert post(board, ("corpus", "a.txt", b"x" * 4096), settings_part()).status_code == 202
    for parts in (
        [("corpus", "a.txt", b"x" * 4097), settings_part()],
        [("corpus", "a.txt", b"x" * 4000), ("corpus", "b.txt", b"x" * 97), settings_part()],
    ):
        before = board.directories()
        assert_problem(post(board, *parts), "corpus_too_large", "corpus")
        assert board.directories() == before
    body, headers = form(("corpus", "a.txt", b"x" * (8 << 20)), settings_part())
    assert_problem(board.client.post("/train-job", content=body, headers=headers), "corpus_too_large", "corpus")


def test_what_never_ends_behind_a_form_is_refused(make_board: MakeBoard) -> None:
    board = make_board(max_corpus_bytes=4096)
    whole, headers = form(("corpus", "a.txt", CORPUS), settings_part())

    def endless() -> Iterator[bytes]:
        yield whole
        yield from (bytes(1 << 20) for _ in range(16))

    refused(board, board.client.post("/train-job", content=endless(), headers=headers), "corpus_too_large", "corpus")


def test_disk_without_room_is_seen_before_anything_is_read(make_board: MakeBoard) -> None:
    board = make_board(min_free_bytes=1 << 52)
    refused(board, post(board, ("corpus", "a.txt", CORPUS), settings_part()), "disk_full")


@pytest.mark.parametrize("number", ["ENOSPC", "EDQUOT"])
def test_disk_that_fills_while_it_is_written_is_told(
    board: Board, monkeypatch: pytest.MonkeyPatch, number: str
) -> None:
    import errno
    import os

    def fsync(_: int) -> None:
        raise OSError(getattr(errno, number), "no room")

    monkeypatch.setattr(os, "fsync", fsync)
    refused(board, post(board, ("corpus", "a.txt", CORPUS), settings_part()), "disk_full")


def test_hash_of_what_arrived_is_that_of_the_file(board: Board) -> None:
    content = bytes(range(256)) * 10_000
    assert post(board, ("corpus", "a.txt", content), settings_part()).status_code == 202
    assert (
        hashlib.sha256((board.store.directory / board.files()[0]).read_bytes()).digest()
        == hashlib.sha256(content).digest()
    )


def test_more_uploads_at_once_than_allowed_are_refused(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.routes.jobs.submission.MAX_UPLOADS", 0)
    answer = post(board, ("corpus", "a.txt", CORPUS), settings_part())
    refused(board, answer, "saturated")
    assert answer.headers["retry-after"] == "1"
