"""A sound artifact, and how what is broken in it is told."""

import dataclasses
import json
from pathlib import Path

import pytest

from tests.support.tokenizers import write_layout
from tokenizer_core.checking import CheckReport
from tokenizer_core.tokenizer import Tokenizer


@pytest.fixture(scope="module")
def artifact(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("check")
    Tokenizer.from_hf(write_layout(root / "hf", vocab_size=1400)).save(root / "tiny")
    return root / "tiny"


@pytest.fixture(scope="module")
def sound(artifact) -> Tokenizer:
    return Tokenizer.open(artifact)


def configured(tokenizer: Tokenizer, **changes) -> Tokenizer:
    """The same vocabulary in another pipeline."""
    config = dataclasses.replace(tokenizer.config, **changes)
    return Tokenizer(dataclasses.replace(tokenizer.parts, config=config))


def outcome(report: CheckReport, name: str):
    return next(point for point in report.points if point.name == name)


def assert_only_failure(report: CheckReport, name: str):
    assert [point.name for point in report.failures] == [name], report.to_dict()
    json.dumps(report.to_dict(), allow_nan=False)
    assert not report.ok
