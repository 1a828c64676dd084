"""API keys and the file that holds their hashes.

A key is ``tokd_`` and 256 random bits, so nobody can guess one and a plain SHA-256 is all the hashing it needs: slow,
salted hashes protect passwords, which can be guessed, and would cost every request milliseconds. The file is TOML::

    [[key]]
    name = "gateway"
    scopes = ["encode"]
    hash = "sha256:..."

Two entries may have one name: the old key and the new one, while callers change over. They have one limit together:
``requests_per_second`` and ``tokens_per_second``.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import tomllib
from collections.abc import Iterable, Sequence
from hmac import compare_digest
from typing import Any

from service.auth.identity import LOCAL_NAME, SCOPES, Identity, Scope
from service.auth.rates import UNLIMITED, Rates
from service.errors import quote

PREFIX = "tokd_"
SECRET_BYTES = 32

MAX_FILE_BYTES = 256 << 10
"""Some 1,500 keys; a file of this size is read in a tenth of a second."""

MAX_RATE = 10**12

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?")
_HASH = re.compile(r"sha256:([0-9a-f]{64})")
_FIELDS = ("name", "scopes", "hash")
_LIMITS = ("requests_per_second", "tokens_per_second")


class InvalidKeys(ValueError):
    """A file of keys cannot be used; the message names the entry and never holds a hash."""


class Keys:
    """The keys of one reading of the file."""

    def __init__(self, entries: Iterable[tuple[bytes, Identity]]) -> None:
        self._entries = tuple(entries)

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def rates(self) -> dict[str, Rates]:
        """The limits by name, of those that have any."""
        return {identity.name: identity.rates for _, identity in self._entries if identity.rates.are_limited}

    def find(self, digest: bytes) -> Identity | None:
        """Return whose key has this digest, in a time that depends only on the number of keys."""
        found = None
        for stored, identity in self._entries:
            if compare_digest(stored, digest):
                found = identity
        return found


def new_key() -> str:
    """Make a key."""
    return PREFIX + secrets.token_urlsafe(SECRET_BYTES)


def digest(key: bytes) -> bytes:
    """Return what is stored of a key."""
    return hashlib.sha256(key).digest()


def entry(name: str, scopes: Sequence[Scope], key: str, rates: Rates = UNLIMITED) -> str:
    """Write the entry of a key as TOML.

    Raises:
        InvalidKeys: this cannot be the name of a key.
    """
    check_name(name, "the name")
    listed = ", ".join(f'"{scope}"' for scope in scopes)
    hashed = digest(key.encode("ascii")).hex()
    given = zip(_LIMITS, (rates.requests, rates.tokens), strict=True)
    limits = "".join(f"{field} = {rate:g}\n" for field, rate in given if rate is not None)
    return f'[[key]]\nname = "{name}"\nscopes = [{listed}]\nhash = "sha256:{hashed}"\n{limits}'


def check_name(name: str, where: str) -> None:
    """Refuse what cannot be the name of a key.

    Raises:
        InvalidKeys
    """
    if _NAME.fullmatch(name) is None:
        raise InvalidKeys(f"{where} is {quote(name)}; it takes 1 to 64 of a-z, 0-9, '.', '_', '-'")
    if name == LOCAL_NAME:
        raise InvalidKeys(f"{where} is {quote(name)}, which is what callers without a key are called; take another")


def parse(data: bytes) -> Keys:
    """Read the content of a file of keys.

    Raises:
        InvalidKeys, naming the entry.
    """
    if len(data) > MAX_FILE_BYTES:
        raise InvalidKeys(f"the file is larger than {MAX_FILE_BYTES} bytes")
    try:
        document = tomllib.loads(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise InvalidKeys(f"the file is not UTF-8 at byte {error.start}") from None
    except (ValueError, RecursionError) as error:
        # The parser's own, or Python's of an integer with too many digits.
        raise InvalidKeys(f"the file is not TOML: {str(error)[:80] or 'nested too deeply'}") from None
    for field in document:
        if field != "key":
            raise InvalidKeys(f"{quote(field)} is not a field of this file; keys are listed as [[key]]")
    listed = document.get("key")
    if not isinstance(listed, list) or not listed:
        raise InvalidKeys("the file lists no [[key]]")
    found: dict[bytes, Identity] = {}
    limits: dict[str, Rates] = {}
    for index, item in enumerate(listed):
        hashed, identity = _read(item, f"key[{index}]")
        if limits.setdefault(identity.name, identity.rates) != identity.rates:
            raise InvalidKeys(f"key[{index}] has other limits than the entry of the same name before it; give both one")
        if hashed in found:
            raise InvalidKeys(f"key[{index}].hash is there twice; every key has one entry")
        found[hashed] = identity
    return Keys(found.items())


def _read(item: Any, where: str) -> tuple[bytes, Identity]:
    if not isinstance(item, dict):
        raise InvalidKeys(f"{where} is not a table; keys are listed as [[key]]")
    for field in item:
        if field not in _FIELDS + _LIMITS:
            raise InvalidKeys(f"{where}.{quote(field)} is not a field; a key has {', '.join(_FIELDS + _LIMITS)}")
    name, scopes, hashed = (item.get(field) for field in _FIELDS)
    if not isinstance(name, str):
        raise InvalidKeys(f"{where}.name must be a string")
    check_name(name, f"{where}.name")
    if not isinstance(scopes, list) or not scopes or any(scope not in SCOPES for scope in scopes):
        raise InvalidKeys(f"{where}.scopes must list one or more of {', '.join(SCOPES)}")
    match = _HASH.fullmatch(hashed) if isinstance(hashed, str) else None
    if match is None:
        raise InvalidKeys(f"{where}.hash must be sha256: and 64 hexadecimal digits, never a key itself")
    rates = Rates(*(_rate(item.get(field), f"{where}.{field}") for field in _LIMITS))
    return bytes.fromhex(match[1]), Identity(name, frozenset(scopes), rates)


def _rate(value: Any, where: str) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if value is not None and not (is_number and 0 < value <= MAX_RATE):
        raise InvalidKeys(f"{where} must be a number above 0, at most {MAX_RATE}")
    return None if value is None else float(value)
