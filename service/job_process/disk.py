"""What a job fails with when its files cannot be written, in the process and in its worker."""

from __future__ import annotations

import errno
import os

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
