"""A form is taken apart alike however it arrives, and a bomb of parts early."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from service.errors import ServiceError
from service.http.multipart import Form, Part
from tests.service.routes.train_job.conftest import CORPUS, form, settings_part


def feed(form: Form, body: bytes, step: int) -> None:
    for at in range(0, len(body), step):
        form.feed(body[at : at + step])
    form.finish()


class Kept:
    def __init__(self, part: Part, closed: list[tuple[Part, bytes]]) -> None:
        self.part, self.closed, self.content = part, closed, b""

    def write(self, data: bytes) -> None:
        self.content += data

    def close(self) -> None:
        self.closed.append((self.part, self.content))


def parts_of(boundary: bytes, *chunks: bytes) -> list[tuple[Part, bytes]]:
    found: list[tuple[Part, bytes]] = []
    whole = Form(boundary, lambda part: Kept(part, found), max_parts=9)
    for chunk in chunks:
        whole.feed(chunk)
    whole.finish()
    return found


class Nothing:
    def write(self, data: bytes) -> None: ...

    def close(self) -> None: ...


def never(part: Part) -> Any:
    raise AssertionError(part)


@pytest.mark.parametrize("step", [1, 2, 3, 7, 64, 1 << 20])
@pytest.mark.parametrize("before", [b"", b"\r\n"])
def test_form_is_the_same_however_it_arrives(step: int, before: bytes) -> None:
    contents = [b"a\r\n--yx\r\n-\r\n--" * 20, b"", b"\r\n--y", b"\r"]
    body, _ = form(*(("corpus", "a.txt", content) for content in contents))
    body = before + body
    with pytest.raises(ServiceError, match="ends before"):
        parts_of(b"x")
    chunks = (body[at : at + step] for at in range(0, len(body), step))
    assert parts_of(b"x", *chunks) == [(Part("corpus", "a.txt"), content) for content in contents]


def cut_anywhere(body: bytes) -> Iterator[tuple[bytes, bytes]]:
    return ((body[:at], body[at:]) for at in range(len(body)))


NAMED = b"content-disposition: form-data; name="


SETTINGS_PART = b"--x\r\n" + NAMED + b'"settings"\r\n\r\n{"vocab_size": 260}\r\n'


def test_part_that_is_empty_takes_nothing_of_the_next() -> None:
    empty = b"--x\r\n" + NAMED + b'"name"\r\n\r\n\r\n'
    body = empty + SETTINGS_PART + empty + empty + b"--x--"
    name = (Part("name", None), b"")
    found = [name, (Part("settings", None), b'{"vocab_size": 260}'), name, name]
    for chunks in cut_anywhere(body):
        assert parts_of(b"x", *chunks) == found


@pytest.mark.parametrize(
    "wrong",
    [
        b"--x\r\n--x\r\n",
        b"\r\n--x\r\n--x\r\n",
        b"--x\n",
        b"--x\r",
        b"\r\n--x\rtext",
        b"text--x\r\n",
        b"text--x",
        b"\r\n--x text",
        b"--x--text",
        b"--x--\r\ntext",
        b"\r\n--xy",
        b"\r\n--x--",
    ],
)
def test_part_with_a_boundary_in_it_is_refused_wherever_the_body_is_cut(wrong: bytes) -> None:
    body = b"--x\r\n" + NAMED + b'"name"\r\n\r\n' + wrong + b"\r\n" + SETTINGS_PART + b"--x--\r\n"
    for chunks in cut_anywhere(body):
        with pytest.raises(ServiceError) as caught:
            parts_of(b"x", *chunks)
        assert caught.value.code == "invalid_multipart"


@pytest.mark.parametrize("boundary", ["-", "--", "---", "x--", "--x"])
def test_boundary_may_have_dashes_at_its_ends(boundary: str) -> None:
    contents = [b"low lower\r\n-\r\n", b"", b"-", b"\r\n--", b"newest"]
    if boundary == "-":
        contents.remove(b"\r\n--")
    body, _ = form(*zip(["corpus"] * 5, ["a.txt"] * 5, contents, strict=False), boundary=boundary)
    for chunks in cut_anywhere(body):
        assert parts_of(boundary.encode(), *chunks) == [(Part("corpus", "a.txt"), content) for content in contents]


@pytest.mark.parametrize("step", [1, 64, 1 << 20])
@pytest.mark.parametrize(("before", "at"), [(b"x", 0), (b"A form.\r\n", 0), (b"-", 2), (b"\r\n-", 4)])
def test_body_begins_with_its_boundary_or_is_refused_without_a_word_in_the_log(
    step: int, before: bytes, at: int, caplog: pytest.LogCaptureFixture
) -> None:
    body, _ = form(settings_part(), ("corpus", "a.txt", CORPUS))
    whole = Form(b"x", never, max_parts=4)
    with pytest.raises(ServiceError, match=f"not well formed at byte {at};"):
        feed(whole, before + body, step)
    assert not caplog.records


@pytest.mark.parametrize("step", [1, 64, 1 << 20])
@pytest.mark.parametrize(
    ("delimiter", "wrong"),
    [(b"\r\n--x\r\n", wrong) for wrong in (b"\n--x\r\n", b"--x\r\n", b"\r--x\r\n", b"\r\n--x\n", b"\n--x\n")]
    + [(b"\r\n--x--\r\n", wrong) for wrong in (b"\n--x--\r\n", b"--x--\r\n", b"\n--x--\n")],
)
def test_part_that_goes_on_over_a_delimiter_is_refused(step: int, delimiter: bytes, wrong: bytes) -> None:
    body, _ = form(("corpus", "a.txt", CORPUS), ("corpus", "b.txt", CORPUS))
    whole = Form(b"x", lambda _: Nothing(), max_parts=4)
    with pytest.raises(ServiceError, match="a delimiter is a line of its own") as caught:
        feed(whole, body.replace(delimiter, wrong), step)
    assert caught.value.code == "invalid_multipart"


@pytest.mark.parametrize(
    ("parameters", "name"),
    [
        ("filename*=UTF-8''na%C3%AFve%20text.jsonl", "naïve text.jsonl"),
        ("filename*=utf-8'en'a.jsonl", "a.jsonl"),
        ("FILENAME* = utf-8''a.jsonl ; other=b", "a.jsonl"),
        ("filename=\"a.jsonl\"; filename*=utf-8''b.parquet", "a.jsonl"),
        ("filename*=utf-8''b.parquet; filename=a.jsonl", "a.jsonl"),
        ("other=\"; filename*=utf-8''a.jsonl\"", None),
        ("filename*=utf-8''%FF.jsonl", "\ufffd.jsonl"),
    ],
)
def test_file_may_be_named_in_the_form_for_other_than_ascii(parameters: str, name: str | None) -> None:
    head = f'--x\r\ncontent-disposition: form-data; name="corpus"; {parameters}\r\n\r\n'.encode()
    assert parts_of(b"x", head + b"a\r\n--x--") == [(Part("corpus", name), b"a")]


def test_million_parts_are_refused_early() -> None:
    part = b'--x\r\ncontent-disposition: form-data; name="corpus"; filename="a.txt"\r\n\r\n\r\n'
    begun: list[Part] = []

    def begin(part: Part) -> Nothing:
        begun.append(part)
        return Nothing()

    bomb = Form(b"x", begin, max_parts=69)
    with pytest.raises(ServiceError) as caught:
        bomb.feed(part * 1_000_000)
    assert (caught.value.code, begun) == ("too_many_parts", [])
    more = Form(b"x", begin, max_parts=69)
    with pytest.raises(ServiceError) as caught:
        feed(more, part * 1_000_000, 1000)
    assert caught.value.code == "too_many_parts"
    assert len(begun) <= 70
