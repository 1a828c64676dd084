"""Options shared by several commands, and the parser of the command line."""

from __future__ import annotations

import argparse
import itertools
import re
from collections.abc import Sequence
from typing import Any, NoReturn

from service.cli.streams import CommandError, usage, write_line
from service.setting_values import InvalidSetting
from service.settings import source_of
from tokenizer_core import base_artifact, did_you_mean

POLICIES = ("reject", "text", "parse")


_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}

_WRONG = re.compile(
    r"argument [A-Z]+: invalid choice: '(?P<command>[^']*)'|unrecognized arguments: (?P<flag>--?[^\s=]+)"
)
_CALLED = {"--artifact": "--tokenizer", "--model": "--tokenizer", "--input": "--file", "--out": "--output"}
"""Flags that people try for ours."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, like every other error of the command; options are never abbreviated."""

    _words: Sequence[str] = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **(kwargs | {"allow_abbrev": False}))

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse, and keep the words for an error about one that is missing."""
        self._words = [*itertools.takewhile("--".__ne__, args or ())]
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing the usage; an option that is missing was perhaps misspelt."""
        if "arguments are required" in message:
            given = (word.split("=")[0] for word in self._words if word.startswith("--"))
            wrong = next((flag for flag in given if flag not in self._flags), None)
            message = message if wrong is None else f"unrecognized arguments: {wrong}"
        raise usage(f"{message}{self._meant(message)}; see {self.prog} --help")

    def _meant(self, message: str) -> str:
        """Name the command or the option that is nearest to a wrong one."""
        if message.endswith("expected one argument"):
            return "; a value that begins with - is written --flag=VALUE"
        wrong = _WRONG.search(message)
        if wrong is None:
            return ""
        known = self._flags if wrong["flag"] else self._commands
        return did_you_mean(wrong["flag"] or wrong["command"], known, _CALLED)

    @property
    def _flags(self) -> list[str]:
        """The options of this parser and of its commands."""
        return [flag for each in (self, *self._commands.values()) for flag in each._option_string_actions]

    @property
    def _commands(self) -> dict[str, Parser]:
        groups = (each.choices for each in self._actions if isinstance(each, argparse._SubParsersAction))
        return dict(next(groups, {}))

    def print_help(self, file: Any = None) -> None:
        """Write the help like all other output, so that a failure to write it is reported."""
        if file is None:
            write_line(self.format_help().removesuffix("\n"))
        else:
            super().print_help(file)


def place(text: str) -> str:
    """Refuse to write to no place at all: as a path it would be this directory."""
    if not text:
        raise argparse.ArgumentTypeError("it is empty; name a place")
    return text


def whole_number(text: str) -> int:
    """Read a number of at least 1; nothing else that ``int`` would take, such as ``1_000``."""
    if not (text.isascii() and text.isdigit() and len(text) < 19 and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 1 or more")
    return int(text)


def add_tokenizer(parser: argparse.ArgumentParser) -> None:
    """Add ``--tokenizer``."""
    parser.add_argument(
        "-t",
        "--tokenizer",
        metavar="ARTIFACT",
        default=base_artifact(),
        help="artifact directory, as tokd import and train write it (default: %(default)s)",
    )


def add_policy(parser: argparse.ArgumentParser) -> None:
    """Add what literals of special tokens mean, and whether special tokens are put round the text."""
    parser.add_argument(
        "--special-tokens",
        choices=POLICIES,
        default="reject",
        help="what a literal such as <|im_end|> in the text means: an error, ordinary text, or its id "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--add-special-tokens",
        action="store_true",
        help="put the tokenizer's own special tokens round the text, as routes do by default",
    )


def refused_setting(error: InvalidSetting, args: argparse.Namespace) -> CommandError:
    """Say which flag or variable gave a setting that cannot be."""
    return CommandError("invalid_setting", f"{source_of(error.source, vars(args))} {error.wrong}", status=2)


def size(text: str) -> int:
    """Read a number of bytes, such as 500M."""
    found = re.fullmatch(r"([0-9]{1,15})([KMGT]?)B?", text)
    if found is None or not int(found[1]):
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 500M or 1G")
    return int(found[1]) * _UNITS[found[2]]
