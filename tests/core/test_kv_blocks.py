"""Block hashes are those of the engines and routers, for every vector of a scheme that we have."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from tests.support.data import needs_data, shared
from tokenizer_core import InvalidOption, block_hashes, prefix_hash
from tokenizer_core.kv_blocks import SCHEMES

IDS = range(1, 41)
MODELS = {"llmd-cbor-fnv/1": {"model": "m"}, "llmd-xxh64/1": {"model": "m"}}


def vectors(engine: str, algorithm: str) -> list[dict[str, Any]]:
    all_ = json.loads((shared("serving") / "vectors.json").read_bytes())["vectors"]
    found = [one for one in all_ if (one["engine"], one["algorithm"].split(" ")[0]) == (engine, algorithm)]
    assert found
    return found


@needs_data
@pytest.mark.parametrize(("algorithm", "scheme"), [("sha256", "vllm-sha256/2"), ("sha256_cbor", "vllm-sha256-cbor/2")])
def test_vllm_s_digests_and_events_hold(algorithm: str, scheme: str) -> None:
    for one in vectors("vllm", algorithm):
        assert one["mm"] is None
        lora = dict(zip(("lora", "lora_path"), one["lora"] or (), strict=False))
        options = {"seed": one["pythonhashseed"], "cache_salt": one["cache_salt"], **lora}
        found = block_hashes(one["token_ids"], scheme=scheme, block_size=one["block_size"], **options)
        assert found.digests is not None
        assert [bytes(row).hex() for row in found.digests] == one["block_hashes_hex"], one["case"]
        assert [str(value) for value in found.values] == one["event_block_hashes_u64"]


@needs_data
@pytest.mark.parametrize(("algorithm", "scheme"), [("cbor-fnv", "llmd-cbor-fnv/1"), ("xxh64", "llmd-xxh64/1")])
def test_llm_d_s_hashes_hold(algorithm: str, scheme: str) -> None:
    for one in vectors("llm-d", algorithm):
        salt = None if one["extra"] is None else one["extra"][0]["MMHashes"][0]["Hash"]
        options = {"seed": one["hash_seed"], "model": one["model"], "cache_salt": salt}
        found = block_hashes(one["token_ids"], scheme=scheme, block_size=one["block_size"], **options)
        assert [str(value) for value in found.values] == one["block_hashes_u64"], one["case"]


@needs_data
def test_dynamo_s_blocks_and_sequences_hold() -> None:
    for one in vectors("dynamo", "xxh3_64"):
        options = {{"lora_name": "lora"}.get(name, name): value for name, value in one["args"].items()}
        found = block_hashes(one["token_ids"], scheme="dynamo-xxh3/1", block_size=one["block_size"], **options)
        assert [str(value) for value in found.values] == one["block_hashes_u64"], one["case"]
        assert found.sequence is not None
        assert [str(value) for value in found.sequence] == one["sequence_hashes_u64_seed1337_chain"]


@needs_data
def test_sglang_s_pages_and_events_hold() -> None:
    for one in vectors("sglang", "sha256"):
        options = {"extra_key": one["extra_key"], "cache_salt": one["cache_salt"]}
        found = block_hashes(one["token_ids"], scheme="sglang-sha256/1", block_size=one["page_size"], **options)
        assert found.digests is not None
        assert [bytes(row).hex() for row in found.digests] == one["storage_hashes_hex"], one["case"]
        assert [str(value) for value in found.values] == one["event_block_hashes_i64"]


@needs_data
def test_tensorrt_s_digests_hold() -> None:
    for one in vectors("tensorrt-llm", "v2_sha256"):
        options = {"lora_task_id": one["lora_task_id"], "cache_salt": one["cache_salt"]}
        found = block_hashes(one["token_ids"], scheme="trtllm-v2", block_size=one["block_size"], **options)
        assert found.digests is not None
        assert [bytes(row).hex() for row in found.digests] == one["block_hashes_hex"], one["case"]
        assert [str(value) for value in found.values] == one["sha256_64_u64"]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_prefix_has_the_hashes_that_the_whole_begins_with(scheme: str) -> None:
    options = MODELS.get(scheme, {})
    whole = block_hashes(IDS, scheme=scheme, block_size=4, **options)
    for length in range(0, 41, 4):
        part = block_hashes(np.array(IDS[:length], np.uint32), scheme=scheme, block_size=4, **options)
        assert part.values.tolist() == whole.values[: length // 4].tolist()
    # Each option of the scheme changes the first hash.
    both = "lora_path" in SCHEMES[scheme]
    paths = {"lora": {"lora_path": "p"}, "lora_path": {"lora": "p2"}} if both else {}
    for name in SCHEMES[scheme]:
        value = 7 if name == "lora_task_id" else "other"
        other = block_hashes(IDS, scheme=scheme, block_size=4, **{**options, **paths.get(name, {}), name: value})
        assert other.values[0] != whole.values[0], name


REFUSED: dict[str, tuple[Any, dict[str, Any], str]] = {
    "an unknown scheme": (IDS, {"scheme": "dynamo"}, "scheme"),
    "a block of nothing": (IDS, {"block_size": 0}, "block_size"),
    "a block without end": (IDS, {"block_size": 1 << 40}, "block_size"),
    "a block of more than 64 bits": (IDS, {"block_size": 10**30}, "block_size"),
    "a block that is no number": (IDS, {"block_size": "16"}, "block_size"),
    "an option of another scheme": (IDS, {"seed": "0"}, "seed"),
    "an option that nobody has": (IDS, {"sed": "0"}, "sed"),
    "a text that is none": (IDS, {"lora": 7}, "lora"),
    "half a character": (IDS, {"lora": "\ud800"}, "lora"),
    "a long text": (IDS, {"lora": "a" * 5000}, "lora"),
    "no model": (IDS, {"scheme": "llmd-xxh64/1"}, "model"),
    "an adapter without its path": (IDS, {"scheme": "vllm-sha256/2", "lora": "a"}, "lora_path"),
    "a number that is none": (IDS, {"scheme": "trtllm-v2", "lora_task_id": "7"}, "lora_task_id"),
    "a number of 65 bits": (IDS, {"scheme": "trtllm-v2", "lora_task_id": 1 << 64}, "lora_task_id"),
    "equal names where objects matter": (
        IDS,
        {"scheme": "vllm-sha256/2", "lora": "a", "lora_path": "a"},
        "options",
    ),
    "ids that pickle writes otherwise": ([1 << 31], {"scheme": "vllm-sha256/2", "block_size": 1}, "ids"),
    "negative ids": ([-1], {}, "ids"),
    "ids of 33 bits": ([1 << 32], {}, "ids"),
    "ids as text": ("123", {}, "ids"),
    "fractions": ([1.5], {}, "ids"),
    "a table": (np.zeros((2, 2), np.uint32), {}, "ids"),
    "no row": (5, {}, "ids"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_wrong_is_refused_with_its_option(name: str) -> None:
    ids, changes, field = REFUSED[name]
    with pytest.raises(InvalidOption) as caught:
        block_hashes(ids, **{"scheme": "dynamo-xxh3/1", "block_size": 16, **changes})
    assert caught.value.place["field"] == field


def test_a_million_ids_are_hashed_in_every_scheme() -> None:
    ids = np.arange(1_000_000, dtype=np.uint32)
    for scheme in SCHEMES:
        assert len(block_hashes(ids, scheme=scheme, block_size=16, **MODELS.get(scheme, {})).values) == 62_500


@pytest.mark.parametrize(
    ("count", "digest"),
    [
        (0, "99aa06d3014798d86001c324468d497f"),
        (1, "45cdd2e492a8bbfc29cc0124ca8bf34b"),
        (100, "59cbf569098f37dc1398720e6555a4b1"),
        (1024, "b67ebdc4ecb04d6fb1b9144187ee9bb6"),
        (5000, "619c14f45432ac2d5d9cfe9783913744"),
    ],
)
def test_a_prefix_has_the_hash_that_python_xxhash_gives_it(count: int, digest: str) -> None:
    assert prefix_hash(range(1, count + 1)) == digest
