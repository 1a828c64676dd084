"""Point 4: the control literals of the chat templates are tokens of the tokenizer."""

from __future__ import annotations

from collections.abc import Iterator

import regex
from jinja2 import nodes

from tokenizer_core.checking.report import Finding, excerpt, failed, not_applicable, passed
from tokenizer_core.template import compiled
from tokenizer_core.tokenizer import Tokenizer

_LITERAL = regex.compile(
    r"""<\|[^|<>\s'"{}]{1,64}\|>"""
    r"""|<｜[^｜<>\s'"{}]{1,64}｜>"""
    r"""|</?s>|<(?:bos|eos|pad|unk|start_of_turn|end_of_turn)>"""
)
"""Literals of the families that are only ever control tokens.

``[INST]`` and ``<tools>`` are left out: some models have them as tokens and some as plain text, so neither is a fault.
"""

_VARIABLE = regex.compile(r"(bos|eos|pad|unk)_token")

_LOOKED_FOR = frozenset(
    [
        "count",
        "endswith",
        "find",
        "index",
        "lstrip",
        "partition",
        "raise_exception",
        "reject",
        "rejectattr",
        "removeprefix",
        "removesuffix",
        "rfind",
        "rindex",
        "rpartition",
        "rsplit",
        "rstrip",
        "select",
        "selectattr",
        "split",
        "startswith",
        "strip",
        "trim",
    ]
)
"""Methods, filters and functions whose arguments never become text of the chat; of ``replace`` it is the first."""


def template(tokenizer: Tokenizer) -> Finding:
    """Look up every special-looking literal and every named token that a template writes.

    Raises:
        TemplateFailed: one of the templates is not a template.
    """
    sources = tokenizer.settings.templates
    if not sources:
        return not_applicable("the tokenizer has no chat template")
    added = {token.content: token.id for token in tokenizer.added_tokens}
    known: dict[str, int] = {}
    missing: dict[str, list[str]] = {}
    for name, source in sources.items():
        for shown, literal in _protocol(compiled(source).parsed(), tokenizer).items():
            if literal not in added:
                missing.setdefault(name, []).append(shown)
            elif literal == shown:
                known[literal] = added[literal]
    if missing:
        return failed(
            "; ".join(
                f"template {excerpt(name)} writes what is not an added token: {', '.join(of)}"
                for name, of in missing.items()
            ),
            literals=known,
            missing=list(dict.fromkeys(each for of in missing.values() for each in of)),
            templates=missing,
        )
    which = "template" if len(sources) == 1 else f"{len(sources)} templates"
    return passed(f"each of the {len(known)} control literals of the {which} is an added token", literals=known)


def _protocol(tree: nodes.Template, tokenizer: Tokenizer) -> dict[str, str]:
    """Return the literals that a template writes by the way it names them: by themselves, or such as ``bos_token``."""
    marks = _marks(tree)
    found: dict[str, str] = {}
    for node in _written(tree):
        if isinstance(node, nodes.Name) and node.ctx == "load" and (role := _VARIABLE.fullmatch(node.name)):
            if (literal := getattr(tokenizer.settings, role[1])) is not None:
                found[node.name] = literal
        elif id(node) not in marks:
            found |= {literal: literal for literal in _LITERAL.findall(_text(node))}
    return found


def _written(tree: nodes.Template) -> Iterator[nodes.Node]:
    """Go over what may become text of the chat: not over what is compared, tested or only looked for."""
    waiting: list[nodes.Node] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (nodes.Compare, nodes.Test)):
            continue
        yield node
        below = list(node.iter_child_nodes())
        if isinstance(node, (nodes.Call, nodes.Filter)):
            function = node if isinstance(node, nodes.Filter) else node.node
            name = getattr(function, "attr", None) or getattr(function, "name", None)
            if name in _LOOKED_FOR:
                below = list(node.iter_child_nodes(exclude=("args", "kwargs")))
            elif name == "replace":
                below = [*node.iter_child_nodes(exclude=("args",)), *node.args[1:]]
        waiting.extend(reversed(below))


def _marks(tree: nodes.Template) -> set[int]:
    """Return the ids of the template's own marks for "nothing here": kept or given back by a macro, and compared."""
    compared = {_text(each) for compare in tree.find_all(nodes.Compare) for each in compare.find_all(nodes.Const)}
    kept: list[nodes.Node] = [assignment.node for assignment in tree.find_all(nodes.Assign)]
    for macro in tree.find_all(nodes.Macro):
        kept += [each for output in macro.find_all(nodes.Output) for each in output.nodes]
    return {id(node) for node in kept if _text(node).strip() in compared}


def _text(node: nodes.Node) -> str:
    """Return the text of a node of the template, also of a string; nothing for other nodes."""
    text = getattr(node, "data", None) or getattr(node, "value", None)
    return text if isinstance(text, str) else ""
