"""Checks of a corpus whose documents are told apart by language."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import PurePath

from tokenizer_core.corpus.bounds import Bounds
from tokenizer_core.corpus.files import Files
from tokenizer_core.corpus.reading import Meter, Source, lines
from tokenizer_core.errors import InvalidCorpus, InvalidOption


def check_languages(files: Files | None, wanted: bool) -> None:
    """Require that files tell the language of a document if that is wanted, and that nobody is asked for it if not.

    Raises:
        InvalidOption
    """
    if not wanted:
        for name in ("language", "parallel"):
            if files is not None and getattr(files, name):
                raise InvalidOption(f"{name} is for parity; turn that on, or leave it away", field=f"corpus.{name}")
        return
    if files is None:
        message = "parity needs the language of each text; name files, or give texts by language"
        raise InvalidOption(message, field="corpus")
    are_counts = files.format == "counts" or all(".counts" in PurePath(path).suffixes for path in files.paths)
    if files.language is None and not are_counts:
        message = (
            "parity needs the language of each document; say with language what tells it: file, directory, or a field"
        )
        raise InvalidOption(message, field="corpus.language")


def check_parallel(found: Sequence[Source], bounds: Bounds) -> int:
    """Require that parallel texts have as many lines in each language, and return how many.

    Raises:
        InvalidCorpus
    """
    counts: Counter[str] = Counter()
    meter, has_text = Meter(bounds=bounds), False
    for source in found:
        if source.is_parallel:
            counts[source.language] += 0
            for block in lines(source, meter):
                counts[source.language] += len(block.splitlines())
                has_text = has_text or bool(block.strip())
    if counts and not has_text:
        raise InvalidCorpus("the parallel texts are empty; leave parallel away", field="corpus.parallel")
    if len(set(counts.values())) > 1:
        (most, many), *_, (least, few) = counts.most_common()
        message = f"parallel texts have as many lines in each language, but {most} has {many} and {least} has {few}"
        raise InvalidCorpus(message, field="corpus.parallel")
    return next(iter(counts.values()), 0)
