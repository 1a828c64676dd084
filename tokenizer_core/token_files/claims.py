"""Divide tasks among runs on any hosts that share a folder, by files that only one of them can make.

A claim is lost when nobody has touched it for ``LEASE_SECONDS`` by the clock of the folder, or its process is gone from
this host. Two runs that do one task for all that make the same bytes, so claims save time and nothing depends on them.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import threading
from collections.abc import Iterator
from pathlib import Path

HEARTBEAT_SECONDS = 5.0
LEASE_SECONDS = 60.0


class Claims:
    """The claims of one run as files in a folder; touched in a thread until ``close``."""

    FINISH = "finish"
    """The claim of the run that puts all parts into place."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held: set[Path] = set()
        self._clock = folder / f".clock-{secrets.token_hex(8)}"
        self._owner = json.dumps({"host": _host(), "process": os.getpid(), "started": _started(os.getpid())})
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._touch, name="claims", daemon=True)

    def take(self, name: str) -> bool:
        """Claim something, unless another run has it."""
        path = self._path(name)
        if self._is_lost(path):
            # Whoever renames it has it alone.
            with contextlib.suppress(FileNotFoundError):
                path.rename(path.with_suffix(f".{secrets.token_hex(8)}"))
        try:
            self._make(path)
        except FileExistsError:
            return False
        self._held.add(path)
        if not self._thread.ident:
            self._thread.start()
        return True

    def _make(self, path: Path) -> None:
        """Make a claim that has its owner from the beginning: one without would outlive a kill by a lease."""
        fresh = self._folder / f".claim-{secrets.token_hex(8)}"
        fresh.write_text(self._owner, encoding="utf-8")
        try:
            path.hardlink_to(fresh)
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.EOPNOTSUPP):
                raise
            # A file system without links.
            with path.open("x", encoding="utf-8") as file:
                file.write(self._owner)
        finally:
            fresh.unlink()

    def release(self, name: str) -> None:
        """Give a claim back."""
        path = self._path(name)
        self._held.discard(path)
        path.unlink(missing_ok=True)

    def is_free(self, name: str) -> bool:
        """Tell whether no run that is alive has claimed something."""
        path = self._path(name)
        return not path.exists() or self._is_lost(path)

    def others(self) -> Iterator[str]:
        """Return what other runs have claimed that are alive."""
        for path in self._folder.glob("*.claim"):
            if path not in self._held and not self._is_lost(path):
                yield path.stem

    def close(self) -> None:
        """Give all claims back."""
        self._closed.set()
        if self._thread.ident:
            self._thread.join()
        for path in [*self._held, self._clock]:
            path.unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.claim"

    def _touch(self) -> None:
        while not self._closed.wait(HEARTBEAT_SECONDS):
            for path in list(self._held):
                with contextlib.suppress(OSError):
                    os.utime(path)

    def _is_lost(self, path: Path) -> bool:
        try:
            touched, owner = path.stat().st_mtime, json.loads(path.read_bytes() or b"{}")
        except (FileNotFoundError, ValueError):
            return False
        if owner.get("host") == _host() and _started(owner["process"]) != owner["started"]:
            return True
        # The clock of the folder's host, which need not be this one's.
        self._clock.touch()
        return self._clock.stat().st_mtime - touched > LEASE_SECONDS


def _host() -> str:
    """Name this host and its start: processes have the same numbers after another."""
    with contextlib.suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{os.uname().nodename} {boot} {Path('/proc/self/ns/pid').stat().st_ino}"
    return f"{os.uname().nodename} {secrets.token_hex(8)}"


def _started(process: int) -> str | None:
    """Return when a process of this host was started, or ``None`` if there is none."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    # A dead process that nobody has waited for is gone too.
    return None if fields[0] == "Z" else fields[19]
