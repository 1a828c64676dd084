"""Tokens that a template reads as variables: which are given, and which nobody has."""

import json
import logging

import pytest

from tests.core.formats.small import added, document, write
from tokenizer_core import BASE_ARTIFACT, Tokenizer
from tokenizer_core.chat.templates import compiled

SPECIALS = document(added_tokens=[added(264, "<s>"), added(265, "<x>")])
FLAGS = {key: value for key, value in added(265, "<x>").items() if key != "id"}
SAID = [{"role": "user", "content": "a"}]


def with_config(directory, **beside) -> Tokenizer:
    return Tokenizer.from_hf(write(directory, SPECIALS, **beside))


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("{{ bos_token }}{{ eos_token + 'x' }}", ("bos_token", "eos_token")),
        ("{{ sep_token ~ cls_token }}{{ mask_token | trim }}", ("sep_token", "cls_token", "mask_token")),
        ("{{ pad_token if on else '' }}{{ image_token }}", ("pad_token", "image_token")),
        ("{{ additional_special_tokens[0] }}", ("additional_special_tokens",)),
        ("{% if bos_token %}{{ bos_token }}{% endif %}{{ bos_token }}", ("bos_token",)),
        ("{% set first = bos_token %}{{ first }}", ("bos_token",)),
        ("{% set eos_token = eos_token + 'x' %}{{ eos_token }}", ("eos_token",)),
        ("{% macro f(eos_token) %}{{ eos_token }}{% endmacro %}{{ f(pad_token) }}", ("pad_token",)),
        ("{% for m in messages %}{% set unk_token = 'x' %}{% endfor %}{{ unk_token }}", ("unk_token",)),
    ],
)
def test_what_a_template_takes_for_granted(source, names):
    assert compiled(source).token_variables == names


@pytest.mark.parametrize(
    "source",
    [
        "{% if bos_token %}{{ bos_token }}{% endif %}",
        "{% if bos_token is defined and bos_token is not none %}{{ bos_token }}{% else %}{{ 'x' }}{% endif %}",
        "{% if not bos_token %}{% set bos_token = '<s>' %}{% endif %}{{ bos_token }}",
        "{{ bos_token if bos_token is defined else '' }}{{ eos_token or '' }}{{ pad_token | default('') }}",
        "{% for m in messages %}{% if loop.first and bos_token %}{{ bos_token + m.content }}{% endif %}{% endfor %}",
        "{% if bos_token != '' %}{{ bos_token }}{% endif %}",
        "{% set has = bos_token is defined %}{% if has %}{{ bos_token }}{% endif %}",
        "{% set first = bos_token %}{% if first %}{{ first }}{% endif %}",
        "{% set bos_token = '<s>' %}{{ bos_token }}",
        "{% macro f() %}{{ bos_token }}{% endmacro %}{% set bos_token = '<s>' %}{{ f() }}",
        "{% with bos_token = 'x' %}{{ bos_token }}{% endwith %}",
        "{{ messages[0].bos_token }}{{ max_tokens }}",
    ],
)
def test_what_is_asked_for_or_set_is_not_missing(source):
    assert compiled(source).token_variables == ()


# What transformers 5.24 writes for "[{{ image_token }}|{{ foo }}]" with these files beside the tokenizer.json.
NAMED = [
    ({"extra_special_tokens": {"image_token": "<x>"}}, {}, "[<x>|]"),
    ({"extra_special_tokens": {"foo": "<x>"}}, {}, "[|<x>]"),
    ({"model_specific_special_tokens": {"image_token": "<x>"}}, {}, "[<x>|]"),
    ({"image_token": "<x>"}, {}, "[<x>|]"),
    ({"image_token": {"__type": "AddedToken", "content": "<x>"}}, {}, "[<x>|]"),
    ({}, {"image_token": "<x>"}, "[<x>|]"),
    ({"added_tokens_decoder": {"265": FLAGS}}, {"image_token": "<x>"}, "[|]"),
]


@pytest.mark.parametrize(("config", "tokens_map", "text"), NAMED)
def test_tokens_that_a_model_names_are_variables(config, tokens_map, text, tmp_path):
    tokenizer = with_config(tmp_path, tokenizer_config__json=config, special_tokens_map__json=tokens_map)
    tokenizer = tokenizer.with_template("[{{ image_token }}|{{ foo }}]")
    assert tokenizer.render_chat(SAID).text == text
    assert dict(tokenizer.missing_tokens) == ({} if "<x>|" in text else {"default": ("image_token",)})


def test_roles_beside_a_list_of_added_tokens_are_the_first_files(tmp_path):
    # transformers 4.57 and 5.24 read special_tokens_map.json only where there is no added_tokens_decoder.
    config = {"added_tokens_decoder": {"265": FLAGS}}
    tokens_map = {"bos_token": "<s>"}
    both = with_config(tmp_path / "a", tokenizer_config__json=config, special_tokens_map__json=tokens_map)
    alone = with_config(tmp_path / "b", special_tokens_map__json=tokens_map)
    assert (both.settings.bos, alone.settings.bos) == (None, "<s>")


def test_a_template_that_reads_what_nobody_has_is_told_in_the_log(tmp_path, caplog):
    plain = with_config(tmp_path / "plain")
    with caplog.at_level(logging.WARNING, "tokd"):
        plain.with_roles(bos="<s>").with_template("{{ bos_token }}")
        plain.with_template("{% if bos_token %}{{ bos_token }}{% endif %}")
        assert caplog.messages == []
        made = plain.with_template("{{ bos_token }}{{ eos_token }}")
        with_config(tmp_path / "read", tokenizer_config__json={"chat_template": "{{ unk_token }}"})
    reads = [message.split(",")[0] for message in caplog.messages]
    assert reads == ["a chat template reads bos_token", "a chat template reads unk_token"]
    assert "bos_token, eos_token" in caplog.messages[0]
    assert dict(made.missing_tokens) == {"default": ("bos_token", "eos_token")}
    assert dict(made.with_roles(bos="<s>").missing_tokens) == {"default": ("eos_token",)}
    assert json.dumps(dict(plain.missing_tokens)) == "{}"


def test_the_fingerprint_covers_the_tokens_that_a_template_reads() -> None:
    source = "{{ bos_token }}{% for m in messages %}{{ m.content }}{% endfor %}"
    tokenizer = Tokenizer.open(BASE_ARTIFACT).with_template(source)
    first, second = list(tokenizer.special_tokens)[:2]
    one, other = tokenizer.with_roles(bos=first), tokenizer.with_roles(bos=second)
    messages = [{"role": "user", "content": "a"}]
    assert one.encode_chat(messages).ids.tolist() != other.encode_chat(messages).ids.tolist()
    assert one.hash == other.hash
    assert one.fingerprint() != other.fingerprint()
    assert one.with_roles(pad=second).fingerprint() == one.fingerprint()
