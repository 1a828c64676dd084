"""One request of a client, and its division where one would be more than a server takes.

A batch is divided before it is sent, by its size, and again when a server says that a part is too much. Answers are in
the order of the rows, and an error names the row of the whole batch.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from service.client.errors import Refused, TooLarge
from service.http.media import JSON
from tokenizer_core import TokdError

T = TypeVar("T")

PART_SIZE = 1 << 20
"""Characters, or ids, of one request, unless one row has more: far below what a server takes by default."""

PART_ROWS = 16_384
"""Rows of one request: what a server takes by default."""

ROW_FIELDS = ("text", "text_pair", "words", "word_labels", "ids", "target_spans")
_ROW = re.compile(rf"({'|'.join(ROW_FIELDS)})\[([0-9]+)\]")


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


def is_whole(options: Mapping[str, Any]) -> bool:
    """Tell whether rows are one request: they are padded to the longest of all."""
    return options.get("padding") == "longest"


def _is_too_much(error: TokdError) -> bool:
    """Tell whether fewer rows may be answered; too many ids of windows, or of a shared text, are said of an option."""
    return isinstance(error, TooLarge) or str(error).startswith("the rows have too many ids together")


def json_rows(call: Call[list[T]], fields: Sequence[str], *, most: int = PART_ROWS) -> Call[list[T]]:
    """Let a call be divided whose fields have one entry a row.

    Args:
        fields: their names; the first that is not one text for all rows has these. Another that is no list, or has
            another length, is sent with each part, and refused there.
    """
    body: dict[str, Any] = dict(call.body) if isinstance(call.body, dict) else {}
    lists = {name: _listed(body[name]) for name in fields if _is_list(body.get(name))}
    first = next((name for name in fields if not isinstance(body.get(name), str)), "")
    if first not in lists or is_whole(body):
        return call
    values = lists[first]
    own = {name: rows for name, rows in lists.items() if len(rows) == len(values)}

    def part(start: int, end: int) -> Call[list[T]]:
        def read(answer: Any) -> list[T]:
            if isinstance(answer, dict) and "overflow_of" in answer:
                answer["overflow_of"] = [start + row for row in answer["overflow_of"]]
            return call.read(answer)

        return replace(call, read=read, body={**body, **{name: rows[start:end] for name, rows in own.items()}})

    # A value without a length is refused where it is sent.
    sizes = [len(value) if hasattr(value, "__len__") else 1 for value in values]
    return replace(call, rows=Rows(sizes, part, lambda answers: [row for rows in answers for row in rows], most))


def in_parts(rows: Rows[T]) -> Generator[Call[T], T | TokdError, T]:
    """Yield the call of each part, take its answer or its error, and return the whole answer.

    Raises:
        TokdError: the error of a part, at the row of the whole.
    """
    bounds = rows.bounds()
    waiting = [*pairwise(bounds)][::-1]
    answers: list[T] = []
    while waiting:
        start, end = waiting.pop()
        outcome = yield rows.part(start, end)
        if not isinstance(outcome, TokdError):
            answers.append(outcome)
        elif _is_too_much(outcome) and end - start > 1:
            middle = (start + end) // 2
            waiting += [(middle, end), (start, middle)]
        else:
            raise _moved(outcome, start)
    return answers[0] if len(answers) == 1 else rows.join(answers)


def _moved(error: TokdError, start: int) -> TokdError:
    """Name the row of the whole in the error of a part that begins with row ``start``."""

    def whole(field: str) -> str:
        return _ROW.sub(lambda found: f"{found[1]}[{int(found[2]) + start}]", field, count=1)

    if isinstance(error.place.get("field"), str):
        error.place["field"] = whole(error.place["field"])
    if isinstance(error, Refused) and error.path is not None:
        error.path = whole(error.path)
    return error


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence | np.ndarray) and not isinstance(value, str | bytes)


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else list(value)
