"""Do a task: make those of its parts that are missing."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from tokenizer_core._kernel import DocumentEncoder
from tokenizer_core.corpus.documents import Block
from tokenizer_core.corpus.reading import Meter, failures
from tokenizer_core.errors import InvalidCorpus
from tokenizer_core.token_files.chats import ChatEncoder
from tokenizer_core.token_files.layouts.layout import Sink
from tokenizer_core.token_files.part import PartEncoder
from tokenizer_core.token_files.plan import Task, parts
from tokenizer_core.token_files.recipe import Recipe
from tokenizer_core.token_files.shuffle import Shuffled, seed_of
from tokenizer_core.token_files.store import Store
from tokenizer_core.tokenizer import Tokenizer

Report = Callable[[int, int], None]
"""Called with the documents and tokens of every block."""


class TaskEncoder:
    """Does tasks of one run."""

    def __init__(self, recipe: Recipe, store: Store, encoder: PartEncoder, meter: Meter, report: Report) -> None:
        self._recipe, self._store, self._encoder = recipe, store, encoder
        self._meter, self._report = meter, report

    def encode(self, task: Task) -> None:
        """Do a task, unless it is done.

        Raises:
            InvalidCorpus: with the file, and the line or the row.
        """
        if self._store.is_done(task):
            return
        finished = len(self._store.parts(task))
        count = 0
        for part, numbered in groupby(parts(task, self._recipe, self._meter), itemgetter(0)):
            blocks = (block for _, block in numbered)
            count = part + 1
            if part < finished:
                for _ in blocks:
                    self._report(0, 0)
            else:
                self._encode_part(task, part, blocks)
        _check(task)
        self._store.finish(task, count)

    def _encode_part(self, task: Task, part: int, blocks: Iterator[Block]) -> None:
        recipe, outputs = self._recipe, self._store.outputs(task, part)
        with contextlib.ExitStack() as stack:
            stack.callback(outputs.discard)
            sink: Sink = recipe.layout.sink(outputs, recipe.shape)
            if recipe.shuffle is not None:
                path, spool = self._store.spool(task)
                stack.callback(path.unlink, missing_ok=True)
                stack.enter_context(spool)
                sink = Shuffled(sink, recipe.shape, spool, seed_of(recipe.shuffle, task.number, part))
            totals = self._encoder.encode(blocks, sink, outputs.sources, self._report)
            _check(task)
            self._store.publish(task, part, outputs, totals)


@contextlib.contextmanager
def part_encoder(recipe: Recipe, tokenizer: Tokenizer, threads: int, memory: int) -> Iterator[PartEncoder]:
    """Make what encodes the parts of a run, with threads of its own."""
    with ThreadPoolExecutor(threads, "encode") as pool:
        yield PartEncoder(_encoder(tokenizer, recipe), recipe, pool, threads, memory)


def encode_task(recipe: Recipe, folder: Path, task: Task, memory: int) -> None:
    """Do a task on any host that shares the folder, where ``keep_tokenizer`` has put the tokenizer."""
    store = Store(folder)
    with part_encoder(recipe, _opened(store.tokenizer(recipe)), 1, memory) as encoder:
        TaskEncoder(recipe, store, encoder, Meter(), lambda *_: None).encode(task)


def keep_tokenizer(recipe: Recipe, store: Store, tokenizer: Tokenizer) -> None:
    """Put the tokenizer of a run where its tasks look for it."""
    place = store.tokenizer(recipe)
    if not place.exists():
        # Another run of the same tokenizer may do so at the same time.
        with contextlib.suppress(FileExistsError):
            tokenizer.save(place, name=tokenizer.name)


def _encoder(tokenizer: Tokenizer, recipe: Recipe) -> DocumentEncoder | ChatEncoder:
    if recipe.chats is not None:
        return ChatEncoder(tokenizer, recipe, recipe.chats)
    return DocumentEncoder(
        tokenizer,
        recipe.special_tokens,
        **({} if recipe.shape.eos is None else {recipe.place: recipe.shape.eos}),
        id_bytes=recipe.shape.item,
        skip_invalid=recipe.files.on_error == "skip",
    )


@lru_cache(maxsize=1)
def _opened(place: Path) -> Tokenizer:
    return Tokenizer.open(place)


def _check(task: Task) -> None:
    for source, stamp in zip(task.sources, task.stamps, strict=True):
        with failures(source):
            is_same = source.stamp() == stamp
        if not is_same:
            message = f"{source.name} changed while it was read; encode it again when it is complete"
            raise InvalidCorpus(message, file=source.name)
