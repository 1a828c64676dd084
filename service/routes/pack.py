"""``POST /pack``: examples of fine-tuning data put together into packs."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from service.errors import ServiceError, from_core
from service.http.response_json import Answer, report_bytes, write
from service.routes.json_route import post
from service.schemas.packing import PackAnswer, PackRequest
from service.state import ServerState
from tokenizer_core import PackBlock, Packs, TokdError, pack

_BYTES_OF_TOKEN = 24
"""The least bytes that a token of an answer takes: an id, a label and a position, as numbers of eight bytes."""

_OPTIONS = ("method", "overflow", "align", "seed", "pad", "train_on", "eos", "add_special_tokens", "special_tokens")


def mount(app: FastAPI, state: ServerState) -> None:
    """Declare the route."""
    post(app, state, "/pack", pack_examples, PackRequest, PackAnswer)


def pack_examples(state: ServerState, body: PackRequest) -> Answer:
    """Encode examples of fine-tuning data, and put several into each pack of a fixed length."""
    loaded = state.registry.get(body.tokenizer)
    options: Any = {name: getattr(body, name) for name in _OPTIONS}
    try:
        packs = pack(body.examples, loaded.tokenizer, body.length, **options)
    except TokdError as error:
        raise _placed(error) from error
    # Padding makes much of little, so it is counted before it is made.
    plan = packs.plan
    report_bytes(_BYTES_OF_TOKEN * (len(plan) * plan.length if body.pad else plan.tokens + len(plan.rows) * plan.align))
    rows: dict[str, Any] = {"packs": [_listed(packs)], "tokens": [plan.tokens], "trained": [packs.trained]}
    rows |= {name: [getattr(plan, name)] for name in ("full", "split", "truncated", "dropped", "empty", "tokens_lost")}
    return write(loaded, "", rows, plan.tokens)


def _placed(error: TokdError) -> ServiceError:
    """Place an error in an example, unless it is about an option of all of them."""
    row, field = error.place.pop("row", None), str(error.place.pop("field", ""))
    if row is None or field in _OPTIONS:
        return from_core(error, field)
    return from_core(error, f"examples[{row}].{field}".removesuffix("."))


def _listed(packs: Packs) -> list[dict[str, Any]]:
    return [_pack(block, at) for block in packs.blocks() for at in range(len(block))]


def _pack(block: PackBlock, at: int) -> dict[str, Any]:
    """Return the arrays of a pack, which are written as they are: lists of a million padded tokens take a second."""
    tokens = slice(block.token_offsets[at], block.token_offsets[at + 1])
    members = slice(block.member_offsets[at], block.member_offsets[at + 1])
    return {
        "input_ids": block.input_ids[tokens],
        "labels": block.labels[tokens],
        "position_ids": block.position_ids[tokens],
        "seq_lengths": block.seq_lengths[members],
        "cu_seqlens": block.cu_seqlens(at),
        "source_rows": block.source_rows[members],
    }
