"""Counters of the server in Prometheus's text format.

With several processes every one writes its numbers into files of the directory ``PROMETHEUS_MULTIPROC_DIR``, which the
server sets before it starts them, and any one of them answers ``/metrics`` for all. Label values come from this
program: declared routes, statuses, codes, tokenizers that were loaded at the start.
"""

from __future__ import annotations

import logging
import os
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from service.admission.limits import Limits
from service.registry.served import ServedTokenizer
from service.request_log import LogEntry
from service.telemetry.usage import Usage
from tokenizer_core import VERSION, SegmentCache, Tokenizer

_log = logging.getLogger("tokd")

DIRECTORY_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"

TRAINED = "trained"
"""The one label of all trained tokenizers: who knows the hash of one may use it, and anybody may read this page."""

_SECONDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class _Tally:
    """Counts of one kind of request since the last ``flush``.

    Prometheus's own objects take locks, which would cost a small request more than all the rest of the service.
    """

    __slots__ = ("_into", "buckets", "bytes_in", "bytes_out", "requests", "seconds", "tokens")

    def __init__(
        self, requests: Counter, seconds: Histogram, bytes_in: Counter, bytes_out: Counter, tokens: Counter
    ) -> None:
        self._into = requests, seconds, bytes_in, bytes_out, tokens
        self._empty()

    def _empty(self) -> None:
        self.requests = self.bytes_in = self.bytes_out = self.tokens = 0
        self.seconds = 0.0
        self.buckets = [0] * (len(_SECONDS) + 1)

    def flush(self) -> None:
        """Add the counts to Prometheus's objects, and reset them."""
        requests, seconds, bytes_in, bytes_out, tokens = self._into
        requests.inc(self.requests)
        bytes_in.inc(self.bytes_in)
        bytes_out.inc(self.bytes_out)
        tokens.inc(self.tokens)
        # A histogram has no call for many observations, so its parts are counted up as ``observe`` does.
        seconds._sum.inc(self.seconds)
        for bucket, count in zip(seconds._buckets, self.buckets, strict=True):
            if count:
                bucket.inc(count)
        self._empty()


