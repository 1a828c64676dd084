"""Point 4: the control literals of the chat templates are tokens of the tokenizer."""

from __future__ import annotations

import regex

from tokenizer_core._kernel import ChatTemplate
from tokenizer_core.chat.templates import compiled
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

_VARIABLE = regex.compile(r"(bos|eos|pad|unk)_token")


def template(tokenizer: Tokenizer) -> Finding:
    """Look up every special-looking literal and every named token that a template writes.

    Raises:
        TemplateFailed, TemplateUnsupported: one of the templates is not a template, or not one that is supported.
    """
    sources = tokenizer.settings.templates
    if not sources:
        return not_applicable("the tokenizer has no chat template")
    added = {token.content: token.id for token in tokenizer.added_tokens}
    known: dict[str, int] = {}
    missing: dict[str, list[str]] = {}
    for name, source in sources.items():
        for shown, literal in _protocol(compiled(source).engine, tokenizer).items():
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


def _protocol(engine: ChatTemplate, tokenizer: Tokenizer) -> dict[str, str]:
    """Return the literals that a template writes by the way it names them: by themselves, or such as ``bos_token``."""
    found: dict[str, str] = {}
    for kind, written in engine.written:
        if kind == "text":
            found |= {literal: literal for literal in _LITERAL.findall(written)}
        elif (role := _VARIABLE.fullmatch(written)) and (literal := getattr(tokenizer.settings, role[1])) is not None:
            found[written] = literal
    return found
