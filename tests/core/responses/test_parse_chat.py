"""The rest that is told of an answer: places, what is unfinished or malformed, and whether it renders back."""

from __future__ import annotations

import json
import random
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.core.responses.test_vectors import TEMPLATES, TOOLS, parsed
from tokenizer_core import InvalidOption, ResponseTemplate, TemplateMissing, TokdError, Tokenizer

QWEN3 = TEMPLATES["qwen3"]["spec"]
GPTOSS = TEMPLATES["gptoss"]["spec"]
CHAT = """{%- for m in messages -%}<|im_start|>{{ m.role }}
{% if m.reasoning_content %}<think>
{{ m.reasoning_content }}
</think>

{% endif %}{{ m.content }}{% for call in m.tool_calls or [] %}
{{- "\n<tool_call>\n" }}{{ call.function | tojson }}
</tool_call>{% endfor %}<|im_end|>
{% endfor -%}
{%- if add_generation_prompt -%}<|im_start|>assistant
{% endif -%}"""
USER = [{"role": "user", "content": "Hi"}]
CALL = '<tool_call>\n{"name": "f", "arguments": {"a":  1}}\n</tool_call>'


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    return Tokenizer.open("artifacts/base").with_template(CHAT)


def parse(tok: Tokenizer, output: Any, **options: Any) -> Any:
    return tok.parse_chat(output, **{"response_template": QWEN3, **options})


def test_arguments_are_told_as_they_were_written_and_as_the_schema_types_them(tok: Tokenizer) -> None:
    found = parse(
        tok,
        "A " + CALL + CALL.replace("1", '"2"'),
        tools=[{"name": "f", "parameters": {"properties": {"a": {"type": "integer"}}}}],
    )
    assert found.arguments == ['{"a":  1}', '{"a":  "2"}']
    assert [call["function"]["arguments"] for call in found.message["tool_calls"]] == [{"a": 1}, {"a": 2}]


def test_parts_tile_the_text_and_the_ids_at_every_split(tok: Tokenizer) -> None:
    text = f"<think>\nnaïve 東京 🙂\n</think>\n\né🙂{CALL}<|im_end|>"
    ids = tok.encode(text, special_tokens="parse").tolist()
    whole = parse(tok, ids)
    assert whole.message == parse(tok, text).message
    assert [part.field for part in whole.parts] == [
        None,
        "reasoning_content",
        None,
        "content",
        None,
        "tool_calls",
        None,
    ]
    chance = random.Random(5)
    for _ in range(50):
        parser = tok.chat_parser(response_template=QWEN3)
        at = 0
        while at < len(ids):
            step = chance.randrange(1, 5)
            parser.feed(ids[at : at + step])
            at += step
        found = parser.finish()
        assert (found.message, found.parts, found.text) == (whole.message, whole.parts, text)
    ends = [(0, 0)] + [(part.end, part.end_id) for part in whole.parts]
    assert [(part.start, part.first_id) for part in whole.parts] == ends[:-1]
    assert ends[-1] == (len(text), len(ids))
    for part in whole.parts:
        assert tok.decode(ids[: part.end_id]).startswith(text[: part.end])
        assert not tok.decode(ids[: part.end_id - 1]).startswith(text[: part.end])


def test_half_a_character_at_the_end_is_a_replacement(tok: Tokenizer) -> None:
    ids = tok.encode("A🙂").tolist()[:-1]
    assert parse(tok, ids).message["content"].startswith("A�")
    assert parse(tok, ids).parts[-1].end_id == len(ids)
    parser = tok.chat_parser(response_template=QWEN3)
    told = parser.feed(ids)
    parser.finish()
    assert "".join(event.get("text", "") for event in told + parser.final_events) == tok.decode(ids)


