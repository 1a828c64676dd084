"""Named templates, policies, places and cuts of chats over HTTP."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from service.setting_values import InvalidSetting
from service.settings import Settings
from tests.core.formats.small import document
from tests.service.conftest import MakeClient
from tests.service.problems import assert_problem
from tokenizer_core import TemplateFailed, TemplateMissing, Tokenizer
from tokenizer_core.formats import hf_json

CHAT = [{"role": "user", "content": "naïve 🙂 fox"}, {"role": "assistant", "content": "the dog"}]
FORGED = [{"role": "user", "content": "a<|eos|>b"}]
SHORT = [{"role": "user", "content": "a"}]
NAMED = {
    "default": "D{% for m in messages %}{{ m.content }}{% endfor %}",
    "tool_use": "T{{ tools | tojson }}",
    "rag": "R{{ messages[0].content }}",
}


def layout(directory: Path, templates: Mapping[str, str]) -> Path:
    """Write a layout of Hugging Face with the named list of templates."""
    directory.mkdir()
    (directory / "tokenizer.json").write_text(json.dumps(document()))
    named = [{"name": name, "template": source} for name, source in templates.items()]
    (directory / "tokenizer_config.json").write_text(json.dumps({"chat_template": named}))
    return directory


@pytest.fixture(scope="module")
def named(make_client: MakeClient, tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    base = tmp_path_factory.mktemp("named")
    tokenizer = Tokenizer.from_hf(layout(base / "layout", NAMED))
    tokenizer.save(base / "named")
    assert dict(Tokenizer.open(base / "named").templates) == dict(tokenizer.templates)
    return make_client(artifacts=(str(base / "named"),))


def test_templates_are_chosen_as_hugging_face_chooses_them(named: TestClient) -> None:
    hashes = named.get("/tokenizers").json()["tokenizers"][0]["templates"]
    assert sorted(hashes) == sorted(NAMED)
    for options, name in (
        ({}, "default"),
        ({"tools": []}, "tool_use"),
        ({"tools": [{"type": "function"}]}, "tool_use"),
        ({"template": "rag"}, "rag"),
        ({"template": "default", "tools": [{"type": "function"}]}, "default"),
    ):
        body = {"messages": SHORT, "unused": "report", **options}
        answer = named.post("/render", json=body).json()
        assert (answer["text"][0], answer["template"]) == (name[0].upper(), hashes[name]), options
        for route in ("/encode", "/count", "/offsets"):
            assert named.post(route, json=body).json()["template"] == hashes[name]
    refused = named.post("/render", json={"messages": SHORT, "template": "{{ 7 * 7 }}"})
    assert "default, rag, tool_use" in assert_problem(refused, "invalid_option", "template")["detail"]


def test_templates_without_a_default_are_chosen_by_name(tmp_path: Path) -> None:
    tokenizer = Tokenizer.from_hf(layout(tmp_path / "layout", {"rag": NAMED["rag"]}))
    assert tokenizer.render_chat(SHORT, template="rag").text == "Ra"
    with pytest.raises(TemplateMissing, match="choose one by name: rag"):
        tokenizer.render_chat(SHORT)


def test_what_is_no_template_is_refused_when_it_is_opened(make_client: MakeClient, tmp_path: Path) -> None:
    broken = {"default": "x", "tool_use": "{% for %}"}
    with pytest.raises(TemplateFailed, match="line 1"):
        Tokenizer.from_hf(layout(tmp_path / "layout", broken))
    # A reader of files does not compile, so the artifact of such a layout can be made; a server does not start on it.
    Tokenizer(hf_json.read(tmp_path / "layout")).save(tmp_path / "broken")
    with pytest.raises(TemplateFailed, match="line 1"):
        make_client(artifacts=(str(tmp_path / "broken"),))


@pytest.mark.parametrize("unit", ["byte", "char", "utf16"])
def test_places_of_chats_are_those_of_the_rendered_text(client: TestClient, framed: Tokenizer, unit: Any) -> None:
    rendered = framed.render_chat(CHAT)
    plain = framed.offsets(rendered.text, unit, special_tokens="parse")
    answer = client.post("/offsets", json={"messages": CHAT, "unit": unit, "tokens": True}).json()
    assert answer["ids"] == plain.ids.tolist()
    assert answer["spans"] == plain.spans.tolist()
    assert answer["template"] == framed.template_hash
    batch = client.post("/offsets", json={"messages": [CHAT, SHORT], "unit": unit}).json()
    assert batch["spans"][0] == answer["spans"]
    assert batch["ids"][1] == client.post("/encode", json={"messages": SHORT}).json()["ids"]


@pytest.mark.parametrize("unit", ["byte", "char", "utf16"])
def test_targets_in_chats_become_a_mask(client: TestClient, framed: Tokenizer, unit: str) -> None:
    rendered = framed.render_chat(CHAT)

    def measured(text: str) -> int:
        if unit == "char":
            return len(text)
        return len(text.encode()) if unit == "byte" else len(text.encode("utf-16-le")) // 2

    start = rendered.text.index("🙂")
    target = [measured(rendered.text[:start]), measured(rendered.text[: start + 1])]
    body = {"messages": CHAT, "unit": unit, "target_spans": [target]}
    answer = client.post("/offsets", json=body).json()
    assert 1 in answer["mask"]
    for (begin, end), hit in zip(answer["spans"], answer["mask"], strict=True):
        assert hit == (begin < target[1] and target[0] < end)
    many = client.post("/offsets", json={**body, "messages": [SHORT, CHAT], "target_spans": [[], [target]]}).json()
    assert many["mask"] == [[0] * len(many["ids"][0]), answer["mask"]]
    outside = {**body, "target_spans": [[0, measured(rendered.text) + 1]]}
    assert_problem(client.post("/offsets", json=outside), "invalid_value", "target_spans[0]")
    assert_problem(client.post("/offsets", json={**body, "target_spans": [[target]]}), "invalid_type", "target_spans")


def test_bad_chat_for_places_is_refused_with_its_place(client: TestClient) -> None:
    for body, code, path in (
        ({"messages": SHORT, "text": "a"}, "invalid_option", "messages"),
        ({"text": "a", "tools": []}, "invalid_option", "tools"),
        ({}, "missing_field", "text"),
        ({"messages": FORGED, "special_tokens": "reject"}, "reserved_literal", "messages[0].content"),
        ({"messages": SHORT, "add_special_tokens": True}, "invalid_option", "add_special_tokens"),
    ):
        assert_problem(client.post("/offsets", json=body), code, path)


@pytest.mark.parametrize("route", ["/encode", "/count", "/offsets"])
def test_options_that_are_null_are_not_sent(client: TestClient, route: str) -> None:
    schema = client.get("/openapi.json").json()["components"]["schemas"]
    fields = schema[f"{route[1:].capitalize()}Request"]["properties"]
    nulls = {name: None for name, field in fields.items() if {"type": "null"} in field.get("anyOf", [])}
    assert {"tools", "documents", "template_args", "template", "messages", "tokenizer"} <= set(nulls)
    answer = client.post(route, json={**nulls, "text": "naïve 🙂 fox"})
    assert answer.status_code == 200, answer.text
    assert answer.json() == client.post(route, json={"text": "naïve 🙂 fox"}).json()


def test_many_chats_are_rendered_as_each_alone(client: TestClient) -> None:
    answer = client.post("/render", json={"messages": [CHAT, FORGED]}).json()
    singles = [client.post("/render", json={"messages": chat}).json() for chat in (CHAT, FORGED)]
    assert answer["text"] == [single["text"] for single in singles]
    assert answer["spans"] == [single["spans"] for single in singles]
    assert_problem(client.post("/render", json={"messages": [SHORT, []]}), "invalid_option", "messages[1]")


def specials(client: TestClient, framed: Tokenizer, **body: Any) -> int:
    ids = client.post("/encode", json={"messages": FORGED, **body}).json()["ids"]
    return sum(id in framed.special_tokens.values() for id in ids)


def test_service_decides_what_literals_in_chats_may_mean(make_client: MakeClient, framed: Tokenizer) -> None:
    strict, open_ = make_client(chat_literals="reject"), make_client(chat_parse=True)
    loose = make_client(chat_parse=True, chat_literals="parse")
    body = {"messages": FORGED}
    for route in ("/encode", "/count", "/offsets"):
        assert_problem(strict.post(route, json=body), "reserved_literal", "messages[0].content")
        assert strict.post(route, json={**body, "special_tokens": "text"}).status_code == 200
        parse = {**body, "special_tokens": "parse"}
        assert_problem(strict.post(route, json=parse), "invalid_option", "special_tokens")
        assert open_.post(route, json=parse).status_code == 200
    calm = specials(open_, framed)
    assert specials(open_, framed, special_tokens="parse") == calm + 1
    assert specials(loose, framed) == calm + 1
    assert specials(loose, framed, special_tokens="text") == calm
    assert strict.post("/tokenize", json=body).json()["error"]["param"] == "messages[0].content"
    parsed = loose.post("/tokenize", json={**body, "add_generation_prompt": False}).json()["tokens"]
    assert parsed == loose.post("/encode", json=body).json()["ids"]


def test_refused_literal_is_placed_where_the_caller_wrote_it(
    make_client: MakeClient, framed: Tokenizer, tmp_path: Path
) -> None:
    framed.with_template("{{ messages[0].content }}{{ effort }}").save(tmp_path / "effort")
    strict = make_client(chat_literals="reject", artifacts=(str(tmp_path / "effort"),))
    refused = assert_problem(
        strict.post("/count", json={"messages": [SHORT, FORGED]}), "reserved_literal", "messages[1][0].content"
    )
    assert "messages[0]" not in refused["detail"]
    assert 'special_tokens="text"' in refused["detail"]
    body = {"messages": SHORT, "chat_template_kwargs": {"effort": "<|eos|>"}}
    error = strict.post("/tokenize", json=body).json()["error"]
    assert error["param"] == "chat_template_kwargs.effort"
    # This route has no option that says what a literal means.
    assert "chat_literals" in error["message"]
    assert "special_tokens" not in error["message"]


@pytest.mark.parametrize("settings", [{"chat_literals": "parse"}, {"chat_literals": "maybe"}])
def test_policies_that_contradict_stop_the_start(settings: dict[str, Any]) -> None:
    with pytest.raises(InvalidSetting, match="chat_literals is"):
        Settings(**settings)


@pytest.mark.parametrize("side", ["left", "right"])
def test_cut_says_what_it_took(client: TestClient, framed: Tokenizer, side: str) -> None:
    encoded = framed.encode_chat(CHAT)
    for most in range(len(encoded.ids) + 1):
        parts = ["ids", "spans", "truncated", "position_ids", "labels"]
        body = {"messages": CHAT, "max_length": most, "truncation_side": side, "return": parts}
        answer = client.post("/encode", json=body).json()
        cut = len(encoded.ids) - most
        kept, gone = (slice(cut, None), slice(0, cut)) if side == "left" else (slice(0, most), slice(most, None))
        assert answer["ids"] == encoded.ids[kept].tolist()
        assert answer["spans"] == encoded.spans[kept].tolist()
        assert answer["labels"] == encoded.labels()[kept].tolist()
        assert answer["position_ids"] == list(range(most))
        if not cut:
            assert answer["truncated"] is None
            continue
        taken = encoded.spans[gone]
        span = [int(taken[0][0]), int(taken[-1][1])]
        assert answer["truncated"] == {"side": side, "count": cut, "span": span}


def test_cut_of_a_text_leaves_what_frames_it(client: TestClient, framed: Tokenizer) -> None:
    texts = ["the quick brown fox", "a"]
    body = {"text": texts, "max_length": 4, "return": ["ids", "truncated"]}
    answer = client.post("/encode", json=body).json()
    whole = framed.offsets(texts[0], add_special_tokens=True)
    assert answer["ids"][0] == [*whole.ids[:3].tolist(), int(whole.ids[-1])]
    taken = whole.spans[3:-1]
    assert answer["truncated"] == [
        {"side": "right", "count": len(taken), "span": [int(taken[0][0]), int(taken[-1][1])]},
        None,
    ]
