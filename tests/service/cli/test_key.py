"""``tokd key new``: a key that is printed once, and its entry."""

import json
import stat

import pytest

from service.auth.keys import digest, parse
from tests.service.cli.processes import assert_refused, succeed


def test_key_comes_with_the_entry_of_its_hash(tokd):
    key, entry = succeed(tokd("key", "new", "--name", "gateway", "--scope", "encode")).decode().split("\n\n")
    found = parse(entry.encode()).find(digest(key.encode()))
    assert (found.name, found.scopes) == ("gateway", {"encode"})
    assert key not in entry


def test_entries_are_added_to_a_file_that_only_the_owner_reads(tokd, tmp_path):
    file = tmp_path / "keys.toml"
    keys = [
        succeed(tokd("key", "new", "--name", "a", "--scope", "train", "--scope", "encode", "--file", str(file)))
        for _ in range(2)
    ]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    found = parse(file.read_bytes())
    assert len(found) == 2
    for key in keys:
        assert found.find(digest(key.strip())).name == "a"
        assert key.strip() not in file.read_bytes()


def test_json_holds_all_of_it(tokd):
    arguments = ["key", "new", "--name", "a", "--scope", "admin", "--scope", "encode", "--scope", "admin", "--json"]
    shown = json.loads(succeed(tokd(*arguments)))
    assert shown["scopes"] == ["encode", "admin"]
    assert shown["hash"] == f"sha256:{digest(shown['key'].encode()).hex()}"


@pytest.mark.parametrize("content", ["[[key]]", "nonsense", '[[key]]\nname = "a"'])
def test_broken_file_is_left_as_it_is(tokd, tmp_path, content):
    file = tmp_path / "keys.toml"
    file.write_text(content)
    assert_refused(
        tokd("key", "new", "--name", "a", "--scope", "train", "--file", str(file)), "invalid_keys", 1, "keys.toml"
    )
    assert file.read_text() == content


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["new"],
        ["new", "--name", "a"],
        ["new", "--scope", "encode"],
        ["new", "--name", "A", "--scope", "encode"],
        ["new", "--name", "local", "--scope", "encode"],
        ["new", "--name", 'a"\nscopes', "--scope", "encode"],
        ["new", "--name", "a", "--scope", "root"],
        ["old", "--name", "a", "--scope", "encode"],
    ],
)
def test_wrong_command_line_is_refused(tokd, arguments):
    assert_refused(tokd("key", *arguments), "usage", 2)


def test_place_that_cannot_be_written_is_named(tokd, tmp_path):
    where = str(tmp_path / "no" / "keys.toml")
    assert_refused(
        tokd("key", "new", "--name", "a", "--scope", "train", "--file", where), "unwritable_output", 1, where
    )


def test_serve_where_others_reach_it_is_refused_without_keys(tokd):
    assert_refused(tokd("serve", "--host", "0.0.0.0", "--port", "0"), "invalid_setting", 2, "--keys", "--no-auth")
