"""Runs of training read corpora too."""

from tests.core.corpus.conftest import elsewhere

__all__ = ["elsewhere"]
