"""Disks that are full or read-only: real ones where this process may mount, and calls that fail everywhere else."""

from __future__ import annotations

import io
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


class Disk:
    """A file system of its own, which can be filled or made read-only, and mended again."""

    def __init__(self, path: Path, kind: str) -> None:
        self.path, self._kind = path, kind

    def spoil(self) -> None:
        if self._kind == "read-only":
            _mount("-o", "remount,ro", str(self.path))
            return
        with (self.path / "filler").open("wb", buffering=0) as file:
            for size in (1 << 16, 1 << 10, 1):
                try:
                    while file.write(bytes(size)) == size:
                        pass
                except OSError:
                    continue

    def mend(self) -> None:
        if self._kind == "read-only":
            _mount("-o", "remount,rw", str(self.path))
        else:
            (self.path / "filler").unlink()


@contextmanager
def mounted(path: Path, kind: str) -> Iterator[Disk]:
    """Mount a small file system; skip the test where that is not allowed."""
    path.mkdir()
    try:
        _mount("-t", "tmpfs", "-o", "size=6m", "tmpfs", str(path))
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this process may not mount")
    try:
        yield Disk(path, kind)
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)


def _mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True, capture_output=True)


class Failing:
    """Lets calls fail that would write below a directory: all of them, or those that ``choose`` picks by number."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._root = str(root)
        self.number, self.calls = 0, 0
        self.choose: Callable[[int], bool] = lambda _: True
        for module, name in ((os, "mkdir"), (os, "rename"), (os, "replace"), (os, "open"), (io, "open")):
            monkeypatch.setattr(module, name, self._watched(getattr(module, name)))
        monkeypatch.setattr(os, "fsync", self._synced(os.fsync))

    def fail(self, number: int, choose: Callable[[int], bool] = lambda _: True) -> None:
        """Fail with an error from now on; 0 is none."""
        self.number, self.choose, self.calls = number, choose, 0

    def _watched(self, call: Any) -> Any:
        def run(path: Any, *arguments: Any, **options: Any) -> Any:
            if (
                isinstance(path, str | Path)
                and str(path).startswith(self._root)
                and _is_written(call, arguments, options)
            ):
                self._count(path)
            return call(path, *arguments, **options)

        return run

    def _synced(self, call: Callable[[int], None]) -> Callable[[int], None]:
        def run(descriptor: int) -> None:
            if str(Path(f"/proc/self/fd/{descriptor}").readlink()).startswith(self._root):
                self._count("")
            call(descriptor)

        return run

    def _count(self, path: str | Path) -> None:
        self.calls += 1
        if self.number and self.choose(self.calls - 1):
            raise OSError(self.number, os.strerror(self.number), str(path))


def _is_written(call: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> bool:
    if call is io.open or getattr(call, "__name__", "") == "open":
        mode = arguments[0] if arguments else options.get("mode", options.get("flags", "r"))
        return bool(mode & _WRITES) if isinstance(mode, int) else not set(mode).isdisjoint("wax+")
    return True
