"""The number of ids that a model takes by its ``config.json``, as vLLM derives it; it changes no id."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_KEYS = ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "max_sequence_length")
_SCALED = ("linear", "dynamic")
"""Ways to stretch positions whose factor the length does not have yet."""


def model_length(config: Mapping[str, Any]) -> int | None:
    """Return the length that a model's configuration says, or that of its text; ``None`` if it says none."""
    text = config.get("text_config")
    config = text if isinstance(text, Mapping) else config
    lengths = [value for key in _KEYS if type(value := config.get(key)) is int and value > 0]
    if not lengths:
        return None
    length = min(lengths)
    rope = config.get("rope_scaling") or config.get("rope_parameters")
    rope = rope if isinstance(rope, Mapping) else {}
    kind, factor = rope.get("rope_type", rope.get("type")), rope.get("factor")
    if kind == "longrope":
        own = config.get("original_max_position_embeddings", rope.get("original_max_position_embeddings"))
        return own if type(own) is int and own > 0 else length
    if kind in _SCALED and isinstance(factor, int | float) and factor > 0:
        return int(length * factor)
    return length
