"""One setting: its row in the table, its value in a variable or a flag, and the error of a wrong one."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, NamedTuple

from tokenizer_core import did_you_mean

ENV_PREFIX = "TOKD_"
TEST_PREFIX = "TOKD_TEST_"
"""Variables of the test suite, which a server started by a test inherits."""

KERNEL_VARIABLE = "TOKD_KERNEL"
"""Read by the kernel itself, wherever it runs."""

_SERVICE_LINK = re.compile(r"TOKD(_[A-Z0-9_]+)?_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT_[0-9]+_(TCP|UDP|SCTP).*)")
_LINKED_PORT = re.compile(r"(tcp|udp|sctp)://")
"""Variables that Kubernetes sets in every container beside a Service named ``tokd`` or ``tokd-...``."""

_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")

_MOST = (1 << 53) - 1
"""Every reader of JSON takes numbers up to this one; a server's limits stand in its OpenAPI document."""


class InvalidSetting(ValueError):
    """A setting is unknown, unreadable or outside its range.

    Args:
        source: the setting, or the variable or flag that gave it.
        wrong: the rest of the message, which begins with the source.
    """

    def __init__(self, source: str, wrong: str) -> None:
        super().__init__(source, wrong)
        self.source, self.wrong = source, wrong

    def __str__(self) -> str:
        return f"{self.source} {self.wrong}"


def setting(
    default: Any,
    meaning: str,
    *,
    least: int = 0,
    most: int = _MOST,
    item: str = "",
    separator: str = "",
    choices: tuple[str, ...] = (),
) -> Any:
    """Declare a setting: a field with what its row says."""
    metadata = {"meaning": meaning, "least": least, "most": most, "item": item, "separator": separator}
    return field(default=default, metadata=metadata | {"choices": choices})


class Row(NamedTuple):
    """One line of the table of settings."""

    name: str
    type: Any
    default: Any
    env: str
    flag: str
    meaning: str
    least: int
    most: int
    item: str
    separator: str
    choices: tuple[str, ...]

    @property
    def range_text(self) -> str:
        """The range of a number, for errors."""
        return f"a whole number from {self.least} to {self.most}"

    @property
    def default_text(self) -> str:
        """The default, for help and documentation."""
        if self.default is None or self.default == ():
            return "not set"
        if isinstance(self.default, bool):
            return str(self.default).lower()
        return ", ".join(self.default) if isinstance(self.default, tuple) else str(self.default)


def ours(env: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that are meant for the settings."""
    return {
        name: value
        for name, value in env.items()
        if name.startswith(ENV_PREFIX) and not name.startswith(TEST_PREFIX) and name != KERNEL_VARIABLE
        if not (_SERVICE_LINK.fullmatch(name) or (name.endswith("_PORT") and _LINKED_PORT.match(value)))
    }


def fits(value: object, kind: Any) -> bool:
    """Tell whether a JSON value has a setting's type."""
    if kind == tuple[str, ...]:
        return isinstance(value, list) and all(isinstance(one, str) for one in value)
    return isinstance(value, kind) and not (kind is int and isinstance(value, bool))


def read_value(row: Row, text: str, source: str) -> Any:
    """Read the value of a row from text.

    Raises:
        InvalidSetting: naming ``source``.
    """
    if row.type == tuple[str, ...]:
        return tuple(text.split(row.separator))
    if row.type is bool:
        lowered = text.strip().lower()
        if lowered in _TRUE + _FALSE:
            return lowered in _TRUE
        raise InvalidSetting(source, f"is {text[:40]!r}; it must be true or false")
    if row.type is int:
        if re.fullmatch(r"[0-9]{1,18}", text.strip()):
            return int(text)
        raise InvalidSetting(source, f"is {text[:40]!r}; it must be {row.range_text}")
    return text


MAX_FILE_BYTES = 1 << 20


def read_settings(path: Path, rows: Mapping[str, Row]) -> dict[str, Any]:
    """Read a TOML file of settings, by name.

    Raises:
        InvalidSetting
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
        if len(data) > MAX_FILE_BYTES:
            raise InvalidSetting("settings_file", f"{path} is larger than {MAX_FILE_BYTES} bytes")
        given = tomllib.loads(data.decode("utf-8"))
    except OSError as error:
        raise InvalidSetting("settings_file", f"{path}: {(error.strerror or 'cannot be read').lower()}") from None
    except (ValueError, RecursionError) as error:
        if isinstance(error, InvalidSetting):
            raise
        raise InvalidSetting("settings_file", f"{path} is not TOML in UTF-8: {str(error)[:80]}") from None
    for name, value in given.items():
        row = rows.get(name)
        if row is None or name == "settings_file":
            near = did_you_mean(name, rows)
            raise InvalidSetting("settings_file", f"{path} has {name[:40]!r}, which is not a setting for it{near}")
        if not fits(value, row.type if row.type != str | None else str):
            kinds = {int: "a whole number", bool: "true or false", tuple[str, ...]: "a list of strings"}
            raise InvalidSetting("settings_file", f"{path}: {name} must be {kinds.get(row.type, 'a string')}")
    return {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
