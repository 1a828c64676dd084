"""The server-wide objects, and the one reference by which they are exchanged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from service.admission.limits import Limits
from service.auth.guard import Guard
from service.pipeline import Pipeline
from service.registry.engines import Engines
from service.registry.registry import Registry
from service.settings import Settings
from service.telemetry.access_log import AccessLog
from service.telemetry.metrics import Metrics
from tokenizer_core import Tokenizer

if TYPE_CHECKING:
    from service.jobs.store import JobStore

ADDED = "added"
"""The one label, in metrics, of tokenizers that came at run time: they may come and go without end."""


class CurrentState:
    """Holds the state in force. A state never changes; another one takes its place, in one assignment.

    Who reads ``state`` once works with one state to the end, whatever is exchanged meanwhile.
    """

    __slots__ = ("_at_start", "state")

    state: ServerState

    def __init__(self) -> None:
        self._at_start: frozenset[str] | None = None

    def registry(self) -> Registry:
        """Return the tokenizers in force."""
        return self.state.registry

    def tokenizers(self) -> list[tuple[str, Tokenizer]]:
        """Return the tokenizers that are loaded, with their labels in metrics."""
        loaded = self.state.registry.loaded
        if self._at_start is None:
            self._at_start = frozenset(each.hash for each in loaded)
        return [(each.hash if each.hash in self._at_start else ADDED, each.tokenizer) for each in loaded]

    def trained(self) -> list[Tokenizer]:
        """Return the trained tokenizers that are open."""
        return self.state.registry.trained()


@dataclass(frozen=True, slots=True)
class ServerState:
    """Built by ``create_app``, and again when tokenizers or settings change; no module holds any of it."""

    current: CurrentState
    settings: Settings
    registry: Registry
    engines: Engines
    jobs: JobStore | None
    limits: Limits
    metrics: Metrics
    guard: Guard
    access_log: AccessLog | None
    pipeline: Pipeline
