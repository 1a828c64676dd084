"""``tokd train``: train an artifact on a corpus, and write a report beside it."""

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
from contextlib import contextmanager, suppress
from itertools import combinations
from pathlib import Path
from typing import Any

from service.cli import options, train_characters, train_report
from service.cli.engines import add_engine, engine_of
from service.cli.options import Parser, whole_number
from service.cli.progress import Bar
from service.cli.streams import (
    CommandError,
    note,
    reason,
    require_absent,
    require_writable,
    usage,
    write_json,
    write_report,
    write_result,
)
from service.cli.train_settings import add_flags, checked, given
from service.reports.training import document as document_of
from tokenizer_core import EmptyCorpus, Recipe, TokdError, Tokenizer, TrainingReport, TrainingRun

RECIPE = "recipe.json"
"""In the directory of an unfinished run: what it was asked for."""


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "train",
        usage="%(prog)s CORPUS ... -o DIR [--vocab-size N] [OPTION ...]",
        help="train a tokenizer",
        description="Train a tokenizer, by default byte-level BPE, and write it as an artifact. The same corpus and "
        "settings give the same bytes, however often the run was interrupted and continued with --resume.",
    )
    parser.add_argument("corpus", nargs="*", metavar="CORPUS", help="files, directories, glob patterns and URLs")
    parser.add_argument("-o", "--output", metavar="DIR", help="the artifact directory to write")
    parser.add_argument("--settings", metavar="FILE", help="settings as a JSON object; a flag wins over it")
    add_flags(parser)
    parser.add_argument(
        "--threads", metavar="N", type=whole_number, default=0, help="for counting (default: all cores)"
    )
    parser.add_argument(
        "--memory",
        metavar="SIZE",
        type=options.size,
        help="of counting; beyond it counts go to the disk (default: 1 GiB); Unigram refuses what needs more to learn",
    )
    add_engine(parser)
    parser.add_argument("--dry-run", action="store_true", help="print the settings as JSON, and train nothing")
    parser.add_argument("--resume", action="store_true", help="continue an interrupted run, or begin if there is none")
    parser.add_argument(
        "--work", type=options.place, metavar="DIR", help="where an unfinished run is kept (default: OUTPUT.run)"
    )
    parser.add_argument(
        "--save-counts", type=options.place, metavar="FILE", help="write the counted pieces too; .zst packs them"
    )
    train_report.add_flags(parser)
    train_characters.add_flags(parser)
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


def run(args: argparse.Namespace) -> int:
    """Train, publish and report."""
    if args.output is None:
        if not args.dry_run:
            raise usage("name the artifact directory to write with --output")
        args.output = "tokenizer"
    output = Path(args.output)
    if output.name in ("", ".."):
        raise usage(f"--output is a directory to make, which {args.output!r} cannot be; give it a name")
    if args.level == "characters":
        return train_characters.run(args)
    train_characters.require_bytes(args)
    folder = Path(args.report) if args.report is not None else output.with_name(f"{output.name}.report")
    work = Path(args.work) if args.work is not None else output.with_name(f"{output.name}.run")
    wanted = _recipe(args, work)
    if args.dry_run:
        write_json(wanted.to_dict())
        return 0
    _require_apart(args, wanted, folder, work)
    evaluation = train_report.Evaluation.of(args)
    bar = Bar()
    # Locked until it is removed: another process would see its files vanish.
    with _exclusive(work):
        _require_writable(args, wanted, folder)
        _keep_recipe(args, wanted, work)
        try:
            tokenizer, report = _train(args, wanted, work, [*_places(args, wanted), folder], bar)
        except (KeyboardInterrupt, Stopped) as error:
            note(f"tokd: stopped; the same command with --resume goes on from {work}")
            return 143 if isinstance(error, Stopped) else 130
        document = document_of(tokenizer, report, bar.seconds, evaluation.measure(tokenizer), evaluation.against)
        write_report(folder, train_report.files(document))
        shutil.rmtree(work, ignore_errors=True)
    write_result(document, train_report.summary(document, output, folder), as_json=args.json)
    return 0


