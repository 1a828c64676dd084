"""A literal that a caller wrote stays text when a template cuts it out and puts it back; "reject" sees it anyway."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import vocabularies
from tokenizer_core import EncodedChat, ReservedLiteral, Tokenizer

END = "<|end|>"

PUT_BACK = (
    "m.content.split('<|end|>') | join('<|end|>')",
    "'<|end|>'.join(m.content.split('<|end|>'))",
    "m.content.split('<|end|>') | map('trim') | join('<|end|>')",
    "m.content.split('<|end|>') | map('upper') | map('lower') | join('<|end|>')",
    "m.content.split('<|end|>') | map('tojson') | join('<|end|>')",
    "m.content.split('<|end|>') | map('replace', 'a', '') | join('<|end|>')",
    "(m.content.split('<|end|>') + ['']) | join('<|end|>')",
    "([m.role] + m.content.split('<|end|>')) | join('<|end|>')",
    "m.content.split('<|end|>', 1) | join('\\n<|end|>\\n')",
    "m.content.rsplit('<|end|>', 1) | join('<|end|>')",
    "m.content.upper().split('<|END|>') | join('<|end|>')",
    "(m.content | safe).split('<|end|>') | join('<|end|>')",
    "(m.content | tojson)[1:-1].split('<|end|>') | join('<|end|>')",
    "(m.d | list | first).split('<|end|>') | join('<|end|>')",
    "(m.parts | join('-')).split('<|end|>') | join('<|end|>')",
    "m.content.replace('<|end|>', '<|end|>')",
    "m.content | replace('<|end|>', '<|end|>')",
    "m.content.replace('<|end|>', '<|end|>\\n')",
    "m.content.replace('<|end|>', '_').replace('_', '<|end|>')",
    "m.content | replace('<|end|>', '') | replace('', '<|end|>')",
    "m.content.replace('<|end', '_').replace('_', '<|end')",
    "m.content | upper | replace('<|END|>', '<|end|>')",
    "m.content.partition('<|end|>') | join",
    "m.content.rpartition('<|end|>') | join",
    "m.content[: m.content.find('<|end|>')] ~ m.content[m.content.find('<|end|>') :]",
    "m.content | list | join",
    "m.content | upper | lower",
    "(m.content | tojson)[1:-1]",
    "{m.content: 1} | list | first",
    "dict([[m.content, 1]]) | list | first",
    "dict(**m.d) | list | first",
    "dict.fromkeys([m.content]) | list | first",
    "namespace(**m.d)['<|end|>']",
    "m.d | dictsort | map('first') | join",
    "m.content.splitlines() | join('\\n')",
    "loop_over(m.content)",
    "names_of(**m.d)",
)

STEPS = (
    "X.split(S) | join(S)",
    "S.join(X.rsplit(S, 1))",
    "X.split(S) | map('trim') | join(S)",
    "X.split(S) | reverse | join(S)",
    "X.split(S) | select | join(S)",
    "X.split(S) | map('tojson') | join(S)",
    "X.split(S) | unique | join(S)",
    "X.split(S)[1:] | join(S)",
    "X.replace(S, S)",
    "X | replace(S, S, 1)",
    "X.replace(S, '_').replace('_', S)",
    "X.partition(S) | join",
    "X | upper",
    "X | lower",
    "X | title",
    "X | trim",
    "X.strip(S)",
    "X[1:]",
    "X[::-1]",
    "X * 2",
    "X | safe",
    "X | tojson",
    "(X | tojson)[1:-1]",
    "X | list | join",
    "'%s' % X",
    "'{}'.format(X)",
    "X | indent(2)",
    "X.splitlines() | join('\\n')",
    "{X: 1} | list | first",
    "[X, X] | unique | join",
    "loop_over(X)",
)
"""What a template may do to a text ``X``, of which ``S`` is cut out and put back."""

SEPARATORS = ("<|end|>", "<|END|>", "<|", "|>", "end", "<|end", "|", "<", "a", "\\n", "<|end|>\\n")

MACROS = (
    "{% macro loop_over(text) %}{% set ns = namespace(made='') %}{% for character in text %}"
    "{% set ns.made = ns.made ~ character %}{% endfor %}{{ ns.made }}{% endmacro %}"
    "{% macro names_of() %}{{ kwargs | list | first }}{% endmacro %}"
    "{% set m = messages[0] %}"
)


def tokenizer(template: str) -> Tokenizer:
    return vocabularies.tokenizer("tiny").with_template(MACROS + template)


def ends(chat: EncodedChat) -> int:
    return chat.ids.tolist().count(vocabularies.tokenizer("tiny").special_tokens[END])


@pytest.mark.parametrize("expression", PUT_BACK)
def test_a_literal_that_is_cut_out_and_put_back_is_the_caller_s(expression: str) -> None:
    each = tokenizer("{{ " + expression + " }}")
    block = tokenizer("{% set text %}{{ " + expression + " }}{% endset %}{% generation %}{{ text }}{% endgeneration %}")
    for content in (END, f"a{END}b", f"{END}a{END}", END * 3):
        message = {"role": "user", "content": content, "d": {END: END}, "parts": [content, content]}
        for chat in (each.encode_chat([message]), block.encode_chat([message])):
            assert END in chat.rendered.text
            assert ends(chat) == 0
            assert chat.reserved_literals


@pytest.mark.parametrize(
    ("template", "content", "expected"),
    [
        ("{{ m.content.split('<|end|>') | join('<|end|>') }}<|end|>", "a", 1),
        ("{{ m.content.replace('[end]', '<|end|>') }}", "a[end]b", 1),
        ("{{ m.content.split('\\n') | join('<|end|>') }}", "a\nb\nc", 2),
        ("{{ m.content.split('<|end|>') | join(' ') }}<|end|>", "a<|end|>b", 1),
        ("{{ m.content.split('<|end|>')[0] }}<|end|>{{ m.content.split('<|end|>')[-1] }}", "a<|end|>b", 1),
    ],
)
def test_what_a_template_writes_of_its_own_stays_a_token(template: str, content: str, expected: int) -> None:
    chat = tokenizer(template).encode_chat([{"role": "user", "content": content}])
    assert ends(chat) == expected


def test_cutting_a_text_at_one_literal_hides_no_other_of_the_template_s() -> None:
    """The parts that were joined are the template's, and what a caller wrote has no part of its token."""
    tok = tokenizer("{% set _ = m.content.split('\\n') %}{{ ['x', 'y'] | join('<|end|>') }}")
    assert ends(tok.encode_chat([{"role": "user", "content": "a\nb"}])) == 1


