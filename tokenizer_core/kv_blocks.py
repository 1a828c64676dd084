"""Hashes of the blocks of a KV cache over token ids, by scheme and version: what routers find cached prefixes by.

Sources: vLLM 0.32, SGLang 0.5.23, ai-dynamo-runtime 1.6.1, llm-d-router, TensorRT-LLM; each changes its function from
time to time, so that a name without a version would soon be wrong.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from tokenizer_core import _kernel
from tokenizer_core.arguments import check_kind, check_unicode, integer_of
from tokenizer_core.errors import InvalidOption
from tokenizer_core.nearest import did_you_mean
from tokenizer_core.short_repr import ShortRepr

_NUMBERS = ("lora_task_id",)
_MAX_TEXT = 4096

SCHEMES = MappingProxyType(
    {
        "dynamo-xxh3/1": ("lora", "cache_namespace"),
        "llmd-cbor-fnv/1": ("model", "seed", "cache_salt"),
        "llmd-xxh64/1": ("model", "seed", "cache_salt"),
        "sglang-sha256/1": ("extra_key", "cache_salt"),
        "trtllm-v2": ("lora_task_id", "cache_salt"),
        "vllm-sha256-cbor/2": ("seed", "lora", "lora_path", "cache_salt"),
        "vllm-sha256/2": ("seed", "lora", "lora_path", "cache_salt"),
    }
)
"""The options of every scheme."""

_REQUIRED = {"llmd-cbor-fnv/1": ("model",), "llmd-xxh64/1": ("model",)}
_SIGNED = ("sglang-sha256/1",)
_DIGESTS = ("sglang-sha256/1", "trtllm-v2", "vllm-sha256-cbor/2", "vllm-sha256/2")
_SEQUENCE = ("dynamo-xxh3/1",)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BlockHashes(ShortRepr):
    """The hashes of a row of ids, in the order of its blocks.

    Attributes:
        values: uint64, or int64 as SGLang's events have them, shape (blocks,); what events and indexes name a block by.
        digests: uint8, shape (blocks, 32); whole digests, if the scheme has any.
        sequence: uint64, shape (blocks,); Dynamo's hash of each block and all before it, whose ``values`` are of the
            blocks alone.
    """

    scheme: str
    block_size: int
    values: npt.NDArray[np.uint64] | npt.NDArray[np.int64]
    digests: npt.NDArray[np.uint8] | None = None
    sequence: npt.NDArray[np.uint64] | None = None


def block_hashes(
    ids: Sequence[int] | npt.NDArray[np.uint32], *, scheme: str, block_size: int, **options: str | int | None
) -> BlockHashes:
    """Hash the blocks of ids as an engine or a router does; a last block that is not full counts only where it does.

    Args:
        ids: of any tokenizer.
        scheme: one of ``SCHEMES``.
        block_size: ids of a block, as the engine's events or metrics tell; never guess it.
        options: those of the scheme; ``None`` is one that is not given.

    Raises:
        InvalidOption: with the option; also one that the scheme does not use.

    >>> from tokenizer_core import block_hashes
    >>> block_hashes(range(1, 41), scheme="dynamo-xxh3/1", block_size=16).values.tolist()
    [16863443419780771464, 2287610619914608821]
    """
    check_kind(scheme, str, "scheme")
    if scheme not in SCHEMES:
        hint = did_you_mean(scheme, SCHEMES)
        raise InvalidOption(f"scheme must be one of {', '.join(SCHEMES)}{hint}", field="scheme")
    given = {name: value for name, value in options.items() if value is not None}
    for name, value in given.items():
        if name not in SCHEMES[scheme]:
            used = ", ".join(SCHEMES[scheme])
            raise InvalidOption(f"{scheme} has no option {name!r}; it has {used}", field=name)
        _check(name, value)
    for name in _REQUIRED.get(scheme, ()):
        if name not in given:
            raise InvalidOption(f"{scheme} needs {name}", field=name)
    if "lora_path" in SCHEMES[scheme] and ("lora" in given) != ("lora_path" in given):
        raise InvalidOption(f"{scheme} takes lora and lora_path together", field="lora_path")
    size = _in_64_bits(integer_of(block_size, "block_size", 1), "block_size")
    values, digests, sequence = _kernel.block_hashes(_array(ids), scheme, size, json.dumps(given))
    return BlockHashes(
        scheme,
        size,
        values.view(np.int64) if scheme in _SIGNED else values,
        digests.reshape(-1, 32) if scheme in _DIGESTS else None,
        sequence if scheme in _SEQUENCE else None,
    )


def prefix_hash(ids: Sequence[int] | npt.NDArray[np.uint32]) -> str:
    """Hash a row of ids: the XXH3 of 128 bits of them as unsigned 32-bit integers, little-endian, in hexadecimal.

    With the number of ids this is the option ``since`` of the service, for callers who keep ids.

    >>> from tokenizer_core import prefix_hash
    >>> prefix_hash([1, 2, 3])
    'a76f94d1118f3bcfe6d1006dda205ce7'
    """
    return _kernel.prefix_hash(_array(ids))


def _in_64_bits(number: int, name: str) -> int:
    if not 0 <= number < 1 << 64:
        raise InvalidOption(f"{name} must fit into 64 bits", field=name)
    return number


def _check(name: str, value: object) -> None:
    if name in _NUMBERS:
        _in_64_bits(integer_of(value, name), name)
        return
    check_unicode(value, name)
    if len(str(value)) > _MAX_TEXT:
        raise InvalidOption(f"{name} has more than {_MAX_TEXT} characters", field=name)


def _array(ids: Sequence[int] | npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """Return ids as the kernel takes them; each must fit into 32 bits."""
    if isinstance(ids, np.ndarray) and ids.dtype == np.uint32 and ids.ndim == 1:
        return ids
    try:
        wide = np.asarray(list(ids) if not isinstance(ids, np.ndarray) else ids)
    except (TypeError, ValueError, OverflowError):
        wide = np.zeros(1)
    if wide.ndim != 1 or (wide.size and (wide.dtype.kind not in "iu" or wide.min() < 0 or wide.max() >= 1 << 32)):
        raise InvalidOption("ids are a row of integers from 0 to 4294967295", field="ids")
    return wide.astype(np.uint32)
