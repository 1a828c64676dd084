"""Fixtures of the whole suite; other helpers are in ``data``, ``tiny``, ``vocabularies`` and ``texts``."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

from tests import vocabularies
from tokenizer_core import Tokenizer

# Failures print the blob that replays them; a slow machine is no failure.
settings.register_profile(
    "tokd", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
settings.register_profile("long", settings.get_profile("tokd"), max_examples=5_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "tokd"))


@pytest.fixture(scope="session")
def tiny() -> Tokenizer:
    """A tokenizer that is trained in the test: 532 tokens, GPT-2's pattern, and ``<|end|>``."""
    return vocabularies.tokenizer("tiny")


@pytest.fixture(scope="session")
def gpt2() -> Tokenizer:
    """GPT-2: plain merges."""
    return vocabularies.tokenizer("gpt2")


@pytest.fixture(scope="session")
def cl100k() -> Tokenizer:
    """OpenAI's cl100k_base, from its rank file."""
    return vocabularies.tokenizer("cl100k_base")


@pytest.fixture(scope="session")
def qwen2() -> Tokenizer:
    """Qwen2: NFC and plain merges."""
    return vocabularies.tokenizer("qwen2")


@pytest.fixture(scope="session")
def llama3() -> Tokenizer:
    """Llama 3: whole pieces first, then merges."""
    return vocabularies.tokenizer("llama3")
