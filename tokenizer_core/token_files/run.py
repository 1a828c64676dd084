"""Encode a corpus: do what is left of its tasks, then put all parts in place with one rename."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from dataclasses import replace as replaced
from functools import partial
from pathlib import Path
from typing import Any

from tokenizer_core._kernel import core_count
from tokenizer_core.arguments import integer_of
from tokenizer_core.atomic_files import replace, sweep, sync_directory
from tokenizer_core.corpus.bounds import UNBOUNDED, Bounds
from tokenizer_core.corpus.files import Files, sources
from tokenizer_core.corpus.languages import check_languages
from tokenizer_core.corpus.reading import Meter
from tokenizer_core.encoding_options import SpecialTokens
from tokenizer_core.engines.engine import Call, Engine, LocalEngine
from tokenizer_core.errors import EmptyCorpus, InvalidCorpus, shown
from tokenizer_core.examples import TrainedOn
from tokenizer_core.token_files.claims import Claims
from tokenizer_core.token_files.encoding import TaskEncoder, encode_task, keep_tokenizer, part_encoder
from tokenizer_core.token_files.layouts import LayoutName
from tokenizer_core.token_files.layouts.layout import Dtype, Shard
from tokenizer_core.token_files.manifest import FORMAT, NAME, TokenFiles, read_token_files
from tokenizer_core.token_files.plan import Task, tasks
from tokenizer_core.token_files.recipe import SHARD_BYTES, EndOfText, Recipe, recipe_of
from tokenizer_core.token_files.shuffle import seed_of
from tokenizer_core.token_files.store import Store, joined, store_of
from tokenizer_core.tokenizer import Tokenizer

MEMORY = 128 << 20
"""Bytes of blocks in flight."""

_REPORTED = 0.1
"""Seconds between two reports."""

_COUNTED = 2.0
"""Seconds between two counts of what all runs have done."""

_WAITED = 0.5
"""Seconds between two looks at what other runs have done."""


@dataclass(frozen=True, slots=True)
class EncodingProgress:
    """The progress of a run.

    Attributes:
        done, total: bytes of the files, packed as they are; ``done`` by all runs that share the work.
        documents, tokens: that this run has encoded.
    """

    done: int
    total: int
    documents: int
    tokens: int


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
    engine: Engine | None = None,
    bounds: Bounds = UNBOUNDED,
    claims: Callable[[Path], Claims] = Claims,
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
        memory: bytes of blocks that are encoded at the same time; one block always is. A task of ``engine`` has as
            much.
        engine: does the work, such as a ``RayEngine``, whose hosts share the directory of ``out`` and the files; by
            default ``threads`` of this process.
        bounds: what the corpus may be.
        claims: makes what divides the tasks among runs that join, of the folder of finished parts. Whoever puts all
            into place claims ``Claims.FINISH``.
        progress: called about ten times a second; what it raises stops the run.

    Raises:
        FileExistsError: something is at ``out``, or another run is writing it.
        InvalidOption: the tokenizer has no end-of-text token, or an id does not fit into ``dtype``.
        CorpusError: with the file, and the line or the row.
    """
    place = Path(os.path.abspath(out))  # noqa: PTH100 - a link at the end stays what it is
    files = corpus if isinstance(corpus, Files) else Files(paths=(corpus,))
    check_languages(files, wanted=False)
    recipe = recipe_of(
        files,
        tokenizer,
        layout=layout,
        eos=eos,
        special_tokens=special_tokens,
        dtype=dtype,
        shuffle=shuffle,
        shard_bytes=shard_bytes,
        messages=messages,
        train_on=train_on,
    )
    threads = integer_of(threads, "threads", 0) or core_count()
    memory = integer_of(memory, "memory", 1)
    if os.path.lexists(place) and not (resume or join):
        raise FileExistsError(errno.EEXIST, "it is there already; remove it or name another place", str(place))
    planned = tasks(sources(files, bounds, left_out=[place, store_of(place)]), recipe)
    if os.path.lexists(place):
        return _whole(place, recipe, planned)
    store = Store(store_of(place))
    if store.folder.exists() and not (resume or join):
        message = "an earlier run has left finished parts; resume it, or remove them"
        raise FileExistsError(errno.EEXIST, message, str(store.folder))
    with contextlib.suppress(FileExistsError):
        store.folder.mkdir()
    claimed = claims(store.folder)
    try:
        if os.path.lexists(place):
            # Another run has finished meanwhile.
            return _whole(place, recipe, planned)
        if not join:
            if any(claimed.others()):
                raise FileExistsError(errno.EEXIST, "another run is writing it; join it", str(place))
            sweep(store.folder)
        _refuse_others(store, recipe, planned)
        store.write_plan(planned)
        run = _Run(planned, store, claimed, Meter(bounds=bounds), progress)
        if engine is None:
            with part_encoder(recipe, tokenizer, threads, memory) as encoder:
                here = TaskEncoder(recipe, store, encoder, run.meter, run.add)
                run.work(LocalEngine(), lambda task: Call(task.key, here.encode, (task,), partial(store.is_done, task)))
        else:
            keep_tokenizer(recipe, store, tokenizer)
            shared = replaced(recipe, files=replaced(recipe.files, paths=()))
            run.work(engine, partial(_shared, shared, store, memory))
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


