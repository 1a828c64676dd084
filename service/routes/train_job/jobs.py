"""``GET /train-job``, ``GET /train-job/{id}`` and ``DELETE /train-job/{id}``: list, state, cancel.

The models document the answers and do not make them: one for what is sent would fill in the settings that a job that
extends a tokenizer does not have, and refuse a stored list where a pair may be sent.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import FastAPI, Path, Query, Request
from starlette.responses import JSONResponse, Response

from service.jobs import State as JobState
from service.routes.json_route import PROBLEM_RESPONSES
from service.routes.train_job.access import JobAccess, caller
from service.routes.train_job.answers import job_answer, job_summary
from service.schemas.training import JobAnswer, JobList
from service.state import State

MAX_PAGE = 200

JobId = Annotated[str, Path(description="The job's id.")]
States = Annotated[list[JobState], Query(alias="state", description="Only jobs in one of these states; repeatable.")]
Limit = Annotated[int, Query(ge=1, le=MAX_PAGE, description="Most jobs of a page.")]
Before = Annotated[str | None, Query(description="The `next` of the page before.")]


def mount(app: FastAPI, _: State, access: JobAccess) -> None:
    """Declare the routes."""
    root = access.link_root

    @app.get("/train-job", response_model=JobList, responses=PROBLEM_RESPONSES)
    async def list_jobs(
        request: Request,
        states: States = [],  # noqa: B006 - FastAPI makes a new one for each request
        limit: Limit = 50,
        before: Before = None,
    ) -> Response:
        """List your jobs, newest first, page by page."""
        owner = caller(request).owner
        page = await access.run(lambda: access.jobs.list(owner=owner, states=states, before=before, limit=limit))
        return JSONResponse({"jobs": [job_summary(job, root) for job in page.jobs], "next": page.next})

    @app.get("/train-job/{id}", response_model=JobAnswer, responses=PROBLEM_RESPONSES)
    async def get_job(request: Request, id: JobId) -> Response:
        """Tell how a job stands."""
        return JSONResponse(job_answer(await access.run(access.jobs.get, id, caller(request).owner), root))

    @app.delete("/train-job/{id}", response_model=JobAnswer, responses=PROBLEM_RESPONSES)
    async def cancel_job(request: Request, id: JobId) -> Response:
        """Cancel a job; it stops within two seconds and leaves nothing. A cancelled job may be cancelled again."""
        access.refuse_other_sites(request)
        return JSONResponse(job_answer(await access.run(access.jobs.cancel, id, caller(request).owner), root))
