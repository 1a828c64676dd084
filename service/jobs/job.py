"""A job as its callers see it: immutable values, no storage."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from service.jobs.states import FINISHED, Kind, Phase, Stage, State, phase_of, state_of


@dataclass(frozen=True, slots=True)
class JobProgress:
    """The progress of the phase.

    Args:
        unit: of ``done`` and ``total``: ``bytes``, ``merges``, ``tokens`` of a model without merges, ``characters`` and
            then ``rounds`` of Unigram, or ``files``; while encoding, bytes of all parts.
        total: ``None`` as long as nobody knows.
        rate: units a second; ``None`` as long as it is unknown.
        tokens_per_byte: of the counted pieces, while merging.
        newest: the beginnings of the tokens made last, while merging.
        seconds_left: of the phase, about; ``None`` as long as it is unknown.
    """

    done: int
    total: int | None
    unit: str
    rate: float | None = None
    tokens_per_byte: float | None = None
    newest: Sequence[str] = ()
    seconds_left: float | None = None

    def __post_init__(self) -> None:
        # JSON, in which it is kept, has lists alone.
        object.__setattr__(self, "newest", tuple(self.newest))


@dataclass(frozen=True, slots=True)
class JobError:
    """Why a job failed: a stable code, a message that says the way out, and the field or file."""

    code: str
    message: str
    path: str | None = None


@dataclass(frozen=True, slots=True)
class ArtifactSize:
    """Another vocabulary of a job: the size asked for, and hash, name and directory as of an ``Artifact``."""

    size: int
    hash: str
    name: str
    directory: str


@dataclass(frozen=True, slots=True)
class Artifact:
    """The published result of a job: a tokenizer, or token files.

    Args:
        hash: of the tokenizer, or of the manifest of token files.
        directory: its name under the directory of results of its kind.
        report: what the run has to say of it, as values that JSON has.
        sizes: the other vocabularies of a job that trains, in the order of its settings.
    """

    hash: str
    name: str
    directory: str
    report: Mapping[str, Any] = field(default_factory=dict)
    sizes: Sequence[ArtifactSize] = ()

    def __post_init__(self) -> None:
        made = (ArtifactSize(**one) if isinstance(one, Mapping) else one for one in self.sizes)
        object.__setattr__(self, "sizes", tuple(made))


@dataclass(frozen=True, slots=True)
class Prepared:
    """A job that is not submitted yet: its id, and a directory of its own for uploads."""

    id: str
    directory: Path


LEARNING = {"tokens": "learning", "characters": "seeds", "rounds": "pruning"}
"""The names of the phase of merging, of models without merges, by the unit of progress."""

EXTENDS_AS = "extends_as"
"""In a recipe that is kept: how the caller named the tokenizer to extend, for whom a directory says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRequest:
    """A request for a job, and its owner.

    Args:
        recipe: checked by the caller: of training what ``tokenizer_core.Recipe.from_dict`` takes and ``EXTENDS_AS``; of
            encoding ``corpus``, ``settings``, ``tokenizer`` and ``tokenizer_path``.
        owner: whose job it is; nobody else sees it.
        name: of the result.
        idempotency_key: two requests of one owner with one key are one job.
        prepared: the directory that holds its uploads, of ``JobStore.prepare``.
        fingerprint: equal for equal requests; by default that of recipe and name. A request with uploads names one
            that covers their bytes, since their paths differ each time.
    """

    recipe: Mapping[str, Any]
    owner: str
    name: str | None = None
    idempotency_key: str | None = None
    prepared: Prepared | None = None
    kind: Kind = Kind.TRAIN
    fingerprint: str | None = None

    def digest(self) -> str:
        """Return a digest that is equal for equal requests."""
        if self.fingerprint is not None:
            return self.fingerprint
        text = json.dumps([self.recipe, self.name], sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStatus:
    """A job at the time of reading; times are seconds since 1970 by the store's clock.

    Args:
        version: grows with every change that a caller can see.
        attempts: how often a worker began it.
    """

    id: str
    kind: Kind
    owner: str
    name: str | None
    stage: Stage
    created_at: float
    started_at: float | None
    finished_at: float | None
    attempts: int
    version: int
    progress: JobProgress | None
    error: JobError | None
    artifact: Artifact | None

    @property
    def state(self) -> State:
        """Return the state."""
        return state_of(self.stage)

    @property
    def has_ended(self) -> bool:
        """True if the job cannot change any more."""
        return self.stage in FINISHED

    @property
    def phase(self) -> str | None:
        """Return the name of what it does; ``None`` if it is not running."""
        phase = phase_of(self.stage)
        # One stage for all models, of which the unit tells what is done there.
        unit = self.progress.unit if phase is Phase.MERGING and self.progress is not None else ""
        return LEARNING.get(unit, phase)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job(JobStatus):
    """A job with what it was asked for, which may be a megabyte: lists and events do without."""

    recipe: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Page:
    """Some jobs, newest first, and the cursor of those after them; ``None`` on the last page."""

    jobs: tuple[JobStatus, ...]
    next: str | None