def _train(
    args: argparse.Namespace, wanted: Recipe, work: Path, left_out: list[Path], bar: Bar
) -> tuple[Tokenizer, TrainingReport]:
    """Do what is not done yet; what fails before anything is worth keeping leaves no work directory."""
    place = work
    try:
        # Ray has a way of its own to end at a signal: ours comes after it.
        with engine_of(args) as engine, _stopped_by_signals(), _warnings_as_lines(bar):
            training = TrainingRun(
                work,
                wanted,
                progress=bar,
                threads=args.threads,
                memory=args.memory,
                left_out=left_out,
                engine=engine,
            )
            _require_own(training, args)
            training.count()
            if args.save_counts is not None:
                place = Path(args.save_counts)
                _save_counts(training, place, work)
                place = work
            training.merge()
            _require_own(training, args)
            place = Path(args.output)
            return training.publish(place), training.report()
    except (TokdError, OSError) as error:
        if isinstance(error, EmptyCorpus) or not any((work / "counts").glob("*.sorted")):
            # Nothing is done yet that would be worth keeping until the mistake is mended.
            shutil.rmtree(work, ignore_errors=True)
        if isinstance(error, OSError):
            raise CommandError("unwritable_output", f"{place}: {reason(error)}") from None
        raise
    finally:
        bar.clear()


class Stopped(BaseException):
    """The system asks the process to end."""


def _recipe(args: argparse.Namespace, work: Path) -> Recipe:
    """Return what is asked for; with ``--resume`` and no corpus, what the interrupted run was asked for."""
    settings = given(args)
    kept = _kept(work) if args.resume else None
    corpus = settings.get("corpus", {})
    if args.resume and kept is None and not corpus:
        finished = f"; {args.output} is finished" if Path(args.output).exists() else ""
        raise usage(f"{work} holds no interrupted run to resume{finished}; name a corpus to begin another")
    if args.dry_run and not corpus:
        settings["corpus"] = {"paths": ["CORPUS"]}
    if kept is None or {"paths", "texts"} & corpus.keys():
        return checked(settings, args)
    if isinstance(settings.get("extends"), str):
        settings["extends"] = str(Path(settings["extends"]))
    _require_same(kept, kept | settings | {"corpus": kept["corpus"] | corpus}, work)
    return Recipe.from_dict(kept)


