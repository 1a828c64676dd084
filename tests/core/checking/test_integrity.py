"""The audit's seventh point: files on the disk that are not what was pinned fail."""

import hashlib
import json
import os

import pytest

from tests.core.checking.conftest import assert_only_failure, configured, outcome
from tokenizer_core.checking import Status, check, check_artifact
from tokenizer_core.stages import Normalizer


def test_point_7_a_flipped_byte_on_disk_fails(sound, tmp_path):
    sound.save(tmp_path / "copy")
    file = tmp_path / "copy" / "tokenizer.json"
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    unread = check_artifact(tmp_path / "copy")
    assert_only_failure(unread, "file hashes")
    assert unread.tokenizer is None
    assert "tokenizer.json" in outcome(unread, "file hashes").summary
    loaded = check(sound, path=tmp_path / "copy")
    point = outcome(loaded, "file hashes")
    assert point.status is Status.FAILED
    assert point.evidence["changed"][0]["file"] == "tokenizer.json"


@pytest.mark.parametrize("content", [None, b"", b"[]", b"{}", b'{"files": 3}', b"[" * 200_000, b"\xff"])
def test_point_7_a_broken_manifest_fails(sound, tmp_path, content):
    sound.save(tmp_path / "copy")
    manifest = tmp_path / "copy" / "manifest.json"
    manifest.unlink()
    if content is not None:
        manifest.write_bytes(content)
    assert outcome(check(sound, path=tmp_path / "copy"), "file hashes").status is Status.FAILED


@pytest.mark.parametrize(
    "files",
    [
        {},
        ["tokenizer.json"],
        {"tokenizer.json": 3},
        {"tokenizer.json": "sha256:0"},
        {"tokenizer.json": f"sha256:{0:064}", "../secret": f"sha256:{0:064}"},
        {"tokenizer.json": f"sha256:{0:064}", "pipe": f"sha256:{0:064}"},
    ],
    ids=["none", "no hashes", "a number", "no hash", "one outside", "one that is none of an artifact"],
)
def test_point_7_a_manifest_that_changed_fails_and_names_no_other_file_to_read(sound, tmp_path, files):
    (tmp_path / "secret").write_bytes(b"of others")
    sound.save(tmp_path / "copy")
    os.mkfifo(tmp_path / "copy" / "pipe")
    manifest = tmp_path / "copy" / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"files": files}))
    report = check(sound, path=tmp_path / "copy")
    assert outcome(report, "file hashes").status is Status.FAILED
    assert hashlib.sha256(b"of others").hexdigest() not in json.dumps(report.to_dict())


@pytest.mark.parametrize("file", ["manifest.json", "tokenizer.json"])
@pytest.mark.parametrize("kind", ["pipe", "link"])
def test_point_7_a_pipe_or_a_link_in_the_place_of_a_file_fails_and_is_not_waited_for(sound, tmp_path, file, kind):
    sound.save(tmp_path / "copy")
    place = tmp_path / "copy" / file
    if kind == "link":
        place.rename(tmp_path / file)
        place.symlink_to(tmp_path / file)
    else:
        place.unlink()
        os.mkfifo(place)
    assert outcome(check(sound, path=tmp_path / "copy"), "file hashes").status is Status.FAILED


def test_point_7_another_tokenizer_on_disk_fails(sound, tmp_path):
    configured(sound, normalizer=(Normalizer("nfc"),)).save(tmp_path / "other")
    point = outcome(check(sound, path=tmp_path / "other"), "file hashes")
    assert point.status is Status.FAILED
    assert point.evidence["found"] == sound.hash
