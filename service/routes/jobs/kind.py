"""One kind of jobs, as its routes know it: its recipes, its answers, and their documentation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar

import orjson
from pydantic import BaseModel

from service.errors import ServiceError, errors_at
from service.http.json_body import parser
from service.jobs.job import Job, JobStatus
from service.jobs.states import Kind
from service.registry.registry import Unopened
from service.registry.served import ServedTokenizer
from service.schemas.requests import RequestBody
from service.state import ServerState

MAX_RECIPE_BYTES = 1 << 20
"""A recipe is kept with its job and shown with it."""


_OF_A_FORM = ("corpus.format", "corpus.field", "corpus.column", "corpus.on_error", "corpus.language")
"""Fields that are parts of their own in a form, under their last names."""


class Recipes(ABC):
    """Makes and checks the recipes of a kind under the limits of a server; ``path`` of an error names the field.

    Args:
        model: of a request, with ``settings`` of its kind.

    Attributes:
        fields: parts of a form beside the corpus, its options and ``name``.
        parse: reads a request of JSON.
    """

    fields: ClassVar[tuple[str, ...]] = ("settings",)

    def __init__(self, state: ServerState, model: type[RequestBody]) -> None:
        self._current, self._model = state.current, model
        self.parse, self._parse_settings = parser(model, nested=""), parser(settings_of(model), nested="settings")

    @abstractmethod
    def make(self, request: Any, corpus: dict[str, Any], *, form: bool = False) -> dict[str, Any]:
        """Make the recipe of a run, as it is kept with a job."""

    def check_field(self, name: str, data: bytes) -> None:
        """Refuse a part of a form as soon as it is there, before a corpus that may follow."""
        if name == "settings":
            self.of_form(data, {})

    def of_form(self, settings: bytes, words: Mapping[str, str]) -> Any:
        """Return the request of a form without its corpus; errors in settings are those of a JSON body, below them.

        Args:
            words: the parts that are text.
        """
        try:
            return self._model.model_construct(**{**words, "settings": self._parse_settings(settings)})
        except ServiceError as error:
            error.path = error.path or "settings"
            raise

    def pinned(self, reference: str | None, path: str) -> ServedTokenizer:
        """Return the tokenizer that a reference in the field ``path`` means now; ``None`` is the default.

        Errors:
            ``tokenizer_not_found``, ``tokenizer_ambiguous``, ``artifact_damaged``
        """
        with errors_at(path):
            while True:
                try:
                    return self._current.registry().get(reference)
                except Unopened as missing:
                    # Whoever submits a job can wait for the disk.
                    missing.open()


Summary = Callable[[JobStatus, str], dict[str, Any]]
"""Writes a job as lists and events have it; the second argument is what a proxy puts before paths."""


@dataclass(frozen=True, slots=True)
class JobKind:
    """A kind of jobs, as routes have it.

    Args:
        answer: writes a job with its settings.
        words: the meanings of those parts of a form that are text, for the OpenAPI document.
    """

    kind: Kind
    recipes: Recipes
    summary: Summary
    answer: Callable[[Job, str], dict[str, Any]]
    request_model: type[RequestBody]
    answer_model: type[BaseModel]
    list_model: type[BaseModel]
    words: Mapping[str, str]

    @property
    def path(self) -> str:
        """The path of the route that submits."""
        return f"/{self.kind}-job"


def settings_of(model: type[RequestBody]) -> Any:
    """Return the model of the settings of a request."""
    return model.model_fields["settings"].annotation


def place_of(field: str, *, form: bool) -> str:
    """Return the field of a request that a field of its recipe came from."""
    if form and field in _OF_A_FORM:
        return field.removeprefix("corpus.")
    return field if field.split(".")[0].split("[")[0] in ("corpus", "name") else f"settings.{field}"


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


def common_fields(job: JobStatus) -> dict[str, Any]:
    """Return the fields of a job that do not depend on its kind, but for its result."""
    error, progress = job.error, job.progress
    return {
        "id": job.id,
        "name": job.name,
        "state": job.state,
        "phase": job.phase,
        "progress": progress
        and {name: getattr(progress, name) for name in ("done", "total", "unit", "rate", "seconds_left")},
        "created_at": _time(job.created_at),
        "started_at": _time(job.started_at),
        "finished_at": _time(job.finished_at),
        "attempts": job.attempts,
        "error": error and asdict(error),
    }


def _time(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
