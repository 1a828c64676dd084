"""The common parts of the errors of engines and of OpenAI."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

_TYPES = {400: "BadRequestError", 404: "NotFoundError", 500: "InternalServerError"}
_OF_THE_BODY = ("invalid_json", "invalid_type", "invalid_unicode", "invalid_value", "missing_field")
"""Errors that engines find when they check a body, before they look at it: they give them the name of their status."""


def status_of(problem: Mapping[str, Any]) -> int:
    """Return the status that engines give: what they find in a body is 400."""
    return 400 if problem["status"] in (415, 422) else int(problem["status"])


def error_info(problem: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
    """Say a problem with OpenAI's four members, which engines share."""
    status = status_of(problem)
    of_the_body = problem["code"].startswith("unsupported_") or problem["code"] in _OF_THE_BODY
    kind = HTTPStatus(status).phrase if of_the_body or status not in _TYPES else _TYPES[status]
    return status, {"message": problem["detail"], "type": kind, "param": problem["path"], "code": status}
