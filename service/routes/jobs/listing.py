"""``GET /train-job``, ``GET /train-job/{id}`` and ``DELETE /train-job/{id}``, and of other kinds: list, state, cancel.

The models document the answers and do not make them: one for what is sent would fill in the settings that a job that
extends a tokenizer does not have, and refuse a stored list where a pair may be sent.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import FastAPI, Path, Query, Request
from starlette.responses import JSONResponse, Response

from service.jobs.states import State as JobState
from service.routes.jobs.access import Access, caller
from service.routes.jobs.kind import JobKind
from service.routes.json_route import PROBLEM_RESPONSES

MAX_PAGE = 200

JobId = Annotated[str, Path(description="The job's id.")]
States = Annotated[list[JobState], Query(alias="state", description="Only jobs in one of these states; repeatable.")]
Limit = Annotated[int, Query(ge=1, le=MAX_PAGE, description="Most jobs of a page.")]
Before = Annotated[str | None, Query(description="The `next` of the page before.")]


def mount(app: FastAPI, of: JobKind) -> None:
    """Declare the routes of a kind."""
    kind = of.kind

    async def list_jobs(
        request: Request,
        access: Access,
        states: States = [],  # noqa: B006 - FastAPI makes a new one for each request
        limit: Limit = 50,
        before: Before = None,
    ) -> Response:
        """List your jobs, newest first, page by page."""
        owner = caller(request).owner
        page = await access.run(
            lambda: access.jobs.list(owner=owner, kind=kind, states=states, before=before, limit=limit)
        )
        return JSONResponse({"jobs": [of.summary(job, access.link_root) for job in page.jobs], "next": page.next})

    async def get_job(request: Request, access: Access, id: JobId) -> Response:
        """Tell how a job stands."""
        job = await access.run(access.jobs.get, id, caller(request).owner, kind)
        return JSONResponse(of.answer(job, access.link_root))

    async def cancel_job(request: Request, access: Access, id: JobId) -> Response:
        """Cancel a job; it stops within two seconds and leaves nothing. A cancelled job may be cancelled again."""
        access.refuse_other_sites(request)
        job = await access.run(access.jobs.cancel, id, caller(request).owner, kind)
        return JSONResponse(of.answer(job, access.link_root))

    one, answer = f"{of.path}/{{id}}", of.answer_model
    app.get(of.path, name=f"list_{kind}_jobs", response_model=of.list_model, responses=PROBLEM_RESPONSES)(list_jobs)
    app.get(one, name=f"get_{kind}_job", response_model=answer, responses=PROBLEM_RESPONSES)(get_job)
    app.delete(one, name=f"cancel_{kind}_job", response_model=answer, responses=PROBLEM_RESPONSES)(cancel_job)
