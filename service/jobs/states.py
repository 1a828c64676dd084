"""The state machine of a job as data: kinds, stages, events, and the table of transitions.

A caller sees five states and, of a running job, the phases of its kind. The stages below are finer by one: a job that
is ``committing`` has its result ready and puts it into place, so it can no longer be cancelled; a caller sees it as
publishing. ``python -m service.jobs.states`` prints the diagram of ``states.md``.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from enum import StrEnum


class Kind(StrEnum):
    """The kind of a job: the work that it does."""

    TRAIN = "train"
    """It trains a tokenizer."""

    ENCODE = "encode"
    """It encodes a corpus into the files that trainers read."""


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
    ENCODING = "encoding"
    PUBLISHING = "publishing"


class Stage(StrEnum):
    """The stage in storage."""

    QUEUED = "queued"
    COUNTING = "counting"
    MERGING = "merging"
    ENCODING = "encoding"
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
    """A worker takes it from one whose lease ran out; what was done is on disk."""

    MERGE = "merge"
    PUBLISH = "publish"
    COMMIT = "commit"
    """The result is ready, and only now may it be put into place: what is cancelled leaves none."""

    SUCCEED = "succeed"
    FAIL = "fail"
    GIVE_BACK = "give back"
    """A worker releases the job: the worker stops, or the job's process died."""

    CANCEL = "cancel"


_QUEUED, _PUBLISHING, _COMMITTING = Stage.QUEUED, Stage.PUBLISHING, Stage.COMMITTING
RUNNING = (Stage.COUNTING, Stage.MERGING, Stage.ENCODING, _PUBLISHING, _COMMITTING)
FINISHED = (Stage.SUCCEEDED, Stage.FAILED, Stage.CANCELLED)

Row = Mapping[Stage, Stage]


def _transitions(first: Stage, *steps: tuple[Event, Stage]) -> Mapping[Event, Row]:
    """Make the table of a kind.

    Args:
        first: the stage of a job that a worker has just taken.
        steps: the events that lead from stage to stage, up to publishing.
    """
    stages = (first, *(stage for _, stage in steps))
    return {
        Event.TAKE: {_QUEUED: first},
        Event.RETAKE: {**dict.fromkeys(stages, first), _COMMITTING: _COMMITTING},
        **{event: {before: after} for (event, after), before in zip(steps, stages, strict=False)},
        Event.COMMIT: {_PUBLISHING: _COMMITTING, _COMMITTING: _COMMITTING},
        Event.SUCCEED: {_COMMITTING: Stage.SUCCEEDED},
        Event.FAIL: dict.fromkeys((*stages, _COMMITTING), Stage.FAILED),
        Event.GIVE_BACK: {**dict.fromkeys(stages, _QUEUED), _COMMITTING: _COMMITTING},
        Event.CANCEL: dict.fromkeys((_QUEUED, *stages), Stage.CANCELLED),
    }


TRANSITIONS: Mapping[Kind, Mapping[Event, Row]] = {
    Kind.TRAIN: _transitions(Stage.COUNTING, (Event.MERGE, Stage.MERGING), (Event.PUBLISH, _PUBLISHING)),
    Kind.ENCODE: _transitions(Stage.ENCODING, (Event.PUBLISH, _PUBLISHING)),
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


def diagram(kind: Kind) -> str:
    """Draw the table of a kind for Mermaid."""
    lines = ["stateDiagram-v2", f"    [*] --> {Stage.QUEUED}"]
    lines += ["    state running {"]
    changes = [(start, end, event) for event, row in TRANSITIONS[kind].items() for start, end in row.items()]
    inside = [change for change in changes if {*change[:2]} <= {*RUNNING}]
    lines += [f"        {start} --> {end}: {event}" for start, end, event in inside]
    lines += ["    }"]
    lines += [f"    {start} --> {end}: {event}" for start, end, event in changes if (start, end, event) not in inside]
    lines += [f"    {stage} --> [*]" for stage in FINISHED]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write("\n".join(map(diagram, Kind)))