def has_free_task(out: str | os.PathLike[str]) -> bool:
    """Tell whether a run that joins those that write ``out`` would find a task that no other has.

    No run begins, or goes on, where the folder of parts is not there or cannot be used.
    """
    store = Store(store_of(Path(out)))
    try:
        left = store.left(store.plan())
        with contextlib.closing(Claims(store.folder)) as claims:
            return any(map(claims.is_free, left))
    except OSError:
        return False


def _shared(recipe: Recipe, store: Store, memory: int, task: Task) -> Call:
    return Call(task.key, encode_task, (recipe, store.folder, task, memory), partial(store.is_done, task))


class _Run:
    """The work of this run."""

    def __init__(
        self,
        planned: list[Task],
        store: Store,
        claims: Claims,
        meter: Meter,
        progress: Callable[[EncodingProgress], object] | None,
    ) -> None:
        self._planned, self._store, self._claims, self._progress = planned, store, claims, progress
        self._sizes = {task.key: task.size for task in planned}
        self._total = sum(self._sizes.values())
        self._done = self._done_by_all = self._told = self._documents = self._tokens = 0
        self._next_report = self._next_count = 0.0
        self.meter = meter

    def work(self, engine: Engine, call_of: Callable[[Task], Call]) -> None:
        """Do tasks until all are done, by this run or by others."""
        left = self._planned
        while left:
            waiting: list[Task] = []
            for call in engine.run(self._calls(left, waiting, call_of), lambda: self.add(0, 0)):
                self._claims.release(call.name)
                self._done += self._sizes[call.name]
                self.meter.bytes = 0
                if not isinstance(engine, LocalEngine):
                    # Tasks of this process tell of every block.
                    self.add(*self._store.totals(call.name))
            if len(waiting) == len(left):
                time.sleep(_WAITED)
            self.add(0, 0)
            left = waiting
        self._next_report = self._next_count = 0.0
        self.add(0, 0)

    def _calls(self, left: list[Task], waiting: list[Task], call_of: Callable[[Task], Call]) -> Iterator[Call]:
        for task in left:
            if self._store.is_done(task):
                continue
            if self._claims.take(task.key):
                yield call_of(task)
            else:
                waiting.append(task)

    def add(self, documents: int, tokens: int) -> None:
        """Note what was encoded, and report now and then."""
        self._documents += documents
        self._tokens += tokens
        if self._progress is None or time.monotonic() < self._next_report:
            return
        now = time.monotonic()
        self._next_report = now + _REPORTED
        if now >= self._next_count:
            # Other runs finish tasks too, which this one sees otherwise only when it would take them.
            self._next_count = now + _COUNTED
            self._done_by_all = self._total - sum(self._sizes[key] for key in self._store.left(self._sizes))
        done = max(self._done, self._done_by_all) + self.meter.bytes
        self._told = max(self._told, min(done, self._total))
        self._progress(EncodingProgress(self._told, self._total, self._documents, self._tokens))


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
        errno.EEXIST,
        "what is there is not from a run over this corpus with these settings; remove it, or name another place",
        str(place),
    )


def _refuse_others(store: Store, recipe: Recipe, planned: list[Task]) -> None:
    """Refuse to go on where a run with other settings has finished parts, which would be lost at the end."""
    settings = recipe.of_run()
    if others := store.others_settings(planned, settings):
        named = ", ".join(f"{name} {shown(value)}" for name, value in others.items())
        message = f"its parts are of a run with {named}; repeat that command, or remove the parts"
        raise FileExistsError(errno.EEXIST, message, str(store.folder))
    store.write_settings(settings)


def _run_key(recipe: Recipe, planned: list[Task]) -> str:
    return recipe.key([task.key for task in planned])


def _finish(place: Path, recipe: Recipe, planned: list[Task], store: Store, claims: Claims) -> None:
    """Put the parts in place, or wait until another run has."""
    while not claims.take(Claims.FINISH):
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


def _without_documents(markers: list[dict[str, Any]]) -> str:
    skipped = sum(marker["skipped"] for marker in markers)
    if not skipped:
        return "there is no document in the corpus"
    first = next(place for marker in markers for place in marker["first_skipped"])
    unit = "line" if "line" in first else "row"
    where = f"{unit} {first[unit]} of {first['file']}"
    return f"all {skipped} documents were left out; the first is {where}: {first['reason']}"


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
            raise EmptyCorpus(_without_documents(markers))
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
