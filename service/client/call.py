"""One request of a client, and how it is divided if it is too much for one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from service.http.media import JSON

T = TypeVar("T")

PART_SIZE = 1 << 20
"""Characters, or ids, of one request, unless one row has more: far below what a server takes by default."""

PART_ROWS = 16_384
"""Rows of one request: what a server takes by default."""


@dataclass(frozen=True, slots=True)
class Rows(Generic[T]):
    """The division of a call into parts.

    Attributes:
        sizes: of each row, in characters or ids.
        part: makes the call of some rows, from one up to another.
        join: joins the answers of parts.
        most: rows of one request.
    """

    sizes: Sequence[int]
    part: Callable[[int, int], Call[T]]
    join: Callable[[list[T]], T]
    most: int = PART_ROWS

    def bounds(self) -> list[int]:
        """Return where the first parts begin, and the end."""
        found, sum_of_part = [0], 0
        for at, size in enumerate(self.sizes):
            sum_of_part += size
            if at > found[-1] and (sum_of_part > PART_SIZE or at - found[-1] == self.most):
                found.append(at)
                sum_of_part = size
        return [*found, len(self.sizes)]


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One request, and how its answer is read.

    Attributes:
        read: reads the answer: its JSON if ``accept`` is JSON, else the whole response.
        form, files: sent as a form in place of a body; each file is a part ``corpus``.
        rows: how the call is divided if it is too much for one request.
    """

    method: str
    path: str
    read: Callable[[Any], T]
    body: Mapping[str, Any] | bytes | None = None
    accept: str = JSON
    headers: Mapping[str, str] | None = None
    form: Mapping[str, bytes] | None = None
    files: tuple[Path, ...] = ()
    rows: Rows[T] | None = None
