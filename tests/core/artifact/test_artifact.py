"""Artifacts: what is read is what was pinned, and what is written appears whole or not at all."""

from __future__ import annotations

import dataclasses
import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.core.artifact.conftest import TEMPLATE
from tests.core.formats.small import added, document, model, write
from tests.support.data import needs_data, shared
from tokenizer_core import Tokenizer, artifact, atomic_files
from tokenizer_core.config import AddedToken, PipelineConfig, Settings
from tokenizer_core.errors import TokdError, Unsupported
from tokenizer_core.formats import files, publish
from tokenizer_core.patterns import PATTERNS
from tokenizer_core.stages import Normalizer, Pattern, Pretokenizer


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def refusal(path: Path) -> TokdError:
    with pytest.raises(TokdError) as caught:
        artifact.read(path)
    return caught.value


def edit(saved: Path, **changes: Any) -> None:
    manifest = json.loads((saved / "manifest.json").read_text())
    (saved / "manifest.json").write_text(json.dumps(manifest | changes))


def test_what_is_saved_is_what_is_opened(parts, saved):
    again = artifact.read(saved)
    assert artifact.tokenizer_hash(again) == artifact.tokenizer_hash(parts)
    assert (again.config, again.name, again.provenance) == (parts.config, "saved", parts.provenance)
    assert (again.settings.chat_template, again.settings.eos) == (TEMPLATE, "<|end|>")
    assert sorted(contents(saved)) == [
        "chat_template.jinja",
        "manifest.json",
        "special_tokens_map.json",
        "tokenizer.json",
        "tokenizer_config.json",
    ]


def test_the_manifest_says_what_is_in_it(saved):
    manifest = json.loads((saved / "manifest.json").read_text())
    assert manifest["files"] == {
        name: files.sha256(data) for name, data in contents(saved).items() if name != "manifest.json"
    }
    assert manifest["template_hash"] == manifest["files"]["chat_template.jinja"]
    assert (manifest["vocab_size"], manifest["special_tokens"]) == (265, {"<|end|>": 264})
    assert (manifest["pattern"], manifest["padding_side"], manifest["schema"]) == ("gpt2", "left", 1)


def test_saving_twice_and_saving_what_was_opened_give_the_same_bytes(parts, saved, tmp_path):
    artifact.write(parts, tmp_path / "twice", name="saved")
    artifact.write(artifact.read(saved), tmp_path / "again", name="saved")
    assert contents(saved) == contents(tmp_path / "twice") == contents(tmp_path / "again")


HASHED = [
    {"normalizer": (Normalizer("nfc"),)},
    {"prefix_space": True},
    {"pretokenizer": (Pretokenizer("digits", individual=True),)},
    {"pretokenizer": (Pretokenizer("split", pattern=Pattern("name", "qwen2")),)},
    {"ignore_merges": True},
    {"added_tokens": ()},
    {"added_tokens": (AddedToken(id=264, content="<|end|>", special=True, lstrip=True),)},
    {"prefix_ids": (264,)},
    {"suffix_ids": (264,)},
]


@pytest.mark.parametrize("change", HASHED, ids=lambda change: next(iter(change)))
def test_whatever_can_change_an_id_changes_the_hash(parts, change):
    other = dataclasses.replace(parts, config=dataclasses.replace(parts.config, **change))
    assert artifact.tokenizer_hash(other) != artifact.tokenizer_hash(parts)


def test_another_version_of_unicode_changes_the_hash(parts, monkeypatch):
    before = artifact.tokenizer_hash(parts)
    monkeypatch.setattr(artifact, "UNICODE_VERSION", "99.0.0")
    assert artifact.tokenizer_hash(parts) != before


@pytest.mark.parametrize("pattern", [Pattern("name", "cl100k_base"), Pattern("regex", PATTERNS["cl100k_base"])])
@pytest.mark.parametrize(("behavior", "invert"), [("isolated", False), ("isolated", True), ("removed", True)])
def test_a_cut_has_one_hash_however_it_is_written(parts, pattern, behavior, invert, tmp_path):
    config = dataclasses.replace(
        parts.config, pretokenizer=(Pretokenizer("split", pattern=pattern, behavior=behavior, invert=invert),)
    )
    artifact.write(dataclasses.replace(parts, config=config), tmp_path / "one")
    assert artifact.read(tmp_path / "one").config == config
    assert config.pretokenizer == (Pretokenizer("split", pattern=Pattern("name", "cl100k_base")),)


