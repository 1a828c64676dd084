"""``tokd verify``: whether a running engine gives the ids of an artifact, and where it does not."""

from __future__ import annotations

import argparse
from contextlib import suppress
from typing import Any, NamedTuple

import httpx
import orjson

from service.cli.options import Parser, add_tokenizer
from service.cli.streams import CommandError, excerpt, note, usage, write_json, write_line
from service.cli.verify_cases import Case, cases
from service.cli.verify_shrink import smallest
from service.errors import ServiceError
from service.registry.served import ServedTokenizer
from service.routes import chats
from service.routes.compat import prompts, vllm_messages
from service.routes.compat.conversation import FIELD
from service.settings import Settings
from tokenizer_core import MessageForm, Tokenizer

_TOKENIZE = {"chat": "/tokenize", "text": "/tokenize"}
_RENDER = {"chat": "/v1/chat/completions/render", "text": "/v1/completions/render"}
_SECONDS = 30.0
_MESSAGE_CHARS = 500
"""Longest message of an engine that is printed."""

_SHOWN = 10
"""Differences that are made small and printed; all are counted."""


class Refused(NamedTuple):
    """An answer without ids, and why."""

    why: str


Found = list[int] | Refused


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "verify",
        help="compare an artifact with a running engine",
        description="Send some 200 fixed texts and chats to a running engine and compare its ids with the artifact's. "
        "The exit status is 1 if any differ.",
    )
    add_tokenizer(parser)
    parser.add_argument("--engine", metavar="URL", required=True, help="address of an engine, such as vLLM")
    parser.add_argument("--model", metavar="NAME", help="the model's name there (default: the engine's own)")
    parser.add_argument("--key", metavar="KEY", help="API key, as Authorization: Bearer")
    parser.add_argument(
        "--route",
        choices=("tokenize", "render"),
        default="tokenize",
        help="ask /tokenize, or the render routes (default: %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, with every difference")


def run(args: argparse.Namespace) -> int:
    """Compare and print."""
    engine_url = _address(args.engine)
    artifact = Artifact(args.tokenizer, args.route)
    headers = {} if args.key is None else {"authorization": f"Bearer {args.key}"}
    with httpx.Client(base_url=engine_url, headers=headers, timeout=_SECONDS) as client:
        engine = Engine(client, args.model, _RENDER if args.route == "render" else _TOKENIZE)
        differences = []
        every = cases()
        for case in every:
            ours, theirs = artifact.ids(case.body), engine.ids(case.body)
            if _differ(ours, theirs):
                differences.append(_Difference(case, ours, theirs))
        for difference in differences[:_SHOWN]:
            difference.shrink(artifact, engine)
    report = {
        "tokenizer": artifact.loaded.hash,
        "template": artifact.loaded.template,
        "engine": args.engine,
        "cases": len(every),
        "differences": [each.to_dict() for each in differences],
    }
    if args.json:
        write_json(report)
    else:
        for difference in differences[:_SHOWN]:
            write_line(difference.text())
        if len(differences) > _SHOWN:
            note(f"{len(differences) - _SHOWN} further differences; --json lists them")
        equal = len(every) - len(differences)
        write_line(f"{equal} of {len(every)} inputs have the ids of {artifact.loaded.name} {artifact.loaded.hash}")
    return 1 if differences else 0


class Artifact:
    """An artifact that encodes a body as an engine would: literals become tokens there."""

    def __init__(self, path: str, form: MessageForm) -> None:
        self.loaded, self._form = ServedTokenizer(Tokenizer.open(path), path), form
        self._settings = Settings()

    def ids(self, body: dict[str, Any]) -> Found:
        """Return the ids of a body, or why there are none."""
        try:
            if "prompt" in body:
                return list(map(int, prompts.encode(self.loaded, body["prompt"], add_special_tokens=True)))
            continues = body.get("continue_final_message", False)
            encoded = chats.encode_one(
                self.loaded,
                vllm_messages.read(body["messages"]),
                "messages",
                self._settings,
                args_field=FIELD,
                literals="engine",
                form=self._form,
                tools=vllm_messages.read_tools(body.get("tools")),
                add_generation_prompt=body.get("add_generation_prompt", not continues),
                continue_final_message=continues,
                template_args=body.get(FIELD),
            )
        except ServiceError as error:
            return Refused(f"{error.code}: {error.detail}")
        return list(map(int, encoded.ids))


