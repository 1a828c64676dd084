"""The API on one page, written from the OpenAPI document and the table of errors.

FastAPI's own page loads a megabyte of scripts from other servers, to which many who run this service have no way. This
page has its scripts from this server, and its examples can be changed, sent, and copied as programs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from html import escape
from typing import Any

from service.errors import PROBLEMS


def page(document: dict[str, Any]) -> str:
    """Write the page of an OpenAPI document."""
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        "<title>tokd: HTTP API</title><link rel=icon href=playground/icon.svg>"
        "<link rel=stylesheet href=playground/style.css><link rel=stylesheet href=playground/docs.css>"
        "<script type=module src=playground/docs.js></script>"
        f"<header><h1>tokd {escape(document['info']['version'])}</h1><a href='.'>Playground</a>"
        f"<a href=openapi.json>OpenAPI</a></header><main><p>{escape(document['info']['summary'])}</p>{_key(document)}"
        "<p><label>Filter <input id=filter type=search autocomplete=off></label></p>"
        f"<nav aria-label=Routes>{''.join(_entries(document))}<a href=#errors>Errors</a></nav>"
        f"{''.join(_routes(document))}{''.join(_problems())}</main></html>"
    )


def _key(document: dict[str, Any]) -> str:
    if "securitySchemes" not in document["components"]:
        return ""
    return "<p><label>Key <input id=key type=password autocomplete=off></label></p>"


def _anchor(method: str, path: str) -> str:
    """Name the heading of a route; codes of errors, which ids of the page are too, have no hyphen."""
    return escape(f"{method}-{path.strip('/')}")


def _entries(document: dict[str, Any]) -> Iterator[str]:
    for path, methods in document["paths"].items():
        for method in methods:
            yield f"<a href='#{_anchor(method, path)}'><code>{method.upper()} {escape(path)}</code></a>"


def _routes(document: dict[str, Any]) -> Iterator[str]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield "<section>"
            yield f"<h2 id='{_anchor(method, path)}'><code>{method.upper()} {escape(path)}</code></h2>"
            yield f"<p>{_prose(operation.get('description', ''))}</p>"
            content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
            rows = [
                *_parameters(document, operation.get("parameters", ())),
                *_fields(document, _resolve(document, content.get("schema", {}))),
            ]
            if rows:
                yield f"<table><tr><th>field<th>type<th>default<th>meaning{''.join(rows)}</table>"
            yield from _examples(method, path, operation, content.get("examples", {}))
            yield "</section>"


def _example_of(parameter: dict[str, Any]) -> str:
    first: str = parameter.get("example") or next(iter(parameter["schema"].get("examples", ())), "")
    return first


def _examples(method: str, path: str, operation: dict[str, Any], bodies: dict[str, Any]) -> Iterator[str]:
    """Write the examples of a route: one for each body, or one without; the first one's programs are shown."""
    target = escape(path.strip("/"))
    answered: dict[str, Any] = next(
        (each for status, each in operation["responses"].items() if status.startswith("2")), {}
    )
    answer = next(iter(answered.get("content", {})), "")
    key = " data-key" if operation.get("security") else ""
    places = {each["name"]: each for each in operation.get("parameters", ()) if each["in"] == "path"}
    inputs = "".join(
        f"<label>{name} <input name={name} required value='{escape(_example_of(each))}'></label> "
        for name, each in places.items()
    )
    for number, example in enumerate(bodies.values() or [{"summary": ""}]):
        body = ""
        if "value" in example:
            text = escape(json.dumps(example["value"], indent=1, ensure_ascii=False), quote=False)
            body = (
                f"<textarea name=body rows={min(12, text.count(chr(10)) + 1)} "
                f"aria-label='{method.upper()} {escape(path)}' spellcheck=false>{text}</textarea>"
            )
        yield (
            f"<form data-method={method.upper()} data-path='{target}' data-answer='{answer}'{key}>"
            f"<p>{_prose(example['summary'])}</p>{inputs}{body}<button>Send</button><output></output>"
            f"<details{'' if number else ' open'}><summary>As a program</summary><div class=programs></div></details>"
            "</form>"
        )


def _parameters(document: dict[str, Any], parameters: Iterable[dict[str, Any]]) -> Iterator[str]:
    for parameter in parameters:
        place = f"{parameter['in']} {parameter['name']}"
        yield _row(document, place, parameter["schema"], is_required=parameter["required"])


def _fields(document: dict[str, Any], schema: dict[str, Any], within: str = "") -> Iterator[str]:
    required = schema.get("required", ())
    for name, field in schema.get("properties", {}).items():
        yield _row(document, within + name, field, is_required=name in required)
        yield from _fields(document, _resolve(document, field), f"{within}{name}.")


def _row(document: dict[str, Any], place: str, field: dict[str, Any], *, is_required: bool) -> str:
    meaning = field.get("description") or _resolve(document, field).get("description", "")
    default = "" if is_required else escape(_default(field), quote=False)
    column = f"<td class=default>{default}" if default else f"<td>{'required' if is_required else ''}"
    return f"<tr><td><code>{escape(place)}</code><td>{escape(_type(document, field))}{column}<td>{_prose(meaning)}"


def _default(field: dict[str, Any]) -> str:
    if "default" in field:
        return json.dumps(field["default"])
    # The document leaves defaults out that are null.
    return "null" if {"type": "null"} in field.get("anyOf", ()) else ""


def _type(document: dict[str, Any], schema: dict[str, Any]) -> str:
    schema = _resolve(document, schema)
    if "anyOf" in schema:
        return " or ".join(_type(document, branch) for branch in schema["anyOf"])
    if "enum" in schema:
        return ", ".join(map(str, schema["enum"]))
    if schema.get("type") == "array":
        return f"list of ({_type(document, schema['items'])})" if schema.get("items") else "list"
    return str(schema.get("type", "any"))


def _problems() -> Iterator[str]:
    yield "<h2 id=errors>Errors</h2><p>Every error is <code>application/problem+json</code> with a stable "
    yield "<code>code</code> and the <code>path</code> of the field.</p><table><tr><th>code<th>status<th>meaning"
    for code, problem in PROBLEMS.items():
        yield f"<tr id={code}><td><code>{code}</code><td>{problem.status}<td>{escape(problem.title, quote=False)}"
    yield "</table>"


def _resolve(document: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    reference = schema.get("$ref")
    if reference is None:
        return schema
    found: dict[str, Any] = document["components"]["schemas"][reference.rpartition("/")[2]]
    return found


def _prose(text: str) -> str:
    """Write text whose backticks mark code."""
    parts = escape(text, quote=False).split("`")
    return "".join(f"<code>{part}</code>" if index % 2 else part for index, part in enumerate(parts))
