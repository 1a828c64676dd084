"""The service that one would write by hand: FastAPI, pydantic models, tiktoken."""

from __future__ import annotations

from fastapi import FastAPI
from pydantic import BaseModel

from benchmarks.corpora import data_dir
from benchmarks.openers import tiktoken_encoding

app = FastAPI()
encoding = tiktoken_encoding("cl100k_base", data_dir() / "vocabs")


class Text(BaseModel):
    """What is asked."""

    text: str


class Ids(BaseModel):
    """What is answered."""

    ids: list[int]
    count: int


@app.get("/readyz")
def ready() -> dict[str, str]:
    """Answer as soon as the encoding is there."""
    return {"status": "ready"}


@app.post("/encode")
def encode(body: Text) -> Ids:
    """Encode one text."""
    ids = encoding.encode_ordinary(body.text)
    return Ids(ids=ids, count=len(ids))
