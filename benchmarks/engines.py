"""``python -m benchmarks engines``: random requests to tokd and to a running vLLM, and what differs.

``TOKD_VLLM_PYTHON`` names the Python of an environment with vLLM 0.32, whose renderer needs no GPU and no weights.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from benchmarks import servers
from benchmarks.corpora import data_dir
from benchmarks.engine_bodies import LITERALS, Bodies, Body
from benchmarks.process import ROOT
from tokenizer_core import Tokenizer

TEMPLATES = (
    "Qwen-Qwen3-0.6B",
    "Qwen-Qwen2.5-7B-Instruct",
    "Qwen3.5-4B",
    "meta-llama-Llama-3.1-8B-Instruct",
    "openai-gpt-oss-120b",
    "GLM-4.6",
    "deepseek-ai-DeepSeek-V3.1",
    "google-gemma-4-31B-it",
    "ibm-granite-granite-4.0",
    "HuggingFaceTB-SmolLM3-3B",
    "mistralai-Mistral-Nemo-Instruct-2407",
    "moonshotai-Kimi-K2",
)
EACH = 200
LENGTH = 40_960
"""How many ids the models take."""

CONFIG = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 1,
    "vocab_size": 151_700,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": LENGTH,
    "torch_dtype": "float32",
    "tie_word_embeddings": True,
}
"""What vLLM asks of a model that it never runs."""

REASONS = {
    "continue_final_message and add_generation_prompt are not compatible": "continue_final_message alone is enough",
    "'input': 'None'": "null is as if the field was not sent",
    "ToolCallParam.function": "arguments of a call may be an object",
    "'loc': 'body.input'": "items are read without the fields that a response's own have",
}
"""What an error of vLLM says, and why tokd answers; see "Other differences" of docs/compat.md."""

_BY_FLAGS = ("sampling_params.skip_special_tokens", "sampling_params.structured_outputs")
_COPIED = ("kv_transfer_params", "ec_transfer_params", "stream_options")
_SHOWN = 300
Answer = tuple[int, Any]


def make_model(template: str, directory: Path) -> Path:
    """Write a model directory with Qwen's vocabulary and this template, as an artifact; vLLM reads it too."""
    source, path = directory / "source", directory / template
    source.mkdir(exist_ok=True)
    (source / "tokenizer.json").write_bytes((data_dir() / "vocabs" / "qwen2_tokenizer.json").read_bytes())
    said = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<|endoftext|>", "eos_token": "<|im_end|>"}
    (source / "tokenizer_config.json").write_text(json.dumps(said), encoding="utf-8")
    (source / "config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    text = (data_dir() / "templates" / f"{template}.jinja").read_text(encoding="utf-8")
    Tokenizer.from_hf(source).with_template(text).save(path, name="model")
    (path / "config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    return path


@contextmanager
def vllm(model: Path) -> Iterator[tuple[httpx.Client, Callable[[], float]]]:
    """Run vLLM's renderer; the second is the processor time that it has taken."""
    python, port = os.environ.get(servers.VLLM_PYTHON), servers.free_port()
    if python is None:
        raise SystemExit(f"{servers.VLLM_PYTHON} names no Python with vLLM 0.32")
    own = {"VLLM_TARGET_DEVICE": "cpu", "VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1"}
    command = [python, str(ROOT / "benchmarks" / "engine_peer.py"), str(model), str(port)]
    client, log = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60), model.parent / "vllm.log"
    with servers.started(command, {**os.environ, **own}, log) as process:
        print("vLLM starts, which takes a minute or more", file=sys.stderr)
        servers.wait_until_ready(process, lambda: client.get("/health").is_success, log, 600)
        yield client, partial(servers.cpu_seconds, process)


def ask(client: httpx.Client, route: str, body: Body) -> Answer:
    """Return the status and the answer."""
    answer = client.post(route, content=json.dumps(body), headers=servers.JSON)
    return answer.status_code, answer.json()


def differences(ours: Answer, theirs: Answer) -> dict[str, tuple[Any, Any]]:
    """Return what differs, by its path: errors by their status alone, and no ids of requests."""
    if ours[0] != theirs[0] or ours[0] != 200:
        return {} if ours[0] == theirs[0] else {"status": (ours, theirs)}
    return dict(_differing(ours[1], theirs[1], ""))


def _differing(ours: Any, theirs: Any, path: str) -> Iterator[tuple[str, tuple[Any, Any]]]:
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        for name in {**ours, **theirs}:
            if name != "request_id":
                place = f"{path}.{name}" if path else name
                yield from _differing(ours.get(name, "absent"), theirs.get(name, "absent"), place)
    elif isinstance(ours, list) and isinstance(theirs, list) and ours and isinstance(ours[0], Mapping):
        for one, other in zip(ours, theirs, strict=False):
            yield from _differing(one, other, path)
        if len(ours) != len(theirs):
            yield f"{path}.length", (len(ours), len(theirs))
    elif ours != theirs or type(ours) is not type(theirs):
        yield path, (ours, theirs)


def reason(route: str, body: Body, path: str, values: tuple[Any, Any]) -> str | None:
    """Return why something differs that is meant to."""
    if path == "status":
        (ours, _), (theirs, said) = values
        known = (why for words, why in REASONS.items() if words in json.dumps(said))
        if "truncate_prompt_tokens" in body and (ours, route) == (400, "/v1/responses/render"):
            return "fields of other routes are checked, too"
        return next(known, None) if (ours, theirs) == (200, 400) else None
    if path.startswith(_BY_FLAGS) and body.get("tools"):
        return "the engine's flags: its parser of tools"
    return "copied as it was sent" if path in _COPIED else None


def compare(template: str, directory: Path, engine: httpx.Client, count: int, seed: int) -> Counter[str]:
    """Send bodies to both, print what differs, and return how often what does."""
    found: Counter[str] = Counter()
    model, bodies = directory / template, Bodies(seed)
    engine.put("/model", params={"path": str(model)}).raise_for_status()
    with (
        servers.running("tokd", model, None) as text,
        servers.running("tokd", model, None, ("--literal", "*=engine")) as literal,
    ):
        clients = [httpx.Client(base_url=f"http://127.0.0.1:{one.port}", timeout=60) for one in (text, literal)]
        for _ in range(count):
            route, body = bodies.draw()
            has_literals = any(json.dumps(each)[1:-1] in json.dumps(body) for each in LITERALS)
            ours, theirs = ask(clients[has_literals], route, body), ask(engine, route, body)
            for path, values in differences(ours, theirs).items():
                if (why := reason(route, body, path, values)) is not None:
                    found[f"{route} {path}: {why}"] += 1
                    continue
                found[f"{route} {path}"] += 1
                shown = (str(each)[:_SHOWN] for each in (json.dumps(body), *values))
                print(f"{template} {route} {path}", *shown, sep="\n  ")
            found["bodies"] += 1
    return found


def main(*, short: bool) -> int:
    """Compare; the status is 1 if anything differs without a reason."""
    total: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        for template in TEMPLATES:
            make_model(template, directory)
        with vllm(directory / TEMPLATES[0]) as (engine, _):
            for seed, template in enumerate(TEMPLATES):
                total += compare(template, directory, engine, 20 if short else EACH, seed)
    for path, count in sorted(total.items()):
        print(f"{count:6} {path}")
    return int(any(not why and path != "bodies" for path, _, why in (each.partition(": ") for each in total)))
