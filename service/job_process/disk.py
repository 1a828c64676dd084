"""The errors of a job and of a request whose files cannot be written."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

from service.errors import ServiceError

_FULL = (errno.ENOSPC, errno.EDQUOT)
_UNWRITABLE = (errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.EFBIG, errno.ESTALE)

FULL = ("disk_full", "the disk is full; submit the job again when there is room")


def disk_error(error: BaseException) -> tuple[str, str] | None:
    """Return the code and the message of an error of the disk; ``None`` of any other."""
    if not isinstance(error, OSError) or error.errno is None:
        return None
    if error.errno in _FULL:
        return FULL
    if error.errno in _UNWRITABLE:
        reason = os.strerror(error.errno).lower()
        return "disk_unwritable", f"the files of the job cannot be written: {reason}; submit it again when they can"
    return None


@contextmanager
def written(what: str) -> Iterator[None]:
    """Say that a disk cannot be written, and why.

    Errors:
        ``disk_full``, ``disk_unwritable``
    """
    try:
        yield
    except OSError as error:
        if error.errno in (*_FULL, errno.EFBIG):
            raise full(what) from error
        if error.errno is None or error.errno in (errno.EMFILE, errno.ENFILE):
            raise
        reason = os.strerror(error.errno).lower()
        raise ServiceError("disk_unwritable", f"this server cannot write its {what}: {reason}") from error


def full(what: str) -> ServiceError:
    """Say that a disk has no room."""
    return ServiceError("disk_full", f"the disk of this server has no room for its {what}; send it again later")
