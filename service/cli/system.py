"""The parts of the system that the service needs, which the library and the other commands do without."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from service.cli.streams import CommandError, note

WORKER = ("fcntl.flock", "os.killpg", "os.setpriority", "signal.SIGHUP")
SERVER = (*WORKER, "resource.getrlimit", "resource.setrlimit", "socket.AF_UNIX", "uvloop.Loop")


def require_system(command: str, needed: tuple[str, ...]) -> None:
    """Refuse to start where something is missing, with all of it by name; say which bound does not hold."""
    missing = [name for name in needed if not _is_there(*name.split("."))]
    if missing:
        message = (
            f"tokd {command} needs {', '.join(missing)}, which this system does not have; run it on Linux or macOS"
        )
        raise CommandError("unsupported_system", message)
    if not Path("/proc/self/status").exists():
        note("tokd: warning: this system has no /proc, so job_memory_bytes does not bound the memory of jobs")


def _is_there(module: str, name: str) -> bool:
    try:
        return hasattr(import_module(module), name)
    except ImportError:
        return False
