"""``GET /tokenizers``: what is loaded."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import FastAPI, Path
from starlette.convertors import StringConvertor, register_url_convertor

from service.registry.served import ServedTokenizer
from service.routes.json_route import PROBLEM_RESPONSES
from service.routes.opening import when_opened
from service.routes.server import Server
from service.schemas.answers import TokenizerInfo, TokenizerList
from service.state import ServerState

Reference = Annotated[
    str, Path(description="A name, a hash (`sha256:` and 64 digits), `name@hash`, or the name of a model.")
]


class _ReferenceConvertor(StringConvertor):
    """Any text: names of models have slashes, and a wrong name is told so, line breaks and all."""

    regex = "(?s:.+)"


register_url_convertor("reference", _ReferenceConvertor())


async def find(state: ServerState, reference: str) -> ServedTokenizer:
    """Find a tokenizer that is loaded, or that a job trained.

    Errors:
        ``invalid_name``, ``tokenizer_not_found``
    """

    async def get() -> ServedTokenizer:
        return state.current.registry().get(reference)

    return await when_opened(state.limits, get)


async def tokenizers(server: Server) -> Any:
    """List the tokenizers that are loaded."""
    return {"tokenizers": [described(server, loaded) for loaded in server.registry.loaded]}


async def tokenizer(server: Server, ref: Reference) -> Any:
    """Describe one tokenizer."""
    return described(server, await find(server, ref))


def described(server: ServerState, loaded: ServedTokenizer) -> dict[str, Any]:
    """Describe a tokenizer as ``TokenizerInfo`` says."""
    tokenizer, settings, registry = loaded.tokenizer, loaded.tokenizer.settings, server.registry
    return {
        "tokenizer": loaded.hash,
        "name": loaded.name,
        "default": loaded is registry.default,
        "models": registry.models.of(loaded),
        "vocab_size": tokenizer.vocab_size,
        "special_tokens": tokenizer.special_tokens,
        "pad_id": tokenizer.pad_id,
        "unk_id": getattr(tokenizer.config.model, "unk", None),
        "padding_side": settings.padding_side,
        "truncation_side": settings.truncation_side,
        "model_max_length": settings.model_max_length,
        "template": loaded.template,
        "templates": dict(tokenizer.templates),
        "missing_tokens": dict(tokenizer.missing_tokens),
        "unicode_version": tokenizer.unicode_version,
        "provenance": dict(tokenizer.provenance),
        "fingerprint": loaded.fingerprint,
    }


def mount(app: FastAPI, _: ServerState) -> None:
    """Declare the routes."""
    app.get("/tokenizers", response_model=TokenizerList, responses=PROBLEM_RESPONSES)(tokenizers)
    app.get("/tokenizers/{ref:reference}", response_model=TokenizerInfo, responses=PROBLEM_RESPONSES)(tokenizer)
