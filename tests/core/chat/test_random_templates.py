"""The kernel's template engine against Jinja2, as transformers sets it up, on templates at random."""

from __future__ import annotations

import copy
import os
import re

import jinja2
import pytest

from tests.core.chat.random_templates import VARIABLES, Generator
from tests.core.chat.test_rendering import plain_template
from tokenizer_core import TokdError
from tokenizer_core._kernel import ChatTemplate, chat_json

CASES = int(os.environ.get("TOKD_TEMPLATE_CASES", "400"))
FIRST = int(os.environ.get("TOKD_TEMPLATE_FIRST", "0"))
"""How many templates, and the number of the first."""

NOW = (2024, 5, 6, 7, 8, 9, 0, 0, 127)
REFUSALS = ("template_untrackable", "template_limit", "template_unsupported")
REFUSED_FILTERS = (
    *(
        "batch(2)",
        "center",
        "e",
        "escape",
        "filesizeformat",
        "forceescape",
        "groupby('a')",
        "pprint",
        "random",
        "round",
    ),
    *("slice(2)", "striptags", "truncate", "urlencode", "urlize", "wordcount", "wordwrap", "xmlattr"),
)
REFUSED_METHODS = (
    *("casefold", "center", "encode", "expandtabs", "format_map", "istitle", "ljust", "rjust", "swapcase"),
    *("translate", "zfill", "bit_length", "to_bytes"),
)
ADDRESS = re.compile("0x[0-9a-f]{6,}", re.IGNORECASE)


def expected(source: str) -> str | None:
    """Return what Jinja renders, or ``None`` where it fails."""
    try:
        # Jinja's filter ``indent`` changes a list that it is given.
        variables = copy.deepcopy(VARIABLES)
        return plain_template.__wrapped__(source).render(
            tools=None, documents=None, add_generation_prompt=False, **variables
        )
    except (
        jinja2.TemplateError,
        ArithmeticError,
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
        AssertionError,
        MemoryError,
    ):
        return None


def rendered(source: str) -> str | None:
    """Return what the engine renders, or ``None`` where it fails; a refusal is raised."""
    arguments = chat_json({key: value for key, value in VARIABLES.items() if key != "messages"}, "template_args")
    messages = chat_json(VARIABLES["messages"], "messages")
    try:
        text: str = ChatTemplate(source).render(messages, now=NOW, arguments=arguments).text
    except TokdError as error:
        if error.code in REFUSALS:
            raise
        return None
    return text


def test_random_templates_are_rendered_as_jinja_renders_them() -> None:
    refused = texts = 0
    for seed in range(FIRST, FIRST + CASES):
        source = Generator(seed).template()
        try:
            text = rendered(source)
        except TokdError:
            refused += 1
            continue
        known = expected(source)
        if known is not None and ADDRESS.search(known):
            continue
        assert text == known, f"seed {seed}:\n{source}"
        texts += text is not None
    assert refused < CASES / 8
    assert texts > CASES / 5


@pytest.mark.parametrize(
    "source",
    [
        "{% include 'x' %}",
        "\n {% block x %}{% endblock %}",
        "{% autoescape true %}{% endautoescape %}",
        "{{ x is escaped }}",
        "{{ '{:>8}'.format(x) }}",
        "{{ '{{}}{}{x.a}'.format(1, x=x) }}",
        *("{{ x | " + name + " }}" for name in REFUSED_FILTERS),
        *("{{ x." + name + "() }}" for name in REFUSED_METHODS),
    ],
)
def test_what_the_engine_does_not_have_is_refused_when_a_template_is_opened(source: str) -> None:
    with pytest.raises(TokdError, match=r"line \d+, column \d+") as caught:
        ChatTemplate(source)
    assert caught.value.code == "template_unsupported"
