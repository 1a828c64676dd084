"""Server-wide objects, built once by ``create_app``."""

from __future__ import annotations

from dataclasses import dataclass

from service.admission.limits import Limits
from service.auth import Guard
from service.jobs import Jobs
from service.registry.engines import Engines
from service.registry.registry import Registry
from service.schemas.limited import Requests
from service.settings import Settings
from service.telemetry.access_log import AccessLog
from service.telemetry.metrics import Metrics


@dataclass(frozen=True, slots=True)
class State:
    """Built once by ``create_app``; no module holds any of it."""

    settings: Settings
    registry: Registry
    engines: Engines
    jobs: Jobs
    limits: Limits
    metrics: Metrics
    requests: Requests
    guard: Guard
    access_log: AccessLog | None