def test_names_templates_and_provenance_do_not_change_the_hash(parts):
    other = dataclasses.replace(parts, name="other", provenance={}, settings=Settings())
    assert artifact.tokenizer_hash(other) == artifact.tokenizer_hash(parts)


def test_the_order_of_added_tokens_does_not_change_the_hash():
    tokens = (AddedToken(id=300, content="a"), AddedToken(id=299, content="b"))
    assert PipelineConfig(added_tokens=tokens).to_json() == PipelineConfig(added_tokens=tokens[::-1]).to_json()


@pytest.mark.parametrize(
    "file", ["tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja"]
)
def test_one_changed_byte_is_a_hash_mismatch_before_anything_is_parsed(file, saved):
    data = bytearray((saved / file).read_bytes())
    data[0] ^= 1
    expected = json.loads((saved / "manifest.json").read_text())["files"][file]
    (saved / file).write_bytes(data)
    error = refusal(saved)
    assert error.code == "hash_mismatch"
    assert error.place == {"field": file, "expected": expected, "found": files.sha256(bytes(data))}


def test_a_manifest_that_pins_another_tokenizer_is_a_hash_mismatch(saved):
    edit(saved, hash="sha256:" + "0" * 64)
    error = refusal(saved)
    assert (error.code, error.place["field"]) == ("hash_mismatch", "hash")


def test_a_missing_file_is_not_found(saved):
    (saved / "tokenizer_config.json").unlink()
    error = refusal(saved)
    assert (error.code, error.place["field"]) == ("artifact_not_found", "tokenizer_config.json")


@pytest.mark.parametrize("make", [lambda p: p.mkdir(), lambda p: p.symlink_to("/etc/passwd"), lambda p: os.mkfifo(p)])
@pytest.mark.parametrize("file", ["tokenizer.json", "manifest.json", "chat_template.jinja"])
def test_directories_links_and_pipes_in_a_files_place_are_refused(file, make, saved):
    (saved / file).unlink()
    make(saved / file)
    assert refusal(saved).code == "invalid_file"


def test_a_link_to_the_very_file_is_refused_too(saved, tmp_path):
    (saved / "tokenizer.json").rename(tmp_path / "elsewhere.json")
    (saved / "tokenizer.json").symlink_to(tmp_path / "elsewhere.json")
    assert refusal(saved).code == "invalid_file"


def test_a_file_that_grows_while_it_is_read_is_refused(tmp_path, monkeypatch):
    (tmp_path / "growing").write_bytes(b"{}")
    measure = os.fstat

    def measured_before(descriptor: int) -> os.stat_result:
        status = measure(descriptor)
        with (tmp_path / "growing").open("ab") as file:
            file.write(b" ")
        return status

    monkeypatch.setattr(os, "fstat", measured_before)
    with pytest.raises(TokdError, match="changed while it was read"):
        files.read(tmp_path / "growing")


@pytest.mark.parametrize("stranger", ["vocab.json", "merges.txt", "added_tokens.json", "additional_chat_templates"])
def test_files_that_others_would_read_must_be_pinned(stranger, saved):
    (saved / stranger).mkdir()
    assert refusal(saved).place["field"] == stranger


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"extra": 1}, "unsupported"),
        ({"schema": 2}, "unsupported"),
        ({"schema": True}, "unsupported"),
        ({"schema": 1.0}, "unsupported"),
        ({"schema": "1"}, "unsupported"),
        ({"unicode_version": "1.0.0"}, "unsupported"),
        ({"files": {}}, "invalid_file"),
        ({"files": []}, "invalid_file"),
        ({"files": {"tokenizer.json": "sha256:abc"}}, "invalid_file"),
        ({"files": {"tokenizer.json": 7}}, "invalid_file"),
        ({"files": {"../../etc/passwd": "sha256:" + "0" * 64}}, "unsupported"),
        ({"name": "../x"}, "invalid_name"),
        ({"name": 7}, "invalid_file"),
        ({"provenance": []}, "invalid_file"),
        ({"vocab_size": 7}, "invalid_file"),
        ({"vocab_size": 265.0}, "invalid_file"),
        ({"special_tokens": {"<|end|>": 264.0}}, "invalid_file"),
        ({"special_tokens": {}}, "invalid_file"),
        ({"pattern": "qwen2"}, "invalid_file"),
        ({"template_hash": None}, "invalid_file"),
        ({"padding_side": "right"}, "invalid_file"),
    ],
    ids=str,
)
def test_a_manifest_that_contradicts_the_files_is_refused(changes, code, saved):
    edit(saved, **changes)
    assert refusal(saved).code == code


