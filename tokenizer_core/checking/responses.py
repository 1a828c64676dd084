"""Point 12: what the model writes can be read back to a message."""

from __future__ import annotations

from tokenizer_core.checking.report import Finding, not_applicable, passed
from tokenizer_core.tokenizer import Tokenizer


def responses(tokenizer: Tokenizer) -> Finding:
    """Find the model's response template, or derive one: each of its fields is proven on turns of the chat template.

    Raises:
        InvalidOption, InvalidPattern: the model's own is none.
    """
    if not tokenizer.settings.templates:
        return not_applicable("the tokenizer has no chat template")
    template = tokenizer.response_template
    if template is None:
        return not_applicable("; ".join(tokenizer.derive_response_template().notes))
    fields = [field for field in template.spec["fields"] if field != "head"]
    return passed(
        f"{', '.join(sorted(fields))} of an answer can be read, by a {template.origin} response template",
        origin=template.origin,
        fields=fields,
        notes=list(template.notes),
    )
