"""What lies beside a tokenizer.json: two places that differ are refused, everything else is kept."""

from __future__ import annotations

import json
import os

import pytest

from tests.core.formats.small import added, document, write
from tokenizer_core import artifact
from tokenizer_core.config import Settings
from tokenizer_core.errors import InvalidOption, TokdError
from tokenizer_core.formats import hf_json, hf_write

PAD = document(added_tokens=[added(264, "<|end|>"), added(265, "<|pad|>")])


def refusal(directory, **beside) -> tuple[str, str]:
    with pytest.raises(TokdError) as caught:
        hf_json.read(write(directory, PAD, **beside))
    return caught.value.code, caught.value.place.get("field", "")


def test_roles_sides_and_lengths_are_read(tmp_path):
    config = {
        "bos_token": None,
        "eos_token": {"__type": "AddedToken", "content": "<|end|>", "lstrip": False, "special": True},
        "padding_side": "left",
        "truncation_side": "left",
        "model_max_length": 4096,
    }
    settings = hf_json.read(
        write(tmp_path, PAD, tokenizer_config__json=config, special_tokens_map__json={"pad_token": "<|pad|>"})
    ).settings
    assert (settings.bos, settings.eos, settings.pad, settings.unk) == (None, "<|end|>", "<|pad|>", None)
    assert (settings.padding_side, settings.truncation_side, settings.model_max_length) == ("left", "left", 4096)


@pytest.mark.parametrize("length", [10**30, 1e30, 1000000000000000019884624838656])
def test_no_limit_is_no_length(length, tmp_path):
    parts = hf_json.read(write(tmp_path, PAD, tokenizer_config__json={"model_max_length": length}))
    assert parts.settings.model_max_length is None


def test_unknown_keys_are_kept_for_the_export(tmp_path):
    config = {"tokenizer_class": "Qwen2Tokenizer", "auto_map": {"b": [1, "é"], "a": None}, "errors": "replace"}
    parts = hf_json.read(write(tmp_path, PAD, tokenizer_config__json=config))
    written = json.loads(hf_write.render(parts)["tokenizer_config.json"])
    assert config.items() <= written.items()


def test_a_template_in_one_place_is_read(tmp_path):
    beside = hf_json.read(write(tmp_path / "a", PAD, chat_template__jinja="{{ x }}\r\n"))
    within = hf_json.read(write(tmp_path / "b", PAD, tokenizer_config__json={"chat_template": "{{ x }}\r\n"}))
    both = hf_json.read(
        write(
            tmp_path / "c",
            PAD,
            chat_template__jinja="{{ x }}\r\n",
            tokenizer_config__json={"chat_template": "{{ x }}\r\n"},
        )
    )
    assert beside.settings == within.settings == both.settings
    assert beside.settings.chat_template == "{{ x }}\r\n"
    assert artifact.template_hash(beside.settings) == artifact.template_hash(within.settings)


def test_two_different_templates_are_refused(tmp_path):
    # The vector art-template-drift: neither of the two is guessed to be right.
    config = {"chat_template": "{{ y }}"}
    assert refusal(tmp_path, chat_template__jinja="{{ x }}", tokenizer_config__json=config) == (
        "invalid_file",
        "chat_template.jinja",
    )


def test_named_templates_keep_their_form(tmp_path):
    named = [{"name": "default", "template": "d"}, {"name": "tool_use", "template": "t"}]
    parts = hf_json.read(write(tmp_path / "a", PAD, tokenizer_config__json={"chat_template": named}))
    assert (parts.settings.chat_template, parts.settings.named_templates) == ("d", (("tool_use", "t"),))
    artifact.write(parts, tmp_path / "b")
    again = artifact.read(tmp_path / "b").settings
    assert (again.chat_template, again.named_templates) == ("d", (("tool_use", "t"),))


def test_templates_in_a_folder_are_named_by_their_files(tmp_path):
    write(tmp_path, PAD, chat_template__jinja="d")
    (tmp_path / "additional_chat_templates").mkdir()
    (tmp_path / "additional_chat_templates" / "rag.jinja").write_text("r")
    settings = hf_json.read(tmp_path).settings
    assert (settings.chat_template, settings.named_templates) == ("d", (("rag", "r"),))


def test_a_template_whose_file_has_no_name_in_unicode_is_refused_by_its_file(tmp_path):
    folder = tmp_path / "additional_chat_templates"
    folder.mkdir()
    try:
        (folder / os.fsdecode(b"\xff.jinja")).write_text("r")
    except OSError:
        pytest.skip("names of files are UTF-8 here")
    assert refusal(tmp_path) == ("invalid_file", "additional_chat_templates/\\udcff.jinja")


def decoder(**changes):
    token = {key: value for key, value in added(265, "<|pad|>").items() if key != "id"}
    return {"265": token | changes}


def test_the_list_of_transformers_may_repeat_the_added_tokens(tmp_path):
    parts = hf_json.read(write(tmp_path, PAD, tokenizer_config__json={"added_tokens_decoder": decoder()}))
    assert len(parts.config.added_tokens) == 2


