"""Resource limits of a job, and the errors for exceeding them."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from service.job_process.disk import FULL
from service.jobs.job import JobError
from service.settings import Settings

DISK_FULL = JobError(*FULL)
MAX_ENTRIES = 1 << 20
"""Of directories that a job may look at to find its corpus, which takes a second or two."""

_KIB = 1024


class JobLimits:
    """Resource limits of one attempt, from the settings."""

    def __init__(self, settings: Settings) -> None:
        self.nice = settings.job_nice
        self._settings = settings

    def order(self, files: Path) -> dict[str, Any]:
        """Say what the process must know of its bounds.

        Args:
            files: the directory of all jobs: a job may read what was uploaded for it, and never for another.
        """
        settings = self._settings
        return {
            "threads": settings.job_threads,
            "closed": [str(files)],
            "roots": [str(Path(root).absolute()) for root in settings.corpus_roots],
            # Without any scheme every one would be allowed; a file's URL is held to the roots.
            "schemes": ["file", *settings.corpus_schemes],
            "max_bytes": settings.max_corpus_bytes,
            "max_entries": MAX_ENTRIES,
        }

    def over_time(self, seconds: float) -> JobError | None:
        """Say that an attempt takes too long."""
        most = self._settings.job_seconds
        if seconds <= most:
            return None
        return JobError("job_timeout", f"the job took more than {most:g} seconds; send a smaller corpus")

    def over_memory(self, pid: int) -> JobError | None:
        """Say that a process takes too much memory."""
        most = self._settings.job_memory_bytes
        if resident_bytes(pid) <= most:
            return None
        return JobError("job_memory", f"the job took more than {most} bytes of memory; send a smaller corpus")

    def over_disk(self, directories: Iterable[Path]) -> JobError | None:
        """Say that a disk has too little room left."""
        least = self._settings.min_free_bytes
        if all(shutil.disk_usage(directory).free >= least for directory in directories):
            return None
        return DISK_FULL


def resident_bytes(pid: int) -> int:
    """Return the memory that is a process's own; 0 where the system does not tell, or the process is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text("ascii")
    except OSError:
        return 0
    fields = dict(line.split(":", 1) for line in status.splitlines())
    return sum(int(fields.get(name, "0 kB").split()[0]) for name in ("RssAnon", "RssShmem")) * _KIB
