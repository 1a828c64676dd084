"""The file of keys: what is read, what is refused with its place, and that comparing tells nothing."""

from __future__ import annotations

import hashlib
import hmac
import tomllib

import pytest

from service.auth import keys as keys_module
from service.auth.identity import SCOPES, Identity
from service.auth.keys import MAX_FILE_BYTES, InvalidKeys, digest, entry, new_key, parse

HASH = "sha256:" + "0" * 64


def written(**fields: object) -> bytes:
    listed = {"name": "a", "scopes": ["encode"], "hash": HASH, **fields}
    lines = [f"{name} = {value!r}" for name, value in listed.items() if value is not None]
    return "\n".join(["[[key]]", *lines]).encode()


def test_new_keys_differ_and_hold_256_random_bits() -> None:
    keys = {new_key() for _ in range(100)}
    assert len(keys) == 100
    assert all(key.startswith("tokd_") and len(key) == len("tokd_") + 43 for key in keys)


def test_entry_is_read_as_it_was_written_and_holds_no_key() -> None:
    key, other = new_key(), new_key()
    text = entry("gateway", ["encode", "train"], key)
    assert key not in text
    assert tomllib.loads(text)["key"][0]["hash"] == "sha256:" + hashlib.sha256(key.encode()).hexdigest()
    keys = parse(text.encode())
    assert keys.find(digest(key.encode())) == Identity("gateway", frozenset(("encode", "train")))
    assert keys.find(digest(other.encode())) is None


def test_two_keys_of_one_name_are_both_in_force() -> None:
    old, new = new_key(), new_key()
    keys = parse((entry("a", ["encode"], old) + entry("a", ["encode"], new)).encode())
    assert len(keys) == 2
    assert {keys.find(digest(key.encode())) for key in (old, new)} == {Identity("a", frozenset(("encode",)))}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "lists no"),
        (b"key = []", "lists no"),
        (b"key = 3", "lists no"),
        (b"key = [3]", "key[0] is not a table"),
        (b"[key]\nname = 'a'", "lists no"),
        (b"\xff", "not UTF-8 at byte 0"),
        (b"[[key]]\nname = ", "not TOML"),
        (b"[[keys]]\nname = 'a'", "'keys' is not a field"),
        (b"a = " + b"[" * 5000, "not TOML"),
        (b"a = " + b"9" * 5000, "not TOML"),
        (b"#" * (MAX_FILE_BYTES + 1), "larger than"),
        (written(expires="never"), "key[0].'expires' is not a field"),
        (written(name=None), "key[0].name must be a string"),
        (written(name=3), "key[0].name must be a string"),
        (written(name=""), "key[0].name is ''"),
        (written(name="A"), "key[0].name is 'A'"),
        (written(name="../a"), "key[0].name"),
        (written(name="a" * 65), "key[0].name"),
        (written(name="local"), "without a key"),
        (written(scopes=None), "key[0].scopes"),
        (written(scopes=[]), "key[0].scopes"),
        (written(scopes="encode"), "key[0].scopes"),
        (written(scopes=["root"]), "key[0].scopes"),
        (written(scopes=[["encode"]]), "key[0].scopes"),
        (written(hash=None), "key[0].hash"),
        (written(hash="0" * 64), "key[0].hash"),
        (written(hash="sha256:" + "0" * 63), "key[0].hash"),
        (written(hash="tokd_" + "a" * 43), "never a key itself"),
        (written() + b"\n" + written(name="b"), "key[1].hash is there twice"),
    ],
)
def test_bad_file_is_refused_with_its_place(data: bytes, said: str) -> None:
    with pytest.raises(InvalidKeys) as caught:
        parse(data)
    assert said in str(caught.value)
    assert "0" * 63 not in str(caught.value)
    assert "a" * 43 not in str(caught.value) or "name" in str(caught.value)


def test_every_key_is_compared_in_constant_time_whichever_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    made = [new_key() for _ in range(5)]
    keys = parse("".join(entry("a", ["encode"], key) for key in made).encode())
    compared: list[bytes] = []

    def compare(stored: bytes, presented: bytes) -> bool:
        compared.append(stored)
        return hmac.compare_digest(stored, presented)

    monkeypatch.setattr(keys_module, "compare_digest", compare)
    for key in (*made, new_key()):
        compared.clear()
        found = keys.find(digest(key.encode()))
        assert (found is not None) is (key in made)
        assert compared == [digest(each.encode()) for each in made]


def test_admin_may_everything_and_sees_all_jobs() -> None:
    admin, trainer = Identity("a", frozenset(("admin",))), Identity("t", frozenset(("train",)))
    for scope in SCOPES:
        assert admin.may(frozenset((scope,)))
        assert trainer.may(frozenset((scope,))) is (scope == "train")
    assert (admin.owner, trainer.owner) == (None, "t")
