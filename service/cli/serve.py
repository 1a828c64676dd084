"""``tokd serve``: the HTTP service."""

from __future__ import annotations

import argparse
import os
import socket
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from service.cli.options import Parser, refused_setting
from service.cli.setting_flags import SERVER, add_flags, require_system
from service.cli.streams import CommandError, reason
from service.setting_values import InvalidSetting
from service.settings import Settings, source_of
from tokenizer_core import ArtifactError

_MAX_UDS_BYTES = 107
"""The longest path of a unix socket on Linux."""


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the command; its flags are the table of settings."""
    parser = commands.add_parser(
        "serve",
        usage="%(prog)s [--artifact PATH ...] [--port PORT] [SETTING ...]",
        help="serve artifacts over HTTP",
        description="Serve artifacts over HTTP; the page for people is at http://127.0.0.1:8000/. Flags win over "
        "variables.",
    )
    add_flags(parser)


def run(args: argparse.Namespace) -> int:
    """Load the settings and serve until told to stop."""
    require_system("serve", SERVER)
    try:
        # The variables as they are now: several processes are handed their settings by one, which would go first later.
        load = partial(Settings.load, dict(os.environ), flags=vars(args))
        settings = load()
        _require_address(settings, vars(args))
        # The web framework takes longer to import than a wrong setting to be told.
        from service.server import run as serve

        serve(settings, load)
    except InvalidSetting as error:
        raise refused_setting(error, args) from None
    except ArtifactError as error:
        error.message = f"{source_of('artifacts', vars(args))}: {error.message}"
        raise
    return 0


def _require_address(settings: Settings, flags: Mapping[str, Any]) -> None:
    """Bind the address once and let it go: the server would say only after its start, in many lines, that it cannot."""
    if settings.uds is not None:
        given = f"{source_of('uds', flags)} {settings.uds}"
        folder = Path(settings.uds).absolute().parent
        if not folder.is_dir():
            raise CommandError("address_unavailable", f"{given}: there is no directory {folder}")
        if len(os.fsencode(settings.uds)) > _MAX_UDS_BYTES:
            raise CommandError("address_unavailable", f"{given}: a path of a socket has {_MAX_UDS_BYTES} bytes at most")
        return
    try:
        family, *_, address = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        where, wrong = f"{settings.host}:{settings.port}", reason(error)
        host, port = (source_of(name, flags) for name in ("host", "port"))
        ways = f"{host} or {'--port (TOKD_PORT)' if port == 'port' else port}"
        raise CommandError("address_unavailable", f"{where}: {wrong}; take another {ways}") from None
    except UnicodeError:
        raise CommandError(
            "address_unavailable", f"{source_of('host', flags)} {settings.host!r} is not a name"
        ) from None
