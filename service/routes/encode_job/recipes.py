"""From what a caller says to the recipe of a job that encodes; what is wrong is refused with the field it is in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from service.errors import ServiceError
from service.routes.jobs.kind import Recipes, place_of, require_short
from service.schemas.encode_jobs import MAX_NAME, EncodeJobRequest
from tokenizer_core import Files, TokdError, check_encode_options


class EncodingRecipes(Recipes):
    """Makes and checks recipes; each has the tokenizer that is meant when it is made."""

    fields = ("tokenizer", "settings")

    def check_field(self, name: str, data: bytes) -> None:
        """Refuse a part of a form as soon as it is there, before a corpus that may follow."""
        super().check_field(name, data)
        if name == "tokenizer":
            self.pinned(data.decode("utf-8", "replace"), "tokenizer")

    def make(self, request: EncodeJobRequest, corpus: dict[str, Any], *, form: bool = False) -> dict[str, Any]:
        """Make the recipe of a run, as it is kept with a job.

        Errors:
            ``invalid_value``, ``invalid_option``, ``template_missing``, ``tokenizer_not_found``, ``artifact_damaged``,
            ``body_too_large``
        """
        settings = request.settings
        if len(request.name or "") > MAX_NAME:
            raise ServiceError("invalid_value", f"a name has at most {MAX_NAME} characters", "name")
        served = self.pinned(request.tokenizer, "tokenizer")
        if corpus.get("format") == "counts":
            detail = "counts of pieces have no documents; send text, jsonl or parquet"
            raise ServiceError("invalid_option", detail, place_of("corpus.format", form=form))
        for field in ("language", "parallel"):
            if field in corpus:
                detail = f"{field} is for training with parity; leave it away"
                raise ServiceError("invalid_option", detail, place_of(f"corpus.{field}", form=form))
        options = settings.model_dump()
        layout = options.pop("format")
        try:
            Files(**{**corpus, "paths": tuple(corpus["paths"])})
            check_encode_options(served.tokenizer, layout=layout, **options)
        except TokdError as error:
            place = place_of(str(error.place.get("field", "")), form=form)
            raise ServiceError(error.code, error.message, place) from None
        recipe = {
            "corpus": corpus,
            "settings": settings.model_dump(),
            "tokenizer": served.tokenizer.hash,
            "tokenizer_path": str(Path(served.path).absolute()),
        }
        require_short(recipe)
        return recipe
