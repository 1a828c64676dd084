"""A program as a container runs it, without an engine: with a root of its own, which is read-only, and volumes."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO, NamedTuple

from tests.support.paths import ROOT

USER = 10001
"""The user of the image."""

_SYSTEM = ("/bin", "/etc", "/lib", "/lib64", "/opt", "/sbin", "/usr")
_ISOLATED = ("unshare", "--mount", "--propagation", "private")


class Volume(NamedTuple):
    """A directory of this machine that a container sees at a path of its own."""

    source: Path
    is_read_only: bool = False


@cache
def can_contain() -> bool:
    """Tell whether this process may make roots; a container itself mostly may not."""
    if shutil.which("unshare") is None or shutil.which("setpriv") is None:
        return False
    return subprocess.run([*_ISOLATED, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True).returncode == 0


def start(
    folder: Path,
    command: Sequence[str],
    env: Mapping[str, str],
    volumes: Mapping[str, Volume],
    log: IO[bytes],
    *,
    workdir: str = "/srv",
) -> subprocess.Popen[bytes]:
    """Start a command as user 10001 without capabilities; what has no volume cannot be written to.

    Args:
        folder: an empty directory, at which the root is made.
        volumes: by path in the container, over what is in the image.
    """
    image = {path: Volume(Path(path), True) for path in (*_SYSTEM, str(ROOT), sys.prefix, sys.base_prefix)}
    if "/srv/artifacts" not in volumes:
        image["/srv/artifacts"] = Volume(ROOT / "artifacts", True)
    root, script = str(folder), ["set -e", 'root="$1"; shift', 'mount -t tmpfs -o mode=755 none "$root"']
    # By the path: what lies in a volume is mounted after it.
    for path, volume in sorted((image | dict(volumes)).items()):
        if volume.source.is_symlink() and path in _SYSTEM:
            script.append(f'ln -s "{volume.source.readlink()}" "$root{path}"')
        elif volume.source.exists():
            # The mount point itself may be missing in a volume that cannot be written to.
            flags = "bind,ro" if volume.is_read_only else "bind"
            script.append(f'mkdir -p "$root{path}"; mount -o {flags} "{volume.source}" "$root{path}"')
    for path in ("/proc", "/dev"):
        script.append(f'mkdir -p "$root{path}"; mount --rbind {path} "$root{path}"')
    script.append(f'mkdir -p "$root{workdir}"; mount -o remount,ro "$root"')
    user = f"setpriv --reuid={USER} --regid={USER} --clear-groups --bounding-set=-all --no-new-privs"
    script.append(f'exec chroot "$root" env -C {workdir} {user} "$@"')
    path = f"{Path(sys.executable).parent}:/usr/sbin:/usr/bin:/sbin:/bin"
    return subprocess.Popen(
        [*_ISOLATED, "sh", "-c", "\n".join(script), "sh", root, *command],
        env={"PATH": path, "PYTHONPATH": str(ROOT), **env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=log,
    )
