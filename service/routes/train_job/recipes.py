"""From what a caller says to the recipe of a run; what is wrong with it is refused with the field it is in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from service.errors import ServiceError
from service.jobs.job import EXTENDS_AS
from service.registry.artifact_dirs import damaged
from service.routes.jobs.kind import Recipes, place_of, require_short
from service.schemas.requests import RequestBody
from service.schemas.training import TrainJobRequest
from service.state import ServerState
from tokenizer_core import ArtifactError, InputError, InvalidSettings, Recipe, Unsupported


class TrainingRecipes(Recipes):
    """Makes and checks recipes, whose vocabularies a server bounds."""

    def __init__(self, state: ServerState, model: type[RequestBody]) -> None:
        super().__init__(state, model)
        self._max_vocab_size = state.settings.max_vocab_size

    def check_field(self, name: str, data: bytes) -> None:
        """Refuse settings of a form as soon as they are there, before a corpus that may follow."""
        if name == "settings":
            self.make(self.of_form(data, {}), {"texts": ["any"]})

    def make(self, request: TrainJobRequest, corpus: dict[str, Any], *, form: bool = False) -> dict[str, Any]:
        """Make the recipe of a run, as it is kept with a job.

        Errors:
            ``invalid_settings``, ``tokenizer_not_found``, ``artifact_damaged``, ``body_too_large``
        """
        settings = request.settings
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
            recipe = Recipe.from_dict({**given, "corpus": corpus, "name": request.name})
            if recipe.extends is not None:
                recipe.plan()
        except InvalidSettings as error:
            raise ServiceError("invalid_settings", error.message, place_of(error.path, form=form)) from None
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
        found = self.pinned(reference, "settings.extends")
        return {"extends": str(Path(found.path).absolute()), "extends_hash": found.hash}
