"""Admit or refuse a request by its host name and its key.

The file of keys is looked at with every request, which costs a microsecond, so a key that is taken out of it is refused
at once. A file that cannot be read leaves the keys of the last good reading in force and is complained about once.
"""

from __future__ import annotations

import errno
import logging
import os
import stat
import time
from collections.abc import Callable
from pathlib import Path

from service.auth.hosts import Hosts
from service.auth.identity import LOCAL, Identity
from service.auth.keys import MAX_FILE_BYTES, InvalidKeys, Keys, digest, parse
from service.auth.rates import Meter
from service.auth.route_scopes import OPEN, Need
from service.errors import ServiceError
from service.request_log import Headers
from service.setting_values import InvalidSetting

SETTLED_NANOSECONDS = 2_000_000_000
"""A file that changed less than this before it was read may change again without another time of change."""

_CHALLENGE = 'Bearer realm="tokd"'
_WRONG = f'{_CHALLENGE}, error="invalid_token"'
_log = logging.getLogger("tokd")


class Guard:
    """The keys of a server, and its own names.

    Args:
        path: the file of keys; without one, everybody may do everything.
        note: called with the number of keys in force and whether the file is broken, whenever that changes.
        hosts: the names by which the server may be asked; without them, by any.
        processes: over how many processes the limits of keys are shared out.

    Raises:
        InvalidSetting: the file cannot be used at the start.
    """

    def __init__(
        self, path: str | None, note: Callable[[int, bool], None], hosts: Hosts | None = None, processes: int = 1
    ) -> None:
        self._path = None if path is None else Path(path)
        self._hosts = hosts
        self._note, self._processes = note, processes
        self.meters: dict[str, Meter] = {}
        self._keys = Keys(())
        self._known: dict[bytes, Identity] = {}
        self._seen: tuple[int, ...] | None = None
        self._data: bytes | None = None
        self._complaint = ""
        if self._path is not None:
            try:
                self._load(self._path)
            except (InvalidKeys, OSError) as error:
                raise InvalidSetting("keys", f"{path}: {_reason(error)}; `tokd key new` writes entries") from None

    @property
    def needs_keys(self) -> bool:
        """True if a caller needs a key."""
        return self._path is not None

    @property
    def is_idle(self) -> bool:
        """True if every request is admitted."""
        return self._path is None and self._hosts is None

    def require(self, need: Need, headers: Headers) -> Identity:
        """Return who asks.

        Errors:
            ``host_not_allowed``: the request is to a name that is not the server's. ``unauthorized``: no key, or none
            that is known. ``forbidden``: the key lacks the scope.
        """
        if self._hosts is not None:
            self._hosts.require(headers)
        if self._path is None or need is OPEN:
            return LOCAL
        self.reload_if_changed()
        identity = self._identify(_presented(headers))
        if not identity.may(need):
            scopes = sorted(need)
            detail = f"this key lacks the scope {' or '.join(scopes)}; ask the operator for one that has"
            challenge = f'{_CHALLENGE}, error="insufficient_scope", scope="{" ".join(scopes)}"'
            raise ServiceError("forbidden", detail, headers=_challenge(challenge))
        return identity

    def admit(self, identity: Identity) -> None:
        """Count a request of a key that has limits.

        Errors:
            ``rate_limited``
        """
        if identity.rates.are_limited:
            self.meters[identity.name].admit()

    def has_room(self, identity: Identity) -> bool:
        """Tell whether a request would be admitted."""
        return not identity.rates.are_limited or self.meters[identity.name].has_room()

    def spend(self, key: str, tokens: int) -> None:
        """Count the tokens of an answer to a key of this name."""
        meter = self.meters.get(key)
        if meter is not None:
            meter.spend(tokens)

    def headers(self, key: str) -> tuple[tuple[bytes, bytes], ...]:
        """Return what an answer says of the limits of a key of this name."""
        meter = self.meters.get(key)
        return () if meter is None else meter.headers()

    def _identify(self, key: bytes) -> Identity:
        # A digest tells nothing of its key, so it may be looked up in a table, however long that takes. Only keys of
        # the file are remembered, so there are never more than it has.
        hashed = digest(key)
        identity = self._known.get(hashed)
        if identity is None:
            identity = self._keys.find(hashed)
            if identity is None:
                raise _unauthorized("this key is not known here; ask the operator for one", _WRONG)
            self._known[hashed] = identity
        return identity

    def reload_if_changed(self) -> None:
        """Read the file again if it changed; if that fails, complain once."""
        path = self._path
        if path is None:
            return
        try:
            if _signature(path.stat()) != self._seen:
                self._load(path)
            return
        except InvalidKeys as error:
            complaint = str(error)
        except OSError as error:
            complaint = _reason(error)
            self._seen = self._data = None
        if complaint != self._complaint:
            self._complaint = complaint
            _log.error("keys %s: %s; the keys from before stay in force", path, complaint)
            self._note(len(self._keys), True)

    def _load(self, path: Path) -> None:
        if not stat.S_ISREG(path.stat().st_mode):
            raise OSError(errno.EINVAL, "this is not a regular file")
        with path.open("rb") as file:
            found = os.fstat(file.fileno())
            data = file.read(MAX_FILE_BYTES + 1)
        self._seen = _signature(found) if time.time_ns() - found.st_mtime_ns >= SETTLED_NANOSECONDS else None
        if data == self._data:
            return
        self._data = data
        keys = parse(data)
        self._keys, self._known, self._complaint = keys, {}, ""
        # A name that had the same limits before goes on with the rest of them.
        self.meters = {
            name: self.meters[name]
            if name in self.meters and self.meters[name].rates == rates
            else Meter(rates, self._processes)
            for name, rates in keys.rates.items()
        }
        self._note(len(keys), False)
        _log.info("keys %s: %d keys are in force", path, len(keys))


def _signature(found: os.stat_result) -> tuple[int, ...]:
    return found.st_mtime_ns, found.st_size, found.st_ino, found.st_dev


def _reason(error: Exception) -> str:
    return (error.strerror or type(error).__name__).lower() if isinstance(error, OSError) else str(error)


def _presented(headers: Headers) -> bytes:
    """Return the key that a request carries, as ``Authorization: Bearer`` or, as some clients send it, ``x-api-key``.

    Errors:
        ``unauthorized``
    """
    bearer = plain = None
    for name, value in headers:
        if name == b"authorization":
            if bearer is not None:
                raise _unauthorized("there are several headers authorization; send one", _WRONG)
            bearer = value
        elif name == b"x-api-key":
            if plain is not None:
                raise _unauthorized("there are several headers x-api-key; send one", _WRONG)
            plain = value
    if bearer is not None:
        scheme, _, key = bearer.partition(b" ")
        if scheme.lower() == b"bearer":
            plain = key.strip()
        elif plain is None:
            raise _unauthorized("the header authorization has another scheme; send Bearer and a key", _CHALLENGE)
    if not plain:
        raise _unauthorized("this server needs a key; send the header authorization: Bearer and a key", _CHALLENGE)
    return plain


def _unauthorized(detail: str, challenge: str) -> ServiceError:
    return ServiceError("unauthorized", detail, headers=_challenge(challenge))


def _challenge(challenge: str) -> tuple[tuple[bytes, bytes], ...]:
    return ((b"www-authenticate", challenge.encode("ascii")),)
