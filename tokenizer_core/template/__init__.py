"""Chat templates: Jinja as Hugging Face runs it, within bounds, with the origin of every character.

``meter`` bounds what a rendering costs, ``tracked`` is text with origins, ``formats`` and ``string_filters`` keep them,
``sandbox`` is Jinja's environment, ``render`` puts a template and messages together.
"""

from tokenizer_core.template.render import Fields, Rendering, Span, Template, compiled

__all__ = ["Fields", "Rendering", "Span", "Template", "compiled"]
