"""The one shortcut of the hot routes: the kernel takes a body's bytes and gives the answer's. No Python object is
made of what is in them.

It stands between the body, which was read within all limits, and the models. The kernel takes only what callers
commonly send; whatever is unusual or wrong goes on to the models, which know every option and word every error. So an
answer from here is byte for byte the models', and nothing is ever refused here.
"""

from __future__ import annotations

from collections.abc import Callable

from service.errors import ServiceError
from service.http.json_body import MAX_COST, VALUE_COST
from service.http.response_json import Answer, Block
from service.schemas.requests import INLINE_ITEMS
from service.settings import Settings
from service.tokenizers.loaded import Loaded
from service.tokenizers.registry import Registry, Unopened
from tokenizer_core import TextRoute

Shortcut = Callable[[bytes, bool], Answer | None]
"""Answers a body, or leaves it to the models. Unless it may take long, it leaves them bodies with many items."""

_MAX_VALUES = (MAX_COST - (1 << 17)) // VALUE_COST
"""Values that are within ``json_body.MAX_COST``, with room for the fields; a list costs less than ten of them."""

_Given = tuple[Block, int] | str | None


def to_texts(route: TextRoute, registry: Registry, settings: Settings, threads: int) -> Shortcut:
    """Return the shortcut of a route that takes texts; ``threads`` share a list out."""
    most = min(settings.max_items, _MAX_VALUES)
    few = min(most, INLINE_ITEMS)

    def ask(loaded: Loaded, body: bytes, reference: str | None, may_take_long: bool) -> _Given:
        if loaded.takes_long(len(body)) and not may_take_long:
            return None
        return loaded.tokenizer.answer_texts(
            route, body, loaded.head, reference, max_items=most if may_take_long else few, threads=threads
        )

    return _by_reference(registry, ask)


def to_ids(registry: Registry, settings: Settings) -> Shortcut:
    """Return the shortcut of the route that takes ids."""

    most, max_ids = settings.max_items, settings.max_ids
    few = min(most, INLINE_ITEMS)

    def ask(loaded: Loaded, body: bytes, reference: str | None, may_take_long: bool) -> _Given:
        max_rows = most if may_take_long else few
        return loaded.tokenizer.answer_ids(
            body, loaded.head, reference, max_ids=max_ids, max_rows=max_rows, max_values=_MAX_VALUES
        )

    return _by_reference(registry, ask)


def _by_reference(registry: Registry, ask: Callable[[Loaded, bytes, str | None, bool], _Given]) -> Shortcut:
    """Ask the default tokenizer, and if the body names another one, ask that."""

    def answer(body: bytes, may_take_long: bool) -> Answer | None:
        loaded = registry.default
        given = ask(loaded, body, None, may_take_long)
        if isinstance(given, str):
            try:
                loaded = registry.get(given)
            except (ServiceError, Unopened):
                return None
            given = ask(loaded, body, given, may_take_long)
        if given is None or isinstance(given, str):
            return None
        return Answer([given[0]], given[1], loaded.hash)

    return answer
