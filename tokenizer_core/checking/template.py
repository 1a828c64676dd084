"""Point 4: what the chat template writes as protocol is protocol for the tokenizer."""

from __future__ import annotations

import regex

from tokenizer_core.checking.report import Finding, failed, not_applicable, passed
from tokenizer_core.tokenizer import Tokenizer

_COMMENT = regex.compile(r"\{#.*?#\}", regex.DOTALL)

_LITERAL = regex.compile(
    r"""<\|[^|<>\s'"{}]{1,64}\|>"""
    r"""|<｜[^｜<>\s'"{}]{1,64}｜>"""
    r"""|</?s>|<(?:bos|eos|pad|unk|start_of_turn|end_of_turn)>"""
)
"""Literals of the families that are only ever control tokens.

``[INST]`` and ``<tools>`` are left out: some models have them as tokens and some as plain text, so neither is a fault.
"""

_SENTINEL = regex.compile(r"""[=!]=\s*['"](<[^'"]+>)['"]""")
"""A literal that the template compares with is its own mark for "nothing here" and is never written out."""

_VARIABLE = regex.compile(r"\b(bos|eos|pad|unk)_token\b")


def template(tokenizer: Tokenizer) -> Finding:
    """Look up every special-looking literal and every named token of the template."""
    source = tokenizer.settings.chat_template
    if source is None:
        return not_applicable("the tokenizer has no chat template")
    source = _COMMENT.sub("", source)
    added = {token.content: token.id for token in tokenizer.added_tokens}
    sentinels = set(_SENTINEL.findall(source))
    found = [literal for literal in dict.fromkeys(_LITERAL.findall(source)) if literal not in sentinels]
    missing = [literal for literal in found if literal not in added]
    unset = [
        f"{name}_token"
        for name in dict.fromkeys(_VARIABLE.findall(source))
        if (literal := getattr(tokenizer.settings, name)) is not None and literal not in added
    ]
    known = {literal: added[literal] for literal in found if literal in added}
    if missing or unset:
        return failed(
            f"the template writes what is no added token: {', '.join(missing + unset)}",
            literals=known,
            missing=missing + unset,
        )
    return passed(f"each of the {len(known)} control literals of the template is an added token", literals=known)
