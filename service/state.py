"""What every route of one server shares."""

from __future__ import annotations

from dataclasses import dataclass

from service.access_log import AccessLog
from service.auth import Guard
from service.jobs import Jobs
from service.limits import Limits
from service.metrics import Metrics
from service.registry import Registry
from service.schemas import Requests
from service.settings import Settings


@dataclass(frozen=True, slots=True)
class State:
    """Built once by ``create_app``; no module holds any of it."""

    settings: Settings
    registry: Registry
    jobs: Jobs
    limits: Limits
    metrics: Metrics
    requests: Requests
    guard: Guard
    access_log: AccessLog | None
