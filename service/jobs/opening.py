"""Open the store of jobs and start a worker, where what jobs need is installed: the extra ``jobs``."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from importlib.util import find_spec
from typing import TYPE_CHECKING

from service.setting_values import InvalidSetting
from service.settings import Settings

if TYPE_CHECKING:
    from service.jobs.store import JobStore

INSTALL = "pip install 'tokd[jobs]'"


def is_there() -> bool:
    """Tell whether the extra is installed."""
    return all(map(find_spec, ("psycopg", "sqlalchemy")))


def open_jobs(settings: Settings) -> JobStore | None:
    """Open the store that the settings name; ``None`` without the extra.

    Raises:
        InvalidSetting: as ``JobStore.open``, or a store is named and the extra is not there.
    """
    if is_there():
        from service.jobs.store import JobStore

        return JobStore.open(settings)
    if settings.jobs_url is not None:
        raise InvalidSetting("jobs_url", f"needs the extra jobs; {INSTALL}")
    return None


def beside_worker(settings: Settings) -> AbstractContextManager[None]:
    """Run a worker for as long as the context lasts, if the settings want one and the extra is there."""
    if not is_there():
        return nullcontext()
    from service.jobs.supervisor import supervised_worker

    return supervised_worker(settings)