@pytest.mark.parametrize(
    "template",
    [
        "{% if '<|end|>' in m.content %}<|end|>{% endif %}",
        "{% for part in m.content.split('<|end|>') %}{{ part }}{{ '<|end|>' if not loop.last }}{% endfor %}",
        "{% set at = m.content.find('<|end|>') %}{{ m.content[:at] ~ '<|end|>' ~ m.content[at + 7 :] }}",
        "{% set before, _, behind = m.content.partition('<|end|>') %}{{ before }}<|end|>{{ behind }}",
        "{{ {'<|end|>': '<|end|>'}[m.content[1:-1]] }}",
        "{% for character in m.content %}{{ 'x<|end|>' if character == '|' }}{% endfor %}",
        "{{ m.content | length }}",
        "nothing of it",
    ],
)
def test_reject_refuses_a_literal_in_a_field_whatever_the_template_makes_of_it(template: str) -> None:
    tok = tokenizer(template)
    chat = [{"role": "user", "content": f"a{END}b"}]
    with pytest.raises(ReservedLiteral) as caught:
        tok.encode_chat(chat, special_tokens="reject")
    assert (caught.value.place["field"], caught.value.place["literal"]) == ("messages[0].content", END)
    with pytest.raises(ReservedLiteral):
        tok.chat_offsets(chat, special_tokens="reject")
    tok.encode_chat([{"role": "user", "content": f"a{END[:-1]}b"}], special_tokens="reject")


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"messages": [{"role": "user", "content": "a", "name": END}]}, "messages[0].name"),
        ({"messages": [{"role": END, "content": "a"}]}, "messages[0].role"),
        ({"messages": [{"role": "user"}, {"role": "user", "d": [{"k": [f"x{END}"]}]}]}, "messages[1].d[0].k[0]"),
        ({"messages": [{"role": "user", "d": {END: 1}}]}, f"messages[0].d.{END}"),
        ({"tools": [{"name": "f"}, {"name": END}]}, "tools[1].name"),
        ({"documents": [{"text": END}]}, "documents[0].text"),
        ({"template_args": {"date": END}}, "template_args.date"),
    ],
)
def test_reject_looks_at_every_field_of_a_request(given: dict[str, Any], field: str) -> None:
    chat = {"messages": [{"role": "user", "content": "a"}], **given}
    tok = tokenizer("nothing of it")
    with pytest.raises(ReservedLiteral) as caught:
        tok.encode_chat(**chat, special_tokens="reject")
    assert (caught.value.place["field"], caught.value.place["literal"]) == (field, END)
    assert ends(tok.encode_chat(**chat)) == 0


def test_reject_takes_halves_that_nothing_joins() -> None:
    tok = tokenizer("{{ m.role }}:{{ m.content }}")
    chat = tok.encode_chat([{"role": "<|end", "content": "|>"}], special_tokens="reject")
    assert chat.rendered.text == "<|end:|>"


@settings(deadline=None, max_examples=150)
@given(
    st.lists(st.tuples(st.sampled_from(STEPS), st.sampled_from(SEPARATORS)), min_size=1, max_size=4),
    st.lists(st.sampled_from([END, END.upper(), "<|e", "nd|>", "a", "\n", " "]), min_size=1, max_size=6),
)
def test_nothing_that_is_done_to_a_text_makes_a_token_of_it(steps: list[tuple[str, str]], pieces: list[str]) -> None:
    expression = "m.content"
    for step, separator in steps:
        expression = "(" + step.replace("X", expression).replace("S", f"'{separator}'") + ")"
    chat = tokenizer("{{ " + expression + " }}").encode_chat([{"role": "user", "content": "".join(pieces)}])
    assert ends(chat) == 0, (expression, chat.rendered)