CONTRADICTIONS = [
    ({"bos_token": "<s>"}, {}, "invalid_file", "tokenizer_config.json.bos_token"),
    ({}, {"mask_token": "<m>"}, "invalid_file", "special_tokens_map.json.mask_token"),
    ({"pad_token": "<|pad|>"}, {"pad_token": "<|end|>"}, "invalid_file", "tokenizer_config.json.pad_token"),
    ({"pad_token": 7}, {}, "invalid_file", "tokenizer_config.json.pad_token"),
    ({"pad_token": {"content": "<|pad|>", "odd": 1}}, {}, "unsupported", "tokenizer_config.json.pad_token.odd"),
    (
        {"additional_special_tokens": ["<|pad|>", "<x>"]},
        {},
        "invalid_file",
        "tokenizer_config.json.additional_special_tokens[1]",
    ),
    ({}, {"surprise": 1}, "unsupported", "special_tokens_map.json.surprise"),
    ({"padding_side": "middle"}, {}, "unsupported", "tokenizer_config.json.padding_side"),
    ({"model_max_length": -1}, {}, "invalid_file", "tokenizer_config.json.model_max_length"),
    ({"model_max_length": True}, {}, "invalid_file", "tokenizer_config.json.model_max_length"),
    ({"model_max_length": 512.0}, {}, "invalid_file", "tokenizer_config.json.model_max_length"),
    ({"add_prefix_space": True}, {}, "invalid_file", "tokenizer_config.json.add_prefix_space"),
    ({"add_bos_token": True, "bos_token": "<|end|>"}, {}, "invalid_file", "tokenizer_config.json.add_bos_token"),
    ({"add_eos_token": True}, {}, "invalid_file", "tokenizer_config.json.add_eos_token"),
    ({"chat_template": 3}, {}, "invalid_file", "tokenizer_config.json.chat_template.list"),
    (
        {"added_tokens_decoder": decoder(content="<|other|>")},
        {},
        "id_conflict",
        "tokenizer_config.json.added_tokens_decoder.265",
    ),
    (
        {"added_tokens_decoder": decoder(lstrip=True)},
        {},
        "id_conflict",
        "tokenizer_config.json.added_tokens_decoder.265",
    ),
    (
        {"added_tokens_decoder": {"x": decoder()["265"]}},
        {},
        "id_out_of_range",
        "tokenizer_config.json.added_tokens_decoder.x",
    ),
]


@pytest.mark.parametrize(("config", "tokens_map", "code", "field"), CONTRADICTIONS, ids=[c[3] for c in CONTRADICTIONS])
def test_contradictions_are_refused(config, tokens_map, code, field, tmp_path):
    found = refusal(tmp_path, tokenizer_config__json=config, special_tokens_map__json=tokens_map)
    assert found == (code, field)


def test_flags_that_agree_with_the_post_processor_are_kept(tmp_path):
    config = {"add_bos_token": False, "add_eos_token": None, "add_prefix_space": False}
    parts = hf_json.read(write(tmp_path, PAD, tokenizer_config__json=config))
    assert dict(parts.settings.extra) == {"add_bos_token": "false", "add_eos_token": "null"}


def test_names_of_further_tokens_are_kept(tmp_path):
    config = {"extra_special_tokens": {"image_token": "<|pad|>"}}
    parts = hf_json.read(write(tmp_path, PAD, tokenizer_config__json=config))
    assert config.items() <= json.loads(hf_write.render(parts)["tokenizer_config.json"]).items()


@pytest.mark.parametrize("listed", ['{"<|pad|>": 264}', '{"<x>": 265}', '{"<|pad|>": true}', '{"<|pad|>": "265"}'])
def test_an_older_list_of_added_tokens_must_agree(listed, tmp_path):
    assert refusal(tmp_path, added_tokens__json=listed)[0] == "id_conflict"
    assert hf_json.read(write(tmp_path, PAD, added_tokens__json='{"<|pad|>": 265}')).config.added_tokens


BROKEN = {
    "no object": "[]",
    "nested": "[" * 200_000,
    "objects": '{"a":' * 200_000,
    "NaN": '{"a": NaN}',
    "too large a number": '{"a": 1e999}',
    "too many digits": '{"a": ' + "9" * 5000 + "}",
    "twice": '{"a": 1, "a": 2}',
    "lone surrogate": '{"a": "\\ud800"}',
    "lone surrogate as a key": '{"\\udc00": 1}',
    "empty": "",
    "mark": "\ufeff{}",
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("file", ["tokenizer_config__json", "special_tokens_map__json"])
def test_what_is_no_proper_json_is_refused(file, text, tmp_path):
    assert refusal(tmp_path, **{file: text}) == ("invalid_file", file.replace("__", "."))


def test_a_template_that_is_no_text_is_refused(tmp_path):
    write(tmp_path, PAD)
    (tmp_path / "chat_template.jinja").write_bytes(b"\xff")
    with pytest.raises(TokdError, match="UTF-8"):
        hf_json.read(tmp_path)


def test_what_is_kept_for_the_export_is_json():
    """It stood there until somebody saved, which ended in an error of Python's."""
    assert Settings(extra=(("image_token", '"<img>"'),)).extra == (("image_token", '"<img>"'),)
    for text in ("<img>", "", "[" * 200_000):
        with pytest.raises(InvalidOption) as caught:
            Settings(extra=(("image_token", text),))
        assert caught.value.place == {"field": "extra[0]"}
