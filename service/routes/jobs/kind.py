"""One kind of jobs, as its routes know it: its recipes, its answers, and their documentation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import orjson
from pydantic import BaseModel

from service.errors import ServiceError
from service.jobs import Job, JobStatus, Kind
from service.schemas.training import CorpusRequest

MAX_RECIPE_BYTES = 1 << 20
"""A recipe is kept with its job and shown with it."""


OF_A_FORM = ("corpus.format", "corpus.field", "corpus.column", "corpus.on_error", "corpus.language")
"""Fields that are parts of their own in a form, under their last names."""


class Submitted(Protocol):
    """A request that was read from JSON."""

    @property
    def corpus(self) -> CorpusRequest:
        """The corpus."""

    @property
    def name(self) -> str | None:
        """The name of the result."""


class Recipes(Protocol):
    """Makes and checks the recipes of a kind under the limits of a server; ``path`` of an error names the field."""

    @property
    def fields(self) -> tuple[str, ...]:
        """Parts of a form beside the corpus, its options and ``name``."""

    def parse(self, body: bytes) -> Submitted:
        """Read a request of JSON."""

    def of_request(self, request: Any, corpus: dict[str, Any]) -> dict[str, Any]:
        """Make the recipe of a request of JSON."""

    def check_field(self, name: str, data: bytes) -> None:
        """Refuse a part of a form as soon as it is there, before a corpus that may follow."""

    def of_form(
        self, fields: Mapping[str, bytearray], words: Mapping[str, str], corpus: dict[str, Any]
    ) -> dict[str, Any]:
        """Make the recipe of a form; ``words`` are ``fields`` as text."""


Summary = Callable[[JobStatus, str], dict[str, Any]]
"""Writes a job as lists and events have it; the second argument is what a proxy puts before paths."""


@dataclass(frozen=True, slots=True)
class JobKind:
    """A kind of jobs, as routes have it.

    Args:
        answer: writes a job with its settings.
        request_body: the body of a submission in the OpenAPI document.
    """

    kind: Kind
    recipes: Recipes
    summary: Summary
    answer: Callable[[Job, str], dict[str, Any]]
    answer_model: type[BaseModel]
    list_model: type[BaseModel]
    request_body: dict[str, Any]

    @property
    def path(self) -> str:
        """The path of the route that submits."""
        return f"/{self.kind}-job"


def job_path(job: JobStatus, root: str) -> str:
    """Return the path of a job; ``root`` is what a proxy puts before all paths."""
    return f"{root}/{job.kind}-job/{job.id}"


def require_short(settings: Mapping[str, Any]) -> None:
    """Refuse a recipe that is too large to keep.

    Errors:
        ``body_too_large``
    """
    if len(orjson.dumps(settings)) > MAX_RECIPE_BYTES:
        raise ServiceError("body_too_large", f"the settings take more than {MAX_RECIPE_BYTES} bytes", "settings")
