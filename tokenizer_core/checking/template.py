"""Point 4: the control literals of the chat templates are tokens of the tokenizer."""

from __future__ import annotations

import regex

from tokenizer_core.chat.templates import Template, compiled, missing_tokens, special_tokens
from tokenizer_core.checking.report import Finding, excerpt, failed, not_applicable, passed
from tokenizer_core.tokenizer import Tokenizer

_LITERAL = regex.compile(
    r"""<\|[^|<>\s'"{}]{1,64}\|>"""
    r"""|<｜[^｜<>\s'"{}]{1,64}｜>"""
    r"""|</?s>|<(?:bos|eos|pad|unk|start_of_turn|end_of_turn)>"""
)
"""Literals of the families that are only ever control tokens.

``[INST]`` and ``<tools>`` are left out: some models have them as tokens and some as plain text, so neither is a fault.
"""


def template(tokenizer: Tokenizer) -> Finding:
    """Look up every special-looking literal that a template writes, and every token that it reads as a variable.

    Raises:
        TemplateFailed, TemplateUnsupported: one of the templates is not a template, or not one that is supported.
    """
    sources = tokenizer.settings.templates
    if not sources:
        return not_applicable("the tokenizer has no chat template")
    added = {token.content: token.id for token in tokenizer.added_tokens}
    named, unset = special_tokens(tokenizer.settings), missing_tokens(tokenizer.settings)
    known: dict[str, int] = {}
    faults: list[str] = []
    missing: dict[str, list[str]] = {}
    for name, source in sources.items():
        written = _written(compiled(source), named)
        known |= {
            literal: added[literal] for shown, literal in written.items() if shown == literal and literal in added
        }
        wrong = [shown for shown, literal in written.items() if literal not in added]
        if wrong:
            faults.append(f"template {excerpt(name)} writes what is not an added token: {', '.join(wrong)}")
        if absent := unset.get(name, ()):
            faults.append(f"template {excerpt(name)} reads what no token has the role of: {', '.join(absent)}")
        if wrong or absent:
            missing[name] = [*wrong, *absent]
    if missing:
        return failed(
            "; ".join(faults),
            literals=known,
            missing=list(dict.fromkeys(each for of in missing.values() for each in of)),
            templates=missing,
        )
    which = "template" if len(sources) == 1 else f"{len(sources)} templates"
    return passed(f"each of the {len(known)} control literals of the {which} is an added token", literals=known)


def _written(template: Template, named: dict[str, str]) -> dict[str, str]:
    """Return the literals that a template writes by the way it names them: by themselves, or such as ``bos_token``."""
    found = {literal: literal for text in template.engine.written for literal in _LITERAL.findall(text)}
    return found | {name: named[name] for name in template.token_variables if name in named}
