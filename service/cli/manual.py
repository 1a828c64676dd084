"""``tokd manual``: the manual page, made of what ``--help`` shows."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from service.cli.options import Parser
from service.cli.streams import write_line
from tokenizer_core import VERSION


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the command."""
    commands.add_parser(
        "manual",
        help="print the manual page",
        description="Print the manual page of all commands, for man: tokd manual | man -l -",
    )


def run(_: argparse.Namespace) -> int:
    """Print the page."""
    from service.cli.command_line import make_parser

    write_line("\n".join(_page(make_parser())))
    return 0


def _page(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield the lines of the page in roff's macros for manuals."""
    from service.cli.command_line import leaves

    yield f'.TH TOKD 1 "" "tokd {VERSION}" "User Commands"'
    # Words such as paths and flags are not to be broken, and lines not to be stretched.
    yield from (".nh", ".ad l", ".SH NAME", "tokd \\- " + _text("encode, decode, train and serve tokenizers"))
    yield from (".SH SYNOPSIS", _usage(parser), ".SH DESCRIPTION", _text(parser.description))
    yield from _options(parser)
    yield ".SH COMMANDS"
    for command in leaves(parser):
        yield f'.SS "{_text(command.prog)}"'
        yield from (_usage(command), ".PP", _text(command.description))
        yield from _options(command)
    yield from (".SH NOTES", _text(parser.epilog))


def _options(parser: argparse.ArgumentParser) -> Iterator[str]:
    formatter = argparse.HelpFormatter(parser.prog)
    for action in parser._actions:
        if action.help and not isinstance(action, argparse._SubParsersAction | argparse._HelpAction):
            yield from (".TP", f"\\fB{_text(_names(action))}\\fR", _text(formatter._expand_help(action)))


def _names(action: argparse.Action) -> str:
    """Name an option by its flags and its value, an argument by its name."""
    choices = "" if action.choices is None else f"{{{','.join(map(str, action.choices))}}}"
    value = str(action.metavar or choices or action.dest.upper())
    if not action.option_strings:
        return value
    flags = ", ".join(action.option_strings)
    if action.nargs == 0:
        return flags
    return f"{flags} [{value}]" if action.nargs == "?" else f"{flags} {value}"


def _usage(parser: argparse.ArgumentParser) -> str:
    # A list of choices may be wider than a terminal: it may be broken behind its commas.
    return _text(parser.format_usage().removeprefix("usage: ")).replace(",", ",\\:")


def _text(text: str | None) -> str:
    """Write text so that roff takes no character of it for a request, and no minus for a hyphen."""
    escaped = " ".join((text or "").split()).replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped
