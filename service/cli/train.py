"""``tokd train``: a corpus becomes an artifact, with a report beside it."""

from __future__ import annotations

import argparse
import fcntl
import filecmp
import json
import os
import shutil
import signal
import types
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from service.cli import train_characters, train_report
from service.cli.options import Parser, whole_number
from service.cli.progress import Bar
from service.cli.streams import (
    CommandError,
    note,
    reason,
    require_absent,
    usage,
    write_json,
    write_line,
    write_report,
)
from service.cli.train_settings import add_flags, checked, given
from tokenizer_core import EmptyCorpus, Recipe, TokdError, TrainingRun

RECIPE = "recipe.json"
"""In the directory of an unfinished run: what it was asked for."""


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "train",
        help="train a tokenizer",
        description="Train a byte-level BPE tokenizer and write it as an artifact. The same corpus and settings give "
        "the same bytes, however often the run was interrupted and continued with --resume.",
    )
    parser.add_argument("corpus", nargs="*", metavar="CORPUS", help="files, directories, glob patterns and URLs")
    parser.add_argument("-o", "--output", metavar="DIR", required=True, help="the artifact directory to write")
    parser.add_argument("--settings", metavar="FILE", help="settings as a JSON object; a flag wins over it")
    add_flags(parser)
    parser.add_argument(
        "--threads", metavar="N", type=whole_number, default=0, help="for counting (default: all cores)"
    )
    parser.add_argument("--resume", action="store_true", help="continue an interrupted run, or begin if there is none")
    parser.add_argument("--work", metavar="DIR", help="where an unfinished run is kept (default: OUTPUT.run)")
    parser.add_argument("--save-counts", metavar="FILE", help="write the counted pieces too; .zst packs them")
    train_report.add_flags(parser)
    train_characters.add_flags(parser)
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Train, publish and report."""
    if args.level == "characters":
        return train_characters.run(args)
    train_characters.require_bytes(args)
    output = Path(args.output)
    if not output.name:
        raise usage(f"--output is a directory to make, which {args.output!r} cannot be; give it a name")
    work = Path(args.work) if args.work is not None else output.with_name(f"{output.name}.run")
    wanted = _recipe(args, work)
    evaluation = train_report.Evaluation.of(args)
    if not (args.resume and (work / RECIPE).is_file()):
        _require_room(args, wanted)
    _keep_recipe(wanted, work, resume=args.resume)
    bar = Bar()
    try:
        with _alone(work), _stopped_by_signals(), _warnings_as_lines(bar):
            training = TrainingRun(work, wanted, on_progress=bar, threads=args.threads, left_out=_places(args, wanted))
            _require_own(training, args)
            training.count()
            if args.save_counts is not None:
                _save_counts(training, Path(args.save_counts), work)
            training.merge()
            _require_own(training, args)
            tokenizer = training.publish(output)
    except TokdError as error:
        if isinstance(error, EmptyCorpus) or not any((work / "counts").glob("*.counts")):
            # Nothing is done yet that would be worth keeping until the mistake is mended.
            shutil.rmtree(work, ignore_errors=True)
        raise
    except (KeyboardInterrupt, Stopped) as error:
        bar.clear()
        note(f"tokd: stopped; the same command with --resume goes on from {work}")
        return 143 if isinstance(error, Stopped) else 130
    finally:
        bar.clear()
    document = train_report.document(tokenizer, training.report(), bar.seconds, evaluation)
    folder = Path(args.report) if args.report is not None else output.with_name(f"{output.name}.report")
    write_report(folder, train_report.files(document))
    shutil.rmtree(work, ignore_errors=True)
    if args.json:
        write_json(document)
    else:
        write_line(train_report.summary(document, output, folder))
    return 0


class Stopped(BaseException):
    """The system asks the process to end."""


def _recipe(args: argparse.Namespace, work: Path) -> Recipe:
    """Return what is asked for; with ``--resume`` and nothing else, what the interrupted run was asked for."""
    kept = work / RECIPE
    if args.resume and not args.corpus and args.settings is None and kept.is_file():
        return Recipe.from_dict(_read_kept(kept))
    return checked(given(args), args)


def _read_kept(kept: Path) -> dict[str, Any]:
    try:
        described: dict[str, Any] = json.loads(kept.read_bytes())
    except ValueError:
        raise CommandError("other_run", f"{kept} is no recipe; remove {kept.parent}") from None
    return described


def _require_room(args: argparse.Namespace, wanted: Recipe) -> None:
    """Refuse before any work to write where something is."""
    for place in _places(args, wanted):
        require_absent(place)


def _places(args: argparse.Namespace, wanted: Recipe) -> list[Path]:
    """Return where the run writes, but for its work directory and a report whose place is not named."""
    output = Path(args.output)
    sizes = [output.with_name(f"{output.name}-{size}") for size in wanted.sizes]
    return [output, *sizes, *(Path(file) for file in (args.save_counts, args.report) if file is not None)]


def _require_own(training: TrainingRun, args: argparse.Namespace) -> None:
    """Refuse to replace what is not of this run; a resumed one may have written all that it writes."""
    output, report = Path(args.output), args.report
    others = training.in_the_way(output)
    if not others and report is not None and os.path.lexists(report):
        is_own = os.path.lexists(output) and train_report.hash_in(Path(report)) == training.report().hash
        others = [] if is_own else [Path(report)]
    for path in others:
        raise _not_own(path)


def _save_counts(training: TrainingRun, file: Path, work: Path) -> None:
    """Write the counts, unless the same bytes are there since the run was interrupted."""
    if not os.path.lexists(file):
        training.save_counts(file)
        return
    same = work / f"saved{file.suffix}"
    training.save_counts(same)
    if not filecmp.cmp(same, file, shallow=False):
        raise _not_own(file)


def _not_own(path: Path) -> CommandError:
    return CommandError("output_exists", f"{path} is there and is not of this run; move it, and --resume goes on")


def _keep_recipe(wanted: Recipe, work: Path, *, resume: bool) -> None:
    """Write down what is asked for, so that a run is never continued as another one."""
    described = wanted.to_dict()
    kept = work / RECIPE
    try:
        if kept.is_file():
            if not resume:
                message = f"{work} holds an interrupted run; --resume continues it, or remove it"
                raise CommandError("output_exists", message)
            before = _read_kept(kept)
            other = sorted(key for key in before | described if before.get(key) != described.get(key))
            if other:
                named = ", ".join(other)
                message = f"{work} holds a run with another {named}; continue it as it was begun, or remove it"
                raise CommandError("other_run", message)
            return
        require_absent(work)
        work.mkdir(parents=True)
        fresh = work / f".{RECIPE}"
        fresh.write_text(json.dumps(described), encoding="utf-8")
        fresh.replace(kept)
    except OSError as error:
        raise CommandError("unwritable_output", f"{work}: {reason(error)}") from None


@contextmanager
def _alone(work: Path) -> Iterator[None]:
    """Refuse to work where another process does; the lock ends with the process, however that ends."""
    with (work / RECIPE).open("rb") as kept:
        try:
            fcntl.flock(kept, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CommandError("other_run", f"another process works on the run in {work}; wait for it") from None
        yield


@contextmanager
def _stopped_by_signals() -> Iterator[None]:
    """Turn SIGTERM into an exception, as SIGINT is one."""

    def stop(_signal: int, _frame: types.FrameType | None) -> None:
        raise Stopped

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _warnings_as_lines(bar: Bar) -> Iterator[None]:
    """Show warnings of the trainer as one line each."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        bar.clear()
        note(f"tokd: warning: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        yield
