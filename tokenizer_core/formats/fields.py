"""Walk a parsed JSON object so that every key is used or refused, and every refusal names its path."""

from __future__ import annotations

import base64
from typing import Any, TypeVar

from tokenizer_core.errors import InvalidArtifact, Unsupported

T = TypeVar("T")
_WORDS = {str: "a string", bool: "true or false", int: "an integer", dict: "an object", list: "a list"}
_MISSING: Any = object()


class Fields:
    """The keys of one object; each is taken once, and ``finish`` refuses what is left.

    Args:
        value: what should be an object.
        path: its place in the document; empty at the root.
    """

    def __init__(self, value: object, path: str) -> None:
        if not isinstance(value, dict):
            raise InvalidArtifact(f"{path or 'the document'} must be an object", field=path)
        self._values: dict[str, object] = dict(value)
        self.path = path

    def at(self, key: str) -> str:
        """Return the path of a key."""
        return f"{self.path}.{key}" if self.path else key

    def take(self, key: str, kind: type[T], default: T = _MISSING) -> T:
        """Take a key whose value is exactly of ``kind``; without a default it must be there."""
        value = self._values.pop(key, _MISSING)
        if value is _MISSING:
            if default is _MISSING:
                raise InvalidArtifact(f"{self.at(key)} is missing", field=self.at(key))
            return default
        # type(): True is an int to isinstance, and no integer to JSON.
        if type(value) is not kind:
            raise InvalidArtifact(f"{self.at(key)} must be {_WORDS[kind]}", field=self.at(key))
        return value

    def optional(self, key: str, kind: type[T]) -> T | None:
        """Take a key that may be missing or null."""
        if self._values.get(key) is None:
            self._values.pop(key, None)
            return None
        return self.take(key, kind)

    def has(self, key: str) -> bool:
        """Tell whether a key is there and not null."""
        return self._values.get(key) is not None

    def keys_ending(self, end: str) -> list[str]:
        """Return the keys that are left and end so."""
        return [key for key in self._values if key.endswith(end)]

    def peek(self, key: str) -> Any:
        """Look at a key that is taken later, or kept as it is; null when it is missing."""
        return self._values.get(key)

    def any(self, key: str) -> Any:
        """Take a key of any type; null when it is missing."""
        return self._values.pop(key, None)

    def choice(self, key: str, choices: dict[str, T]) -> T:
        """Take a string that is one of ``choices``."""
        text = self.take(key, str)
        if text not in choices:
            raise unsupported(self.at(key), text, f"one of {', '.join(choices)}")
        return choices[text]

    def items(self, key: str, default: list[Any] = _MISSING) -> list[tuple[object, str]]:
        """Take a list, each item with its path."""
        return [(item, f"{self.at(key)}[{index}]") for index, item in enumerate(self.take(key, list, default))]

    def strings(self, key: str) -> list[str]:
        """Take a list of strings."""
        found = []
        for item, path in self.items(key):
            if not isinstance(item, str):
                raise InvalidArtifact(f"{path} must be a string", field=path)
            found.append(item)
        return found

    def size(self, key: str) -> int:
        """Take a number that counts something."""
        value = self.take(key, int)
        if not 0 <= value < 1 << 32:
            raise InvalidArtifact(f"{self.at(key)} must be from 0 to 2^32 - 1", field=self.at(key))
        return value

    def base64(self, key: str) -> bytes:
        """Take bytes that are written in base64."""
        try:
            return base64.b64decode(self.take(key, str), validate=True)
        except ValueError:
            raise InvalidArtifact(f"{self.at(key)} is not base64", field=self.at(key)) from None

    def rest(self) -> dict[str, object]:
        """Take all that is left."""
        rest, self._values = self._values, {}
        return rest

    def finish(self) -> None:
        """Refuse what is left."""
        for key in self._values:
            path = self.at(key)
            raise Unsupported(f"the field {path[:200]} is not known, and nothing is ignored", field=path[:200])


def unsupported(path: str, found: object, wanted: str) -> Unsupported:
    """Make the error for a value that is understood and not supported."""
    return Unsupported(f"{path} is {str(found)[:80]!r}; supported: {wanted}", field=path)


def identifier(value: object, path: str) -> int:
    """Return an id that fits the kernel's border; the kernel itself holds it against the true bound.

    Raises:
        InvalidArtifact: ``id_out_of_range`` at ``path``.
    """
    if type(value) is not int or not 0 <= value < 1 << 32:
        raise InvalidArtifact(f"{path} is not an id: {value!r:.40}", code="id_out_of_range", field=path)
    return value
