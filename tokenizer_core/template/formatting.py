"""Format values in templates: ``%``, ``format`` and ``tojson``, with origins and within bounds."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from string import Formatter
from typing import Any

import regex
from jinja2.sandbox import SandboxedEscapeFormatter, SandboxedFormatter

from tokenizer_core.template.meter import ESCAPED, OBJECT, PIECE, charge, weight_of
from tokenizer_core.template.tracked import Tracked, bare, code_of, concat, cut, runs_of, text_of, written

_DIRECTIVE = regex.compile(r"%(?:\((?P<key>[^()]*)\))?[#0\- +]*\d*(?:\.\d*)?[hlL]?(?P<kind>.)?", regex.DOTALL)
_DIGITS = regex.compile(r"\d+")

_ESCAPED_JSON = 12
"""The characters that JSON of ASCII takes for one beyond the first plane."""


def charged_values(template: str, values: Any) -> Any:
    """Charge for ``template % values``, and return the values to give: a dict charges for what each directive takes."""
    width = sum(min(int(digits[-9:]) if len(digits) < 10 else 10**9, 10**9) for digits in _DIGITS.findall(template))
    listed = _listed(values)
    stars = sum(abs(int(value)) for value in listed if isinstance(value, int)) if "*" in template else 0
    # Keys may have brackets that the expression does not read: the kind behind one may be any.
    times = ESCAPED if any(found["kind"] in tuple("ra(") for found in _DIRECTIVE.finditer(template)) else 1
    charge(2 * len(template) + width + stars + times * sum(map(weight_of, listed)))
    return _ChargedDict(values, times) if isinstance(values, dict) else values


class _ChargedDict(dict[Any, Any]):
    """A dict that charges for each look at a value, which ``%`` copies."""

    def __init__(self, values: Mapping[Any, Any], times: int) -> None:
        charge(OBJECT * len(values))
        super().__init__(values)
        self._times = times

    def __getitem__(self, key: Any) -> Any:
        value = super().__getitem__(key)
        charge(self._times * weight_of(value) + OBJECT)
        return value


def percent(template: str, values: Any) -> str:
    """Format as ``template % values`` does."""
    values = charged_values(template, values)
    if isinstance(template, Tracked) or "*" in template:
        code = code_of(template) or code_of(values)
        return written(bare(template) % values, code)
    pieces: list[str] = []
    end, used = 0, 0
    listed = _listed(values)
    for found in _DIRECTIVE.finditer(template):
        charge(2 * PIECE)
        pieces.append(template[end : found.start()])
        end = found.end()
        if found["kind"] == "%":
            pieces.append("%")
            continue
        if found["key"] is not None:
            value: Any = dict.get(values, found["key"]) if isinstance(values, dict) else values
            pieces.append(written(found[0] % values, code_of(value)))
            continue
        if used >= len(listed):
            break
        value = listed[used]
        used += 1
        value_text = text_of(value)
        if found[0] == "%s":
            pieces.append(value_text)
        else:
            pieces.append(written(found[0] % (value,), code_of(value)))
    text = concat([*pieces, template[end:]])
    plain = template % values
    # Python's own answer decides; where the reading above is another, the caller's values count for everything.
    return text if text == plain else written(plain, code_of(values))


def _listed(values: Any) -> tuple[Any, ...]:
    return values if isinstance(values, tuple) else (values,)


def braces(template: str, args: Any, kwargs: Any, formatter: Formatter) -> str:
    """Format as ``template.format(*args, **kwargs)`` does, with fields looked up by ``formatter``."""
    charge(len(template))
    numbered = iter(range(len(args) + 1))

    def fill(source: str, depth: int) -> Iterator[str]:
        for literal, name, spec, conversion in formatter.parse(source):
            yield written(literal, code_of(template))
            if name is None:
                continue
            if name == "" or name[0] in ".[":
                name = f"{next(numbered)}{name}"
            value, _ = formatter.get_field(name, args, kwargs)
            if conversion:
                value = (
                    text_of(value)
                    if conversion == "s"
                    else written(formatter.convert_field(value, conversion), code_of(value))
                )
            if depth == 0 and spec:
                raise ValueError("Max string recursion exceeded")
            yield _formatted(value, concat(list(fill(spec, depth - 1))) if spec else "")

    return concat(list(fill(bare(template), 1)))


def _formatted(value: Any, spec: str) -> str:
    charge_field(value, spec)
    text = text_of(value)
    return written(format(value, spec), code_of((value, spec))) if spec else text


def charge_field(value: Any, spec: str) -> None:
    """Charge for one field of a format."""
    width = sum(int(digits) if len(digits) < 10 else 10**9 for digits in _DIGITS.findall(spec))
    charge(width + weight_of(value) + PIECE)


class _Charging(Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        charge_field(value, format_spec)
        text: str = super().format_field(value, format_spec)
        return text

    def convert_field(self, value: Any, conversion: str | None) -> Any:
        charge((ESCAPED if conversion else 1) * weight_of(value))
        return super().convert_field(value, conversion)


class ChargedFormatter(_Charging, SandboxedFormatter):
    """Python's formatter in Jinja's sandbox, within bounds."""


class ChargedEscapeFormatter(_Charging, SandboxedEscapeFormatter):
    """The same for what Jinja holds for HTML."""


def tojson(
    value: Any, ensure_ascii: bool = False, indent: Any = None, separators: Any = None, sort_keys: bool = False
) -> str:
    """Write JSON as Python's ``json.dumps`` does, characters as they are, with the origins of strings and numbers."""
    if separators is None:
        separators = (", " if indent is None else ",", ": ")
    item_separator, key_separator = separators
    charge_json(value, ensure_ascii, indent, len(item_separator) + len(key_separator))
    if indent is not None and not isinstance(indent, str):
        indent = " " * indent
    writer = _JsonWriter(
        ensure_ascii=ensure_ascii,
        indent=indent,
        item_separator=item_separator,
        key_separator=key_separator,
        sort_keys=sort_keys,
    )
    writer.write(value, 0)
    return concat(writer.pieces)


