"""Another host, as a network namespace whose link can be cut."""

from __future__ import annotations

import os
import subprocess


class Host:
    """Another host: a network namespace with a link to this one."""

    def __init__(self) -> None:
        self.name = f"tokd{os.getpid()}"
        network = f"198.18.{os.getpid() % 256}"
        self.near, self._far = f"{network}.1", f"{network}.2"

    def add(self) -> None:
        """Make it.

        Raises:
            CalledProcessError: this user, or this system, may not.
        """
        near, far = f"{self.name}n", f"{self.name}f"
        self._ip("netns", "add", self.name)
        self._ip("link", "add", near, "type", "veth", "peer", "name", far, "netns", self.name)
        self._ip("address", "add", f"{self.near}/30", "dev", near)
        self._ip("link", "set", near, "up")
        self._ip("-n", self.name, "address", "add", f"{self._far}/30", "dev", far)
        self.set_link("up")

    def set_link(self, state: str) -> None:
        """Cut the link (``down``), or mend it (``up``)."""
        self._ip("-n", self.name, "link", "set", f"{self.name}f", state)

    def remove(self) -> None:
        """Remove it, with its end of the link and so the link."""
        subprocess.run(["ip", "netns", "delete", self.name], capture_output=True, check=False)

    @staticmethod
    def _ip(*words: str) -> None:
        subprocess.run(["ip", *words], check=True, capture_output=True)
