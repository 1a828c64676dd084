"""The common parts of ``tokd serve`` and ``tokd worker``: flags, which are the table of settings, and the system."""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path

from service.cli.streams import CommandError, note
from service.settings import table

HEADINGS = {
    "artifacts": "tokenizers",
    "models": "models",
    "chat_literals": "chats",
    "host": "address",
    "keys": "access",
    "workers": "work and its limits",
    "upload_seconds": "jobs",
    "metrics_by_key": "logs and metrics",
}
"""The headings of the help, each by the first setting below it."""

_UNITS = ("bytes", "seconds", "days", "port")


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Give a parser one flag for every setting; what it parses goes to ``Settings.load`` as ``vars(namespace)``."""
    group: argparse._ActionsContainer = parser
    for row in table():
        if row.name in HEADINGS:
            group = parser.add_argument_group(HEADINGS[row.name])
        help_text = f"{row.meaning} (default: {row.default_text}; {row.env})".replace("%", "%%")
        if isinstance(row.default, tuple):
            help_text += f"; repeatable, in the variable separated by {row.separator!r}"
            group.add_argument(row.flag, dest=row.name, action="append", metavar=row.item, help=help_text)
        elif row.type is bool:
            group.add_argument(row.flag, dest=row.name, nargs="?", const="true", metavar="BOOL", help=help_text)
        else:
            last = row.name.rsplit("_")[-1]
            metavar = row.item or ("N" if row.type is int and last not in _UNITS else last.upper())
            group.add_argument(row.flag, dest=row.name, metavar=metavar, help=help_text)


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