class Engine:
    """A running engine.

    Args:
        paths: the route for chats and the one for texts.
    """

    def __init__(self, client: httpx.Client, model: str | None, paths: dict[str, str]) -> None:
        self._client, self._paths = client, paths
        self._model = {} if model is None else {"model": model}

    def ids(self, body: dict[str, Any]) -> Found:
        """Ask for the ids of a body.

        Raises:
            CommandError: nobody answers there, or not as an engine does.
        """
        path = self._paths["text" if "prompt" in body else "chat"]
        try:
            answer = self._client.post(path, json={**self._model, **body})
            if answer.status_code == 400 and "tools" in body and "tool_choice" not in body:
                # The default, "auto", needs flags at vLLM's start; the template gets the tools all the same.
                answer = self._client.post(path, json={**self._model, "tool_choice": "none", **body})
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            message = f"{excerpt(f'{self._client.base_url}: {error}')}; start the engine, or correct --engine"
            raise CommandError("engine_unreachable", message) from None
        if answer.status_code in (401, 403, 404, 405) or answer.status_code >= 500:
            raise self._failed(f"{answer.status_code} on {path}", answer)
        if answer.status_code != 200:
            return Refused(f"{answer.status_code}: {_said(answer)}")
        try:
            found = answer.json()
            found = found[0] if isinstance(found, list) else found
            ids = next(found[name] for name in ("tokens", "token_ids", "input_ids") if name in found)
            return [int(id) for id in ids]
        except (ValueError, TypeError, LookupError, StopIteration):
            raise self._failed(f"no ids on {path}", answer) from None

    def _failed(self, found: str, answer: httpx.Response) -> CommandError:
        ways = "check --engine, --model, --key or --route"
        return CommandError("engine_failed", f"{self._client.base_url} answered {found}: {_said(answer)}; {ways}")


def _address(text: str) -> httpx.URL:
    with suppress(httpx.InvalidURL):
        url = httpx.URL(text)
        if url.scheme in ("http", "https") and url.host:
            return url
    raise usage(f"--engine is {excerpt(text)!r}; it begins with http:// or https:// and a host")


def _said(answer: httpx.Response) -> str:
    """Return the message of an engine's error, else the beginning of the answer."""
    try:
        found = answer.json()
        return excerpt(str(found.get("error", found)["message"]), _MESSAGE_CHARS)
    except (ValueError, AttributeError, TypeError, LookupError):
        return excerpt(answer.text)


def _differ(ours: Found, theirs: Found) -> bool:
    """Tell whether ids differ; two that refuse agree, whatever they say."""
    if isinstance(ours, Refused) and isinstance(theirs, Refused):
        return False
    return ours != theirs


class _Difference:
    def __init__(self, case: Case, ours: Found, theirs: Found) -> None:
        self.name, self.body, self.ours, self.theirs = case.name, case.body, ours, theirs

    def shrink(self, artifact: Artifact, engine: Engine) -> None:
        """Find a smaller input that differs."""
        self.body = smallest(self.body, lambda body: _differ(artifact.ids(body), engine.ids(body)))
        self.ours, self.theirs = artifact.ids(self.body), engine.ids(self.body)

    def to_dict(self) -> dict[str, Any]:
        """Describe it for JSON."""

        def said(found: Found) -> Any:
            return {"refused": found.why} if isinstance(found, Refused) else {"ids": found}

        return {"case": self.name, "input": self.body, "artifact": said(self.ours), "engine": said(self.theirs)}

    def text(self) -> str:
        """Lay it out in lines."""
        lines = [f"{self.name}: {excerpt(orjson.dumps(self.body).decode())}"]
        if not isinstance(self.ours, Refused) and not isinstance(self.theirs, Refused):
            pairs = zip(self.ours, self.theirs, strict=False)
            at = next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(self.ours), len(self.theirs)))
            lines.append(f"  the first {at} ids are equal; then")
            lines += [
                f"  {who:<8} {found[at : at + 12]}" for who, found in (("artifact", self.ours), ("engine", self.theirs))
            ]
        else:
            for who, found in (("artifact", self.ours), ("engine", self.theirs)):
                lines.append(f"  {who:<8} {excerpt(found.why) if isinstance(found, Refused) else found[:12]}")
        return "\n".join(lines)
