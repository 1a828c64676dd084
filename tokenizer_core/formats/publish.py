"""Move a directory into place in one step."""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from tokenizer_core.atomic_files import fresh_directory, sweep, sync_directory, write_new
from tokenizer_core.errors import InvalidArtifact

_AT_FDCWD = -100
_RENAME_NOREPLACE = 1
_RENAME_EXCHANGE = 2


def publish(path: Path, contents: Mapping[str, bytes], *, check_replaced: Callable[[Path], None]) -> None:
    """Write ``contents`` as the files of a directory at ``path``: a reader sees all of them or none.

    Args:
        contents: bytes by file name.
        check_replaced: refuses the present content of ``path`` if it may not be replaced.

    Raises:
        InvalidArtifact: the content of ``path`` may not be replaced.
    """
    path = path.absolute()
    path.parent.mkdir(parents=True, exist_ok=True)
    _check_place(path, check_replaced)
    sweep(path.parent)
    with fresh_directory(path) as fresh:
        for name, data in contents.items():
            write_new(fresh / name, (data,))
        sync_directory(fresh)
        _put(fresh, path, check_replaced)
        sync_directory(path.parent)


def _check_place(path: Path, check_replaced: Callable[[Path], None]) -> None:
    if path.is_symlink():
        raise InvalidArtifact(f"{path} is a link, not an artifact; remove it or choose another place", field=path.name)
    if path.exists():
        check_replaced(path)


def _put(fresh: Path, path: Path, check_replaced: Callable[[Path], None]) -> None:
    if _rename(fresh, path, _RENAME_NOREPLACE):
        return
    # Something stands there; that it may go is asked again, since it may have come after the first look.
    _check_place(path, check_replaced)
    if not _rename(fresh, path, _RENAME_EXCHANGE):
        raise InvalidArtifact(f"{path} changed while it was written; try again", field=path.name)


def _rename(source: Path, target: Path, flag: int) -> bool:
    """Rename with one of Linux's flags; return whether it could be done as the flag asks."""
    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if renameat2 is None:
        return _rename_portably(source, target, flag)
    if renameat2(_AT_FDCWD, os.fsencode(source), _AT_FDCWD, os.fsencode(target), flag) == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.EINVAL, errno.ENOSYS):
        # A file system without these flags, such as some network mounts.
        return _rename_portably(source, target, flag)
    if code in (errno.EEXIST, errno.ENOENT):
        return False
    raise OSError(code, os.strerror(code), str(target))


def _rename_portably(source: Path, target: Path, flag: int) -> bool:
    """Do the same in two steps where the system has no single one."""
    if flag == _RENAME_NOREPLACE:
        if os.path.lexists(target):
            return False
        source.rename(target)
        return True
    old = source.with_name(f"{source.name}.old")
    target.rename(old)
    source.rename(target)
    old.rename(source)
    return True
