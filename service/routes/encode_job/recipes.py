"""From what a caller says to the recipe of a job that encodes; what is wrong is refused with the field it is in."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from service.errors import ServiceError
from service.http.json_body import parser
from service.routes.jobs.kind import OF_A_FORM, require_short
from service.routes.jobs.settings import pinned, settings_parser
from service.schemas.encode_jobs import MAX_NAME, EncodeJobRequest, EncodingSettings
from service.state import ServerState
from tokenizer_core import Files, TokdError, check_encode_options


class EncodingRecipes:
    """Makes and checks recipes; each has the tokenizer that is meant when it is made."""

    fields = ("tokenizer", "settings")

    def __init__(self, state: ServerState) -> None:
        self._current = state.current
        self._parse = parser(EncodeJobRequest, nested="")
        self._parse_settings = settings_parser(EncodingSettings)

    def parse(self, body: bytes) -> EncodeJobRequest:
        """Read a request of JSON."""
        request: EncodeJobRequest = self._parse(body)
        return request

    def of_request(self, request: EncodeJobRequest, corpus: dict[str, Any]) -> dict[str, Any]:
        """Make the recipe of a request of JSON."""
        return self._make(request.settings, request.tokenizer, corpus, form=False)

    def check_field(self, name: str, data: bytes) -> None:
        """Refuse settings of a form as soon as they are there, before a corpus that may follow."""
        if name == "settings":
            self._parse_settings(data)
        elif name == "tokenizer":
            self._pinned(data.decode("utf-8", "replace"))

    def of_form(
        self, fields: Mapping[str, bytearray], words: Mapping[str, str], corpus: dict[str, Any]
    ) -> dict[str, Any]:
        """Make the recipe of a form."""
        if len(words.get("name", "")) > MAX_NAME:
            raise ServiceError("invalid_value", f"a name has at most {MAX_NAME} characters", "name")
        settings = self._parse_settings(bytes(fields.get("settings", b"{}")))
        return self._make(settings, words.get("tokenizer"), corpus, form=True)

    def _make(
        self, settings: EncodingSettings, reference: str | None, corpus: dict[str, Any], *, form: bool
    ) -> dict[str, Any]:
        """Make the recipe of a run, as it is kept with a job.

        Errors:
            ``invalid_option``, ``template_missing``, ``tokenizer_not_found``, ``artifact_damaged``, ``body_too_large``;
            ``path`` names the field.
        """
        served = self._pinned(reference)
        if corpus.get("format") == "counts":
            detail = "counts of pieces have no documents; send text, jsonl or parquet"
            raise ServiceError("invalid_option", detail, "format" if form else "corpus.format")
        for field in ("language", "parallel"):
            if field in corpus:
                place = field if form else f"corpus.{field}"
                raise ServiceError("invalid_option", f"{field} is for training with parity; leave it away", place)
        options = settings.model_dump()
        layout = options.pop("format")
        try:
            Files(**{**corpus, "paths": tuple(corpus["paths"])})
            check_encode_options(served.tokenizer, layout=layout, **options)
        except TokdError as error:
            raise _refused(error, form=form) from None
        recipe = {
            "corpus": corpus,
            "settings": settings.model_dump(),
            "tokenizer": served.tokenizer.hash,
            "tokenizer_path": str(Path(served.path).absolute()),
        }
        require_short(recipe)
        return recipe

    def _pinned(self, reference: str | None) -> Any:
        try:
            return pinned(self._current, reference)
        except ServiceError as error:
            error.path = "tokenizer"
            raise


def _refused(error: TokdError, *, form: bool) -> ServiceError:
    field = str(error.place.get("field", ""))
    if field.startswith("corpus."):
        field = field.removeprefix("corpus.") if form and field in OF_A_FORM else field
    else:
        field = f"settings.{field}"
    return ServiceError(error.code, error.message, field)