def test_a_message_that_renders_back_is_exact(tok: Tokenizer) -> None:
    for output in (
        f"<think>\nR\n</think>\n\nA\n{CALL.replace('  1', ' 1')}",
        "A",
        "A<|im_end|>",
        "A <|im_start|>user B",
    ):
        found = parse(tok, output, messages=USER)
        assert found.difference is None
        assert found.exact
    for output, at in [("A \n<|im_end|>", 1), ("A<|im_end|>\nB", 0), (f"A\n{CALL}", len(f"A\n{CALL}") - 17)]:
        found = parse(tok, output, messages=USER)
        assert found.exact is False
        assert found.difference.at == at, found.difference
    assert parse(tok, "A").exact is None


def test_an_answer_that_was_begun_is_continued(tok: Tokenizer) -> None:
    begun = [*USER, {"role": "assistant", "content": "One, t"}]
    found = parse(tok, "wo.<|im_end|>", messages=begun, continue_final_message=True)
    assert found.message["content"] == "One, two."
    assert found.exact


def test_the_field_that_has_no_end_is_unfinished(tok: Tokenizer) -> None:
    assert parse(tok, "<think>\nR").unfinished == "reasoning_content"
    found = parse(tok, "A" + CALL[:30])
    assert found.unfinished == "tool_calls"
    assert found.message == {"role": "assistant", "content": "A" + CALL[:30]}
    assert parse(tok, "A").unfinished is None
    assert parse(tok, "A", finish_reason="length").unfinished == "content"
    assert parse(tok, "A<|im_end|>", finish_reason="length").unfinished is None


def test_what_is_malformed_is_content_where_it_stands(tok: Tokenizer) -> None:
    output = 'A\n<tool_call>\n{"name": }\n</tool_call>\nB ' + CALL
    found = parse(tok, output)
    assert found.message["content"] == output[: -len(CALL)].strip()
    assert len(found.message["tool_calls"]) == 1
    assert [tuple(one) for one in found.malformed] == [("invalid_json", 2, output.index("B"))]
    events = tok.chat_parser(response_template=QWEN3).feed(output + "<|im_end|>")
    told = "".join(event["text"] for event in events if event.get("field") == "content" and "text" in event)
    assert told == output[: -len(CALL)]


def test_a_text_that_no_field_takes_is_content(tok: Tokenizer) -> None:
    found = parse(tok, "Hello", response_template=GPTOSS)
    assert found.message == {"role": "assistant", "content": "Hello"}
    assert [tuple(one) for one in found.malformed] == [("unclaimed", 0, 5)]
    found = parse(tok, "<|channel|>final<|message|>A<|return|>B", response_template=GPTOSS)
    assert found.message["content"] == "A"
    assert [tuple(one) for one in found.malformed] == [("unclaimed", 38, 39)]


def test_an_overwritten_value_is_told(tok: Tokenizer) -> None:
    found = parse(tok, f"A{CALL}B")
    assert found.message["content"] == "B"
    assert [tuple(one) for one in found.malformed] == [("overwritten", 0, 1)]


def test_extensions(tok: Tokenizer) -> None:
    def content(name: str, text: str, **arguments: Any) -> Any:
        field = {"open": "<x>", "close": "</x>", "content": name, "content_args": arguments}
        spec = {"start_anchor": "@", "fields": {"x": field}}
        found = parse(tok, f"<x>{text}</x>", response_template=spec)
        return found.message.get("x", [one.reason for one in found.malformed])

    calls = [
        {"name": "f", "arguments": {"a": 1, "b": "x\u00e9", "c": [None, {"d": True}]}},
        {"name": "g.h", "arguments": {}},
    ]
    assert content("x-python-calls", "[f(a=1, b='x\\xe9', c=[None, {'d': True,}],), g.h()]") == calls
    assert content("x-python-calls", " g.h( ) ") == calls[1:]
    assert content("x-python-calls", "f(1)") == ["invalid_calls"]
    assert content("x-json-sequence", ' {"a": 1}\n[2];"b",null 3.5') == [{"a": 1}, [2], "b", None, 3.5]
    assert content("x-json-sequence", '{"a": 1} b') == ["invalid_json"]
    tag = r'<p name="(?P<key>\w+)"(?: json>(?P<json>.*?)|>(?P<value>.*?))</p>'
    text = '<p name="a">1</p><p name="b" json>[1]</p><p name="c" json>no</p>'
    assert content("x-xml-inline", text, tag_pattern=tag) == {"a": "1", "b": [1], "c": "no"}


