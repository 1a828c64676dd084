"""From what a caller says to the recipe of a run; what is wrong with it is refused with the field it is in."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from service.errors import ServiceError
from service.http.json_body import parser
from service.jobs import EXTENDS_AS
from service.registry.artifact_dirs import damaged
from service.routes.jobs.kind import OF_A_FORM, require_short
from service.routes.jobs.settings import pinned, settings_parser
from service.schemas.training import TrainingSettings, TrainJobRequest
from service.state import ServerState
from tokenizer_core import ArtifactError, InputError, InvalidSettings, Recipe, Unsupported


class TrainingRecipes:
    """Makes and checks recipes under the limits of a server."""

    fields = ("settings",)

    def __init__(self, state: ServerState) -> None:
        self._current = state.current
        self._max_vocab_size = state.settings.max_vocab_size
        self._parse = parser(TrainJobRequest, nested="")
        self._parse_settings = settings_parser(TrainingSettings)

    def parse(self, body: bytes) -> TrainJobRequest:
        """Read a request of JSON."""
        request: TrainJobRequest = self._parse(body)
        return request

    def of_request(self, request: TrainJobRequest, corpus: dict[str, Any]) -> dict[str, Any]:
        """Make the recipe of a request of JSON."""
        return self.make(request.settings, corpus, request.name)

    def check_field(self, name: str, data: bytes) -> None:
        """Refuse settings of a form as soon as they are there, before a corpus that may follow."""
        if name == "settings":
            self.make(self._parse_settings(data), {"texts": ["any"]}, None)

    def of_form(
        self, fields: Mapping[str, bytearray], words: Mapping[str, str], corpus: dict[str, Any]
    ) -> dict[str, Any]:
        """Make the recipe of a form."""
        settings = self._parse_settings(bytes(fields.get("settings", b"{}")))
        return self.make(settings, corpus, words.get("name"), form=True)

    def make(
        self, settings: TrainingSettings, corpus: dict[str, Any], name: str | None, *, form: bool = False
    ) -> dict[str, Any]:
        """Make the recipe of a run, as it is kept with a job.

        Errors:
            ``invalid_settings``, ``tokenizer_not_found``, ``artifact_damaged``, ``body_too_large``; ``path`` names the
            field.
        """
        sizes = {f"sizes[{index}]": size for index, size in enumerate(settings.sizes or ())}
        for field, size in {"vocab_size": settings.vocab_size, **sizes}.items():
            if size > self._max_vocab_size:
                detail = f"{field} is at most {self._max_vocab_size} on this server, not {size}"
                raise ServiceError("invalid_settings", detail, f"settings.{field}")
        sent = settings.model_dump(exclude_unset=True)
        # Null is as if it were not sent, but for the pattern, which then cuts nothing.
        given = {name: value for name, value in sent.items() if value is not None or name == "pattern"}
        # Before it is taken apart, which is slow: 30 MB of an initial merge held a thread for 9 seconds.
        require_short(given)
        if settings.extends is not None:
            given |= self._extended(settings.extends)
        try:
            recipe = Recipe.from_dict({**given, "corpus": corpus, "name": name})
            if recipe.extends is not None:
                recipe.plan()
        except InvalidSettings as error:
            raise ServiceError("invalid_settings", error.message, _place(error.path, form=form)) from None
        except (InputError, Unsupported) as error:
            raise ServiceError("invalid_settings", error.message, "settings.extends") from None
        except ArtifactError as error:
            refused = damaged(Path(given["extends"]), error)
            refused.path = "settings.extends"
            raise refused from error
        made: dict[str, Any] = recipe.to_dict()
        if settings.extends is not None:
            made[EXTENDS_AS] = settings.extends
        require_short(made)
        return made

    def _extended(self, reference: str) -> dict[str, str]:
        """Say where a tokenizer lies and what it is: it is the one that a run extends, whenever that begins."""
        try:
            found = pinned(self._current, reference)
            return {"extends": str(Path(found.path).absolute()), "extends_hash": found.hash}
        except ServiceError as error:
            error.path = "settings.extends"
            raise


def _place(path: str, *, form: bool) -> str:
    if form and path in OF_A_FORM:
        return path.removeprefix("corpus.")
    return path if path.split(".")[0].split("[")[0] in ("corpus", "name") else f"settings.{path}"