def _kept(work: Path) -> dict[str, Any] | None:
    """Return what the interrupted run was asked for, if there is one."""
    try:
        described = json.loads((work / RECIPE).read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValueError:
        described = None
    if not (isinstance(described, dict) and isinstance(described.get("corpus"), dict)):
        raise CommandError("other_run", f"{work / RECIPE} is not a recipe; remove {work}")
    return described


def _require_same(kept: dict[str, Any], described: dict[str, Any], work: Path) -> None:
    """Refuse to go on with other settings than the run began with."""
    other = sorted(key for key in kept | described if kept.get(key) != described.get(key))
    if other:
        message = f"{work} holds a run with another {', '.join(other)}; continue it as it was begun, or remove it"
        raise CommandError("other_run", message)


def _require_room(args: argparse.Namespace, wanted: Recipe) -> None:
    """Refuse before any work to write where something is."""
    for place in _places(args, wanted):
        require_absent(place)


def _require_writable(args: argparse.Namespace, wanted: Recipe, report: Path) -> None:
    """Refuse before any work what could not be written after it; what is there already is looked at elsewhere."""
    for artifact in _artifacts(args, wanted):
        if not os.path.lexists(artifact):
            require_writable(artifact, makes_parents=True)
    if args.save_counts is not None and not os.path.lexists(args.save_counts):
        require_writable(Path(args.save_counts))
    if args.report is None or report.is_dir() or not os.path.lexists(report):
        # Without --report the files of an earlier report are replaced.
        require_writable(report / "report.json", makes_parents=True)


def _places(args: argparse.Namespace, wanted: Recipe) -> list[Path]:
    """Return where the run writes, but for its work directory and a report whose place is not named."""
    named = (Path(file) for file in (args.save_counts, args.report) if file is not None)
    return [*_artifacts(args, wanted), *named]


def _artifacts(args: argparse.Namespace, wanted: Recipe) -> list[Path]:
    output = Path(args.output)
    return [output, *(output.with_name(f"{output.name}-{size}") for size in wanted.sizes)]


def _require_apart(args: argparse.Namespace, wanted: Recipe, report: Path, work: Path) -> None:
    """Refuse one place inside another: the work directory, for one, goes in the end with all that is in it."""
    places = [("--output", path) for path in _artifacts(args, wanted)]
    places += [("--save-counts", Path(args.save_counts))] if args.save_counts is not None else []
    places += [("--report", report), ("--work", work)]
    for (flag, one), (other_flag, other) in combinations(places, 2):
        first, second = Path(os.path.realpath(one)), Path(os.path.realpath(other))
        holds = second.is_relative_to(first)
        if holds and (flag, other_flag) == ("--output", "--report"):
            # A report may lie in its artifact.
            continue
        if holds or first.is_relative_to(second):
            raise usage(f"{flag} {one} and {other_flag} {other} are one place or one inside the other; keep them apart")


def _require_own(training: TrainingRun, args: argparse.Namespace) -> None:
    """Refuse to replace what is not of this run; a resumed one may have written all that it writes."""
    output, report = Path(args.output), args.report
    others = training.in_the_way(output)
    counts = args.save_counts
    if counts is not None and os.path.lexists(counts) and not Path(counts).is_file():
        others.append(Path(counts))
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


def _keep_recipe(args: argparse.Namespace, wanted: Recipe, work: Path) -> None:
    """Write down what is asked for, so that a run is never continued as another one."""
    described, kept = wanted.to_dict(), _kept(work)
    if kept is not None:
        if not args.resume:
            raise CommandError("output_exists", f"{work} holds an interrupted run; --resume continues it, or remove it")
        _require_same(kept, described, work)
        return
    fresh = work / f".{RECIPE}"
    if any(path != fresh for path in work.iterdir()):
        require_absent(work)
    _require_room(args, wanted)
    try:
        with fresh.open("w", encoding="utf-8") as file:
            file.write(json.dumps(described))
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(work / RECIPE)
    except OSError as error:
        fresh.unlink(missing_ok=True)
        raise CommandError("unwritable_output", f"{work}: {reason(error)}") from None


@contextmanager
def _exclusive(work: Path) -> Iterator[None]:
    """Make and lock the work directory, so that no other process works there; if it is empty in the end, remove it.

    The lock ends with the process, however that ends.
    """
    while (descriptor := _lock(work)) is None:
        # Another process has just removed the directory: make it again.
        continue
    try:
        yield
    finally:
        if _is_at(work, descriptor):
            with suppress(OSError):
                work.rmdir()
        os.close(descriptor)


def _lock(work: Path) -> int | None:
    """Make, open and lock a directory, and return its descriptor; ``None`` if it was removed before it was locked."""
    if work.is_symlink():
        raise CommandError("output_exists", f"{work} is a link; name the directory that it leads to with --work")
    if not work.is_dir():
        require_absent(work)
    try:
        # In a place such as /proc, which takes no directories, this says that the parent is missing, however often.
        work.mkdir(parents=True, exist_ok=True)
        try:
            descriptor = os.open(work, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
    except OSError as error:
        raise CommandError("unwritable_output", f"{work}: {reason(error)}") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise CommandError("other_run", f"another process works on the run in {work}; wait for it") from None
    if _is_at(work, descriptor):
        return descriptor
    os.close(descriptor)
    return None


def _is_at(work: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(work.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


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
