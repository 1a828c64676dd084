"""The engine behind a model: the form in which it takes ids, and its treatment of literals in messages."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Literal, cast

from service.errors import quote
from service.registry.models import matcher
from service.registry.served import UNKNOWN_LENGTH, Literals, ServedTokenizer
from service.request_log import Trace
from service.setting_values import InvalidSetting
from service.settings import Settings

Render = Literal["vllm", "sglang"]
Parsing = Literal["message", "text", "vllm"]

_log = logging.getLogger("tokd")


class Engines:
    """The options of models, by the name that a caller gives, or by the tokenizer's own."""

    def __init__(self, settings: Settings) -> None:
        self._render = _Options("render", settings.render, ("vllm", "sglang"))
        self._literals = _Options("literals", settings.literals, ("text", "engine"))
        self._parsing = _Options("parsing", settings.parsing, ("message", "text", "vllm"))
        self._lengths = _Options("max_model_len", settings.max_model_len, ())
        for name in settings.literals:
            if name.endswith("=engine"):
                _log.warning(
                    "literals of special tokens in chats for %s become control tokens, as in the engine: a user can "
                    "write them (setting literals)",
                    name.removesuffix("=engine"),
                )

    def render(self, model: str | None, name: str) -> Render:
        """Return the form of the render routes' answers.

        Args:
            model: what the request names.
            name: the tokenizer's name.
        """
        return cast(Render, self._render.of(model, name) or "vllm")

    def literals(self, model: str | None, name: str) -> Literals:
        """Return what a literal in a message becomes: text, or what the engine makes of it."""
        return cast(Literals, self._literals.of(model, name) or "text")

    def parsing(self, model: str | None, name: str) -> Parsing:
        """Return what the derender routes make of an output."""
        return cast(Parsing, self._parsing.of(model, name) or "message")

    def fingerprint(self, model: str | None, loaded: ServedTokenizer) -> str:
        """Return the fingerprint of a model's answers on the routes that speak as an engine."""
        return loaded.fingerprint_of(self.literals(model, loaded.name))

    def headers(self, model: str | None, loaded: ServedTokenizer) -> Trace:
        """Return the headers of these answers."""
        return loaded.headers_of(self.literals(model, loaded.name))

    def length(self, model: str | None, loaded: ServedTokenizer) -> int:
        """Return how many ids the model takes: what the setting says, or the artifact."""
        return int(self._lengths.of(model, loaded.name) or loaded.max_model_len)

    @property
    def engine_literals(self) -> int:
        """The number of names that have the engine's literals."""
        return self._literals.count("engine")


class _Options:
    """One option by name or pattern; an exact name wins over patterns, and of these the first.

    Args:
        choices: what it may be; a length where there are none.
    """

    def __init__(self, setting: str, given: Sequence[str], choices: tuple[str, ...]) -> None:
        self._exact: dict[str, str] = {}
        self._patterns: list[tuple[Callable[[str], object], str]] = []
        for each in given:
            name, _, value = each.rpartition("=")
            is_length = not choices and value.isdecimal() and value.isascii() and 0 < int(value) <= UNKNOWN_LENGTH
            if not name or not (value in choices or is_length):
                ways = " or ".join(f"model={choice}" for choice in choices or ("32768",))
                raise InvalidSetting(setting, f"has {quote(each)}; write {ways}")
            if self._exact.get(name, value) != value:
                raise InvalidSetting(setting, f"gives {quote(name)} two values")
            self._exact[name] = value
            if "*" in name:
                self._patterns.append((matcher(name), value))

    def of(self, *names: str | None) -> str | None:
        """Return the value of the first of these names that has one."""
        if not self._exact:
            return None
        for name in names:
            if name is None:
                continue
            if (value := self._exact.get(name)) is not None:
                return value
            if (value := next((value for matches, value in self._patterns if matches(name)), None)) is not None:
                return value
        return None

    def count(self, value: str) -> int:
        return sum(each == value for each in self._exact.values())
