"""Tests of corpora look at files, so they begin in a directory where there are none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import chdir

import pytest


@pytest.fixture(autouse=True)
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Stand in an empty directory: what lies in the checkout matches patterns too."""
    with chdir(tmp_path_factory.mktemp("elsewhere")):
        yield
