"""``artifacts/base`` is what its recipe makes, and the same text always makes the same tokenizer."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.support.data import needs_data, shared
from tests.support.paths import ROOT
from tokenizer_core import Recipe, Tokenizer, TrainingRun

ARTIFACTS = ROOT / "artifacts"


def recipe(**changes: Any) -> Recipe:
    """Return the recipe of ``artifacts/base`` with another corpus."""
    return Recipe.from_dict(json.loads((ARTIFACTS / "base.recipe.json").read_text(encoding="utf-8")) | changes)


def trained(directory: Path, wanted: Recipe, **options: Any) -> Tokenizer:
    """Train in a new directory."""
    run = TrainingRun(directory, wanted, **options)
    run.count()
    run.merge()
    return run.publish(directory / "artifact")


def test_the_recipe_is_that_of_the_artifact() -> None:
    wanted, base = recipe(corpus={"texts": ["any"]}), Tokenizer.open(ARTIFACTS / "base")
    settings = wanted.settings.to_dict() | {"initial_merges": 0}
    # It is older than this setting, whose default changes nothing.
    assert base.provenance["settings"] | {"min_count": 1} == settings
    assert base.settings.eos == wanted.eos
    assert base.settings.pad == wanted.pad
    assert base.settings.chat_template == wanted.chat_template
    assert base.name == wanted.name
    assert len(base.merges) == base.provenance["learned"]["merges"] == 32_000 - 256 - 4


@needs_data
@pytest.mark.parametrize(("threads", "shard_bytes"), [(1, 1), (2, 1 << 30)])
def test_retraining_on_a_part_of_the_corpus_gives_the_known_hash(
    tmp_path: Path, threads: int, shard_bytes: int
) -> None:
    shards = [str(shared(f"corpora/mixed/part-0{number}.jsonl.zst")) for number in (0, 1)]
    wanted = recipe(corpus={"paths": shards}, vocab_size=8000)
    tokenizer = trained(tmp_path, wanted, threads=threads, shard_bytes=shard_bytes)
    assert tokenizer.hash == "sha256:d778e9577c192a2ff65d692a405159a94653b482a3e223e22d7ab5b0a73da516"


def test_a_text_made_of_numbers_gives_the_known_hash(tmp_path: Path) -> None:
    rng = random.Random(20_26)
    words = ["".join(chr(rng.randrange(97, 123)) for _ in range(rng.randint(1, 9))) for _ in range(3000)]
    texts = [" ".join(words[int(rng.random() ** 3 * 3000)] for _ in range(400)) for _ in range(100)]
    tokenizer = trained(tmp_path, recipe(corpus={"texts": texts}, vocab_size=2000))
    assert tokenizer.hash == "sha256:a1ab17b1162725b693befee30940801d15d432c1367c570df6316bb4fcc4f32e"
