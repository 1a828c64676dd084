"""Encode a corpus: do what is left of its tasks, then put all parts in place with one rename."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from tokenizer_core._kernel import DocumentEncoder
from tokenizer_core.arguments import integer_of
from tokenizer_core.atomic_files import replace, sweep, sync_directory
from tokenizer_core.corpus.bounds import UNBOUNDED, Bounds
from tokenizer_core.corpus.documents import Block
from tokenizer_core.corpus.files import Files, sources
from tokenizer_core.corpus.reading import Meter, failures
from tokenizer_core.encoding_options import SpecialTokens
from tokenizer_core.errors import EmptyCorpus, InvalidCorpus
from tokenizer_core.examples import TrainedOn
from tokenizer_core.token_files.chats import ChatEncoder
from tokenizer_core.token_files.claims import Claims, FileClaims
from tokenizer_core.token_files.layouts import LayoutName
from tokenizer_core.token_files.layouts.layout import Dtype, Shard, Sink
from tokenizer_core.token_files.manifest import FORMAT, NAME, TokenFiles, read_token_files
from tokenizer_core.token_files.part import PartEncoder
from tokenizer_core.token_files.plan import Task, parts, tasks
from tokenizer_core.token_files.recipe import SHARD_BYTES, EndOfText, Recipe, recipe_of
from tokenizer_core.token_files.shuffle import Shuffled, seed_of
from tokenizer_core.token_files.store import Store, joined, store_of
from tokenizer_core.tokenizer import Tokenizer

MEMORY = 128 << 20
"""Bytes of blocks in flight."""

_REPORTED = 0.1
"""Seconds between two reports."""

_WAITED = 0.5
"""Seconds between two looks at what other runs have done."""


@dataclass(frozen=True, slots=True)
class EncodingProgress:
    """The progress of a run.

    Attributes:
        done, total: bytes of the files, packed as they are.
        documents, tokens: that this run has encoded.
        reading: bytes of ``done`` that are of the task that is not finished.
    """

    done: int
    total: int
    documents: int
    tokens: int
    reading: int = 0


def encode_corpus(
    corpus: str | os.PathLike[str] | Files,
    tokenizer: Tokenizer,
    out: str | os.PathLike[str],
    *,
    layout: LayoutName = "megatron",
    eos: EndOfText | None = None,
    special_tokens: SpecialTokens = "reject",
    dtype: Dtype | None = None,
    shuffle: int | None = None,
    shard_bytes: int = SHARD_BYTES,
    messages: str | None = None,
    train_on: TrainedOn | None = None,
    resume: bool = False,
    join: bool = False,
    threads: int = 0,
    memory: int = MEMORY,
    bounds: Bounds = UNBOUNDED,
    claims: Callable[[Path, Sequence[Task]], Claims] | None = None,
    progress: Callable[[EncodingProgress], object] | None = None,
) -> TokenFiles:
    """Encode every document of files, in the order of their names, into a new directory.

    The whole directory appears at once. Until then finished parts stand beside it, in ``.NAME.parts``.

    Args:
        layout: the trainer's format.
        eos: where the tokenizer's end-of-text token stands: after each document, before it, or nowhere, or the id that
            stands there; by default where the layout's trainer expects it, and nowhere at chats, which end as their
            template says. An empty document has none.
        dtype: of the ids; by default the smallest that the layout's trainer takes for the vocabulary.
        shuffle: the seed of a permutation of the documents of each shard, and of the shards.
        shard_bytes: unpacked bytes of the corpus for each shard.
        messages: the field or column that holds a chat, in place of a text. With the ``tools``, ``documents`` and
            ``chat_template_kwargs`` beside it, it is rendered by the tokenizer's template and written with labels.
        train_on: what of chats is trained on: ``"assistant"``, ``"last"`` or ``"all"``.
        resume: keep the parts that a stopped run has finished, and return what is there if it is whole.
        join: as ``resume``, and share the work with all runs that are given the same arguments.
        threads: 0 takes all cores; their number changes no byte.
        memory: bytes of blocks that are encoded at the same time; one block always is.
        bounds: what the corpus may be.
        claims: makes what divides the tasks among runs, instead of files beside the output; for ``join``.
        progress: called about ten times a second; what it raises stops the run.

    Raises:
        FileExistsError: something is at ``out``, or another run is writing it.
        InvalidOption: the tokenizer has no end-of-text token, or an id does not fit into ``dtype``.
        CorpusError: with the file, and the line or the row.
    """
    place = Path(os.path.abspath(out))  # noqa: PTH100 - a link at the end stays what it is
    files = corpus if isinstance(corpus, Files) else Files(paths=(corpus,))
    recipe = recipe_of(
        files,
        tokenizer,
        layout,
        eos=eos,
        special_tokens=special_tokens,
        dtype=dtype,
        shuffle=shuffle,
        shard_bytes=shard_bytes,
        messages=messages,
        train_on=train_on,
    )
    threads = integer_of(threads, "threads", 0) or len(os.sched_getaffinity(0))
    if os.path.lexists(place) and not (resume or join):
        raise FileExistsError(errno.EEXIST, "it is there already", str(place))
    planned = tasks(sources(files, bounds, left_out=[place, store_of(place)]), recipe)
    if os.path.lexists(place):
        return _whole(place, recipe, planned)
    store = Store(store_of(place))
    if store.folder.exists() and not (resume or join):
        message = "an earlier run has left finished parts; resume it, or remove them"
        raise FileExistsError(errno.EEXIST, message, str(store.folder))
    with contextlib.suppress(FileExistsError):
        store.folder.mkdir()
    claimed = FileClaims(store.folder) if claims is None else claims(store.folder, planned)
    try:
        if os.path.lexists(place):
            # Another run has finished meanwhile.
            return _whole(place, recipe, planned)
        if not join:
            if any(claimed.others()):
                raise FileExistsError(errno.EEXIST, "another run is writing it; join it", str(place))
            sweep(store.folder)
        with ThreadPoolExecutor(threads, "encode") as pool:
            runner = PartEncoder(_encoder(tokenizer, recipe), recipe, pool, threads, integer_of(memory, "memory", 1))
            _Run(recipe, planned, store, claimed, runner, Meter(bounds=bounds), progress).work()
        _finish(place, recipe, planned, store, claimed)
        return read_token_files(place)
    except FileNotFoundError:
        # Another run has put all parts in place, and removed the folder.
        if join and os.path.lexists(place):
            return _whole(place, recipe, planned)
        raise
    finally:
        claimed.close()
        if os.path.lexists(place) or not join:
            store.tidy(is_whole=os.path.lexists(place))


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


class _Run:
    """The work of this run."""

    def __init__(
        self,
        recipe: Recipe,
        planned: list[Task],
        store: Store,
        claims: Claims,
        encoder: PartEncoder,
        meter: Meter,
        progress: Callable[[EncodingProgress], object] | None,
    ) -> None:
        self._recipe, self._planned, self._store = recipe, planned, store
        self._claims, self._encoder, self._meter, self._progress = claims, encoder, meter, progress
        self._total = sum(task.size for task in planned)
        self._done = self._documents = self._tokens = 0
        self._next_report = 0.0

    def work(self) -> None:
        """Do tasks until all are done, by this run or by others."""
        left = list(self._planned)
        while left:
            waiting = []
            for task in left:
                if self._store.is_done(task):
                    self._done += task.size
                elif self._claims.take(task.key):
                    try:
                        # It may have been finished in between.
                        if not self._store.is_done(task):
                            self._encode(task)
                    finally:
                        self._claims.release(task.key)
                    self._done += task.size
                else:
                    waiting.append(task)
                self._meter.bytes = 0
                self._report()
            if len(waiting) == len(left):
                time.sleep(_WAITED)
            left = waiting
        self._next_report = 0.0
        self._report()

    def _encode(self, task: Task) -> None:
        finished = len(self._store.parts(task))
        count = 0
        for part, numbered in groupby(parts(task, self._recipe, self._meter), itemgetter(0)):
            blocks = (block for _, block in numbered)
            count = part + 1
            if part < finished:
                for _ in blocks:
                    self._report()
            else:
                self._encode_part(task, part, blocks)
        self._check(task)
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
            totals = self._encoder.encode(blocks, sink, outputs.sources, self._add)
            self._check(task)
            self._store.publish(task, part, outputs, totals)

    def _check(self, task: Task) -> None:
        for source, stamp in zip(task.sources, task.stamps, strict=True):
            with failures(source):
                is_same = source.stamp() == stamp
            if not is_same:
                message = f"{source.name} changed while it was read; encode it again when it is complete"
                raise InvalidCorpus(message, file=source.name)

    def _add(self, documents: int, tokens: int) -> None:
        self._documents += documents
        self._tokens += tokens
        self._report()

    def _report(self) -> None:
        if self._progress is None or time.monotonic() < self._next_report:
            return
        self._next_report = time.monotonic() + _REPORTED
        done = min(self._done + self._meter.bytes, self._total)
        self._progress(EncodingProgress(done, self._total, self._documents, self._tokens, self._meter.bytes))


def _whole(place: Path, recipe: Recipe, planned: list[Task]) -> TokenFiles:
    """Return what a finished run has written, if it was given the same.

    Raises:
        FileExistsError: it was not.
    """
    with contextlib.suppress(InvalidCorpus):
        written = read_token_files(place)
        if written.manifest["run"] == _run_key(recipe, planned):
            return written
    raise FileExistsError(
        errno.EEXIST, "what is there is not from a run over this corpus with these settings", str(place)
    )


def _run_key(recipe: Recipe, planned: list[Task]) -> str:
    return recipe.key([task.key for task in planned])


def _finish(place: Path, recipe: Recipe, planned: list[Task], store: Store, claims: Claims) -> None:
    """Put the parts in place, or wait until another run has."""
    while not claims.take("finish"):
        time.sleep(_WAITED)
        if place.exists():
            return
    if place.exists():
        return
    key = _run_key(recipe, planned)
    whole = store.folder / f"whole-{key}"
    with contextlib.suppress(FileExistsError):
        whole.mkdir()
    manifest = _Assembly(recipe, planned, store, whole).manifest()
    content = {"format": FORMAT, **recipe.described(), "run": key, **manifest}
    replace(whole / NAME, [json.dumps(content, indent=1).encode() + b"\n"])
    sync_directory(whole)
    whole.rename(place)
    sync_directory(place.parent)


class _Assembly:
    """Gives all files their names, also those that an earlier run has renamed before it was stopped."""

    def __init__(self, recipe: Recipe, planned: list[Task], store: Store, whole: Path) -> None:
        self._recipe, self._store, self._whole = recipe, store, whole
        found = [(task, part, marker) for task in planned for part, marker in enumerate(store.parts(task))]
        if recipe.shuffle is not None:
            found.sort(key=lambda each: seed_of(recipe.shuffle, "shard", each[0].number, each[1]))
        self._parts = found

    def manifest(self) -> dict[str, Any]:
        """Rename the files, write the index, and return what the manifest says of them."""
        markers = [marker for _, _, marker in self._parts]
        if not sum(marker["documents"] for marker in markers):
            shutil.rmtree(self._store.folder)
            raise EmptyCorpus("there is no document in the corpus")
        shards = self._one_file() if self._recipe.layout.is_one_file else self._renamed()
        beside = {}
        described = [Shard(shard["documents"], shard["tokens"], shard["files"]) for shard in shards]
        for name, data in self._recipe.layout.index(described, self._recipe.shape).items():
            replace(self._whole / name, [data])
            beside[name] = len(data)
        return {
            "documents": sum(marker["documents"] for marker in markers),
            "tokens": sum(marker["tokens"] for marker in markers),
            "trained": sum(marker["trained"] for marker in markers) if self._recipe.chats else None,
            "skipped": sum(marker["skipped"] for marker in markers),
            "first_skipped": [place for marker in markers for place in marker["first_skipped"]][:10],
            "shards": shards,
            "index": beside,
        }

    def _renamed(self) -> list[dict[str, Any]]:
        shards: list[dict[str, Any]] = []
        total = sum(len(marker["pieces"]) for _, _, marker in self._parts)
        for task, part, marker in self._parts:
            for number, piece in enumerate(marker["pieces"]):
                files = {}
                for suffix, facts in piece["files"].items():
                    name = self._recipe.layout.name(len(shards), total, suffix)
                    try:
                        self._store.file(task, part, number, suffix).rename(self._whole / name)
                    except FileNotFoundError:
                        if not (self._whole / name).exists():
                            raise
                    files[suffix] = {"name": name, **facts}
                shards.append({**piece, "files": files, "sources": marker["sources"]})
        return shards

    def _one_file(self) -> list[dict[str, Any]]:
        markers = [marker for _, _, marker in self._parts]
        files = {}
        for suffix in markers[0]["pieces"][0]["files"]:
            name = self._recipe.layout.name(0, 1, suffix)
            parts = [self._store.file(task, part, 0, suffix) for task, part, _ in self._parts]
            files[suffix] = {"name": name, **joined(parts, self._whole / name)}
        return [
            {
                "documents": sum(marker["documents"] for marker in markers),
                "tokens": sum(marker["tokens"] for marker in markers),
                "files": files,
                "sources": [source for marker in markers for source in marker["sources"]],
            }
        ]