class Metrics:
    """The numbers of one process, and the page for all.

    Args:
        at_start: the tokenizers that are loaded at the start.
        loaded: returns those that are loaded, each with its label.
        trained: returns the trained tokenizers that are open.
        segments: where the ids of segments of chats are kept.
        by_key: also count by the names of keys.
    """

    def __init__(
        self,
        at_start: Collection[ServedTokenizer],
        loaded: Callable[[], Iterable[tuple[str, Tokenizer]]] = tuple,
        trained: Callable[[], Iterable[Tokenizer]] = tuple,
        segments: SegmentCache | None = None,
        *,
        by_key: bool = False,
    ) -> None:
        self._directory = os.environ.get(DIRECTORY_VARIABLE)
        self._registry = registry = CollectorRegistry()
        by_route = partial(Counter, labelnames=("route",), registry=registry)
        level = partial(Gauge, registry=registry, multiprocess_mode="livesum")
        highest = partial(Gauge, registry=registry, multiprocess_mode="livemax")
        self._requests = Counter(
            "tokd_requests",
            "Requests answered, by route, status and code.",
            ("route", "status", "code"),
            registry=registry,
        )
        self._seconds = Histogram(
            "tokd_request_seconds",
            "Time from the headers to the answer.",
            ("route",),
            buckets=_SECONDS,
            registry=registry,
        )
        self.queue_seconds = Histogram(
            "tokd_queue_seconds",
            "Time that large requests and chats waited for a thread.",
            buckets=_SECONDS,
            registry=registry,
        )
        self._bytes_in = by_route("tokd_request_bytes", "Bytes of request bodies.")
        self._bytes_out = by_route("tokd_response_bytes", "Bytes of answers.")
        self._tokens = by_route("tokd_tokens", "Ids that went in or out.")
        self._in_flight = level("tokd_requests_in_flight", "Requests under way.")
        self._held = level("tokd_held_bytes", "Bytes of bodies and large answers in memory.")
        self._work = level("tokd_work_bytes", "Bytes of large requests under way, with 1 MiB for a rendering.")
        self._in_threads = level("tokd_large_requests", "Large requests in threads or waiting for one.")
        self.dropped = Counter("tokd_access_log_dropped", "Lines the log could not take in time.", registry=registry)
        self._fast_path_failures = Counter(
            "tokd_fast_path_failures",
            "Requests that the fast path failed on by a bug and the route answered, by route and type of error.",
            ("route", "error"),
            registry=registry,
        )
        self._keys = highest("tokd_keys", "API keys that are in force.")
        self._keys_broken = highest(
            "tokd_keys_broken", "1 while the file of keys cannot be used and those from before stay in force."
        )
        self.engine_literals = highest(
            "tokd_engine_literals", "Models in whose chats literals become control tokens, by the setting literals."
        )
        _show_vocabularies(at_start, registry)
        _show_build(registry)
        self._piece_caches = _PieceCaches(loaded, trained, registry)
        self._segments = segments
        self._seen_segments: tuple[int, ...] = 0, 0
        self._segment_bytes = level("tokd_segment_cache_bytes", "Bytes of the segment cache.")
        self._segments_found = Counter(
            "tokd_segment_cache_segments",
            "Texts between added tokens that were looked up in the segment cache, and were there or not.",
            ("event",),
            registry=registry,
        )
        if self._directory is None:
            ProcessCollector(registry=registry)
        self._tallies: dict[tuple[str, int, str], _Tally] = {}
        public = {loaded.hash for loaded in at_start}
        self._usage = Usage(registry, lambda hash: hash if hash in public else TRAINED, by_key=by_key)

    def record(self, log_entry: LogEntry, seconds: float, limits: Limits) -> None:
        """Count a request that is answered."""
        key = (log_entry.route, log_entry.status, log_entry.code)
        tally = self._tallies.get(key)
        if tally is None:
            tally = self._tallies[key] = self._tally(*key)
        tally.requests += 1
        tally.seconds += seconds
        tally.buckets[bisect_left(_SECONDS, seconds)] += 1
        tally.bytes_in += log_entry.bytes_in
        tally.bytes_out += log_entry.bytes_out
        tally.tokens += log_entry.tokens
        self._usage.record(log_entry)
        if self._directory is not None:
            # Another process may be asked for the page, so the numbers must always be in the files that it reads.
            tally.flush()
            self._usage.flush()
            self.update_gauges(limits)

    def _tally(self, route: str, status: int, code: str) -> _Tally:
        return _Tally(
            self._requests.labels(route, str(status), code),
            self._seconds.labels(route),
            self._bytes_in.labels(route),
            self._bytes_out.labels(route),
            self._tokens.labels(route),
        )

    def update_gauges(self, limits: Limits) -> None:
        """Set the numbers of what is under way now."""
        self._in_flight.set(limits.requests)
        self._held.set(limits.held_bytes)
        self._work.set(limits.work_bytes)
        self._in_threads.set(limits.in_threads)

    def note_keys(self, count: int, broken: bool) -> None:
        """Note how many keys are in force, and whether their file is broken."""
        self._keys.set(count)
        self._keys_broken.set(broken)

    def note_fast_path_failure(self, route: str, error: Exception) -> None:
        """Count and log an error of the fast path, which no caller meets."""
        kind = type(error).__name__
        self._fast_path_failures.labels(route, kind).inc()
        _log.error("the fast path of %s failed with %s; its route answers", route, kind)

    def page(self, jobs: Mapping[tuple[str, str], int]) -> bytes:
        """Write the numbers of all processes, and of ``jobs`` by kind and state, which no process counts for itself.

        Those of the piece caches are of this process now, and of every other as of when it last wrote a page.
        """
        self._piece_caches.update()
        if self._segments is not None:
            size, *seen = self._segments.statistics
            self._segment_bytes.set(size)
            for event, was, count in zip(("found", "missed"), self._seen_segments, seen, strict=True):
                self._segments_found.labels(event).inc(count - was)
            self._seen_segments = tuple(seen)
        return self._page_of_processes() + _page_of_jobs(jobs)

    def _page_of_processes(self) -> bytes:
        if self._directory is None:
            for tally in self._tallies.values():
                tally.flush()
            self._usage.flush()
            return generate_latest(self._registry)
        _forget_dead_processes(Path(self._directory))
        merged = CollectorRegistry()
        MultiProcessCollector(merged, path=self._directory)
        return generate_latest(merged)


