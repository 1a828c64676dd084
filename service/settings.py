"""Settings of the operator: one frozen value from flags, the environment (``TOKD_*``), a file and defaults, in this
order.

The fields of ``Settings`` are the one table: environment variables, flags, ``--help`` and ``docs/settings.md`` are
derived from it. Nothing is read at import.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

from service.setting_values import ENV_PREFIX, InvalidSetting, Row, fits, ours, read_settings, read_value, setting
from tokenizer_core import BASE_ARTIFACT, CACHE_BYTES, MAX_CACHE_BYTES, base_artifact, did_you_mean

BESIDE_BASE = str(Path(BASE_ARTIFACT).parent)
"""The directory that jobs publish into beside the installed artifact: never into the package."""

HANDED_ON = "TOKD_HANDED_ON"
"""Holds all settings as JSON, by which a server hands them to its own processes: no path or name can be split in it."""

PACK_LEAST = 256 << 10
"""Smaller answers take longer to pack than to send."""

_DAY_SECONDS = 86_400
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*")
_MODE = re.compile(r"[0-7]{3}")
_ROOT_PATH = re.compile(r"(/[A-Za-z0-9._~-]+)+")


def _by_model(item: str, meaning: str) -> Any:
    return setting((), meaning, item=item, separator=",")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything a server is started with."""

    settings_file: str | None = setting(None, "TOML file of settings, below variables and flags; SIGHUP reads it again")
    artifacts: tuple[str, ...] = setting(
        (BASE_ARTIFACT,),
        "artifact directories to serve; by default `artifacts/base` in the working directory, or else the installed "
        "copy",
        item="PATH",
        separator=os.pathsep,
    )
    default_tokenizer: str | None = setting(
        None, "tokenizer for requests without `tokenizer`: name, hash or name@hash; the first artifact if not set"
    )
    tokenizers: str | None = setting(
        None,
        "directory of tokenizers, served as they come and go; `POST /tokenizers` and jobs write there, or beside the "
        "first artifact if not set. Servers and workers share it",
        item="DIR",
    )
    watch: str | None = setting(
        None, "until the next release, instead of `tokenizers`: directory that is only served", item="DIR"
    )
    tokenizer_roots: tuple[str, ...] = setting(
        (),
        "directories below which `POST /tokenizers` may read",
        item="PATH",
        separator=os.pathsep,
    )
    max_tokenizer_bytes: int = setting(
        256 << 20, "largest tokenizer that may be uploaded, packed and unpacked", least=1
    )
    models: tuple[str, ...] = _by_model(
        "MODEL=TOKENIZER",
        "further names of tokenizers on every route, each as `model=tokenizer`; `*` is any text, as in `Qwen/*`",
    )
    render: tuple[str, ...] = _by_model(
        "MODEL=ENGINE",
        "form of the answers of the render routes, each as `model=vllm` (the default) or `model=sglang`",
    )
    literals: tuple[str, ...] = _by_model(
        "MODEL=MEANING",
        "meaning of a special token's literal in chats of drop-in routes, each as `model=text` (the default) or "
        "`model=engine`, where users can write control tokens",
    )
    parsing: tuple[str, ...] = _by_model(
        "MODEL=FORM",
        "what the derender routes make of an output, each as `model=message` (the default: what renders back), "
        "`model=vllm` (with the white space that vLLM's parsers leave) or `model=text`",
    )
    max_model_len: tuple[str, ...] = _by_model(
        "MODEL=LENGTH",
        "how many ids a model takes, each as `model=32768`; without it what the artifact says",
    )
    chat_literals: str = setting(
        "text",
        "default meaning of a special token's literal in a chat: `text`, `reject`, or `parse` with `chat_parse`",
        choices=("text", "reject", "parse"),
    )
    chat_parse: bool = setting(False, "allow control tokens from requests in chats, by `special_tokens: parse`")
    content_format: str = setting(
        "auto",
        "form of message text for templates: `auto` as each reads it, `string`, `parts`, or `sent`, unchanged",
        choices=("auto", "string", "parts", "sent"),
    )
    uncountable: str = setting(
        "refuse",
        "content that is not text on the counting routes of OpenAI and Anthropic: `refuse`, or `skip`, which counts "
        "the rest and lists it",
        choices=("refuse", "skip"),
    )
    host: str = setting("127.0.0.1", "address to listen on; `0.0.0.0` is every interface")
    port: int = setting(8000, "port to listen on; 0 takes a free one", least=0, most=65_535)
    allowed_hosts: tuple[str, ...] = setting(
        (),
        "further names of a server without keys; `.example.com` is every name below it, `*` any name",
        item="NAME",
        separator=",",
    )
    root_path: str | None = setting(None, "path of the server behind a proxy, such as `/tokd`")
    cors_origins: tuple[str, ...] = setting(
        (),
        "sites whose pages may read answers in a browser, such as `https://app.example.com`; `*` is every site",
        item="ORIGIN",
        separator=",",
    )
    trusted_proxies: tuple[str, ...] = setting(
        (),
        "addresses and networks of proxies whose `x-forwarded-for` is believed, such as `10.0.0.0/8`; `unix` is "
        "whoever connects to the unix socket",
        item="ADDRESS",
        separator=",",
    )
    keep_alive_seconds: int = setting(
        75,
        "time until a quiet connection is closed; longer than the proxy keeps its own",
        least=1,
        most=_DAY_SECONDS,
    )
    drain_seconds: int = setting(
        0,
        "time after SIGTERM in which `/readyz` is 503 and requests are still answered: as long as a load balancer "
        "takes to notice",
        most=3600,
    )
    uds: str | None = setting(None, "path of a unix socket to listen on instead of host and port", item="PATH")
    uds_mode: str = setting("666", "permissions of that socket, in octal: who may connect")
    keys: str | None = setting(
        None,
        "file of API keys, of `tokd key new`; every request except health, metrics and documentation then needs one",
        item="FILE",
    )
    no_auth: bool = setting(False, "allow other hosts to reach the server without keys")
    workers: int = setting(1, "server processes", least=1, most=1024)
    threads: int = setting(0, "threads of one process for large requests; 0 is one a core", least=0, most=1024)
    max_queue: int = setting(64, "large requests that may wait for a thread; more are answered 503", least=0)
    queue_seconds: int = setting(10, "time a large request waits for a thread; then 503", least=1, most=_DAY_SECONDS)
    max_requests: int = setting(1024, "requests of one process at once; more are answered 503", least=1)
    max_body_bytes: int = setting(32 << 20, "largest request body; a larger one is answered 413 unread", least=1)
    max_held_bytes: int = setting(
        512 << 20,
        "bytes of bodies and large answers in one process at once; beyond it 503, alone 413. The memory of the "
        "encoder comes on top",
        least=1,
    )
    max_work_bytes: int = setting(
        128 << 20,
        "bytes of large requests under way in one process, each rendering in a thread as 1 MiB; beyond it 503 "
        "unread. A request alone is always taken",
        least=1,
    )
    pack_bytes: int = setting(
        1 << 20,
        "answers of at least so many bytes are packed for callers that accept gzip or zstd",
        least=PACK_LEAST,
    )
    max_items: int = setting(16_384, "most texts, messages of a chat, or lists of ids, in one request", least=1)
    max_ids: int = setting(1 << 20, "most ids in one request, also after padding", least=1)
    piece_cache_bytes: int = setting(
        CACHE_BYTES,
        "bytes of the piece cache of each thread for each tokenizer; 0 leaves a few entries",
        least=0,
        most=MAX_CACHE_BYTES,
    )
    segment_cache_bytes: int = setting(
        64 << 20,
        "bytes of ids that each process keeps for the next turn of a chat; 0 for none",
        least=0,
        most=MAX_CACHE_BYTES,
    )
    inline_bytes: int = setting(
        128 << 10, "bodies up to this size, chats up to 64 KiB, are handled at once, larger ones in a thread", least=0
    )
    body_seconds: int = setting(30, "time for a request body to arrive; then 408", least=1, most=_DAY_SECONDS)
    check_uploads: bool = setting(
        False,
        "let callers audit a `tokenizer.json` of their own with `POST /check`, each in a bounded process",
    )
    upload_seconds: int = setting(
        3600,
        "time for the corpus of a job to arrive; a pause of `body_seconds` also ends the upload",
        least=1,
        most=30 * _DAY_SECONDS,
    )
    trained: str | None = setting(
        None, "until the next release, instead of `tokenizers`: directory that is only written to", item="DIR"
    )
    max_trained: int = setting(8, "trained tokenizers open in one process at once", least=1)
    jobs_url: str | None = setting(
        None,
        "store of jobs: `postgresql://user@host/database` or `sqlite:///path`; SQLite below `tokenizers` if not set",
    )
    worker: bool = setting(True, "run a worker for training jobs beside the server")
    max_jobs: int = setting(100, "training jobs that may wait; more are answered 429", least=1)
    corpus_roots: tuple[str, ...] = setting(
        (),
        "directories of the server that jobs may read",
        item="PATH",
        separator=os.pathsep,
    )
    corpus_schemes: tuple[str, ...] = setting(
        (),
        "schemes of URLs that jobs may read, such as `https`",
        item="SCHEME",
        separator=",",
    )
    max_corpus_bytes: int = setting(64 << 30, "largest corpus of a job, in bytes of unpacked text", least=1)
    max_vocab_size: int = setting(1 << 20, "largest vocabulary of a job", least=1)
    job_seconds: int = setting(6 * 3600, "longest time of one attempt of a job", least=1)
    job_memory_bytes: int = setting(8 << 30, "most resident memory of a job", least=1)
    job_attempts: int = setting(5, "attempts of a job whose process or worker dies; then it fails", least=1)
    job_threads: int = setting(0, "threads of a job; 0 is one a core", least=0, most=1024)
    job_nice: int = setting(19, "niceness of a job's process", least=0, most=19)
    min_free_bytes: int = setting(256 << 20, "disk space that a job must leave free; else it fails", least=0)
    lease_seconds: int = setting(
        15, "time without a sign of life after which a job goes to another worker", least=2, most=3600
    )
    keep_jobs: int = setting(1000, "finished jobs kept for each key; their artifacts stay", least=0)
    keep_days: int = setting(30, "days that a finished job is kept", least=0, most=36_500)
    metrics_by_key: bool = setting(
        False, "count requests and ids by the names of keys in `/metrics`, which everybody who reaches it may read"
    )
    otlp_endpoint: str | None = setting(
        None,
        "collector of OpenTelemetry over OTLP and HTTP, such as `http://127.0.0.1:4318`; each request becomes a "
        "span (extra `otel`)",
    )
    access_log: bool = setting(
        True, "write a line for each request to standard output, JSON or plain on a terminal, without text or ids"
    )

    def __post_init__(self) -> None:
        for row in table():
            value = getattr(self, row.name)
            if row.type is int and not row.least <= value <= row.most:
                raise InvalidSetting(row.name, f"is {value}; it must be {row.range_text}")
            if row.choices and value not in row.choices:
                raise InvalidSetting(row.name, f"is {str(value)[:40]!r}; it must be one of {', '.join(row.choices)}")
            if value == "" or (isinstance(value, tuple) and "" in value):
                raise InvalidSetting(row.name, "is empty, or a part of it; give a value or leave it out")
        if self.chat_literals == "parse" and not self.chat_parse:
            raise InvalidSetting("chat_literals", "is parse, which chat_parse must allow")
        if not self.artifacts:
            raise InvalidSetting("artifacts", "is empty; name at least one artifact directory")
        for scheme in self.corpus_schemes:
            if _SCHEME.fullmatch(scheme) is None:
                raise InvalidSetting("corpus_schemes", f"has {scheme[:40]!r}; a scheme is a name such as https")
        if self.root_path is not None and _ROOT_PATH.fullmatch(self.root_path) is None:
            raise InvalidSetting(
                "root_path", f"is {self.root_path[:40]!r}; it is a path such as /tokd, without / at its end"
            )
        if _MODE.fullmatch(self.uds_mode) is None:
            raise InvalidSetting("uds_mode", f"is {self.uds_mode[:40]!r}; it is three octal digits such as 660")
        if self.tokenizers is not None and (self.watch, self.trained) != (None, None):
            raise InvalidSetting("tokenizers", "takes the place of watch and trained; leave those out")
        if self.keys is not None and self.no_auth:
            raise InvalidSetting("keys", "and no_auth contradict each other; leave one out")
        if self.max_held_bytes < self.max_body_bytes:
            raise InvalidSetting(
                "max_held_bytes",
                f"is {self.max_held_bytes}, less than max_body_bytes {self.max_body_bytes}; "
                "raise it, or lower that: a body of the allowed size could never be held",
            )

    @property
    def link_root(self) -> str:
        """The beginning of paths in answers."""
        return self.root_path or ""

    @classmethod
    def load(cls, env: Mapping[str, str] | None = None, flags: Mapping[str, Any] | None = None) -> Settings:
        """Read flags (as ``add_flags`` parsed them), then the environment, then the file of settings, then defaults.

        Raises:
            InvalidSetting, naming the variable or flag; an unknown ``TOKD_*`` variable is taken for a typing error.
        """
        env = os.environ if env is None else env
        rows = {row.env: row for row in table()}
        values = _handed_on(env[HANDED_ON]) if HANDED_ON in env else _read_variables(env, rows)
        for row in rows.values():
            given = (flags or {}).get(row.name)
            if given is not None:
                values[row.name] = read_value(row, given, row.flag) if isinstance(given, str) else tuple(given)
        path = values.get("settings_file")
        if path is not None:
            values = read_settings(Path(path), {row.name: row for row in table()}) | values
        if "artifacts" not in values and (base := base_artifact()) != BASE_ARTIFACT:
            beside = {} if "tokenizers" in values else {"trained": BESIDE_BASE}
            values = beside | values | {"artifacts": (base,)}
        return cls(**values)

    def environment(self) -> dict[str, str]:
        """Return the variable that makes ``load`` give these settings again, whatever the others are."""
        return {HANDED_ON: json.dumps(asdict(self))}


