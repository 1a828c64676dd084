"""The frame of special tokens round a text, or round a pair of texts, with the type ids of its parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from tokenizer_core.config import PipelineConfig, Settings

Part = tuple[int | Literal["A", "B"], int]
"""The id of a special token, or the first or second text, and a type id."""

Frame = tuple[Part, ...]

_TEXTS: Mapping[str, Literal["A", "B"]] = {"A": "A", "B": "B"}


def read_frame(template: str, ids: Mapping[str, int]) -> Frame:
    """Read a frame that is written as names of tokens and of the texts, with type ids: ``cls A sep B:1 sep:1``.

    Raises:
        KeyError: no token has a name.
    """
    parts: list[Part] = []
    for item in template.split():
        name, _, kind = item.partition(":")
        text = _TEXTS.get(name)
        parts.append((ids[name] if text is None else text, int(kind or 0)))
    return tuple(parts)


def default_pair(prefix: tuple[int, ...], suffix: tuple[int, ...]) -> Frame:
    """Frame a pair as its two texts are framed alone; so it is where a source says nothing else."""
    first: Frame = (*((id, 0) for id in prefix), ("A", 0), *((id, 0) for id in suffix))
    second: Frame = (*((id, 1) for id in prefix), ("B", 1), *((id, 1) for id in suffix))
    return first + second


def frame_of(config: PipelineConfig, settings: Settings) -> Frame:
    """Return the frame of a text alone."""
    items: tuple[int | Literal["A", "B"], ...] = (*config.prefix_ids, "A", *config.suffix_ids)
    return tuple(zip(items, settings.type_ids or (0,) * len(items), strict=True))


def pair_frame_of(config: PipelineConfig, settings: Settings) -> Frame:
    """Return the frame of a pair."""
    return settings.pair_template or default_pair(config.prefix_ids, config.suffix_ids)
