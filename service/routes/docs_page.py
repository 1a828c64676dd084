"""The API on one page, written from the OpenAPI document and the table of errors.

FastAPI's own page loads a megabyte of scripts from other servers, to which many who run this service have no way. This
page is a few kilobytes, holds everything it needs, and its examples can be changed and sent.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator
from html import escape
from typing import Any

from service.errors import PROBLEMS

_STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h2 { margin-top: 3rem; border-top: 1px solid #8886; padding-top: 1rem }
code, pre, textarea { font: 14px/1.45 ui-monospace, monospace }
pre, textarea { width: 100%; box-sizing: border-box; padding: .6rem; border: 1px solid #8886; border-radius: .3rem;
  white-space: pre-wrap; overflow-wrap: anywhere }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid #8883 }
button { font: inherit; padding: .2rem 1rem }
h2 code { font-size: 1.25rem; overflow-wrap: anywhere }
nav { columns: 16rem; line-height: 1.8 }
[hidden] { display: none !important }
nav a { display: block; overflow-wrap: anywhere }
@media (max-width: 44rem) {
  table, tbody, tr, td { display: block }
  tr:first-child { display: none }
  tr { padding: .5rem 0; border-bottom: 1px solid #8883 }
  td { padding: 0; border: 0; overflow-wrap: anywhere }
  td.default::before { content: "default " }
}
"""

_SCRIPT = """
const filter = document.getElementById("filter");
filter.addEventListener("input", () => {
  const words = filter.value.toLowerCase().split(/\\s+/);
  const has = (text) => words.every((word) => text.toLowerCase().includes(word));
  for (const section of document.querySelectorAll("section")) {
    section.hidden = !has(section.textContent);
    document.querySelector(`nav a[href="#${section.dataset.anchor}"]`).hidden = section.hidden;
  }
});
for (const form of document.forms) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const out = form.querySelector("output");
    const show = (text) => out.replaceChildren(Object.assign(document.createElement("pre"), { textContent: text }));
    // The answer before would be taken for that of this request.
    out.replaceChildren();
    const headers = { "content-type": "application/json" };
    const key = document.getElementById("key")?.value;
    if (key) headers.authorization = "Bearer " + key;
    try {
      const answer = await fetch(form.dataset.path, { method: "POST", headers, body: form.elements.body.value });
      show(answer.status + "\\n" + await answer.text());
    } catch (error) {
      show("no answer: " + error.message);
    }
  });
}
"""


def _digest(source: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode('ascii')}'"


POLICY = (
    f"default-src 'none'; connect-src 'self'; style-src {_digest(_STYLE)}; script-src {_digest(_SCRIPT)}; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The content security policy of the page: only its own style and script run, and it speaks to this server alone."""


def page(document: dict[str, Any]) -> str:
    """Write the page of an OpenAPI document."""
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        f"<title>tokd</title><style>{_STYLE}</style>"
        f"<h1>tokd {escape(document['info']['version'])}</h1><p>{escape(document['info']['summary'])} "
        f"<a href=openapi.json>OpenAPI</a></p>{_key(document)}"
        "<p><label>Filter <input id=filter type=search autocomplete=off></label></p>"
        f"<nav>{''.join(_entries(document))}<a href=#errors>Errors</a></nav>"
        f"{''.join(_routes(document))}{''.join(_problems())}"
        f"<script>{_SCRIPT}</script></html>"
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
            yield f"<section data-anchor='{_anchor(method, path)}'>"
            yield f"<h2 id='{_anchor(method, path)}'><code>{method.upper()} {escape(path)}</code></h2>"
            yield f"<p>{_prose(operation.get('description', ''))}</p>"
            content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
            rows = [
                *_parameters(document, operation.get("parameters", ())),
                *_fields(document, _resolve(document, content.get("schema", {}))),
            ]
            if rows:
                yield f"<table><tr><th>field<th>type<th>default<th>meaning{''.join(rows)}</table>"
            for example in content.get("examples", {}).values():
                text = escape(json.dumps(example["value"], indent=1, ensure_ascii=False))
                yield (
                    f"<form data-path='{escape(path.strip('/'))}'><p>{_prose(example['summary'])}</p>"
                    f"<textarea name=body rows={min(12, text.count(chr(10)) + 1)} "
                    f"aria-label='{method.upper()} {escape(path)}' spellcheck=false>{text}</textarea>"
                    "<button>Send</button><output></output></form>"
                )
            yield "</section>"


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
    default = "" if is_required else escape(_default(field))
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
        yield f"<tr id={code}><td><code>{code}</code><td>{problem.status}<td>{escape(problem.title)}"
    yield "</table>"


def _resolve(document: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    reference = schema.get("$ref")
    if reference is None:
        return schema
    found: dict[str, Any] = document["components"]["schemas"][reference.rpartition("/")[2]]
    return found


def _prose(text: str) -> str:
    """Write text whose backticks mark code."""
    parts = escape(text).split("`")
    return "".join(f"<code>{part}</code>" if index % 2 else part for index, part in enumerate(parts))
