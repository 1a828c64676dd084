"""``tokd encode-corpus``: encode files of documents into files that a trainer reads."""

from __future__ import annotations

import argparse
import re
import time
from pathlib import Path
from typing import get_args

from service.cli.engines import add_engine, engine_of
from service.cli.options import POLICIES, Parser, add_tokenizer, place, size, whole_number
from service.cli.progress import Bar
from service.cli.streams import (
    CommandError,
    counted,
    note,
    printable,
    reason,
    require_absent,
    require_writable,
    write_json,
    write_line,
)
from tokenizer_core import (
    CorpusFormat,
    Dtype,
    EncodingProgress,
    EndOfText,
    Files,
    LayoutName,
    OnError,
    Progress,
    TokenFiles,
    Tokenizer,
    encode_corpus,
)

_PLACES = ("after", "before", "none")


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "encode-corpus",
        usage="%(prog)s CORPUS ... -o DIR [-t ARTIFACT] [--format FORMAT] [OPTION ...]",
        help="encode a corpus into training files",
        description="Encode every document of text, JSON lines or Parquet into the files that a trainer reads.",
    )
    parser.add_argument("corpus", nargs="+", metavar="CORPUS", help="files, directories, glob patterns or URLs")
    parser.add_argument("-o", "--output", type=place, metavar="DIR", required=True, help="the directory to write")
    add_tokenizer(parser)
    parser.add_argument(
        "--format",
        dest="layout",
        choices=get_args(LayoutName),
        default="megatron",
        help="the format to write (default: %(default)s)",
    )
    _add_documents(parser)
    _add_files(parser)
    _add_run(parser)


def _add_documents(parser: Parser) -> None:
    parser.add_argument("--field", help="field of a line, column of Parquet (default: text; of chats: messages)")
    parser.add_argument(
        "--messages",
        action="store_true",
        help="the field holds a chat: render it by the tokenizer's template, and write labels with the ids",
    )
    parser.add_argument(
        "--train-on",
        choices=("assistant", "last", "all"),
        help="what of a chat is trained on: the assistant's turns (the default), the last of them, or all",
    )
    add_input_format(parser)
    parser.add_argument(
        "--eos",
        type=_end_of_text,
        metavar="|".join((*_PLACES, "LITERAL", "ID")),
        help="where the end-of-text token stands at each document, or the special token or the id to take for it "
        "(default: where the format's trainer expects it; at chats nowhere)",
    )
    parser.add_argument(
        "--special-tokens",
        choices=POLICIES,
        default="reject",
        help="what the literal of a special token in a document means: an error, ordinary text, or its id "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--on-error",
        choices=get_args(OnError),
        default="stop",
        help="at a document that cannot be read or encoded: stop, or leave it out and count it (default: %(default)s)",
    )


def _add_files(parser: Parser) -> None:
    parser.add_argument(
        "--dtype", choices=("auto", *get_args(Dtype)), default="auto", help="type of the ids (default: %(default)s)"
    )
    parser.add_argument(
        "--shard-bytes",
        type=size,
        metavar="SIZE",
        default=1 << 30,
        help="unpacked bytes of the corpus for each shard, such as 500M (default: 1 GiB)",
    )
    parser.add_argument(
        "--shuffle", type=_seed, metavar="SEED", help="permute the documents of each shard, and the shards"
    )


def _add_run(parser: Parser) -> None:
    parser.add_argument("--resume", action="store_true", help="keep the parts that a stopped run has finished")
    parser.add_argument("--join", action="store_true", help="share the work with other runs of the same command")
    parser.add_argument("--threads", type=whole_number, metavar="N", help="threads that encode (default: one a core)")
    parser.add_argument(
        "--memory", type=size, metavar="SIZE", default=128 * 10**6, help="of what is encoded at once (default: 128M)"
    )
    add_engine(parser)
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.add_argument("--json", action="store_true", help="print JSON")


