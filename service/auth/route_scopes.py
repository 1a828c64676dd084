"""The scope that each route needs, in one table. A server with a route that is not listed does not start."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from service.auth.identity import Scope

Need = frozenset[Scope]

OPEN: Need = frozenset()
"""No key at all: what watches the server has none, and the documentation holds no secret."""

ENCODE: Need = frozenset(("encode",))
TRAIN: Need = frozenset(("train",))
ADMIN: Need = frozenset(("admin",))
EITHER: Need = ENCODE | TRAIN

NEEDS: Mapping[str, Need] = {
    "/encode": ENCODE,
    "/decode": ENCODE,
    "/offsets": ENCODE,
    "/count": ENCODE,
    "/render": ENCODE,
    "/parse": ENCODE,
    "/explain": ENCODE,
    "/pack": ENCODE,
    "/compare": ENCODE,
    "/tokenize": ENCODE,
    "/detokenize": ENCODE,
    "/v1/tokenize": ENCODE,
    "/v1/detokenize": ENCODE,
    "/v1/responses/input_tokens": ENCODE,
    "/v1/messages/count_tokens": ENCODE,
    "/v1/chat/completions/render": ENCODE,
    "/v1/completions/render": ENCODE,
    "/v1/messages/render": ENCODE,
    "/v1/responses/render": ENCODE,
    "/v1/chat/completions/derender": ENCODE,
    "/v1/completions/derender": ENCODE,
    "/v1/models": EITHER,
    "/v1/models/{model}": EITHER,
    "/tokenizer_info": EITHER,
    "/version": OPEN,
    "/health": OPEN,
    "/ping": OPEN,
    "/_sglang_renderer/ready": OPEN,
    "/train-job": TRAIN,
    "/train-job/{id}": TRAIN,
    "/train-job/{id}/events": TRAIN,
    "/train-job/{id}/artifact": TRAIN,
    "/train-job/{id}/report": TRAIN,
    "/encode-job": TRAIN,
    "/encode-job/{id}": TRAIN,
    "/encode-job/{id}/events": TRAIN,
    "/encode-job/{id}/manifest": TRAIN,
    "/encode-job/{id}/files/{name}": TRAIN,
    "/tokenizers": EITHER,
    "/tokenizers/{ref}": EITHER,
    "POST /tokenizers": ADMIN,
    "PUT /tokenizers/{ref}": ADMIN,
    "DELETE /tokenizers/{ref}": ADMIN,
    "/tokenizers/{ref}/check": EITHER,
    "/check": EITHER,
    "/healthz": OPEN,
    "/readyz": OPEN,
    "/metrics": OPEN,
    "/docs": OPEN,
    "/": OPEN,
    "/client.js": OPEN,
    "/client.d.ts": OPEN,
    "/playground/{name}": OPEN,
    "/openapi.json": OPEN,
}
"""By path as it is declared, with a method where that needs more; any one scope of a set is enough, and ``admin`` is
enough everywhere.
"""


def need_of(path: str, methods: Collection[str]) -> Need:
    """Return what a route of a path needs that answers to these methods."""
    return next((NEEDS[f"{each} {path}"] for each in methods if f"{each} {path}" in NEEDS), None) or NEEDS[path]


ANY_HOST = frozenset(("/healthz", "/readyz", "/health", "/ping", "/_sglang_renderer/ready"))
"""Paths that are answered whatever name is asked for: what watches a server may know it by another name."""
