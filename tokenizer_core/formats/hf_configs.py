"""The model's own files beside a tokenizer's: the class of transformers that reads these, the length, how to sample.

Where a file says less than the class adds, the class decides; the others change no id.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tokenizer_core.errors import InvalidArtifact, Unsupported
from tokenizer_core.formats import files
from tokenizer_core.formats.fields import Fields
from tokenizer_core.formats.hf_roles import CONFIG, load

MODEL_CONFIG = "config.json"
"""The model's own configuration, which names the class where the tokenizer's does not."""

GENERATION = "generation_config.json"
"""What engines sample with unless a request says otherwise."""

BERT = (
    *("Bert", "ConvBert", "DistilBert", "DPRContextEncoder", "DPRQuestionEncoder", "Electra", "LayoutLM", "Lxmert"),
    *("MobileBert", "RetriBert", "SqueezeBert"),
)
"""Classes, without ``Tokenizer``, that are ``BertTokenizer`` by another name."""

_LENGTHS = ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "max_sequence_length")
_SCALED = ("linear", "dynamic")
"""Ways to stretch positions whose factor the length does not have yet."""

_NUMBERS = ("temperature", "top_p", "min_p", "repetition_penalty")
_INTEGERS = ("top_k", "max_new_tokens")
_IDS = "stop_token_ids"


def with_class(beside: Mapping[str, bytes], by_model: Mapping[str, str]) -> dict[str, bytes]:
    """Write the class into the tokenizer's configuration, if only the model's names it.

    Args:
        by_model: classes, without ``Tokenizer``, by ``model_type``.

    Raises:
        Unsupported: the tokenizer of this model is not known.
    """
    found = dict(beside)
    config = files.parse_json(beside.get(CONFIG, b"{}"), CONFIG)
    if MODEL_CONFIG not in beside or not isinstance(config, dict) or config.get("tokenizer_class") is not None:
        return found
    model = load(beside, MODEL_CONFIG)
    named, kind = model.peek("tokenizer_class"), model.peek("model_type")
    if not isinstance(named, str):
        if not isinstance(kind, str):
            return found
        if kind not in by_model:
            raise Unsupported(
                f"{MODEL_CONFIG} is of the model {kind[:80]!r}, and it is not known whether its tokenizer does more "
                f"than these files say; use its tokenizer.json, or name the tokenizer_class in {CONFIG}",
                field=f"{MODEL_CONFIG}.model_type",
            )
        named = f"{by_model[kind]}Tokenizer"
    found[CONFIG] = json.dumps({**config, "tokenizer_class": named}, ensure_ascii=False).encode()
    return found


def is_bert(config: Fields) -> bool:
    """Tell whether the class that a configuration names is BERT's."""
    return name_of_class(config) in BERT


def name_of_class(config: Fields) -> str:
    """Return the class that a configuration names, without the ending that all have."""
    return str(config.peek("tokenizer_class")).removesuffix("Fast").removesuffix("Tokenizer")


def model_length(config: Mapping[str, Any]) -> int | None:
    """Return the length in ids that a configuration says, or that of its text, as vLLM derives it, or ``None``."""
    text = config.get("text_config")
    config = text if isinstance(text, Mapping) else config
    lengths = [value for key in _LENGTHS if type(value := config.get(key)) is int and value > 0]
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


def read_generation(beside: Mapping[str, bytes]) -> tuple[tuple[str, str], ...]:
    """Return the keys of ``GENERATION`` with their values as JSON text, in order; none if there is no file.

    Raises:
        InvalidArtifact: the file is no object, or a value that requests inherit is of another type.
    """
    fields = load(beside, GENERATION)
    for key in (*_NUMBERS, *_INTEGERS):
        if fields.has(key):
            _check_number(fields, key, fields.peek(key), is_whole=key in _INTEGERS)
    if fields.has(_IDS):
        ids = fields.peek(_IDS)
        for id in ids if isinstance(ids, list) else [None]:
            _check_number(fields, _IDS, id, is_whole=True)
    kept = fields.rest()
    return tuple((key, json.dumps(kept[key], sort_keys=True, ensure_ascii=False)) for key in sorted(kept))


def _check_number(fields: Fields, key: str, value: object, *, is_whole: bool) -> None:
    kinds = int if is_whole else int | float
    # True is an int to isinstance, and no number to JSON.
    if isinstance(value, bool) or not isinstance(value, kinds) or not abs(value) < 1 << 63:
        what = "whole numbers" if is_whole else "a number"
        raise InvalidArtifact(f"{fields.at(key)} must be {what}, less than 2^63", field=fields.at(key))
