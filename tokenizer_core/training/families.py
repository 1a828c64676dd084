"""The models that can be trained, and the settings that each takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Literal

from tokenizer_core.arguments import check_choice
from tokenizer_core.errors import InvalidOption
from tokenizer_core.nearest import did_you_mean
from tokenizer_core.training.entry_settings import CharacterSettings, EntrySettings, WordPieceSettings, WordSettings
from tokenizer_core.training.sentencepiece_settings import SentencePieceBpeSettings
from tokenizer_core.training.sentencepiece_words import SentencePieceCharacterSettings, SentencePieceWordSettings
from tokenizer_core.training.settings import TrainSettings
from tokenizer_core.training.unigram_settings import UnigramSettings

ModelName = Literal["bpe", "wordpiece", "unigram", "word", "character"]
BpeStyle = Literal["byte_level", "sentencepiece"]
AnySettings = TrainSettings | EntrySettings

_STYLED = " in the style of sentencepiece"

SETTINGS: dict[str, type[TrainSettings] | type[EntrySettings]] = {
    "bpe": TrainSettings,
    "bpe" + _STYLED: SentencePieceBpeSettings,
    **{kind.name: kind for kind in (WordPieceSettings, UnigramSettings, WordSettings, CharacterSettings)},
    "word" + _STYLED: SentencePieceWordSettings,
    "character" + _STYLED: SentencePieceCharacterSettings,
}

FIELDS: dict[str, tuple[str, ...]] = {
    model: (*(field.name for field in fields(kind)), *(["style"] if model == "bpe" or _STYLED in model else []))
    for model, kind in SETTINGS.items()
}
"""Names of settings by model."""

ALL_FIELDS = tuple(dict.fromkeys(name for names in FIELDS.values() for name in names))


def settings_of(model: str, given: Mapping[str, Any]) -> AnySettings:
    """Check the settings of a model, of BPE with its ``style``; what only another one takes is refused by name.

    Raises:
        InvalidOption: with the field.
    """
    check_choice(model, ModelName, "model")
    style = given.get("style", "byte_level")
    check_choice(style, BpeStyle, "style")
    kind = model + _STYLED if style == "sentencepiece" and model + _STYLED in SETTINGS else model
    for name in given:
        if name in FIELDS[kind]:
            continue
        if name not in ALL_FIELDS:
            raise InvalidOption(f"no setting is called {name[:80]!r}{did_you_mean(name, FIELDS[kind])}", field=name)
        takers = [other for other, names in FIELDS.items() if name in names]
        message = (
            f"the model {kind!r} takes no {name}, which is of {', '.join(takers)}; take one of these, or leave it away"
        )
        raise InvalidOption(message, field=name)
    return SETTINGS[kind](**{name: value for name, value in given.items() if name != "style"})
