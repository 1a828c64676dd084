"""``tokd completion``: what completes the command in a shell."""

from __future__ import annotations

import argparse
from typing import Any, cast

from service.cli.options import Parser
from service.cli.streams import write_line

SHELLS = ("bash", "zsh", "fish")
_FILES = {"FILE", "CORPUS", "SOURCE", "PATH", "TEXT"}
_DIRECTORIES = {"DIR", "ARTIFACT"}


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "completion",
        help="print what completes commands in a shell",
        description="Print a script by which a shell completes commands, options and their values. It goes, for bash, "
        "into ~/.local/share/bash-completion/completions/tokd; for fish, into ~/.config/fish/completions/tokd.fish; "
        "for zsh, into ~/.zfunc/_tokd, with fpath=(~/.zfunc $fpath) before compinit in ~/.zshrc.",
    )
    parser.add_argument("shell", choices=SHELLS, help="the shell: tokd completion bash > PLACE")


def run(args: argparse.Namespace) -> int:
    """Print the script of a shell."""
    import shtab

    from service.cli.command_line import leaves, make_parser

    parser = make_parser()
    for each in leaves(parser):
        for action in each._actions:
            places = {str(action.metavar)} if action.choices is None else set()
            if places & _FILES:
                cast(Any, action).complete = shtab.FILE
            elif places & _DIRECTORIES:
                cast(Any, action).complete = shtab.DIRECTORY
    write_line(shtab.complete(parser, args.shell).removesuffix("\n"))
    return 0
