"""Word a template's failure by the template's line, without names of ours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import jinja2

from tokenizer_core.errors import InputError, TemplateFailed, TemplateLimit

_TYPES = {
    "Tracked": "str",
    "TrackedInt": "int",
    "TrackedFloat": "float",
    "TemplateNamespace": "namespace",
    "TemplateDict": "dict",
    "_ChargedDict": "dict",
}
"""Our types in Python's errors, and what whoever wrote the template knows them as."""

_NAME = re.compile(rf"(?:\btokenizer_core[.\w]*\.)?\b({'|'.join(_TYPES)})\b")
_FUNCTION = re.compile(r"(?<![\w.])(?:\w+\.<locals>\.)?_?(\w+)(?=\(\) )")
"""A function in Python's words for wrong arguments."""


@contextmanager
def failures(template: jinja2.Template | None) -> Iterator[None]:
    """Raise whatever a template runs into as one of this package's errors.

    Args:
        template: what is rendered; ``None`` while it is compiled.
    """
    try:
        yield
    except InputError:
        raise
    except (RecursionError, MemoryError) as error:
        raise TemplateLimit("the chat template calls itself deeper than a chat can need") from error
    except OverflowError as error:
        raise TemplateLimit("the chat template counts further than a chat can need") from error
    except Exception as error:
        message = str(getattr(error, "message", None) or error) or type(error).__name__
        # What a template raises itself are its own words.
        if type(error) is not jinja2.exceptions.TemplateError:
            message = _FUNCTION.sub(r"\1", _NAME.sub(lambda found: _TYPES[found[1]], message))
        if template is None:
            verb = "does not compile"
        else:
            refuses = isinstance(error, jinja2.exceptions.TemplateError)
            verb = "refuses these messages" if refuses else "fails on these messages"
        line = _line(error, template)
        where = f" in line {line}" if line else ""
        raise TemplateFailed(f"the chat template {verb}{where}: {message[:500]}") from error


def _line(error: Exception, template: jinja2.Template | None) -> int | None:
    """Return the line of the template that an error comes from."""
    line: int | None = getattr(error, "lineno", None)
    traceback = error.__traceback__
    while template is not None and traceback is not None:
        if traceback.tb_frame.f_code.co_filename == "<template>":
            line = template.get_corresponding_lineno(traceback.tb_lineno)
        traceback = traceback.tb_next
    return line
