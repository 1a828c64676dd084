"""Types that requests and answers share, and types under the limits of one server."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar, Union

from pydantic import BaseModel, ConfigDict, Field, create_model

M = TypeVar("M", bound=BaseModel)

LEFT_TO_RIGHT = Field(union_mode="left_to_right")

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


def list_of(item: Any, most: int | None = None) -> Any:
    """Return the type of a list that stops at its first bad item."""
    return Annotated[list[item], Field(max_length=most, fail_fast=True)]


def either(*types: Any) -> Any:
    """Return the type of a value that is the first of ``types`` that it can be."""
    return Annotated[Union[types], LEFT_TO_RIGHT]  # noqa: UP007 - of a tuple, which | does not take


def narrow(model: type[M], **types: Any) -> type[M]:
    """Return a model some of whose fields have narrower types."""
    fields: dict[str, Any] = {name: (type_, model.model_fields[name]) for name, type_ in types.items()}
    return create_model(model.__name__, __base__=model, __module__=model.__module__, __doc__=model.__doc__, **fields)