@cache
def table() -> tuple[Row, ...]:
    """Return every setting, in the order of the documentation."""
    types = get_type_hints(Settings)
    return tuple(
        Row(
            name=f.name,
            type=types[f.name],
            default=f.default,
            env=ENV_PREFIX + f.name.upper(),
            flag="--" + (_singular(f.name) if isinstance(f.default, tuple) else f.name).replace("_", "-"),
            **f.metadata,
        )
        for f in fields(Settings)
    )


def _singular(name: str) -> str:
    """Return the name of one value of a setting that has many."""
    return name.removesuffix("ies") + "y" if name.endswith("ies") else name.removesuffix("s")


def source_of(name: str, flags: Mapping[str, Any]) -> str:
    """Return what gave a setting to ``load``: its flag, else its variable, else its name, also of an unknown one."""
    for row in table():
        if row.name == name:
            return row.flag if flags.get(name) is not None else row.env if row.env in ours(os.environ) else name
    return name


def markdown() -> str:
    """Return every setting as a line of Markdown: what ``docs/settings.md`` holds."""
    return "".join(f"- `{row.name}`{_in_brackets(row)}: {row.meaning}\n" for row in table())


def _in_brackets(row: Row) -> str:
    """Return the default of a setting, and its flag if that is another word: of many values, each is given alone."""
    flag = [f"`{row.flag}`"] if row.flag != "--" + row.name.replace("_", "-") else []
    default = [f"`{row.default_text}`"] if row.default not in (None, ()) else []
    return f" ({', '.join([*flag, *default])})" if flag or default else ""


def _read_variables(env: Mapping[str, str], rows: Mapping[str, Row]) -> dict[str, Any]:
    given = ours(env)
    for name in given:
        if name not in rows:
            raise InvalidSetting(name, f"is not a setting{did_you_mean(name, rows)}; see tokd serve --help")
    return {row.name: read_value(row, given[row.env], row.env) for row in rows.values() if row.env in given}


def _handed_on(text: str) -> dict[str, Any]:
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict) or not given.keys() <= {one.name for one in fields(Settings)}:
        raise InvalidSetting(HANDED_ON, "is what a server hands to its own processes, and holds nothing of the kind")
    for row in table():
        if row.name in given and not fits(given[row.name], row.type):
            raise InvalidSetting(HANDED_ON, f"is what a server hands to its own processes, and has a wrong {row.name}")
    return {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}


if __name__ == "__main__":
    sys.stdout.write(markdown())
