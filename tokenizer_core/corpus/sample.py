"""Sample texts of a corpus for measurements, never for training."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice

from tokenizer_core.arguments import whole_number
from tokenizer_core.corpus.documents import text_of_line
from tokenizer_core.corpus.files import Files, sources
from tokenizer_core.corpus.reading import BLOCK, Meter, Source, blocks, numbered_lines, rows
from tokenizer_core.errors import InvalidCorpus, InvalidOption, shown


def sample_corpus(corpus: str | os.PathLike[str] | Files, size: int) -> list[str]:
    """Return the first texts of every file, about ``size`` bytes in all.

    A text file is one text, cut where its share ends. Bytes that are not UTF-8 become U+FFFD.

    Raises:
        InvalidOption: ``size`` is not a whole number from 1 on.
        CorpusError: with the file; also when there is nothing but counts.
    """
    wanted = whole_number(size)
    if wanted is None or not 1 <= wanted < 1 << 63:
        raise InvalidOption(f"size is 1 or more bytes and below 2 ** 63, not {shown(size)}", field="size")
    files = corpus if isinstance(corpus, Files) else Files(paths=(corpus,))
    found = [source for source in sources(files) if source.format != "counts"]
    if not found:
        raise InvalidCorpus("counts hold no texts to measure on; name files of text", field="corpus")
    share = max(1, wanted // len(found))
    return [text for source in found for text in _first(source, files, share)]


def _first(source: Source, files: Files, share: int) -> Iterator[str]:
    left = share
    for text in _texts(source, files, share):
        yield text
        left -= len(text.encode(errors="surrogatepass"))
        if left <= 0:
            return


def _texts(source: Source, files: Files, share: int) -> Iterator[str]:
    if source.format == "parquet":
        skip = (lambda _: None) if files.on_error == "skip" else None
        for batch in rows(source, files.column, Meter(), replace_invalid=True, skip=skip):
            yield from batch
    elif source.format == "jsonl":
        for number, line, _ in numbered_lines(source):
            try:
                text = text_of_line(line.decode(errors="replace"), files.field, source.name, number)
                yield text.encode(errors="replace").decode()
            except InvalidCorpus:
                if files.on_error == "stop":
                    raise
    else:
        start = b"".join(islice(blocks(source, Meter()), 1 + share // BLOCK))[:share]
        # The last character may be cut in two.
        yield start.decode(errors="replace").rstrip("\N{REPLACEMENT CHARACTER}")
