"""A client of either kind, asked in one way."""

from __future__ import annotations

from typing import Any

from service.client import Client


class Awaited:
    """A client that waits, with the face of one that is awaited, so that one script runs with both."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            if name == "events":
                return self._events(*args)

            async def now() -> Any:
                return getattr(self._client, name)(*args, **kwargs)

            return now()

        return call

    async def _events(self, job_id: str) -> Any:
        for job in self._client.events(job_id):
            yield job
