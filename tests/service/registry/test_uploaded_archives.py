"""Archives that are uploaded as tokenizers: every form of them, and those that are made to do harm."""

from __future__ import annotations

import gzip
import io
import json
import os
import stat
import tarfile
import time
import zipfile
from pathlib import Path

import httpx
import pytest
from fastapi.testclient import TestClient

from service.routes import check
from tests.core.formats.small import document, template
from tests.service.conftest import MakeClient
from tests.service.problems import assert_problem
from tests.service.registry.conftest import TEXT, ids_of
from tests.support.paths import ROOT
from tokenizer_core import Tokenizer


def packed_tar(path: Path, *, top: str = "", gzipped: bool = True) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz" if gzipped else "w") as archive:
        for file in sorted(path.iterdir()):
            archive.add(file, f"{top}{file.name}")
    return buffer.getvalue()


def packed_zip(files: dict[str, bytes], mode: int = 0, kind: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            info.compress_type = kind
            archive.writestr(info, data)
    return buffer.getvalue()


def upload(client: TestClient, body: bytes, name: str = "mine", kind: str = "application/gzip") -> httpx.Response:
    return client.post(f"/tokenizers?name={name}", content=body, headers={"content-type": kind})


def test_an_uploaded_archive_is_served_in_every_form_of_archive(changing: TestClient, sources: Path) -> None:
    expected = Tokenizer.open(sources / "one").encode(TEXT).tolist()
    files = {each.name: each.read_bytes() for each in (sources / "one").iterdir()}
    archives = {
        "a": (packed_tar(sources / "one", top="some-name/"), "application/gzip"),
        "b": (packed_tar(sources / "one", gzipped=False), "application/x-tar"),
        "c": (packed_zip(files), "application/zip"),
        # What a model ships has no manifest.
        "d": (packed_zip({"tokenizer.json": files["tokenizer.json"]}), "application/zip"),
    }
    for name, (body, kind) in archives.items():
        assert upload(changing, body, name, kind).status_code == 201
        assert ids_of(changing, name) == expected


def tar_of(*members: tarfile.TarInfo) -> bytes:
    return b"".join(each.tobuf() + bytes(512 * -(-each.size // 512)) for each in members) + bytes(1024)


def member(name: str, kind: bytes = tarfile.REGTYPE, *, link: str = "", size: int = 0) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, link, size
    return info


HOSTILE = {
    "a path that climbs": tar_of(member("../evil", size=5)),
    "an absolute path": tar_of(member("/tmp/evil", size=5)),
    "a path with two dots inside": tar_of(member("a/../../evil", size=5)),
    "a symbolic link": tar_of(member("tokenizer.json", tarfile.SYMTYPE, link="/etc/passwd")),
    "a hard link": tar_of(member("tokenizer.json", tarfile.LNKTYPE, link="/etc/passwd")),
    "a device": tar_of(member("tokenizer.json", tarfile.CHRTYPE)),
    "a pipe": tar_of(member("tokenizer.json", tarfile.FIFOTYPE)),
    "a file twice": tar_of(member("vocab.txt", size=1), member("vocab.txt", size=1)),
    "too many files": tar_of(*(member(f"f{index}", size=1) for index in range(80))),
    "files in two directories": tar_of(member("a/vocab.txt", size=1), member("b/merges.txt", size=1)),
    "a claim of more than there is": member("vocab.txt", size=1 << 40).tobuf(tarfile.GNU_FORMAT) + b"short",
    "nothing": b"",
    "no archive": b"hello " * 200,
    "half a gzip": gzip.compress(os.urandom(4096))[:2000],
    "a zip with a path that climbs": packed_zip({"../evil": b"x"}),
    "a zip with a symbolic link": packed_zip({"tokenizer.json": b"/etc/passwd"}, stat.S_IFLNK | 0o777),
    "half a zip": packed_zip({"tokenizer.json": b"{}"})[:-30],
    "no tokenizer": packed_zip({"readme.txt": b"hello"}),
    "too many directories": tar_of(*(member(f"d{index}", tarfile.DIRTYPE) for index in range(200))),
    "too many directories of a zip": packed_zip({f"{index:040}/": b"" for index in range(15_000)}),
    "a zip that begins before its beginning": packed_zip({"tokenizer.json": b"{}"})[:-6] + b"\xff\xff\0\0\0\0",
    "a zip with damaged lzma": packed_zip({"vocab.txt": b"a" * 99}, kind=zipfile.ZIP_LZMA).replace(
        b"\x5d\0\0", b"\xff\xff\xff"
    ),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_an_archive_that_no_tokenizer_is_packed_in_is_refused_and_leaves_nothing(
    changing: TestClient, tmp_path: Path, what: str
) -> None:
    refused = upload(changing, HOSTILE[what])
    assert_problem(refused, "artifact_unusable")
    assert not what.startswith("too many") or "more than 64 files" in refused.json()["detail"]
    left = [each.name for each in (tmp_path / "tokenizers" / ".tokenizers").iterdir()]
    assert [name for name in left if name != "lock"] == []
    assert not (tmp_path / "evil").exists()
    assert ids_of(changing, "mine") == "tokenizer_not_found"


def test_archives_that_unpack_to_more_than_the_limit_are_refused(make_client: MakeClient, tmp_path: Path) -> None:
    client = make_client(tokenizers=str(tmp_path / "tokenizers"), max_tokenizer_bytes=1 << 20)
    info = member("tokenizer.json", size=1 << 30)
    bomb = gzip.compress(info.tobuf() + bytes(8 << 20))
    attributes = gzip.compress(member("x", tarfile.XHDTYPE, size=1 << 30).tobuf() + bytes(16 << 20))
    for body in (bomb, attributes, packed_zip({"tokenizer.json": bytes(8 << 20)})):
        assert len(body) < 64 << 10
        assert_problem(upload(client, body), "body_too_large")
    assert_problem(upload(client, os.urandom(2 << 20)), "body_too_large")
    nameless = client.post("/tokenizers", content=b"x", headers={"content-type": "application/zip"})
    assert_problem(nameless, "missing_field", path="query name")


@pytest.mark.process
@pytest.mark.parametrize(
    "source",
    ["while True: pass", "kept = []\nwhile True: kept.append(bytearray(1 << 28))", "import os\nos.abort()"],
    ids=["spins", "takes memory", "crashes"],
)
def test_an_archive_that_takes_too_much_to_be_read_is_refused_by_its_own_process(
    changing: TestClient, sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    hostile = tmp_path / "hostile.py"
    hostile.write_text(f"from service.job_process.auditing import confine\nconfine()\n{source}\n", "utf-8")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setattr(check, "AUDITING", (check.AUDITING[0], str(hostile)))
    monkeypatch.setattr(check, "SECONDS", 3)
    monkeypatch.setattr(Tokenizer, "open", lambda *_, **__: pytest.fail("this process read it"))
    problem = assert_problem(upload(changing, packed_tar(sources / "one")), "artifact_unusable")
    assert "too much memory" in problem["detail"]
    left = {each.name for each in (tmp_path / "tokenizers" / ".tokenizers").iterdir()}
    assert left <= {"lock"}


def test_an_archive_of_two_kilobytes_that_would_be_gigabytes_is_refused_at_once(
    changing: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = template(["S"] * 2000 + ["A"], S=[264] * 2000)
    body = packed_zip({"tokenizer.json": json.dumps(document(post_processor=frame)).encode()})
    assert len(body) < 8 << 10
    began = time.monotonic()
    assert "a frame of more than" in assert_problem(upload(changing, body), "artifact_unusable")["detail"]
    assert time.monotonic() - began < 20