@pytest.mark.parametrize("key", ["schema", "name", "hash", "files", "unicode_version", "provenance", "pattern"])
def test_every_key_of_the_manifest_is_needed(key, saved):
    manifest = json.loads((saved / "manifest.json").read_text())
    del manifest[key]
    (saved / "manifest.json").write_text(json.dumps(manifest))
    assert refusal(saved).code in ("invalid_file", "unsupported", "hash_mismatch")


@pytest.mark.parametrize("text", ["", "[]", "[" * 200_000, '{"schema": NaN}', '{"schema":1,"schema":1}', "\ufeff{}"])
def test_a_manifest_that_is_no_proper_json_is_refused(text, saved):
    (saved / "manifest.json").write_text(text)
    assert refusal(saved).code == "invalid_file"


@pytest.mark.parametrize("path", ["nothing", "saved/tokenizer.json", "a\0b"])
def test_no_directory_is_no_artifact(path, saved, tmp_path):
    assert refusal(tmp_path / path).code == "artifact_not_found"


def test_an_artifact_is_replaced_in_one_step(parts, saved):
    """A reader beside a writer always sees one whole artifact, the old or the new."""
    texts = [
        dataclasses.replace(parts, settings=dataclasses.replace(parts.settings, chat_template=str(number) * 1000))
        for number in range(2)
    ]
    stop, errors = threading.Event(), []

    def rewrite() -> None:
        try:
            for number in range(30):
                artifact.write(texts[number % 2], saved)
        except TokdError as error:
            errors.append(error)
        finally:
            stop.set()

    writer = threading.Thread(target=rewrite)
    writer.start()
    seen = set()
    while not stop.is_set():
        seen.add(artifact.template_hash(artifact.read(saved).settings))
    writer.join()
    assert not errors
    assert seen <= {artifact.template_hash(settings) for settings in (parts.settings, *(t.settings for t in texts))}
    assert [path.name for path in saved.parent.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize(("what", "moment"), [("file", "flock"), ("directory", "open"), ("directory", "flock")])
def test_what_another_process_sweeps_away_before_it_is_locked_is_made_again(
    what, moment, parts, saved, tmp_path, monkeypatch
):
    module = os if moment == "open" else atomic_files.fcntl
    called = getattr(module, moment)

    def swept(target: Any, *arguments: Any, **named: Any) -> Any:
        fresh = [path for path in tmp_path.iterdir() if ".tokd-" in path.name]
        if fresh:
            monkeypatch.undo()
            atomic_files.sweep(tmp_path)
            assert not fresh[0].exists()
        return called(target, *arguments, **named)

    monkeypatch.setattr(module, moment, swept)
    if what == "file":
        atomic_files.replace(tmp_path / "one", [b"a"])
        assert (tmp_path / "one").read_bytes() == b"a"
    else:
        artifact.write(parts, saved)
        assert artifact.read(saved).config == parts.config
    assert [path.name for path in tmp_path.iterdir() if ".tokd-" in path.name] == []


@pytest.mark.parametrize("stranger", ["file", "directory", "link", "empty"])
def test_what_is_no_artifact_is_never_replaced(stranger, parts, saved, tmp_path):
    place = tmp_path / "place"
    match stranger:
        case "file":
            place.write_text("mine")
        case "directory":
            place.mkdir()
            (place / "manifest.json").write_text("{}")
        case "link":
            place.symlink_to(saved)
        case "empty":
            place.mkdir()
    with pytest.raises(TokdError, match="not an artifact"):
        artifact.write(parts, place)
    assert place.is_symlink() == (stranger == "link")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["place", "saved", "source"]


@pytest.mark.parametrize("stranger", ["model.safetensors", "checkpoints"])
def test_what_lies_beside_an_artifact_is_never_lost(stranger, parts, saved):
    (saved / stranger).mkdir() if stranger == "checkpoints" else (saved / stranger).write_bytes(b"weights")
    artifact.read(saved)
    with pytest.raises(TokdError, match=stranger) as caught:
        artifact.write(parts, saved)
    assert caught.value.place["field"] == "saved"
    assert (saved / stranger).exists()


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"pad": "<pad>"}, "tokenizer_config.json.pad_token"),
        ({"model_max_length": -5}, "tokenizer_config.json.model_max_length"),
        ({"named_templates": (("a", "x"), ("a", "y"))}, "tokenizer_config.json.chat_template"),
    ],
)
def test_settings_with_which_nothing_could_be_opened_are_not_saved(changes, field, parts, saved):
    before = contents(saved)
    other = dataclasses.replace(parts, settings=dataclasses.replace(parts.settings, **changes))
    with pytest.raises(TokdError) as caught:
        artifact.write(other, saved)
    assert (caught.value.code, caught.value.place["field"]) == ("invalid_file", field)
    assert contents(saved) == before


