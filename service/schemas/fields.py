"""Types that requests and answers share, and types under the limits of one server."""

from __future__ import annotations

from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model

M = TypeVar("M", bound=BaseModel)

Item = TypeVar("Item")

LEFT_TO_RIGHT = Field(union_mode="left_to_right")


@dataclass(frozen=True, slots=True)
class Most:
    """The bound of a list, by the name of the setting."""

    setting: Literal["max_items", "max_ids"]


List = Annotated[list[Item], Field(fail_fast=True)]
"""A list whose check stops at its first bad item; those below have a bound, too."""

MostItems = Annotated[list[Item], Field(fail_fast=True), Most("max_items")]
MostIds = Annotated[list[Item], Field(fail_fast=True), Most("max_ids")]

SpecialTokens = Literal["reject", "text", "parse"]

MAX_SEED = (1 << 64) - 1

Object = dict[str, Any]

MAX_ID = (1 << 32) - 1
MAX_POSITION = 1 << 31

Id = Annotated[int, Field(ge=0, le=MAX_ID)]
Position = Annotated[int, Field(ge=0, le=MAX_POSITION)]
Span = Annotated[list[Position], Field(min_length=2, max_length=2)]


class Part(BaseModel):
    """A part of an answer, which holds nothing else."""

    model_config = ConfigDict(extra="forbid")


class RequestPart(BaseModel):
    """A part of a request: it is read strictly, and holds nothing unknown."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


def drop_default(schema: dict[str, Any]) -> None:
    """Document a field that may be missing and is never null without the null that stands for it here."""
    del schema["default"]


def under_limits(model: type[M], settings: object) -> type[M]:
    """Return a request model whose lists are bounded by a server's settings, so that its OpenAPI names these."""
    types, fields = get_type_hints(model, include_extras=True), dict[str, Any]()
    for name, field in model.model_fields.items():
        bounded = _bounded(types[name], settings)
        if bounded != types[name]:
            fields[name] = bounded, field
    if not fields:
        return model
    return create_model(model.__name__, __base__=model, __module__=model.__module__, __doc__=model.__doc__, **fields)


def _bounded(type_: Any, settings: object) -> Any:
    """Return a type in which each ``Most`` is the number that its setting has."""
    origin, inner = get_origin(type_), get_args(type_)
    if origin is Annotated:
        notes = (Field(max_length=getattr(settings, it.setting)) if isinstance(it, Most) else it for it in inner[1:])
        return Annotated[_bounded(inner[0], settings), *notes]
    if origin in (Union, UnionType):
        return Union[tuple(_bounded(each, settings) for each in inner)]  # noqa: UP007 - of a tuple
    return list[_bounded(inner[0], settings)] if origin is list else type_  # type: ignore[misc]
