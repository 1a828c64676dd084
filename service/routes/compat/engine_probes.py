"""The probes of an engine by routers and platforms before they send requests: whether it lives, and what it serves."""

from __future__ import annotations

import time
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Path, Response
from pydantic import BaseModel, ConfigDict

from service.registry.registry import Registry
from service.registry.served import ServedTokenizer
from service.routes.compat.openai import OpenaiError
from service.routes.json_route import PROBLEM_RESPONSES, error_responses
from service.routes.opening import when_opened
from service.routes.server import Server
from service.state import ServerState
from tokenizer_core import VERSION

_STARTED = int(time.time())


class Model(BaseModel):
    """A name that requests may give."""

    id: str
    object: Literal["model"] = "model"
    created: int = _STARTED
    owned_by: str = "tokd"
    root: str
    parent: None = None
    max_model_len: int
    permission: list[Any] = []
    tokenizer: str
    template: str | None
    fingerprint: str


class ModelList(BaseModel):
    """All names, those of artifacts first; patterns are left out, since they are no names."""

    object: Literal["list"] = "list"
    data: list[Model]


class Version(BaseModel):
    """The version of this server."""

    version: str


class TokenizerInfo(BaseModel):
    """The settings of the default tokenizer, by the names of `tokenizer_config.json`."""

    model_config = ConfigDict(extra="allow")

    tokenizer_class: str
    model_max_length: int
    chat_template: str | None


def names(registry: Registry) -> dict[str, ServedTokenizer]:
    """Return the tokenizers by every name that is one."""
    found = {loaded.name: loaded for loaded in registry.loaded}
    return found | {name: registry.of_model(name) for name in registry.models if "*" not in name and name not in found}


async def engine_health() -> Response:
    """Say that the process answers, without a body, as engines do."""
    return Response()


async def sglang_renderer_ready() -> Response:
    """Say that chats are rendered here, as sglang-renderer does."""
    return Response(status_code=204, headers={"x-sglang-renderer": "ready"})


async def engine_version() -> Any:
    """Return the version of this server."""
    return {"version": VERSION}


def _model(server: ServerState, name: str, loaded: ServedTokenizer) -> Model:
    return Model(
        id=name,
        root=loaded.name,
        max_model_len=server.engines.length(name, loaded),
        tokenizer=loaded.hash,
        template=loaded.template,
        fingerprint=server.engines.fingerprint(name, loaded),
    )


async def models(server: Server) -> Any:
    """List the models that requests may name, as OpenAI and vLLM do."""
    return ModelList(data=[_model(server, name, loaded) for name, loaded in names(server.registry).items()])


_ModelName = Annotated[str, Path(description="As in the list, or one of a pattern.", examples=["base"])]


async def model(server: Server, model: _ModelName) -> Any:
    """Describe one model, as OpenAI does."""

    async def get() -> ServedTokenizer:
        return server.current.registry().of_model(model)

    return _model(server, model, await when_opened(server.limits, get))


async def tokenizer_info(server: Server) -> Any:
    """Return the settings of the default tokenizer, as vLLM does."""
    loaded = server.registry.default
    settings = loaded.tokenizer.settings
    roles = {
        f"{role}_token": literal
        for role in ("bos", "eos", "pad", "unk")
        if (literal := getattr(settings, role)) is not None
    }
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": server.engines.length(None, loaded),
        "padding_side": settings.padding_side,
        "truncation_side": settings.truncation_side,
        "chat_template": settings.chat_template,
        **roles,
    }


def mount(app: FastAPI, _: ServerState) -> None:
    """Declare the routes."""
    empty: Any = {"response_class": Response, "responses": {200: {"description": "The process answers."}}}
    app.get("/health", **empty)(engine_health)
    app.get("/ping", name="engine_ping", **empty)(engine_health)
    app.get("/version", response_model=Version)(engine_version)
    openai = error_responses(model=OpenaiError)
    app.get("/v1/models", response_model=ModelList, responses=openai)(models)
    app.get("/v1/models/{model:reference}", response_model=Model, responses=openai)(model)
    app.get("/tokenizer_info", response_model=TokenizerInfo, responses=PROBLEM_RESPONSES)(tokenizer_info)
    app.get("/_sglang_renderer/ready", status_code=204, response_class=Response)(sglang_renderer_ready)
