"""``POST /explain``: the steps from a text to its ids."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from fastapi import FastAPI
from pydantic import Field

from service.errors import from_core
from service.http.response_json import Answer, write
from service.routes.json_route import post
from service.schemas import answers
from service.schemas.fields import Part
from service.schemas.requests import Example, Request
from service.state import ServerState
from tokenizer_core import MAX_EXPLAINED, TokdError


class ExplainRequest(Request):
    """A text whose steps are shown."""

    text: Annotated[str, Field(max_length=MAX_EXPLAINED)] = Field(
        description="The text; no special token is looked for in it."
    )

    EXAMPLES: ClassVar[dict[str, Example]] = {
        "merges": Example("the merges of a word, by rank", {"text": "lower"}),
        "too long": Example("steps are shown for short texts", {"text": "a" * (MAX_EXPLAINED + 1)}, status=422),
    }

    def heavy(self) -> bool:
        """Tell that it leaves the event loop: it is slow, and makes its tables the first time."""
        return True


class ExplainedToken(Part):
    """A token."""

    id: int
    text: str = Field(description="Its text alone; what is not a whole character shows U+FFFD.")
    bytes: str = Field(description="Its bytes, in hexadecimal.")


class Merge(Part):
    """Two neighbours that become one."""

    at: int = Field(description="The place of the left one among the symbols that there are by then.")
    token: ExplainedToken = Field(description="What they become.")
    rank: int | None = Field(None, description="The rank of the merge: the lowest comes first.")
    score: float | None = Field(None, description="In place of a rank, the score of the product: the highest first.")


class Match(Part):
    """The longest entry at a place."""

    start: int
    end: int
    token: ExplainedToken


class Edge(Part):
    """An entry that the text has at a place; `token` is null for a character that is none."""

    start: int
    end: int
    score: float
    token: ExplainedToken | None


class ExplainedPiece(Part):
    """One piece of the text; which fields it has, `kind` says."""

    text: str = Field(description="The piece, normalized.")
    kind: Literal["merges", "matches", "lattice"]
    ids: list[int]
    start: list[ExplainedToken] | None = Field(None, description="Of merges: the symbols before the first.")
    merges: list[Merge] | None = Field(None, description="Of merges, in the order that they are done.")
    whole: ExplainedToken | None = Field(None, description="Of merges: the token that the piece is, without merges.")
    matches: list[Match] | None = Field(None, description="Of matches: the longest entries, one after the other.")
    unknown: bool | None = Field(None, description="Of matches: no entry goes on, so the piece is unknown.")
    edges: list[Edge] | None = Field(None, description="Of a lattice: all entries that the piece has.")
    best: list[float] | None = Field(None, description="Of a lattice: the highest sum at each place.")
    path: list[int] | None = Field(None, description="Of a lattice: the edges of the way with the highest sum.")


class ExplainAnswer(answers.Answer):
    """The steps of each piece."""

    pieces: list[ExplainedPiece]


def mount(app: FastAPI, state: ServerState) -> None:
    """Declare the route."""
    post(app, state, "/explain", explain, ExplainRequest, ExplainAnswer)


def explain(state: ServerState, body: ExplainRequest) -> Answer:
    """Show how a text becomes ids: the merges of each piece by rank, its longest matches, or its lattice."""
    loaded = state.registry.get(body.tokenizer)
    try:
        pieces = loaded.explainer().explain(body.text)
    except TokdError as error:
        raise from_core(error, str(error.place.get("field", "text"))) from error
    return write(loaded, body.text, {"pieces": [pieces]}, sum(len(piece["ids"]) for piece in pieces))
