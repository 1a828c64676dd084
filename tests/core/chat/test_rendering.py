"""Rendered chats are what Hugging Face renders, character for character, and tell who wrote what.

Transformers itself is heavy, so its documented set-up of Jinja stands here; ``docs/chats.md`` says how both were held
against transformers 5.23.
"""

from __future__ import annotations

import json
from collections import deque
from datetime import datetime
from functools import cache
from typing import Any

import jinja2
import numpy as np
import pytest
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

from tests.core.chat.conversations import CONVERSATIONS, TEMPLATES, TOOLS, source, tokenizer
from tests.support import vocabularies
from tokenizer_core import InvalidOption, RenderedChat, TemplateFailed, TemplateMissing, TemplateUnsupported, Tokenizer


class _Generation(Extension):
    """A function of its own, as in transformers: what is set in it is not set behind it."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Any) -> Any:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_text"), [], [], body).set_lineno(line)

    def _text(self, caller: Any) -> Any:
        return caller()


@cache
def plain_template(source: str) -> jinja2.Template:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, loopcontrols]
    )

    def refuse(message: str) -> None:
        raise jinja2.TemplateError(message)

    def tojson(value: Any, ensure_ascii: bool = False, **options: Any) -> str:
        return json.dumps(value, ensure_ascii=ensure_ascii, **options)

    environment.filters["tojson"] = tojson
    environment.globals |= {"raise_exception": refuse, "strftime_now": lambda form: datetime.now().strftime(form)}
    return environment.from_string(source)


def plainly(template: str, **variables: Any) -> str | None:
    """Render as Hugging Face does, or return ``None`` where the template fails."""
    try:
        return plain_template(template).render(bos_token="<s>", eos_token="</s>", **variables)
    except Exception:
        return None


def named_alike(message: dict[str, Any]) -> dict[str, Any]:
    """Leave out what is null, and give reasoning the names that templates read it by."""
    kept = {key: value for key, value in message.items() if value is not None}
    reasoning = next((kept[name] for name in ("reasoning_content", "thinking", "reasoning") if name in kept), None)
    return kept if reasoning is None else {"thinking": reasoning, **kept, "reasoning_content": reasoning}


@pytest.mark.parametrize("template", TEMPLATES)
def test_chats_are_rendered_as_hugging_face_renders_them(template: str) -> None:
    tok, rendered = tokenizer(template), 0
    for name, messages in CONVERSATIONS.items():
        for tools in (None, TOOLS):
            for prompt in (False, True):
                expected = plainly(
                    source(template),
                    messages=[named_alike(message) for message in messages],
                    tools=tools,
                    documents=None,
                    add_generation_prompt=prompt,
                )
                try:
                    chat = tok.render_chat(messages, tools=tools, add_generation_prompt=prompt)
                except TemplateFailed:
                    assert expected is None, (name, tools is None, prompt)
                    continue
                assert chat.text == expected, (name, tools is None, prompt)
                assert all(0 <= span.start < span.end <= len(chat.text) for span in chat.spans)
                assert all(before.end <= after.start for before, after in zip(chat.spans, chat.spans[1:], strict=False))
                ids = tok.encode_chat(messages, tools=tools, add_generation_prompt=prompt)
                if not ids.reserved_literals:
                    assert ids.ids.tolist() == tok.encode(chat.text, special_tokens="parse").tolist()
                rendered += 1
    needs_more = ("CohereForAI-c4ai-command-r-plus-tool_use", "fireworks-ai-llama-3-firefunction-v2")
    assert rendered or template in needs_more


def chat_of(template: str, *contents: str, **options: Any) -> Any:
    tok = vocabularies.tokenizer("tiny").with_template(template)
    return tok.render_chat([{"role": "user", "content": content} for content in contents], **options)


@pytest.mark.parametrize(
    ("expression", "text", "callers"),
    [
        ("{{ m.content }}", " a-B ", " a-B "),
        ("{{ m.content | trim }}!", "a-B!", "a-B"),
        ("{{ m['content'].strip().split('-')[-1] }}", "B", "B"),
        ("{{ m.content.replace('-', ' to ') }}", " a to B ", " aB "),
        ("<{{ m.content[1:3] ~ 'x' }}>", "<a-x>", "a-"),
        ("{{ m.content | upper | trim }}", "A-B", "A-B"),
        ("{{ m.content | tojson }}", '" a-B "', " a-B "),
        ("{{ {'k': m.content} | tojson(indent=1) }}", '{\n "k": " a-B "\n}', " a-B "),
        ("{{ '%s/%s' % (m.content, 1) }}", " a-B /1", " a-B "),
        ("{{ '{0}{{}}{0!s}'.format(m.content) }}", " a-B {} a-B ", " a-B  a-B "),
        ("{{ [m.content, 'z'] | join('+') }}", " a-B +z", " a-B "),
        ("{{ 'z'.join([m.content, m.content]) }}", " a-B z a-B ", " a-B  a-B "),
        ("{% set x %}({{ m.content }}){% endset %}{{ x }}", "( a-B )", " a-B "),
        ("{% macro f(x) %}[{{ x }}]{% endmacro %}{{ f(m.content) }}", "[ a-B ]", " a-B "),
        ("{% filter upper %}q{{ m.content }}{% endfilter %}", "Q A-B ", " A-B "),
        ("{% for c in m.content %}{{ c }},{% endfor %}", " ,a,-,B, ,", " a-B "),
        ("{{ m.content | indent(2, true) }}", "   a-B ", " a-B "),
        ("{{ [m.content] }}", "[' a-B ']", "[' a-B ']"),
        ("{{ m.content[::-1] }}", " B-a ", " B-a "),
        ("{{ (m.content | length + 1) }}", "6", ""),
    ],
)
def test_spans_follow_text_through_what_templates_do(expression: str, text: str, callers: str) -> None:
    chat = chat_of("{% set m = messages[0] %}" + expression, " a-B ")
    assert chat.text == text
    assert "".join(chat.text[span.start : span.end] for span in chat.spans) == callers
    assert {(span.message, span.field) for span in chat.spans} <= {(0, "content")}


def test_numbers_and_keys_are_the_callers() -> None:
    tok = vocabularies.tokenizer("tiny").with_template("{{ messages[0].n + 1 }}|{{ messages[0].args | tojson }}")
    chat = tok.render_chat([{"role": "user", "n": 41, "args": {"key": [1.5]}}])
    assert chat.text == '42|{"key": [1.5]}'
    found = [(chat.text[span.start : span.end], span.field) for span in chat.spans]
    assert found == [("42", "n"), ("key", "args.key"), ("1.5", "args.key[0]")]


def test_what_cannot_be_tracked_is_refused_when_it_is_opened() -> None:
    for template in (
        "{{ messages[0].content.encode() }}",
        "{{ messages[0].content | wordwrap(3) }}",
        "{{ messages[0].content.translate({97: 'b'}) }}",
        "{{ ['x', 'y', 'z'] | random }}",
    ):
        with pytest.raises(TemplateUnsupported):
            chat_of(template, "abc")


def test_a_final_message_is_continued_behind_its_last_character() -> None:
    template = "{% for m in messages %}<{{ m.role }}>{{ m.content | trim }}</{{ m.role }}>{% endfor %}"
    chat = chat_of(template, "q", "half an ans ", continue_final_message=True)
    assert chat.text == "<user>q</user><user>half an ans"
    assert chat.spans[-1][:2] == (1, "content")
    assert chat.spans[-1].end == len(chat.text)
    block = "{% for m in messages %}{% generation %}{{ m.content }}</s>{% endgeneration %}{% endfor %}"
    chat = chat_of(block, "q", "half", continue_final_message=True)
    assert (chat.text, chat.generated) == ("q</s>half", ((0, 9),))
    with pytest.raises(InvalidOption, match="choose one"):
        chat_of(template, "q", continue_final_message=True, add_generation_prompt=True)
    with pytest.raises(InvalidOption, match="cannot be continued"):
        chat_of("{{ messages[0].role }}{# content #}", "q", continue_final_message=True)


def test_templates_come_from_artifacts_only() -> None:
    for name in ("chat_template", "messages", "tools"):
        with pytest.raises(InvalidOption, match=name):
            chat_of("x", "q", template_args={name: "{{ 7 * 7 }}"})
    assert chat_of("{{ a.b }}", "q", template_args={"a": {"b": "{{ 7 * 7 }}"}}).text == "{{ 7 * 7 }}"


def test_lists_of_a_chat_may_be_any_sequence() -> None:
    tok = vocabularies.tokenizer("tiny").with_template("{{ messages | tojson }}{{ tools | tojson }}{{ documents }}")
    listed = [{"role": "user"}]
    expected = tok.render_chat(listed, tools=listed, documents=listed)
    for kind in (tuple, deque):
        rendered = tok.render_chat(kind(listed), tools=kind(listed), documents=kind(listed))
        assert (rendered.text, rendered.spans) == (expected.text, expected.spans)


def test_what_is_no_chat_is_refused_by_its_place() -> None:
    for messages, field in (
        ([], "messages"),
        ("text", "messages"),
        (["text"], "messages[0]"),
        ([{"role": "user", "content": [{"type": "image_url"}]}], "messages[0].content[0].type"),
        ([{"role": "user", "content": object()}], "messages[0].content"),
        ([{"role": "user", "content": [float("nan")]}], "messages[0].content[0]"),
        ([{"role": "user", "content": float("inf")}], "messages[0].content"),
    ):
        with pytest.raises(InvalidOption) as caught:
            vocabularies.tokenizer("tiny").with_template("x").render_chat(messages)
        assert caught.value.place["field"] == field


@pytest.mark.parametrize(
    ("content", "kind", "field"),
    [
        *(([{"type": kind, kind: "x"}], kind, "[0].type") for kind in ("image", "input_audio", "video_url", "file")),
        *(([{"type": "text", "text": "q"}, {kind: "x"}], kind, "[1].type") for kind in ("image", "image_url", "video")),
        ([{"type": "text", "text": "q", "image": "x"}], "image", "[0].image"),
        ([{"type": None, "audio": {}}], "audio", "[0].type"),
        ({"image": "x"}, "image", ".type"),
        (
            [{"type": "tool_result", "content": [{"type": "text", "text": "q"}, {"video": 1}]}],
            "video",
            "[0].content[1].type",
        ),
    ],
)
@pytest.mark.parametrize("role", ["user", "tool"])
def test_media_are_refused_by_name(tiny: Tokenizer, role: str, content: Any, kind: str, field: str) -> None:
    for wanted in ("sent", "auto"):
        with pytest.raises(InvalidOption, match=f"type '{kind}' is not supported") as caught:
            tiny.with_template("{{ messages }}").render_chat(
                [{"role": role, "content": content}], content_format=wanted
            )
        assert caught.value.place["field"] == f"messages[0].content{field}"


@pytest.mark.parametrize("key", ["image", "images", "image_url", "audio", "audios", "video", "videos", "video_urls"])
def test_media_beside_content_are_refused_by_name(tiny: Tokenizer, key: str) -> None:
    twin = tiny.with_template("{{ '<image>' if messages[1].images else '' }}{{ messages[1].content }}")
    chat = [{"role": "user", "content": "a"}, {"role": "tool", "content": "q", key: ["x.png"]}]
    with pytest.raises(InvalidOption, match=f"'{key}' beside content is not supported") as caught:
        twin.render_chat(chat)
    assert caught.value.place["field"] == f"messages[1].{key}"
    with pytest.raises(InvalidOption, match="beside content"):
        twin.render_chat([chat[0], {**chat[1], key: np.zeros((2, 2))}])
    empty: list[Any] = []
    for nothing in (None, empty, "", False):
        assert twin.render_chat([chat[0], {**chat[1], key: nothing}]).text == "q"


@pytest.mark.parametrize(
    ("content", "field"),
    [
        ([[{"type": "image"}]], "[0][0].type"),
        ([{"type": "text", "text": {"image": "x"}}], "[0].text.type"),
        ([{"type": "text", "text": [{"type": "video"}]}], "[0].text[0].type"),
    ],
)
def test_media_are_refused_however_they_are_nested(tiny: Tokenizer, content: Any, field: str) -> None:
    with pytest.raises(InvalidOption, match="is not supported; only text") as caught:
        tiny.with_template("{{ messages }}").render_chat([{"role": "user", "content": content}])
    assert caught.value.place["field"] == f"messages[0].content{field}"


def test_media_that_are_null_are_not_there(tiny: Tokenizer) -> None:
    """A data set has all keys in all parts; templates ask only whether ``image`` is one."""
    twin = tiny.with_template(
        "{% for p in messages[0].content %}{{ '<image>' if 'image' in p else p.text }}{% endfor %}"
    )
    content = [{"type": "text", "text": "a", "image": None}, {"type": "text", "text": "b"}]
    assert twin.render_chat([{"role": "user", "content": content}]).text == "ab"


def test_a_variable_is_placed_as_the_option_that_it_stands_in(tiny: Tokenizer) -> None:
    twin = tiny.with_template("{{ messages[0].content }}{{ messages_of_today[0] }}")
    chat = [{"role": "user", "content": "x"}]
    rendered = twin.render_chat(chat, template_args={"messages_of_today": ["y"]})
    assert rendered.spans[1:] == ((None, "template_args.messages_of_today[0]", 1, 2),)
    for value, place in (([float("nan")], "[0]"), ([{1: 2}], "[0]"), ([{"a": {5}}], "[0].a")):
        with pytest.raises(InvalidOption) as caught:
            twin.render_chat(chat, template_args={"messages_of_today": value})
        assert caught.value.place["field"] == f"template_args.messages_of_today{place}"
    numbered: dict[Any, int] = {1: 2}
    with pytest.raises(InvalidOption) as caught:
        twin.render_chat(chat, template_args=numbered)
    assert caught.value.place["field"] == "template_args"


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("add_generation_prompt", "false"),
        ("add_generation_prompt", 1),
        ("continue_final_message", None),
        ("template_args", 5),
        ("template_args", [("date", "today")]),
        ("template", 5),
        ("template", ["default"]),
    ],
)
def test_an_option_of_another_type_is_refused_by_its_name(tiny: Tokenizer, option: str, value: Any) -> None:
    twin = tiny.with_template("{% if add_generation_prompt %}x{% endif %}")
    for call in (twin.render_chat, twin.encode_chat, twin.chat_offsets):
        with pytest.raises(InvalidOption, match=option) as caught:
            call([{"role": "user", "content": "x"}], **{option: value})
        assert caught.value.place == {"field": option}


def test_a_tokenizer_without_a_template_says_so(tiny: Tokenizer) -> None:
    with pytest.raises(TemplateMissing):
        tiny.render_chat([{"role": "user", "content": "x"}])
    with pytest.raises(TemplateFailed, match="does not compile in line 1"):
        tiny.with_template("{% for %}")
    twin = tiny.with_template("{{ messages[0].content }}")
    assert twin.render_chat([{"role": "user", "content": "x"}]).text == "x"
    assert (twin.hash, twin.template_hash != tiny.template_hash) == (tiny.hash, True)


@pytest.mark.parametrize(
    ("content", "types"), [(5, "'str' and 'int'"), (1.5, "'str' and 'float'"), (["x"], "'str' and 'list'")]
)
def test_what_a_template_fails_on_is_told_without_our_own_types(tiny: Tokenizer, content: Any, types: str) -> None:
    twin = tiny.with_template("{{ messages[0].role + messages[0].content }}")
    with pytest.raises(TemplateFailed, match=types):
        twin.render_chat([{"role": "tool", "content": content}])


@pytest.mark.parametrize(
    ("message", "field"),
    [
        ({"content": "x"}, "role"),
        ({"role": 5, "content": "x"}, "role"),
        ({"role": "user"}, "content"),
        ({"role": "user", "content": None}, "content"),
        ({"role": "tool", "content": 5}, "content"),
        ({"role": "tool", "content": {"text": "x"}}, "content"),
        ({"role": "assistant", "tool_calls": [{"name": "x"}]}, "content"),
    ],
)
def test_what_a_template_fails_on_is_placed_where_a_message_is_unusual(
    tiny: Tokenizer, message: dict[str, Any], field: str
) -> None:
    chat = [{"role": "user", "content": "x"}, message, {}]
    each = "{% for m in messages[:2] %}{{ m.role + m.content }}{% endfor %}"
    with pytest.raises(TemplateFailed) as caught:
        tiny.with_template(each).render_chat(chat)
    assert caught.value.place == {"field": f"messages[1].{field}"}
    with pytest.raises(TemplateFailed, match="roles must alternate") as caught:
        tiny.with_template("{{ raise_exception('roles must alternate') }}").render_chat(chat)
    assert caught.value.place == {}


def rendered(tok: Tokenizer, body: str, **message: Any) -> RenderedChat:
    return tok.with_template("{% set m = messages[0] %}" + body).render_chat([{"role": "tool", **message}])


@pytest.mark.parametrize("method", ["strip", "lstrip", "rstrip", "upper", "lower", "title", "capitalize"])
def test_strings_with_authors_are_strings(tiny: Tokenizer, method: str) -> None:
    for text in ("  aß İx\tΣΑΣ ", "", " ", "ǆx\n"):
        whole = json.dumps(text[3:], ensure_ascii=False)
        body = "{{ (m.head + " + whole + " + m.content)." + method + "() }}"
        assert rendered(tiny, body, head=text[:3], content=text).text == getattr(text + text, method)()


@pytest.mark.parametrize("method", ["upper", "lower", "title", "capitalize"])
def test_each_part_of_a_string_keeps_its_author_where_characters_become_several(tiny: Tokenizer, method: str) -> None:
    parts = {f"p{at}": part for at, part in enumerate(["aß", "<ŉ|", "aİ>", "ﬁ İß", "ΑΣ", "ßİ"])}
    body = "{{ (" + " ~ ".join(f"m.{name}" for name in parts) + ")." + method + "() }}"
    texts = list(parts.values())
    ends = [len(getattr("".join(texts[: at + 1]), method)()) for at in range(len(texts))]
    chat = rendered(tiny, body, **parts)
    assert [(span.field, span.end) for span in chat.spans] == list(zip(parts, ends, strict=True))


@pytest.mark.parametrize("arguments", [(), (None, 1), (" ",), ("b", 1), ("ab",), ("xx",)])
def test_cuts_of_strings_with_authors_are_cuts(tiny: Tokenizer, arguments: tuple[Any, ...]) -> None:
    replacements = [("b", "cc", -1), ("", "-", -1), ("", "-", 2), ("ab", "", 1), ("q", "r", 3), ("b", "", 0)]
    body = (
        "{% set t = m.content %}{% set n = namespace(l=[]) %}"
        "{% for r in m.replacements %}{% set n.l = n.l + [t.replace(*r)] %}{% endfor %}"
        "{% set whole = [t.splitlines(), t.splitlines(True), t.partition('b'), t.rpartition('b'), n.l, t | list] %}"
        "{{ [t.split(*m.arguments), t.rsplit(*m.arguments), whole, t[::2] + t[1:9] * 2] | tojson }}"
    )
    for text in ("  ab ab  b\nx ", "", "ab", "a b\r\nc\x85 d"):
        cuts = [text.splitlines(), text.splitlines(True), list(text.partition("b")), list(text.rpartition("b"))]
        cuts += [[text.replace(*each) for each in replacements], list(text)]
        expected = [text.split(*arguments), text.rsplit(*arguments), cuts, text[::2] + text[1:9] * 2]
        chat = rendered(tiny, body, content=text, arguments=arguments, replacements=replacements)
        assert json.loads(chat.text) == expected
