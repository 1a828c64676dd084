"""The state machine of a job as data: stages, events, and the table of transitions.

A caller sees five states and, of a running job, three phases. The stages below are finer by one: a job that is
``committing`` has its artifact ready and puts it into place, so it can no longer be cancelled; a caller sees it as
publishing. ``python -m service.jobs.states`` prints the diagram of ``docs/jobs.md``.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from enum import StrEnum


class State(StrEnum):
    """The state that a caller sees."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Phase(StrEnum):
    """The phase of a running job."""

    COUNTING = "counting"
    MERGING = "merging"
    PUBLISHING = "publishing"


class Stage(StrEnum):
    """The stage in storage."""

    QUEUED = "queued"
    COUNTING = "counting"
    MERGING = "merging"
    PUBLISHING = "publishing"
    COMMITTING = "committing"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Event(StrEnum):
    """The events of a job, and their originators."""

    TAKE = "take"
    """A worker takes it from the queue."""

    RETAKE = "retake"
    """A worker takes it from one whose lease ran out; what was counted and merged is on disk."""

    MERGE = "merge"
    PUBLISH = "publish"
    COMMIT = "commit"
    """The artifact is ready, and only now may it be put into place: what is cancelled leaves none."""

    SUCCEED = "succeed"
    FAIL = "fail"
    GIVE_BACK = "give back"
    """A worker releases the job: the worker stops, or the training process died."""

    CANCEL = "cancel"


_QUEUED, _COUNTING, _MERGING, _PUBLISHING, _COMMITTING = (
    Stage.QUEUED,
    Stage.COUNTING,
    Stage.MERGING,
    Stage.PUBLISHING,
    Stage.COMMITTING,
)
RUNNING = (_COUNTING, _MERGING, _PUBLISHING, _COMMITTING)
FINISHED = (Stage.SUCCEEDED, Stage.FAILED, Stage.CANCELLED)

TRANSITIONS: Mapping[Event, Mapping[Stage, Stage]] = {
    Event.TAKE: {_QUEUED: _COUNTING},
    Event.RETAKE: {_COUNTING: _COUNTING, _MERGING: _COUNTING, _PUBLISHING: _COUNTING, _COMMITTING: _COMMITTING},
    Event.MERGE: {_COUNTING: _MERGING},
    Event.PUBLISH: {_MERGING: _PUBLISHING},
    Event.COMMIT: {_PUBLISHING: _COMMITTING, _COMMITTING: _COMMITTING},
    Event.SUCCEED: {_COMMITTING: Stage.SUCCEEDED},
    Event.FAIL: dict.fromkeys(RUNNING, Stage.FAILED),
    Event.GIVE_BACK: {_COUNTING: _QUEUED, _MERGING: _QUEUED, _PUBLISHING: _QUEUED, _COMMITTING: _COMMITTING},
    Event.CANCEL: dict.fromkeys((_QUEUED, _COUNTING, _MERGING, _PUBLISHING), Stage.CANCELLED),
}
"""Every change of a stage there is; storage makes each by compare-and-set, and refuses every other."""


def state_of(stage: Stage) -> State:
    """Return what a caller sees of a stage."""
    return State.RUNNING if stage in RUNNING else State(stage)


def phase_of(stage: Stage) -> Phase | None:
    """Return what a running job does."""
    if stage not in RUNNING:
        return None
    return Phase.PUBLISHING if stage is Stage.COMMITTING else Phase(stage)


def stages_of(state: State) -> tuple[Stage, ...]:
    """Return the stages that a caller sees as a state."""
    return tuple(stage for stage in Stage if state_of(stage) is state)


def diagram() -> str:
    """Draw the table for Mermaid."""
    lines = ["stateDiagram-v2", f"    [*] --> {Stage.QUEUED}"]
    lines += ["    state running {"]
    inside = [(a, b, e) for e, row in TRANSITIONS.items() for a, b in row.items() if {a, b} <= set(RUNNING)]
    lines += [f"        {start} --> {end}: {event}" for start, end, event in inside]
    lines += ["    }"]
    outside = [(a, b, e) for e, row in TRANSITIONS.items() for a, b in row.items() if not {a, b} <= set(RUNNING)]
    lines += [f"    {start} --> {end}: {event}" for start, end, event in outside]
    lines += [f"    {stage} --> [*]" for stage in FINISHED]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(diagram())
