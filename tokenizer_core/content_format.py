"""Find out whether a chat template reads message content as one string or as a list of parts.

Clients send either. A template that wants the other form prints a Python list into the prompt, or nothing at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Literal

from jinja2 import Environment, nodes

from tokenizer_core.template.sandbox import Generation
from tokenizer_core.template_probe import probe

ContentFormat = Literal["sent", "auto", "string", "parts"]
"""The form of content for a template: as sent, as the template reads it, or always one form."""

_PARSER = Environment(extensions=[Generation, "jinja2.ext.loopcontrols"], autoescape=True)
_PROBED = ("system", "developer", "user", "assistant")
_TEXTS = ("probe one", "probe two")
_PRINTED_LIST = re.compile(r"""['"]type['"]\s*:\s*['"]text['"]|['"]probe one['"]""")
"""The output of a template that prints a list of parts instead of reading it."""

_STRING = " ".join(_TEXTS)
_PARTS = [{"type": "text", "text": text} for text in _TEXTS]
_FORMS: tuple[tuple[Literal["string", "parts"], Any], ...] = (
    ("string", _STRING),
    ("parts", _PARTS),
    ("parts", _PARTS[:1]),
)
"""Probes of content: some templates read only the first part, and no string."""


def content_format(source: str, role: str) -> Literal["string", "parts"]:
    """Return the form in which a template wants the parts of a role's messages: joined to one string, or as they are.

    It is what vLLM finds in the template, unless messages show that only the other form works: a template may loop over
    the parts of users, and print the content of the system as it is or only its first part.

    Args:
        source: the template.
    """
    if role == "tool":
        return "string"  # As in vLLM: most templates that loop over parts do not do so for results of tools.
    found: Literal["string", "parts"] = "parts" if loops_over_parts(source) else "string"
    if role not in _PROBED:
        return found
    forms = sorted(_FORMS[:2], key=lambda form: form[0] != found)
    return next((form for form, content in (*forms, _FORMS[2]) if _works(source, role, content)), found)


def reads_strings(source: str, role: str) -> bool:
    """Tell whether a template writes the content of a role's messages if it is one string, as all but a few do."""
    return role not in _PROBED or _works(source, role, _STRING) or not _works(source, role, _PARTS[:1])


def reads_string_parts(source: str, role: str) -> bool:
    """Tell whether a template takes strings as parts of the content of a role's messages, as a few do."""
    return _works(source, role, list(_TEXTS))


def _works(source: str, role: str, content: Any) -> bool:
    """Tell whether a template writes the text of a message with this content, and writes it as text."""
    message, user = {"role": role, "content": content}, {"role": "user", "content": "question"}
    chat = [user, message] if role == "assistant" else [message, *([] if role == "user" else [user])]
    text = probe(source, chat)
    sent = _TEXTS[: len(content)] if isinstance(content, list) else _TEXTS
    return text is not None and all(each in text for each in sent) and not _PRINTED_LIST.search(text)


@lru_cache(maxsize=128)
def loops_over_parts(source: str) -> bool:
    """Tell whether a template loops over the content of a message, found in its syntax tree where vLLM looks for it."""
    tree = _PARSER.parse(source)
    loops = [(loop.iter, loop.target.name) for loop in tree.find_all(nodes.For) if isinstance(loop.target, nodes.Name)]
    lists = set(_same_as(tree, "messages"))
    messages = {name for iterated, name in loops if any(_is_read(iterated, each) for each in lists)}
    return any(
        (isinstance(iterated, nodes.Name) and iterated.name == "content")
        or any(_is_read(iterated, message, "content") for message in messages)
        for iterated, _ in loops
    )


def _same_as(tree: nodes.Template, name: str) -> Iterator[str]:
    """Yield a variable and all that it is assigned to, whole, filtered or sliced."""
    assigned = [
        (each.node, each.target.name) for each in tree.find_all(nodes.Assign) if isinstance(each.target, nodes.Name)
    ]
    waiting, seen = [name], {name}
    while waiting:
        name = waiting.pop()
        yield name
        new = {target for value, target in assigned if _is_read(value, name)} - seen
        waiting += new
        seen |= new


def _is_read(node: nodes.Node | None, variable: str, field: str | None = None) -> bool:
    """Tell whether an expression is a variable, or a field of one, whole, filtered, tested or sliced."""
    while isinstance(node, (nodes.Filter, nodes.Test)) or (
        isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Slice)
    ):
        node = node.node
    if field is not None:
        if isinstance(node, nodes.Getattr):
            named = node.attr == field
        else:
            named = isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const) and node.arg.value == field
        if not named:
            return False
        node = node.node  # type: ignore[union-attr]
    return isinstance(node, nodes.Name) and node.name == variable
