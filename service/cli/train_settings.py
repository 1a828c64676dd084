"""Read the settings of a training run from flags and a settings file; flags win."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from types import NoneType
from typing import Any, Literal, NoReturn, get_args, get_origin

from service.cli.flag_names import in_flags
from service.cli.options import whole_number
from service.cli.spm_flags import settings_of
from service.cli.streams import CommandError, decode_utf8, excerpt, note, read_file, usage
from service.cli.train_presets import PRESETS
from tokenizer_core import (
    CorpusFormat,
    InvalidOption,
    InvalidSettings,
    Normalizing,
    OnError,
    Recipe,
    Rewriting,
    Setting,
    TokdError,
    training_settings,
)

STEPS = tuple(dict.fromkeys((*get_args(Rewriting), *get_args(Normalizing))))
"""Rewrites of a normalizer, of any model."""


@dataclass(frozen=True, slots=True)
class Flag:
    """One setting that is one flag.

    Attributes:
        field: as the settings file and the errors call it.
        kind: reads the text; ``None`` for a switch.
        choices: a ``Literal`` of all that it may be.
        many: may be given several times.
    """

    field: str
    metavar: str
    help: str
    kind: Callable[[str], Any] | None = str
    choices: Any = None
    many: bool = False
    flag: str = ""

    @property
    def name(self) -> str:
        """Return the flag itself."""
        return "--" + (self.flag or self.field.removeprefix("corpus.").replace("_", "-"))


def count(text: str) -> int:
    """Read a number of at least 0."""
    return 0 if text == "0" else whole_number(text)


def numbers(text: str) -> list[int]:
    """Read numbers with commas between them."""
    return [whole_number(part) for part in text.split(",")]


_SINGULAR = {
    "special_tokens": "special-token",
    "user_defined_symbols": "user-defined-symbol",
    "extends": "extend",
}


def _flag_of(one: Setting) -> Flag:
    """Return the flag of a setting."""
    kind = next((part for part in get_args(one.kind) if part is not NoneType), one.kind)
    if get_origin(one.kind) is Literal:
        read: Callable[[str], Any] | None = str
    elif one.name == "sizes":
        read = numbers
    elif one.kind is int or kind is int:
        read = count if one.is_common else whole_number
    else:
        read = {bool: None, float: float}.get(kind, str)
    return Flag(
        one.name,
        one.metavar,
        one.meaning.replace("`", "") + (f": {', '.join(STEPS)}" if one.name == "normalizer" else ""),
        kind=read,
        choices=one.kind if get_origin(one.kind) is Literal else None,
        many=one.name in ("normalizer", "special_tokens", "user_defined_symbols"),
        flag=_SINGULAR.get(one.name, ""),
    )


FLAGS = (
    Flag("corpus.format", "FORMAT", "what the files are, whatever their names", choices=CorpusFormat),
    Flag("corpus.field", "NAME", "the field of a line of JSON that holds the text (default: text)"),
    Flag("corpus.column", "NAME", "the column of a Parquet file that holds the text (default: text)"),
    Flag("corpus.on_error", "HOW", "what becomes of lines that cannot be read (default: stop)", choices=OnError),
    Flag(
        "corpus.language",
        "HOW",
        "with --parity, what tells the language of a document: file (its name up to the first dot), directory, or the "
        "field or column that is called so",
    ),
    Flag(
        "corpus.parallel",
        "FILE",
        "with --parity, texts to measure on, one for each language and named so, whose lines have the same content",
        many=True,
    ),
    *(_flag_of(one) for one in training_settings().values() if one.name not in ("initial_merges", "chat_template")),
)
"""Every setting of a run but the corpus' paths, the initial merges and the chat template, which are files."""


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add a flag for every setting."""
    for one in FLAGS:
        options: dict[str, Any] = {"dest": one.field, "default": None, "help": one.help}
        if one.kind is None:
            parser.add_argument(one.name, action=argparse.BooleanOptionalAction, **options)
        elif one.choices is not None:
            parser.add_argument(one.name, choices=get_args(one.choices), **options)
        else:
            action = "append" if one.many else "store"
            parser.add_argument(one.name, metavar=one.metavar, type=one.kind, action=action, **options)
    parser.add_argument("--preset", choices=tuple(PRESETS), help="settings of a well-known model; others win over them")
    parser.add_argument(
        "--spm-flags", metavar="FLAGS", help="settings as one line of spm_train's flags; others win over them"
    )
    parser.add_argument("--no-pattern", action="store_true", help="whole documents are single pieces")
    parser.add_argument("--initial-merges", metavar="FILE", help="merges that are made first, as merges.txt has them")

    parser.add_argument("--chat-template", metavar="FILE", help="a file with the Jinja source of the chat template")


def given(args: argparse.Namespace) -> dict[str, Any]:
    """Return what the settings file and the flags say, as ``Recipe.from_dict`` takes it.

    Raises:
        CommandError: ``invalid_settings`` for a bad file; ``usage`` for flags that exclude each other.
    """
    if args.no_pattern and args.pattern is not None:
        raise usage("--pattern and --no-pattern exclude each other")
    settings = _first(args) | ({} if args.settings is None else read_settings(args.settings))
    corpus = settings.pop("corpus", {})
    if not isinstance(corpus, dict):
        raise invalid(f"{args.settings}: corpus: an object with paths, or with texts")
    if args.corpus:
        corpus = {key: value for key, value in corpus.items() if key != "texts"} | {"paths": list(args.corpus)}
    for one in FLAGS:
        value = getattr(args, one.field)
        if value is not None and one.field.startswith("corpus."):
            corpus[one.field.removeprefix("corpus.")] = value
        elif value is not None:
            settings[one.field] = value
    if args.no_pattern:
        settings["pattern"] = None
    if args.chat_template is not None:
        settings["chat_template"] = decode_utf8(read_file(args.chat_template), args.chat_template)
    if args.initial_merges is not None:
        settings["initial_merges"] = read_merges(args.initial_merges)
    return {"corpus": corpus, **settings} if corpus else settings


def _first(args: argparse.Namespace) -> dict[str, Any]:
    """Return the settings that the file and the other flags change: of a preset, or of flags of ``spm_train``."""
    if args.spm_flags is None:
        return {} if args.preset is None else {**PRESETS[args.preset]}
    if args.preset is not None:
        raise usage("--preset and --spm-flags exclude each other")
    settings, notes = settings_of(args.spm_flags)
    for each in notes:
        note(f"tokd: {each}")
    return settings


def checked(settings: dict[str, Any], args: argparse.Namespace) -> Recipe:
    """Check every setting; an error names the flag or the field of the file that it came from.

    Raises:
        ArtifactError: the artifact to extend cannot be opened.
        CommandError: ``invalid_settings``, or ``usage`` when there is no corpus.
    """
    if "corpus" not in settings:
        raise usage("name a corpus: files, directories, glob patterns or URLs; or `corpus` in the settings file")
    try:
        recipe = Recipe.from_dict(settings)
        recipe.plan()
        # So a run that is interrupted never goes on with another artifact than it began with.
        return recipe.pinned()
    except (InvalidSettings, InvalidOption) as error:
        place = origin(error, args)
        flags = {one.field: one.name for one in FLAGS} if place.startswith("--") else {}
        message = in_flags(error.message, flags).removeprefix(place.replace(":", ""))
        raise invalid(place + message) from None


def invalid(message: str) -> CommandError:
    """Say that a setting is wrong."""
    return CommandError("invalid_settings", message, status=2)


def origin(error: TokdError, args: argparse.Namespace) -> str:
    """Say where a wrong setting was given."""
    field = str(error.place.get("field", ""))
    top = field.partition("[")[0]
    names = {one.field: one.name for one in FLAGS if getattr(args, one.field) is not None}
    for file in ("initial_merges", "chat_template"):
        if getattr(args, file) is not None:
            names[file] = "--" + file.replace("_", "-")
    names |= {"corpus": "the corpus", "corpus.paths": "the corpus"} if args.corpus else {}
    if top in names:
        return f"{names[top]}: "
    if args.settings is not None:
        return f"{args.settings}: {excerpt(field)}: " if field else f"{args.settings}: "
    return f"{excerpt(field)}: " if field else ""


def read_settings(file: str) -> dict[str, Any]:
    """Read a settings file."""
    try:
        settings = json.loads(
            decode_utf8(read_file(file), file), object_pairs_hook=_object, parse_constant=_refuse_constant
        )
    except RecursionError:
        raise invalid(f"{file}: nested too deeply") from None
    except ValueError as error:
        raise invalid(f"{file} is not JSON: {excerpt(str(error))}") from None
    if not isinstance(settings, dict):
        raise invalid(f"{file} is not a JSON object of settings")
    return settings


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for index, (key, _) in enumerate(pairs) if key in dict(pairs[:index]))
        raise ValueError(f"{twice!r} stands twice")
    return found


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"there is no {word} in JSON")


def read_merges(file: str) -> list[list[str]]:
    """Read merges as ``merges.txt`` has them."""
    merges = []
    for number, line in enumerate(decode_utf8(read_file(file), file).split("\n"), 1):
        if (number == 1 and line.startswith("#version")) or not line.strip("\r"):
            continue
        pair = line.rstrip("\r").split(" ")
        if len(pair) != 2:
            raise invalid(f"{file}: line {number} is not two entries with a space between")
        merges.append(pair)
    return merges