class _JsonWriter:
    """Writes a value as JSON in pieces that keep the origins of its strings and numbers.

    Attributes:
        pieces: what is written so far.
    """

    def __init__(
        self, *, ensure_ascii: bool, indent: str | None, item_separator: str, key_separator: str, sort_keys: bool
    ) -> None:
        self._encode: Callable[[str], str] = json.JSONEncoder(ensure_ascii=ensure_ascii).encode
        self._indent, self._sort_keys = indent, sort_keys
        self._item_separator, self._key_separator = item_separator, key_separator
        self.pieces: list[str] = []

    def write(self, item: Any, level: int) -> None:
        """Write a value inside of ``level`` lists and objects."""
        if isinstance(item, str):
            self.pieces.append(self._string(item))
        elif isinstance(item, (list, tuple)):
            self._write_all("[]", [(None, part) for part in item], level)
        elif isinstance(item, dict):
            self._write_all("{}", sorted(item.items()) if self._sort_keys else list(item.items()), level)
        else:
            self.pieces.append(_scalar(item))

    def _write_all(self, brackets: str, items: list[tuple[Any, Any]], level: int) -> None:
        pieces, indent = self.pieces, self._indent
        if not items:
            pieces.append(brackets)
            return
        line = "" if indent is None else "\n" + indent * (level + 1)
        pieces.append(brackets[0])
        for at, (key, item) in enumerate(items):
            pieces.append(self._item_separator + line if at else line)
            if brackets == "{}":
                pieces.extend((self._key(key), self._key_separator))
            self.write(item, level + 1)
        if indent is not None:
            pieces.append("\n" + indent * level)
        pieces.append(brackets[1])

    def _string(self, text: str) -> str:
        if type(text) is str:
            return self._encode(text)
        parts, start = ['"'], 0
        for end, code in runs_of(text):
            parts.append(written(self._encode(bare(cut(text, start, end)))[1:-1], code))
            start = end
        return concat([*parts, '"'])

    def _key(self, key: Any) -> str:
        if isinstance(key, str):
            return self._string(key)
        if key is None or isinstance(key, (bool, int, float)):
            return concat(['"', _scalar(key), '"'])
        raise TypeError(f"keys must be str, int, float, bool or None, not {type(key).__name__}")


def _scalar(item: Any) -> str:
    if item is None or isinstance(item, bool):
        return json.dumps(item)
    if isinstance(item, (int, float)):
        plain = int(item) if isinstance(item, int) else float(item)
        return written(json.dumps(plain), code_of(item))
    raise TypeError(f"Object of type {type(item).__name__} is not JSON serializable")


def charge_json(value: Any, ensure_ascii: bool, indent: Any, separators: int, level: int = 0) -> None:
    """Charge for the strings, separators and margins of a value as JSON."""
    if isinstance(value, str):
        charge((_ESCAPED_JSON if ensure_ascii and not value.isascii() else 2) * len(value) + OBJECT)
    if not isinstance(value, (list, tuple, dict)):
        return
    margin = 0 if indent is None else len(indent) if isinstance(indent, str) else max(int(indent), 0)
    charge((len(value) + 1) * (separators + margin * (level + 1) + PIECE))
    for item in value:
        charge_json(item, ensure_ascii, indent, separators, level + 1)
        if isinstance(value, dict):
            charge_json(value[item], ensure_ascii, indent, separators, level + 1)


def plain_json(
    value: Any, ensure_ascii: bool = False, indent: Any = None, separators: Any = None, sort_keys: bool = False
) -> str:
    """Write JSON as Hugging Face does, without origins."""
    charge_json(value, ensure_ascii, indent, 4 if separators is None else sum(map(len, separators)))
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
