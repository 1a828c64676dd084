"""What an install has: the packages that the project's own requirements bring, and their files."""

from __future__ import annotations

import tomllib
from importlib.metadata import distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support.paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"].keys() - {"build", "test", "tools"}
"""Those that a user installs."""


def installed_with(*extras: str) -> set[str]:
    """Return the distributions that an install with these extras has beside tokd."""
    return _needed(
        [*PROJECT["dependencies"], *(one for each in extras for one in PROJECT["optional-dependencies"][each])]
    )


def _needed(requirements: list[str], extra: str = "") -> set[str]:
    found: set[str] = set()
    for requirement in map(Requirement, requirements):
        name = canonicalize_name(requirement.name)
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            found.add(name)
            for each in ("", *requirement.extras):
                found |= _needed(distribution(name).requires or [], each)
    return found
