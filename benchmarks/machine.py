"""Say what was measured on, without naming the host."""

from __future__ import annotations

import platform
from pathlib import Path


def cpu_model() -> str:
    """Return the processor's own name."""
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def vector_units() -> list[str]:
    """Return the vector instruction sets that matter to a tokenizer."""
    flags = Path("/proc/cpuinfo").read_text(encoding="utf-8").partition("\nflags")[2].partition("\n")[0].split()
    return [flag for flag in ("avx2", "avx512bw") if flag in flags]


def kind() -> str:
    """Return the widest instructions that tokd uses here, by the name that ``TOKD_KERNEL`` has for them."""
    return "avx2" if "avx2" in vector_units() else "portable"


def memory() -> float:
    """Return this process's peak memory in MB.

    ``getrusage`` will not do: it counts what the parent had before the program was started.
    """
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise OSError("the system does not tell the peak of memory")


def describe() -> dict[str, object]:
    """Describe cores, processor and Python."""
    from tokenizer_core import core_count

    return {
        "cores": core_count(),
        "cpu": cpu_model(),
        "vectors": vector_units(),
        "system": platform.system(),
        "python": platform.python_version(),
    }
