"""Chat templates: Jinja as Hugging Face runs it, within bounds, with the origin of every character.

``meter`` bounds what a rendering costs, ``tracked`` is text with origins, ``numbers``, ``formatting`` and
``string_filters`` keep them, ``taken`` gives a caller back what was cut out of a text, ``sandbox`` is Jinja's
environment, ``render`` puts a template and messages together, ``failures`` words errors, ``turn`` shares the
interpreter.
"""

from tokenizer_core.template.render import MAX_DEPTH, Origins, Rendering, Shared, Span, Template, compiled, joined_path
from tokenizer_core.template.sandbox import FUNCTIONS
from tokenizer_core.template.tracked import bare, concat
from tokenizer_core.template.turn import Turn, in_turns, taken

__all__ = [
    "FUNCTIONS",
    "MAX_DEPTH",
    "Origins",
    "Rendering",
    "Shared",
    "Span",
    "Template",
    "Turn",
    "bare",
    "compiled",
    "concat",
    "in_turns",
    "joined_path",
    "taken",
]
