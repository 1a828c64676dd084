"""What a job may take of the machine, and how it is told that it took more."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from service.jobs.job import JobError
from service.settings import Settings

DISK_FULL = JobError("disk_full", "the disk is full; submit the job again when there is room")
_KIB = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLimits:
    """What one attempt may take."""

    seconds: float
    memory_bytes: int
    min_free_bytes: int
    nice: int
    threads: int
    corpus_roots: tuple[str, ...]
    corpus_schemes: tuple[str, ...]
    max_corpus_bytes: int

    @classmethod
    def of(cls, settings: Settings) -> JobLimits:
        """Take them from the settings."""
        return cls(
            seconds=settings.job_seconds,
            memory_bytes=settings.job_memory_bytes,
            min_free_bytes=settings.min_free_bytes,
            nice=settings.job_nice,
            threads=settings.job_threads,
            corpus_roots=settings.corpus_roots,
            corpus_schemes=settings.corpus_schemes,
            max_corpus_bytes=settings.max_corpus_bytes,
        )

    def order(self, uploads: Path) -> dict[str, Any]:
        """Say what the process must know; a job may read what was uploaded for it, and never for another."""
        return {
            "threads": self.threads,
            "closed": [str(uploads.parent)],
            "roots": [str(uploads), *(str(Path(root).absolute()) for root in self.corpus_roots)],
            # Without any scheme every one would be allowed; a file's URL is held to the roots.
            "schemes": ["file", *self.corpus_schemes],
            "max_bytes": self.max_corpus_bytes,
        }

    def over_time(self, seconds: float) -> JobError | None:
        """Say that an attempt takes too long."""
        if seconds <= self.seconds:
            return None
        return JobError("job_timeout", f"the job took more than {self.seconds:g} seconds; train on less text")

    def over_memory(self, pid: int) -> JobError | None:
        """Say that a process takes too much memory."""
        if resident_bytes(pid) <= self.memory_bytes:
            return None
        return JobError("job_memory", f"the job took more than {self.memory_bytes} bytes of memory; train on less text")

    def over_disk(self, directories: Iterable[Path]) -> JobError | None:
        """Say that a disk has too little room left."""
        if all(shutil.disk_usage(directory).free >= self.min_free_bytes for directory in directories):
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
