"""The commands by name, and the parser of the command line."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from importlib import import_module

from service.cli.options import Parser
from service.cli.streams import write_line
from tokenizer_core import VERSION

COMMANDS = {
    "serve": "serve",
    "worker": "worker",
    "encode": "encode",
    "encode-corpus": "encode_corpus",
    "pack": "pack",
    "decode": "decode",
    "parse": "parse",
    "import": "import_artifact",
    "export": "export_artifact",
    "inspect": "inspect",
    "response-template": "response_template",
    "check": "check",
    "compare": "compare",
    "verify": "verify",
    "key": "key",
    "train": "train",
    "bench": "bench",
    "completion": "completion",
    "manual": "manual",
}
"""The module of every command."""


def make_parser(names: Iterable[str] = COMMANDS) -> Parser:
    """Make the parser of these commands, importing no other."""
    parser = Parser(
        prog="tokd",
        description="Text to token ids and back, exactly as the model's own tokenizer does.",
        epilog="Begin with tokd serve, and open http://127.0.0.1:8000. tokd import hf:Qwen/Qwen3-8B -o DIR makes an "
        "artifact of a model, for tokd serve --artifact DIR. tokd COMMAND --help has all options. Exit status: 0 done, "
        "1 failed, 2 the command line or a setting is wrong, 130 interrupted, 141 the reader of the output went away.",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)
    for name in names:
        module = import_module(f"service.cli.{COMMANDS[name]}")
        module.add(commands)
        # A command with commands of its own says itself what each of them runs.
        commands.choices[name].set_defaults(run=module.run)
    return parser


def leaves(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yield the parsers that run something: a command with commands of its own is only a name before theirs."""
    inner = [
        each
        for action in parser._actions
        if isinstance(action, argparse._SubParsersAction)
        for each in action.choices.values()
    ]
    if not inner:
        yield parser
    for each in inner:
        yield from leaves(each)


class _Version(argparse.Action):
    """Print the version."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        write_line(f"tokd {VERSION}")
        parser.exit()