def _seed(text: str) -> int:
    if not re.fullmatch("[0-9]{1,18}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)


def _end_of_text(text: str) -> EndOfText:
    if re.fullmatch("[0-9]{1,9}", text):
        return int(text)
    return text


def add_input_format(parser: argparse.ArgumentParser) -> None:
    """Add the format of the files of a corpus, in a command whose ``--format`` is that of its output."""
    parser.add_argument(
        "--input-format",
        dest="corpus.format",
        choices=get_args(CorpusFormat)[:3],
        help="what the files are, whatever they are called",
    )


def run(args: argparse.Namespace) -> int:
    """Encode, and print what was written."""
    output = Path(args.output)
    if not (args.resume or args.join):
        require_absent(output)
    require_writable(output)
    field = args.field or "text"
    files = Files(
        paths=tuple(args.corpus),
        format=getattr(args, "corpus.format"),
        field=field,
        column=field,
        on_error=args.on_error,
    )
    tokenizer = Tokenizer.open(args.tokenizer)
    bar = EncodeBar(quiet=args.quiet)
    try:
        with engine_of(args) as engine:
            written = encode_corpus(
                files,
                tokenizer,
                output,
                layout=args.layout,
                eos=args.eos,
                special_tokens=args.special_tokens,
                dtype=None if args.dtype == "auto" else args.dtype,
                shuffle=args.shuffle,
                shard_bytes=args.shard_bytes,
                messages=(args.field or "messages") if args.messages else None,
                train_on=args.train_on,
                resume=args.resume,
                join=args.join,
                threads=args.threads or 0,
                memory=args.memory,
                engine=engine,
                progress=bar,
            )
    except FileExistsError as error:
        raise CommandError("other_run", f"{printable(str(error.filename))}: {reason(error)}") from None
    except OSError as error:
        # Input that cannot be read is an error of the corpus.
        raise CommandError("unwritable_output", f"cannot write {printable(str(output))}: {reason(error)}") from None
    finally:
        bar.clear()
    _say(written, output, as_json=args.json)
    return 0


def _say(written: TokenFiles, output: Path, *, as_json: bool) -> None:
    first = written.manifest["first_skipped"]
    if as_json:
        write_json(
            {
                "path": str(output),
                "format": written.layout,
                "documents": written.documents,
                "tokens": written.tokens,
                "trained": written.trained,
                "shards": len(written.shards),
                "skipped": written.skipped,
                "first_skipped": first,
                "dtype": written.dtype,
                "tokenizer": written.tokenizer,
            }
        )
        return
    shards = counted(len(written.shards), "shard")
    size = f"{counted(written.documents, 'document')}, {counted(written.tokens, 'token')} ({written.dtype}), {shards}"
    if written.trained is not None:
        size = f"{size}, {counted(written.trained, 'token')} trained on"
    write_line(f"{size}, written to {printable(str(output))}")
    if written.skipped:
        note(f"tokd: {counted(written.skipped, 'document')} left out")
        for skipped in first:
            unit = "line" if "line" in skipped else "row"
            note(f"tokd:   {unit} {skipped[unit]} of {skipped['file']}: {skipped['reason']}")


class EncodeBar:
    """Shows how far a corpus is encoded."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._bar = None if quiet else Bar()
        self._since = time.monotonic()

    def __call__(self, progress: EncodingProgress) -> None:
        """Take one report."""
        if self._bar is None:
            return
        seconds = time.monotonic() - self._since
        rate = f"  {round(progress.tokens / seconds):,} tokens/s" if seconds > 1 else ""
        detail = f"{counted(progress.documents, 'document')}  {counted(progress.tokens, 'token')}{rate}"
        self._bar(Progress("encoding", progress.done, progress.total, "bytes"), detail)

    def clear(self) -> None:
        """Take the line away, so that others can be written."""
        if self._bar is not None:
            self._bar.clear()
