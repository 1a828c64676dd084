"""``tokd serve``: the HTTP service."""

from __future__ import annotations

import argparse

from service.cli.options import Parser
from service.cli.streams import CommandError
from service.settings import InvalidSetting, Settings, add_flags


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the command; its flags are the table of settings."""
    parser = commands.add_parser(
        "serve", help="serve artifacts over HTTP", description="Serve artifacts over HTTP. Flags win over variables."
    )
    add_flags(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Load the settings and serve until told to stop."""
    # Only this command needs the web framework, which takes longer to import than a text to encode.
    from service.server import run as serve

    try:
        serve(Settings.load(flags=vars(args)))
    except InvalidSetting as error:
        raise CommandError("invalid_setting", str(error), status=2) from None
    return 0
