"""Read the settings of a form, and pin the tokenizer that they name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from pydantic import BaseModel

from service.errors import ServiceError
from service.http.json_body import parser
from service.registry.registry import Unopened
from service.registry.served import ServedTokenizer
from service.state import CurrentState

Model = TypeVar("Model", bound=BaseModel)


def settings_parser(model: type[Model]) -> Callable[[bytes], Model]:
    """Return what reads the part ``settings`` of a form; its errors are those of a JSON body, below ``settings``."""
    parse = parser(model, nested="settings")

    def read(data: bytes) -> Model:
        try:
            settings: Model = parse(data)
        except ServiceError as error:
            error.path = error.path or "settings"
            raise
        return settings

    return read


def pinned(current: CurrentState, reference: str | None) -> ServedTokenizer:
    """Return the tokenizer that a reference means now; ``None`` is the default.

    Errors:
        ``tokenizer_not_found``, ``tokenizer_ambiguous``, ``artifact_damaged``
    """
    while True:
        try:
            return current.registry().get(reference)
        except Unopened as missing:
            # Whoever submits a job can wait for the disk.
            missing.open()