class _Pieces(NamedTuple):
    """Counters of the piece caches of a tokenizer."""

    looked_up: int
    missed: int
    evicted: int


class _PieceCaches:
    """The metrics of the piece caches, which are in the kernel and are asked when a page is written."""

    def __init__(
        self,
        loaded: Callable[[], Iterable[tuple[str, Tokenizer]]],
        trained: Callable[[], Iterable[Tokenizer]],
        registry: CollectorRegistry,
    ) -> None:
        self._loaded, self._trained = loaded, trained
        self._seen: dict[int, tuple[Tokenizer, _Pieces]] = {}
        self._held: Iterable[str] = ()
        self._bytes = Gauge(
            "tokd_piece_cache_bytes",
            "Bytes of a tokenizer's piece caches.",
            ("hash",),
            registry=registry,
            multiprocess_mode="livesum",
        )
        self._pieces = Counter(
            "tokd_piece_cache_pieces",
            "Pieces that were looked up in a tokenizer's piece caches, were not there, were dropped for others.",
            ("hash", "event"),
            registry=registry,
        )

    def update(self) -> None:
        """Add what the caches did since the last time."""
        before, self._seen = self._seen, {}
        open_now = [*self._loaded()]
        open_now += [(TRAINED, tokenizer) for tokenizer in self._trained()]
        held = dict.fromkeys((TRAINED, *self._held), 0)
        for label, tokenizer in open_now:
            caches = tokenizer.cache_statistics
            now = _Pieces(caches.pieces, caches.misses, caches.evictions)
            _, seen = before.get(id(tokenizer), (tokenizer, _Pieces(0, 0, 0)))
            for event, was, count in zip(_Pieces._fields, seen, now, strict=True):
                self._pieces.labels(label, event).inc(count - was)
            held[label] = held.get(label, 0) + caches.bytes
            # The tokenizer is kept with its numbers, so that no other one can get the same ``id`` meanwhile.
            self._seen[id(tokenizer)] = tokenizer, now
        self._held = held.keys()
        for label, size in held.items():
            self._bytes.labels(label).set(size)


def _show_vocabularies(at_start: Iterable[ServedTokenizer], registry: CollectorRegistry) -> None:
    info = Gauge(
        "tokd_tokenizer_vocab_size",
        "Size of the vocabulary of a tokenizer that was loaded at the start.",
        ("name", "hash"),
        registry=registry,
        multiprocess_mode="max",
    )
    for loaded in at_start:
        info.labels(loaded.name, loaded.hash).set(loaded.tokenizer.vocab_size)


def _show_build(registry: CollectorRegistry) -> None:
    info = Gauge("tokd_build_info", "1, with the version.", ("version",), registry=registry, multiprocess_mode="max")
    info.labels(VERSION).set(1)


def _page_of_jobs(jobs: Mapping[tuple[str, str], int]) -> bytes:
    registry = CollectorRegistry()
    gauge = Gauge("tokd_jobs", "Jobs that are remembered, by kind and state.", ("kind", "state"), registry=registry)
    for labels, count in jobs.items():
        gauge.labels(*labels).set(count)
    return generate_latest(registry)


def _forget_dead_processes(directory: Path) -> None:
    """Drop the gauges of processes that ended: they have nothing under way."""
    for file in directory.glob("gauge_live*_*.db"):
        pid = int(file.stem.rpartition("_")[2])
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            mark_process_dead(pid, str(directory))
        except PermissionError:
            continue
