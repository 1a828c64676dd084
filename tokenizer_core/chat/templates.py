"""Chat templates, compiled once."""

from __future__ import annotations

import hashlib
import re
from datetime import datetime
from functools import lru_cache
from typing import Literal

from tokenizer_core._kernel import ChatTemplate

ContentFormat = Literal["sent", "auto", "string", "parts"]
"""The form of content for a template: as sent, as the template reads it, or always one form.

As it reads it, too, ``developer`` becomes ``system`` where the template writes nothing of that role.
"""

MessageForm = Literal["sent", "tokenize", "render", "responses"]
"""The form of messages and tools for a template: as sent, or as a route of vLLM's gives them."""

FUNCTIONS = ("cycler", "dict", "joiner", "namespace", "raise_exception", "range", "strftime_now")
"""Functions that a template can call beside its own macros."""

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