def test_the_template_is_kept_in_the_artifact(tok: Tokenizer, tmp_path: Path) -> None:
    assert tok.response_template is not None
    assert tok.response_template.origin == "derived"
    bare = Tokenizer(replace(tok.parts, settings=replace(tok.settings, chat_template=None)))
    assert bare.response_template is None
    with pytest.raises(TemplateMissing):
        bare.parse_chat("A")
    tok.save(tmp_path / "plain")
    source = tmp_path / "source"
    source.mkdir()
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (source / name).write_bytes((tmp_path / "plain" / name).read_bytes())
    config = json.loads((source / "tokenizer_config.json").read_text())
    (source / "tokenizer_config.json").write_text(json.dumps({**config, "response_template": QWEN3}))
    Tokenizer.from_hf(source).save(tmp_path / "kept")
    kept = Tokenizer.open(tmp_path / "kept")
    assert kept.hash == tok.hash
    assert kept.response_template is not None
    assert (kept.response_template.spec, kept.response_template.origin) == (QWEN3, "shipped")
    assert kept.parse_chat("A").message == {"role": "assistant", "content": "A"}


FIELD = {"open": "<a>", "close": "</a>"}
WRONG: list[tuple[Any, str]] = [
    ([], "response_template"),
    ({"version": 2}, "version"),
    ({"extra": 1}, "extra"),
    ({"defaults": []}, "defaults"),
    ({"fields": {}}, "fields"),
    ({"fields": {"a": 1}}, "fields.a"),
    ({"fields": {"a": {**FIELD, "opens": "<b>"}}}, "fields.a.opens"),
    ({"fields": {"a": {**FIELD, "content": "yaml"}}}, "fields.a.content"),
    ({"fields": {"a": {**FIELD, "open_pattern": "b"}}}, "fields.a.open"),
    ({"fields": {"a": {**FIELD, "open": []}}}, "fields.a.open"),
    ({"fields": {"a": {**FIELD, "open": ["<b>", 1]}}}, "fields.a.open"),
    ({"fields": {"a": {**FIELD, "close": ""}}}, "fields.a.close"),
    ({"fields": {"a": {"open_pattern": "("}}}, "fields.a.open_pattern"),
    ({"fields": {"a": {"open_pattern": "(?<name>a)"}}}, "fields.a"),
    ({"fields": {"a": {**FIELD, "join": ""}}}, "fields.a.join"),
    ({"fields": {"a": {**FIELD, "repeats": 1}}}, "fields.a.repeats"),
    ({"fields": {"a": {**FIELD, "transform_each": True}}}, "fields.a.transform_each"),
    ({"fields": {"a": {**FIELD, "transform": {"b": ["{c} d"]}}}}, "fields.a.transform"),
    ({"fields": {"a": {**FIELD, "content": "xml-inline"}}}, "fields.a.content_args.tag_pattern"),
    (
        {"fields": {"a": {**FIELD, "content": "json", "content_args": {"string_delims": "'"}}}},
        "fields.a.content_args.string_delims",
    ),
    ({"fields": {"a": {}, "b": {}}}, "fields.b"),
    ({"start_anchor": None}, "start_anchor"),
]


@pytest.mark.parametrize(("wrong", "place"), WRONG)
def test_a_wrong_template_is_refused_with_the_place(wrong: Any, place: str) -> None:
    spec: Any = wrong if isinstance(wrong, list) else {"start_anchor": "@", "fields": {"a": FIELD}, **wrong}
    with pytest.raises(TokdError) as caught:
        ResponseTemplate.of(spec)
    field = caught.value.place["field"]
    assert field.removeprefix("response_template.") == place


