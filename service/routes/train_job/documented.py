"""The description of ``POST /train-job`` in the OpenAPI document."""

from __future__ import annotations

from typing import Any

from service.routes.jobs.documented import request_body, request_schemas
from service.schemas.training import TrainingSettings, TrainJobRequest


def schemas() -> dict[str, Any]:
    """Return the schemas that the body needs."""
    return request_schemas(TrainJobRequest)


REQUEST_BODY = request_body(TrainJobRequest, TrainingSettings, name="The artifact's name.")
