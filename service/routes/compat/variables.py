"""Variables of a template: the caller's ``chat_template_kwargs``, and those that other fields stand for."""

from __future__ import annotations

from typing import Any

from service.schemas.fields import Object

FIELD = "chat_template_kwargs"

_OVERLAID = ("add_generation_prompt", "continue_final_message")
"""Variables that the request's own fields set, in vLLM also where these are left out."""


class Variables:
    """The variables of one rendering, each with the field that set it.

    Attributes:
        values: by name.
    """

    def __init__(self, sent: Object | None) -> None:
        self.values: Object = {name: value for name, value in (sent or {}).items() if name not in _OVERLAID}
        self._places: dict[str, str] = {}

    def set(self, name: str, value: Any, place: str) -> None:
        """Set a variable that another field of the request stands for; it goes before the caller's."""
        self.values[name] = value
        self._places[name] = place

    def set_effort(self, effort: str, place: str) -> None:
        """Set the effort of reasoning as vLLM does: ``none`` switches thinking off, unless the caller sets that too."""
        self.set("reasoning_effort", effort, place)
        if "enable_thinking" not in self.values:
            self.set("enable_thinking", effort != "none", place)

    def sent(self, path: str) -> str:
        """Return the field of the request behind the path of a variable."""
        name = path.removeprefix(f"{FIELD}.")
        return next((place for own, place in self._places.items() if name.startswith(own)), path)
