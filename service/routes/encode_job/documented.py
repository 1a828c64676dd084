"""The description of ``POST /encode-job`` in the OpenAPI document."""

from __future__ import annotations

from typing import Any

from service.routes.jobs.documented import request_body, request_schemas
from service.schemas.encode_jobs import EncodeJobRequest, EncodingSettings


def schemas() -> dict[str, Any]:
    """Return the schemas that the body needs."""
    return request_schemas(EncodeJobRequest)


REQUEST_BODY = request_body(
    EncodeJobRequest,
    EncodingSettings,
    tokenizer="Which tokenizer: a name, a hash, `name@hash`, or the name of a model; there is a default.",
    name="What the job is called in lists.",
)
