"""The access of routes to training jobs: the identity of the caller, and calls to the store of jobs in own threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, TypeVar

from fastapi import Depends
from starlette.requests import Request

from service.admission.threads import Threads
from service.auth.address import is_own_page
from service.auth.identity import LOCAL, Identity
from service.errors import ServiceError
from service.jobs.opening import INSTALL
from service.state import ServerState

if TYPE_CHECKING:
    from service.jobs.store import JobStore

THREADS = 8

T = TypeVar("T")


class JobAccess:
    """The store of jobs, and the threads in which routes call it.

    A call waits for a disk or a database, and an upload is written to a disk. Their threads are not those of requests
    that encode, which would otherwise wait behind them.
    """

    def __init__(self, state: ServerState) -> None:
        self._jobs = state.jobs
        settings = state.settings
        self.link_root = settings.link_root
        self._host = settings.host
        # Whoever can reach the machine from elsewhere, as through a proxy, has keys or said that it needs none.
        self._origins = settings.cors_origins
        self._is_local = settings.keys is None and not settings.no_auth and settings.uds is None
        self._threads = Threads(
            THREADS,
            max_queue=settings.max_queue,
            queue_seconds=settings.queue_seconds,
            name="tokd-jobs",
            what="requests about jobs",
        )

    @property
    def jobs(self) -> JobStore:
        """The store of jobs.

        Errors:
            ``jobs_not_installed``
        """
        if self._jobs is None:
            raise ServiceError("jobs_not_installed", f"this server does no jobs; {INSTALL} there")
        return self._jobs

    async def run(self, work: Callable[..., T], *arguments: object) -> T:
        """Run in a thread what may wait for a disk or a database.

        Errors:
            ``saturated``
        """
        return await self._threads.run(work, *arguments)

    def refuse_other_sites(self, request: Request) -> None:
        """Refuse a request from a page of another site, by its origin on a server on this machine that asks for no key.

        A browser sends such a request for any page.

        Errors:
            ``page_not_allowed``
        """
        origin = request.headers.get("origin")
        if origin is None and request.headers.get("sec-fetch-site") in ("cross-site", "same-site"):
            # A browser that keeps the origin to itself still says that the page is not the server's own.
            detail = (
                "pages of other sites may not change jobs; send the request from no page, or from one of this server"
            )
            raise ServiceError("page_not_allowed", detail, "header sec-fetch-site")
        if origin is not None and self._is_local and not (origin in self._origins or is_own_page(origin, self._host)):
            detail = "pages of other sites may not change jobs; behind a proxy, give the server --keys or --no-auth"
            raise ServiceError("page_not_allowed", detail, "header origin")


async def _access(request: Request) -> JobAccess:
    access: JobAccess = request.app.state.job_access
    return access


Access = Annotated[JobAccess, Depends(_access)]


def caller(request: Request) -> Identity:
    """Return who asks."""
    identity: Identity = request.scope.get("identity", LOCAL)
    return identity