@pytest.mark.parametrize(("id", "is_saved"), [(265, True), (300, False)])
def test_what_the_layout_cannot_say_is_refused_as_such(id, is_saved, parts, tmp_path):
    """Behind a gap a literal needs an entry, and a piece that is taken whole becomes any entry that is text."""
    tokens = (*parts.config.added_tokens, AddedToken(id=id, content="<x>"))
    config = dataclasses.replace(parts.config, added_tokens=tokens, ignore_merges=True)
    changed = dataclasses.replace(parts, config=config)
    if is_saved:
        artifact.write(changed, tmp_path / "one")
        assert artifact.read(tmp_path / "one").config == config
        return
    with pytest.raises(Unsupported) as caught:
        artifact.write(changed, tmp_path / "one")
    assert caught.value.place["field"] == "tokenizer.json"


def test_a_failing_write_leaves_nothing_and_the_old_artifact_stands(parts, saved, monkeypatch):
    before = contents(saved)

    def fail(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space"):
        artifact.write(parts, saved)
    monkeypatch.undo()
    assert contents(saved) == before
    assert [path.name for path in saved.parent.iterdir() if path.name.startswith(".")] == []


def test_without_the_flags_of_linux_the_place_is_taken_in_two_steps(parts, saved, monkeypatch):
    monkeypatch.setattr(publish, "_rename", publish._rename_portably)
    artifact.write(dataclasses.replace(parts, settings=Settings()), saved)
    assert artifact.read(saved).settings.chat_template is None
    artifact.write(parts, saved.parent / "fresh")
    assert artifact.read(saved.parent / "fresh").settings.chat_template == TEMPLATE
    assert [path.name for path in saved.parent.iterdir() if path.name.startswith(".")] == []


def test_files_have_the_modes_of_ordinary_files(saved):
    mask = os.umask(0)
    os.umask(mask)
    assert saved.stat().st_mode & 0o777 == 0o777 & ~mask
    assert {path.stat().st_mode & 0o777 for path in saved.iterdir()} == {0o666 & ~mask}


@needs_data
def test_every_real_template_comes_back_byte_for_byte(parts, tmp_path):
    templates = sorted(shared("templates").glob("*.jinja"))
    assert templates
    for path in templates:
        settings = dataclasses.replace(parts.settings, chat_template=path.read_bytes().decode("utf-8"))
        artifact.write(dataclasses.replace(parts, settings=settings), tmp_path / "one")
        again = artifact.read(tmp_path / "one").settings
        assert again.chat_template == settings.chat_template
        assert artifact.template_hash(again) == files.sha256(path.read_bytes())


def test_a_saved_tokenizer_with_a_gap_and_a_frame_opens_as_itself(tmp_path):
    frame = {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "<|end|>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"<|end|>": {"id": "<|end|>", "ids": [700], "tokens": ["<|end|>"]}},
    }
    entries = document()["model"]["vocab"] | {"<|end|>": 700}
    whole = document(added_tokens=[added(700, "<|end|>")], post_processor=frame, model=model(entries))
    tokenizer = Tokenizer.from_hf(write(tmp_path / "source", whole))
    tokenizer.save(tmp_path / "saved")
    again = Tokenizer.open(tmp_path / "saved")
    assert (again.vocab_size, again.hash) == (701, tokenizer.hash)
    assert again.encode("hello", add_special_tokens=True).tolist() == [700, 259]
