"""``generation_config.json``: what engines sample with unless a request says otherwise; it changes no id."""

from __future__ import annotations

import json
from collections.abc import Mapping

from tokenizer_core.errors import InvalidArtifact
from tokenizer_core.formats.fields import Fields
from tokenizer_core.formats.hf_roles import load

GENERATION = "generation_config.json"
_NUMBERS = ("temperature", "top_p", "min_p", "repetition_penalty")
_INTEGERS = ("top_k", "max_new_tokens")
_IDS = "stop_token_ids"


def read_generation(beside: Mapping[str, bytes]) -> tuple[tuple[str, str], ...]:
    """Return the keys of the file with their values as JSON text, in order; none if there is no file.

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
