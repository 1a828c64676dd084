"""The common parts of the routes of all kinds of jobs: submission, lists, states, events.

A kind says in a ``JobKind`` how its requests become recipes and its jobs answers.
"""

from __future__ import annotations

from fastapi import FastAPI

from service.routes.jobs import events, listing, submission
from service.routes.jobs.access import JobAccess
from service.routes.jobs.kind import JobKind
from service.state import ServerState


def mount(app: FastAPI, state: ServerState) -> None:
    """Make what the routes of all kinds share."""
    app.state.job_access, app.state.event_streams = JobAccess(state), set()


def mount_kind(app: FastAPI, state: ServerState, of: JobKind) -> None:
    """Declare the routes of a kind."""
    submission.mount(app, state, of)
    listing.mount(app, of)
    events.mount(app, of)
