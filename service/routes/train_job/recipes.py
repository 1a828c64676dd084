"""From what a caller says to the recipe of a run; what is wrong with it is refused with the field it is in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from service.errors import ServiceError
from service.http.json_body import parser
from service.jobs import EXTENDS_AS
from service.registry.artifact_dirs import damaged
from service.registry.registry import Unopened
from service.registry.served import ServedTokenizer
from service.schemas.training import TrainingSettings
from service.state import State
from tokenizer_core import ArtifactError, InputError, InvalidSettings, Recipe, Unsupported

MAX_RECIPE_BYTES = 1 << 20
"""A recipe is kept with its job and shown with it."""

_OF_A_FORM = ("corpus.format", "corpus.field", "corpus.column", "corpus.on_error")


class Recipes:
    """Makes and checks recipes under the limits of a server."""

    def __init__(self, state: State) -> None:
        self._registry = state.current.registry
        self._max_vocab_size = state.settings.max_vocab_size
        self._parse = parser(TrainingSettings, nested="settings")

    def parse_settings(self, data: bytes) -> TrainingSettings:
        """Read the settings of a form.

        Errors:
            those of a JSON body, below ``settings``.
        """
        try:
            settings: TrainingSettings = self._parse(data)
        except ServiceError as error:
            error.path = error.path or "settings"
            raise
        return settings

    def check_field(self, name: str, data: bytes) -> None:
        """Refuse settings of a form as soon as they are there, before a corpus that may follow."""
        if name == "settings":
            self.make(self.parse_settings(data), {"texts": ["any"]}, None)

    def make(
        self, settings: TrainingSettings, corpus: dict[str, Any], name: str | None, *, form: bool = False
    ) -> dict[str, Any]:
        """Make the recipe of a run, as it is kept with a job.

        Errors:
            ``invalid_settings``, ``tokenizer_not_found``, ``artifact_damaged``, ``body_too_large``; ``path`` names the
            field.
        """
        if settings.vocab_size > self._max_vocab_size:
            detail = f"vocab_size is at most {self._max_vocab_size} on this server, not {settings.vocab_size}"
            raise ServiceError("invalid_settings", detail, "settings.vocab_size")
        sent = settings.model_dump(exclude_unset=True)
        # Null is as if it were not sent, but for the pattern, which then cuts nothing.
        given = {name: value for name, value in sent.items() if value is not None or name == "pattern"}
        # Before it is taken apart, which is slow: 30 MB of an initial merge held a thread for 9 seconds.
        _require_short(given)
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
        _require_short(made)
        return made

    def _extended(self, reference: str) -> dict[str, str]:
        """Say where a tokenizer lies and what it is: it is the one that a run extends, whenever that begins."""
        try:
            found = self._found(reference)
            return {"extends": str(Path(found.path).absolute()), "extends_hash": found.hash}
        except ServiceError as error:
            error.path = "settings.extends"
            raise

    def _found(self, reference: str) -> ServedTokenizer:
        while True:
            try:
                return self._registry().get(reference)
            except Unopened as missing:
                # Whoever submits a job can wait for the disk.
                missing.open()


def _require_short(settings: dict[str, Any]) -> None:
    if len(orjson.dumps(settings)) > MAX_RECIPE_BYTES:
        raise ServiceError("body_too_large", f"the settings take more than {MAX_RECIPE_BYTES} bytes", "settings")


def _place(path: str, *, form: bool) -> str:
    if path in _OF_A_FORM and form:
        return path.removeprefix("corpus.")
    return path if path.split(".")[0].split("[")[0] in ("corpus", "name") else f"settings.{path}"
