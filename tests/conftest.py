"""Fixtures of the whole suite; other helpers are in ``data``, ``tiny``, ``vocabularies`` and ``texts``."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

from tests.support import vocabularies
from tests.support.data import ABSENT, PRESENT
from tokenizer_core import Tokenizer

# Failures print the blob that replays them; a slow machine is no failure.
settings.register_profile(
    "tokd", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
settings.register_profile("long", settings.get_profile("tokd"), max_examples=5_000)
settings.register_profile("quick", settings.get_profile("tokd"), max_examples=20)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "tokd"))


NEEDS = {
    "real_data": {"gpt2", "cl100k", "qwen2", "llama3", *vocabularies.REAL},
    "process": {"run_server", "tokd", "bench", "start", "sandbox"},
    "postgres": {"postgres", "postgres_server"},
    "nightly": {"postgres", "postgres_server", "browser", "cluster", "wheel", "launch", "watched"},
}
"""The fixtures and parameters by which a test is marked; other tests are marked where they stand."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Spare the garbage collector what collecting tests makes: it lives as long as the process, and is a lot."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by what they ask for, and skip those whose data is not there."""
    for item in items:
        assert isinstance(item, pytest.Function)
        given = item.callspec.params.values() if hasattr(item, "callspec") else ()
        asked = {*item.fixturenames, *(value for value in given if isinstance(value, str))}
        for marker, names in NEEDS.items():
            if asked & names:
                item.add_marker(marker)
        if not PRESENT and item.get_closest_marker("real_data"):
            item.add_marker(pytest.mark.skip(reason=ABSENT))


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
