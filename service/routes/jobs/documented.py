"""The description of a submission in the OpenAPI document: FastAPI sees no body, since none is ever held in memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from service.routes.jobs.kind import settings_of
from service.schemas.requests import RequestBody

_REFERENCE = "#/components/schemas/{model}"
_TEXT = {"type": "string"}


def request_schemas(*models: type[RequestBody]) -> dict[str, Any]:
    """Return the schemas that bodies need."""
    found: dict[str, Any] = {}
    for model in models:
        request = model.model_json_schema(ref_template=_REFERENCE)
        found |= {**request.pop("$defs"), model.__name__: request}
    return found


def request_body(model: type[RequestBody], words: Mapping[str, str]) -> dict[str, Any]:
    """Describe a body of JSON, and a form with files.

    Args:
        words: further parts of the form, which are text, with their meanings.
    """
    settings = settings_of(model)
    return {
        "required": True,
        "content": {
            "application/json": {
                "schema": {"$ref": _REFERENCE.format(model=model.__name__)},
                "examples": {
                    name: {"summary": example.summary, "value": example.body, "x-status": example.status}
                    for name, example in model.EXAMPLES.items()
                },
            },
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["corpus"],
                    "additionalProperties": False,
                    "properties": {
                        "corpus": {
                            "type": "array",
                            "items": {"type": "string", "contentMediaType": "application/octet-stream"},
                            "description": "Files, whose names say what they are: `.txt`, `.jsonl`, `.parquet`, `.gz`.",
                        },
                        "settings": {"$ref": _REFERENCE.format(model=settings.__name__)},
                        **{name: _TEXT | {"description": meaning} for name, meaning in words.items()},
                        "format": _TEXT | {"description": "What the files are, whatever they are called."},
                        "field": _TEXT | {"description": "Of a line of JSON, where its text is."},
                        "on_error": _TEXT | {"description": "`skip` leaves out lines and rows that cannot be read."},
                        "language": _TEXT | {"description": "With `parity`, where the language of a document is."},
                        "column": _TEXT | {"description": "Of a Parquet file, where its texts are."},
                    },
                }
            },
        },
    }
