"""The special tokens that chat templates have as variables, such as ``bos_token``."""

from __future__ import annotations

import json
from typing import Any

from tokenizer_core.chat.templates import compiled
from tokenizer_core.config import Settings

ROLES = ("bos_token", "eos_token", "pad_token", "unk_token", "sep_token", "cls_token", "mask_token")
_NAMED = ("extra_special_tokens", "model_specific_special_tokens")
"""Keys of a configuration whose objects name further tokens for templates."""


def special_tokens(settings: Settings) -> dict[str, str]:
    """Return the literals that a template has as variables: roles, and what the model's configuration names."""
    tokens: dict[str, Any] = {}
    for name, value in settings.extra:
        if name in _NAMED:
            tokens |= named if isinstance(named := json.loads(value), dict) else {}
        elif name.endswith("_token"):
            tokens[name] = json.loads(value)
    roles = {f"{name}_token": getattr(settings, name) for name in ("bos", "eos", "pad", "unk")}
    tokens |= {name: literal for name, literal in roles.items() if literal is not None}
    literals = ((name, each.get("content") if isinstance(each, dict) else each) for name, each in tokens.items())
    return {name: literal for name, literal in literals if isinstance(literal, str)}


def missing_tokens(settings: Settings) -> dict[str, tuple[str, ...]]:
    """Return the tokens that templates read as variables and nobody has, such as ``bos_token``, by template."""
    named = special_tokens(settings)
    missing = {
        name: tuple(each for each in compiled(source).token_variables if each not in named)
        for name, source in settings.templates.items()
    }
    return {name: variables for name, variables in missing.items() if variables}
