"""How ``POST /train-job`` looks in the OpenAPI document: FastAPI sees no body, since none is ever held in memory."""

from __future__ import annotations

from typing import Any

from service.schemas.training import TrainingSettings, TrainJobRequest

_REFERENCE = "#/components/schemas/{model}"
_TEXT = {"type": "string"}


def schemas() -> dict[str, Any]:
    """Return the schemas that the body needs."""
    request = TrainJobRequest.model_json_schema(ref_template=_REFERENCE)
    return {**request.pop("$defs"), TrainJobRequest.__name__: request}


REQUEST_BODY: dict[str, Any] = {
    "required": True,
    "content": {
        "application/json": {
            "schema": {"$ref": _REFERENCE.format(model=TrainJobRequest.__name__)},
            "examples": {
                name: {"summary": example.summary, "value": example.body, "x-status": example.status}
                for name, example in TrainJobRequest.EXAMPLES.items()
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
                    "settings": {"$ref": _REFERENCE.format(model=TrainingSettings.__name__)},
                    "name": _TEXT | {"description": "The artifact's name."},
                    "format": _TEXT | {"description": "What the files are, whatever they are called."},
                    "field": _TEXT | {"description": "Of a line of JSON, where its text is."},
                    "on_error": _TEXT | {"description": "`skip` leaves out lines and rows that cannot be read."},
                    "column": _TEXT | {"description": "Of a Parquet file, where its texts are."},
                },
            }
        },
    },
}
