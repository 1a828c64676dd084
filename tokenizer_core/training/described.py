"""Settings of training, declared once: the command, the service and the documentation read type, default and text here.

>>> from dataclasses import dataclass
>>> @dataclass
... class Small:
...     size: int = described(300, "tokens in all", "N")
>>> declared(Small)["size"]
Setting(name='size', kind=<class 'int'>, default=300, text='tokens in all', metavar='N', is_common=True)
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from typing import Any, get_type_hints


def described(default: Any, text: str, metavar: str = "") -> Any:
    """Declare a field of a dataclass of settings.

    Args:
        text: its meaning, as half a sentence of Markdown.
        metavar: its value, in the usage of the command.
    """
    return field(default=default, metadata={"text": text, "metavar": metavar})


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting, as the command and a job take it for any model.

    Attributes:
        default: that of the first model that has the setting.
        is_common: byte-level BPE takes it; if not, it is left out unless a caller names it.
    """

    name: str
    kind: Any
    default: Any
    text: str
    metavar: str = ""
    is_common: bool = True

    @property
    def shown_default(self) -> str:
        """The default, as the documentation has it; of lists and texts that are empty, "none"."""
        return "none" if self.default in (None, (), "") else f"`{json.dumps(self.default)}`"

    @property
    def meaning(self) -> str:
        """The text, with the default if that is worth a word and not yet there."""
        if self.default in (None, (), "", False) or "default" in self.text:
            return self.text
        return f"{self.text} (default: `{self.default}`)"


def declared(*classes: type[Any], is_common: bool = True) -> dict[str, Setting]:
    """Return what dataclasses declare, by name; of several that have a setting the first describes it."""
    found: dict[str, Setting] = {}
    for kind in classes:
        hints = get_type_hints(kind)
        for one in fields(kind):
            if "text" in one.metadata and one.name not in found:
                found[one.name] = Setting(one.name, hints[one.name], one.default, **one.metadata, is_common=is_common)
    return found
