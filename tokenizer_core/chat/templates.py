"""Chat templates, compiled once, and the special tokens that they have as variables, such as ``bos_token``."""

from __future__ import annotations

import hashlib
import json
import re
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal

from tokenizer_core._kernel import ChatTemplate
from tokenizer_core.config import Settings

ContentFormat = Literal["sent", "auto", "string", "parts"]
"""The form of content for a template: as sent, as the template reads it, or always one form.

As it reads it, too, ``developer`` becomes ``system`` where the template writes nothing of that role.
"""

MessageForm = Literal["sent", "tokenize", "render", "responses"]
"""The form of messages and tools for a template: as sent, or as a route of vLLM's gives them."""

FUNCTIONS = ("cycler", "dict", "joiner", "namespace", "raise_exception", "range", "strftime_now")
"""Functions that a template can call beside its own macros."""

ROLES = ("bos_token", "eos_token", "pad_token", "unk_token", "sep_token", "cls_token", "mask_token")
_NAMED = ("extra_special_tokens", "model_specific_special_tokens")
"""Keys of a configuration whose objects name further tokens for templates."""

_TOKEN = re.compile(r"\w+_token|additional_special_tokens")

Now = tuple[int, int, int, int, int, int, int, int, int]


class Template:
    """A compiled template; immutable, safe to share between threads.

    Attributes:
        token_variables: the special tokens that it takes for granted, such as ``bos_token``.

    Args:
        source: a string of Unicode.

    Raises:
        TemplateFailed: it is not a template.
        TemplateUnsupported: it uses a construct that is not supported.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.engine = ChatTemplate(source)
        self.tells_time = self.engine.tells_time
        self.token_variables = tuple(filter(_TOKEN.fullmatch, self.engine.needs))
        self.hash = f"sha256:{hashlib.sha256(source.encode()).hexdigest()}"

    def now(self) -> Now | None:
        """Return the local time if the template may tell it, by ``strftime_now``."""
        if not self.tells_time:
            return None
        at = datetime.now()
        day = at.timetuple()
        return (*day[:6], at.microsecond, day.tm_wday, day.tm_yday)


@lru_cache(maxsize=64)
def compiled(source: str) -> Template:
    """Compile a template once."""
    return Template(source)


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
