"""Other hosts: network namespaces on one wire with this one, whose links can be cut."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest


@dataclass(frozen=True)
class Host:
    """Another host.

    Attributes:
        address: its own.
        near: this host's address, as it sees it.
        enter: words before a command that make it run there.
    """

    name: str
    address: str
    near: str

    @property
    def enter(self) -> tuple[str, ...]:
        return ("ip", "netns", "exec", self.name)

    def set_link(self, state: str) -> None:
        """Cut the link (``down``), or mend it (``up``)."""
        _ip("-n", self.name, "link", "set", "far", state)

    def processes(self) -> list[int]:
        """Return those that run there."""
        return [int(line) for line in _ip("netns", "pids", self.name).split()]


@contextmanager
def hosts(count: int) -> Iterator[list[Host]]:
    """Make other hosts; skip the test where this user, or this system, may not."""
    wire, network = f"tokd{os.getpid()}", f"198.18.{os.getpid() % 256}"
    made = [Host(f"{wire}-{number}", f"{network}.{number + 2}", f"{network}.1") for number in range(count)]
    try:
        _ip("link", "add", wire, "type", "bridge")
        _ip("address", "add", f"{network}.1/24", "dev", wire)
        _ip("link", "set", wire, "up")
        for number, host in enumerate(made):
            near = f"{wire}n{number}"
            _ip("netns", "add", host.name)
            _ip("link", "add", near, "type", "veth", "peer", "name", "far", "netns", host.name)
            _ip("link", "set", near, "master", wire, "up")
            _ip("-n", host.name, "address", "add", f"{host.address}/24", "dev", "far")
            _ip("-n", host.name, "link", "set", "lo", "up")
            host.set_link("up")
    except FileNotFoundError:
        pytest.skip("needs ip")
    except subprocess.CalledProcessError as error:
        _remove(wire, made)
        pytest.skip(f"no network namespaces here: {error.stderr.strip()}")
    try:
        yield made
    finally:
        _remove(wire, made)


def _remove(wire: str, made: list[Host]) -> None:
    for host in made:
        subprocess.run(["ip", "netns", "delete", host.name], capture_output=True, check=False)
    subprocess.run(["ip", "link", "delete", wire], capture_output=True, check=False)


def _ip(*words: str) -> str:
    return subprocess.run(["ip", *words], check=True, capture_output=True, text=True).stdout