@pytest.mark.parametrize(
    "pattern", [r"(?m)a$", r"[[:alpha:]]", r"a(?i)b", r"\N{DIGIT ONE}", "[a--b]", "(?P<a>x)(?P<a>y)", r"\Gx"]
)
def test_an_expression_whose_meaning_differs_is_refused(pattern: str) -> None:
    with pytest.raises(TokdError) as caught:
        ResponseTemplate.of({"start_anchor": "@", "fields": {"a": {"open_pattern": pattern, "transform": "{content}"}}})
    assert caught.value.code == "invalid_pattern"


def test_a_hostile_expression_is_cut(tok: Tokenizer) -> None:
    spec = {"start_anchor": "@", "fields": {"a": {"open_pattern": "(?:a+)+b", "close": "c"}, "content": {}}}
    start = time.thread_time()
    found = parse(tok, "a" * 50_000 + "!", response_template=spec)
    assert time.thread_time() - start < 5
    assert found.message["content"] == "a" * 50_000 + "!"
    assert found.malformed[0].reason == "step_limit"


def test_a_delimiter_that_is_always_empty_ends(tok: Tokenizer) -> None:
    empty = {"open_pattern": "", "close_pattern": "", "content": "int"}
    found = parse(tok, "A b", response_template={"start_anchor": "@", "fields": {"a": empty, "content": {}}})
    assert [part[:3] for part in found.parts] == [(None, 0, 3)]
    assert [one.reason for one in found.malformed] == ["invalid_number", "unclaimed"]


def test_parts_without_end_are_cut_at_the_same_place_at_every_split(tok: Tokenizer) -> None:
    spec = {"start_anchor": "@", "fields": {"a": {"open": "<", "close_pattern": "", "repeats": True}, "content": {}}}
    text = "<a" * 50_000
    found = parse(tok, text, response_template=spec)
    parser = tok.chat_parser(prompt="", response_template=spec)
    for start in range(0, len(text), 30_001):
        parser.feed(text[start : start + 30_001])
    again = parser.finish()
    assert (again.message, again.parts, again.malformed) == (found.message, found.parts, found.malformed)
    assert (len(found.parts), found.parts[-1][:3]) == ((1 << 16) + 1, (None, 1 << 16, len(text)))
    assert [each.reason for each in found.malformed[-2:]] == ["step_limit", "unclaimed"]


@pytest.mark.parametrize("name", TEMPLATES)
def test_any_text_takes_linear_time(tok: Tokenizer, name: str) -> None:
    spec = ResponseTemplate.of(TEMPLATES[name]["spec"])
    for seed in {vector["text"] for vector in TEMPLATES[name]["vectors"][:8]} | {"<", "<think>", CALL[:30], "🙂 "}:
        text = seed * (60_000 // max(len(seed), 1))
        start = time.thread_time()
        parser = tok.chat_parser(response_template=spec, prompt="", tools=TOOLS)
        for at in range(0, len(text), 4096):
            parser.feed(text[at : at + 4096])
        parser.finish()
        assert time.thread_time() - start < 2, seed


def test_no_mutation_raises_or_loses_text(tok: Tokenizer) -> None:
    chance = random.Random(57)
    for _ in range(300):
        case = TEMPLATES[chance.choice(list(TEMPLATES))]
        vector = chance.choice(case["vectors"])
        letters = list(vector["text"])
        for _ in range(chance.randrange(1, 6)):
            at = chance.randrange(len(letters) + 1)
            letters[at : at + chance.randrange(3)] = chance.choice(["", '"', "}", "<", "\\", "\n", "🙂", "]", "'"])
        text = "".join(letters)
        found, _ = parsed(tok, case["spec"], vector, list(text))
        assert "".join(text[part.start : part.end] for part in found.parts) == text


def test_a_parser_ends_once(tok: Tokenizer) -> None:
    parser = tok.chat_parser(response_template=QWEN3)
    parser.feed("A")
    parser.finish()
    with pytest.raises(InvalidOption):
        parser.feed("B")
    with pytest.raises(InvalidOption):
        parser.finish()
    for first, second in ((tok.encode("A"), "B"), ("A", [65])):
        parser = tok.chat_parser(response_template=QWEN3)
        parser.feed(first)
        with pytest.raises(InvalidOption):
            parser.feed(second)
