"""Settings: one table, from which everything else is derived."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from service.cli.setting_flags import HEADINGS, add_flags
from service.registry.places import tokenizers_directory
from service.setting_values import InvalidSetting
from service.settings import Settings, markdown, source_of, table
from tests.support.server import ROOT


def parse(*arguments: str) -> dict[str, Any]:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    add_flags(parser)
    return vars(parser.parse_args(arguments))


def variables(**settings: Any) -> dict[str, str]:
    """Write settings as an operator does."""
    rows = {row.name: row for row in table()}
    return {
        rows[name].env: rows[name].separator.join(value) if isinstance(value, tuple) else str(value).lower()
        for name, value in settings.items()
    }


OTHER = {
    "artifacts": ("a/b", "c"),
    "default_tokenizer": "c",
    "models": ("a/b=c", "d=c"),
    "render": ("a/b=sglang",),
    "drain_seconds": 5,
    "trusted_proxies": ("10.0.0.0/8", "unix"),
    "metrics_by_key": True,
    "otlp_endpoint": "http://127.0.0.1:4318",
    "cors_origins": ("https://app.example.com", "http://localhost:3000"),
    "pack_bytes": 1 << 18,
    "uds_mode": "660",
    "literals": ("a/b=engine", "*=text"),
    "max_model_len": ("a/b=32768", "*=4096"),
    "parsing": ("a/b=vllm", "*=text"),
    "chat_literals": "reject",
    "chat_parse": True,
    "content_format": "string",
    "uncountable": "skip",
    "host": "0.0.0.0",
    "port": 0,
    "allowed_hosts": ("tokd", ".example.com"),
    "root_path": "/tokd",
    "keep_alive_seconds": 400,
    "uds": "/run/tokd.sock",
    "keys": "keys.toml",
    "no_auth": True,
    "workers": 3,
    "threads": 2,
    "settings_file": "/dev/null",
    "tokenizers": "tokenizers",
    "watch": "watched",
    "tokenizer_roots": ("/models", "more"),
    "max_tokenizer_bytes": 19,
    "max_queue": 7,
    "queue_seconds": 8,
    "max_requests": 9,
    "max_body_bytes": 1000,
    "max_held_bytes": 100_000,
    "max_work_bytes": 50_000,
    "max_items": 5,
    "max_ids": 6,
    "inline_bytes": 10,
    "piece_cache_bytes": 13_000,
    "segment_cache_bytes": 14_000,
    "body_seconds": 11,
    "check_uploads": True,
    "upload_seconds": 12,
    "trained": "trained",
    "max_trained": 12,
    "jobs_url": "postgresql://tokd@db/tokd",
    "worker": False,
    "max_jobs": 13,
    "corpus_roots": ("/corpora", "more"),
    "corpus_schemes": ("https", "s3"),
    "max_corpus_bytes": 14,
    "max_vocab_size": 15,
    "job_seconds": 16,
    "job_memory_bytes": 17,
    "job_attempts": 18,
    "job_threads": 4,
    "job_nice": 5,
    "min_free_bytes": 20,
    "lease_seconds": 21,
    "keep_jobs": 22,
    "keep_days": 23,
    "access_log": False,
}


def test_every_setting_has_a_flag_a_variable_a_default_and_a_meaning() -> None:
    assert {row.name for row in table()} == set(OTHER) == set(Settings.__dataclass_fields__)
    for row in table():
        assert row.env == f"TOKD_{row.name.upper()}"
        assert row.flag.startswith("--")
        assert row.meaning
        assert OTHER[row.name] != row.default


def test_settings_survive_their_own_environment() -> None:
    of_before = {"tokenizers": None, "no_auth": False}
    now = {"watch": None, "trained": None, "keys": None}
    for settings in (Settings(), Settings(**{**OTHER, **now}), Settings(**{**OTHER, **of_before})):
        assert Settings.load(settings.environment(), {}) == settings


def test_settings_that_hold_their_separators_survive_their_own_environment() -> None:
    settings = Settings(
        artifacts=(f"a{os.pathsep}b/base", "\udcff"), models=("Org/M,1=base",), corpus_roots=(f"/c{os.pathsep}d",)
    )
    assert Settings.load({"TOKD_ARTIFACTS": "other", **settings.environment()}, {}) == settings


@pytest.mark.parametrize("text", ["", "{", "[]", "1", '{"no_setting": 1}', "[" * 100_000])
def test_what_no_server_hands_to_its_processes_is_told_by_its_variable(text: str) -> None:
    with pytest.raises(InvalidSetting, match=r"^TOKD_HANDED_ON "):
        Settings.load({"TOKD_HANDED_ON": text}, {})


@pytest.mark.parametrize(
    "given",
    [
        *({"port": "80"}, {"port": True}, {"port": 1.5}, {"host": None}, {"keys": 1}, {"access_log": 1}),
        *({"artifacts": "a"}, {"artifacts": [1]}, {"models": {}}),
    ],
    ids=str,
)
def test_a_value_of_another_type_in_what_was_handed_on_is_told_by_its_name(given: dict[str, object]) -> None:
    (name,) = given
    with pytest.raises(InvalidSetting, match=f"^TOKD_HANDED_ON .* wrong {name}$"):
        Settings.load({"TOKD_HANDED_ON": json.dumps(given)}, {})


@pytest.mark.parametrize("name", OTHER)
def test_flag_comes_before_variable_and_variable_before_default(name: str) -> None:
    row = next(row for row in table() if row.name == name)
    loose = {"max_body_bytes": 1, "max_held_bytes": 1 << 40}
    changed = {name: OTHER[name]}
    if name in loose:
        changed["max_body_bytes"] = min(OTHER["max_body_bytes"], OTHER["max_held_bytes"])
    env = variables(**changed)
    assert getattr(Settings.load(env, parse()), name) == OTHER[name]
    values = OTHER[name] if isinstance(OTHER[name], tuple) else (OTHER[name],)
    flags = [part for value in values for part in (row.flag, str(value).lower())]
    default = {"max_body_bytes": 1} if name == "max_held_bytes" else {}
    given = {} if row.default in (None, ()) else {name: row.default}
    assert getattr(Settings.load(variables(**given, **default), parse(*flags)), name) == OTHER[name]


def test_help_names_every_setting_its_default_and_its_variable() -> None:
    parser = argparse.ArgumentParser()
    add_flags(parser)
    text = " ".join(parser.format_help().split())
    for row in table():
        assert row.flag in text
        assert row.env in text
        assert f"(default: {row.default_text};" in text
    assert HEADINGS.keys() <= {row.name for row in table()}
    assert all(f" {heading}: --" in text for heading in HEADINGS.values())


def test_documentation_holds_the_table() -> None:
    page = (ROOT / "docs" / "settings.md").read_text("utf-8")
    assert markdown() in page
    named = set(re.findall(r"--[a-z]+(?:-[a-z]+)*", page))
    assert named - {row.flag for row in table()} <= {"--file", "--name", "--scope"}


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ({"TOKD_PROT": "1"}, "TOKD_PROT is not a setting; did you mean 'TOKD_PORT'?"),
        ({"TOKD_PORT": "http"}, "TOKD_PORT"),
        ({"TOKD_PORT": "-1"}, "TOKD_PORT"),
        ({"TOKD_PORT": "65536"}, "port is 65536"),
        ({"TOKD_PORT": "1" * 5000}, "TOKD_PORT"),
        ({"TOKD_PORT": ""}, "TOKD_PORT"),
        ({"TOKD_WORKERS": "0"}, "workers is 0"),
        ({"TOKD_ACCESS_LOG": "maybe"}, "TOKD_ACCESS_LOG"),
        ({"TOKD_PORT": str(10**30)}, "a whole number from 0 to 65535"),
        ({"TOKD_MAX_IDS": "nan"}, "a whole number from 1 to 9007199254740991"),
        ({"TOKD_BODY_SECONDS": str(10**17)}, "a whole number from 1 to 86400"),
        ({"TOKD_HOST": ""}, "host is empty"),
        ({"TOKD_TRAINED": ""}, "trained is empty"),
        ({"TOKD_TOKENIZERS": "a", "TOKD_WATCH": "a"}, "tokenizers takes the place of watch and trained"),
        ({"TOKD_CORPUS_ROOTS": ""}, "corpus_roots is empty"),
        ({"TOKD_CORPUS_SCHEMES": ""}, "corpus_schemes is empty"),
        ({"TOKD_CORPUS_SCHEMES": "https,s3://"}, "corpus_schemes has 's3://'"),
        ({"TOKD_ARTIFACTS": ""}, "artifacts is empty"),
        ({"TOKD_ARTIFACTS": f"a{os.pathsep}"}, "artifacts is empty"),
        ({"TOKD_UDS": ""}, "uds is empty"),
        ({"TOKD_KEYS": ""}, "keys is empty"),
        ({"TOKD_KEYS": "k", "TOKD_NO_AUTH": "1"}, "contradict"),
        ({"TOKD_MAX_HELD_BYTES": "1"}, "max_held_bytes is 1"),
    ],
)
def test_bad_setting_is_refused_by_name(env: dict[str, str], said: str) -> None:
    with pytest.raises(InvalidSetting) as caught:
        Settings.load(env, {})
    assert said in str(caught.value)


def test_what_the_kernel_and_the_tests_read_is_no_typing_error() -> None:
    assert Settings.load({"TOKD_KERNEL": "portable", "TOKD_TEST_DATA": "x"}, {}) == Settings.load({}, {})


LINKS = {
    "SERVICE_HOST": "10.0.0.1",
    "SERVICE_PORT": "80",
    "SERVICE_PORT_HTTP_API": "80",
    "PORT": "tcp://10.0.0.1:80",
    "PORT_80_TCP": "tcp://10.0.0.1:80",
    "PORT_80_TCP_PROTO": "tcp",
    "PORT_80_TCP_PORT": "80",
    "PORT_80_TCP_ADDR": "10.0.0.1",
}


@pytest.mark.parametrize("service", ["TOKD_", "TOKD_WORKER_"])
def test_links_to_a_service_of_kubernetes_are_no_settings(service: str, monkeypatch: pytest.MonkeyPatch) -> None:
    env = {service + name: value for name, value in LINKS.items()}
    assert Settings.load(env, {}) == Settings()
    monkeypatch.setattr(os, "environ", env)
    assert source_of("port", {}) == "port"
    for typing_error in ({"TOKD_SERVICE": "x"}, {"TOKD_WORKER_PORT": "80"}, {"TOKD_PORT_8000": "x"}):
        with pytest.raises(InvalidSetting):
            Settings.load(env | typing_error, {})


def test_in_any_folder_the_installed_artifact_is_served_and_jobs_publish_into_that_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = Settings.load({})
    (installed,) = settings.artifacts
    assert Path(installed).samefile(ROOT / "artifacts" / "base")
    assert tokenizers_directory(settings) == tmp_path / "artifacts"
    assert Settings.load({"TOKD_TRAINED": "/trained"}).trained == "/trained"
    assert tokenizers_directory(Settings.load({"TOKD_TOKENIZERS": "/tokenizers"})) == Path("/tokenizers")
    assert Settings.load({"TOKD_ARTIFACTS": "a/b"}).artifacts == ("a/b",)
    (tmp_path / "artifacts" / "base").mkdir(parents=True)
    assert Settings.load({}).artifacts == ("artifacts/base",)


def test_flag_that_is_true_needs_no_value() -> None:
    assert Settings.load({}, parse("--no-auth")).no_auth is True
    assert Settings.load({}, parse("--no-auth", "false")).no_auth is False


def test_bad_flag_is_refused_by_name() -> None:
    with pytest.raises(InvalidSetting, match="--workers"):
        Settings.load({}, parse("--workers", "many"))


def test_variables_of_the_tests_are_no_settings() -> None:
    assert Settings.load({"TOKD_TEST_DATA": "x", "PATH": "y"}, {}) == Settings()


@pytest.mark.process
def test_importing_the_service_reads_no_environment() -> None:
    # In a fresh process, since everything is imported already in this one.
    program = "import service.settings, service.server, service.app"
    environment = {**os.environ, "TOKD_PORT": "no number", "TOKD_NO_SUCH_SETTING": "1"}
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=environment, check=True)
