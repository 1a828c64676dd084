"""The texts that vLLM 0.32 makes of an engine's ids, recorded from its renderer, and the state of our streams."""

from __future__ import annotations

import base64
import random
from collections.abc import Mapping
from typing import Any

import pytest
from fastapi.testclient import TestClient

from service.routes.compat import derender_chat, derender_completions
from tests.service.conftest import MakeClient
from tokenizer_core import BASE_ARTIFACT, Tokenizer

CHAT, COMPLETIONS = derender_chat.PATH, derender_completions.PATH
HELLO = [13692, 11, 6548, 31998]
"""``Hello, world<|im_end|>`` as the base artifact has it."""
SMILE = [1627, 247, 224, 264]
"""``🙂 a``; the first three ids are of one character."""
USAGE = {"prompt_tokens_details": None, "completion_tokens_details": None}


@pytest.fixture(scope="module")
def client(make_client: MakeClient) -> TestClient:
    return make_client(artifacts=(str(BASE_ARTIFACT),), max_model_len=("short=8", "*=262144"), models=("short=base",))


def generated(*choices: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {"request_id": "r1", "choices": [{"index": at, **each} for at, each in enumerate(choices)], **more}


def logprobs(*ids: int) -> dict[str, Any]:
    tops = [{"token_id": 5, "logprob": -3, "rank": 9}]
    return {"content": [{"token_id": id, "logprob": -0.5, "rank": 1, "top_logprobs": tops} for id in ids]}


def ask(client: TestClient, route: str, **body: Any) -> Any:
    answer = client.post(route, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def said(content: str) -> dict[str, Any]:
    nothing = dict.fromkeys(("refusal", "annotations", "audio", "function_call", "reasoning"))
    return {"role": "assistant", "content": content, **nothing}


def test_a_whole_answer_is_that_of_vllm(client: TestClient) -> None:
    sent = {"messages": [{"role": "user", "content": "x"}], "skip_special_tokens": False, "return_token_ids": True}
    found = ask(
        client,
        CHAT,
        generate_response=generated(
            {"token_ids": HELLO, "finish_reason": None, "stop_reason": 31998},
            metrics={"queue_time_ms": 1.5},
            kv_transfer_params={"a": 10**30},
            prompt_logprobs=[None, {"5": {"logprob": -1.0, "rank": 2, "decoded_token": "x"}}],
        ),
        prompt_tokens=7,
        chat_request=sent,
    )
    assert found.pop("created") > 1_700_000_000
    assert found == {
        "id": "r1",
        "object": "chat.completion",
        "model": "base",
        "choices": [
            {
                "index": 0,
                "message": said("Hello, world<|im_end|>"),
                "logprobs": None,
                "finish_reason": None,
                "stop_reason": 31998,
                "token_ids": HELLO,
                "routed_experts": None,
            }
        ],
        "service_tier": None,
        "system_fingerprint": None,
        "usage": {"prompt_tokens": 7, "total_tokens": 11, "completion_tokens": 4, **USAGE},
        "prompt_logprobs": [None, {"5": {"logprob": -1.0, "rank": 2, "decoded_token": "x"}}],
        "prompt_token_ids": None,
        "prompt_text": None,
        "kv_transfer_params": {"a": 10**30},
        "ec_transfer_params": None,
        "metrics": {"queue_time_ms": 1.5},
    }


def test_completions_have_their_choices_in_one_row(client: TestClient) -> None:
    answers = [
        generated({"token_ids": HELLO}, {"token_ids": SMILE[:1]}, kv_transfer_params={"a": 1}),
        generated({"token_ids": SMILE, "finish_reason": "length"}, metrics={"queue_time_ms": 1}),
    ]
    found = ask(client, COMPLETIONS, generate_responses=answers, prompt_tokens=[3, 4], prompt_token_ids=[None, [1]])
    # Half a character is left out.
    assert [(each["index"], each["text"]) for each in found["choices"]] == [(0, "Hello, world"), (1, ""), (2, "🙂 a")]
    assert [each["finish_reason"] for each in found["choices"]] == ["stop", "stop", "length"]
    assert found["usage"] == {"prompt_tokens": 7, "total_tokens": 16, "completion_tokens": 9, **USAGE}
    assert (found["object"], found["kv_transfer_params"], found["metrics"]) == ("text_completion", None, None)
    kept = ask(client, COMPLETIONS, generate_responses=answers[:1], completion_request={"skip_special_tokens": False})
    assert kept["choices"][0]["text"] == "Hello, world<|im_end|>"
    assert kept["kv_transfer_params"] == {"a": 1}


def test_ids_of_logprobs_become_texts_with_the_character_at_its_last_token(client: TestClient) -> None:
    choice = {"token_ids": SMILE, "logprobs": logprobs(*SMILE[:3], 264, 4_000_000)}
    (found,) = ask(client, CHAT, generate_response=generated(choice))["choices"]
    content = found["logprobs"]["content"]
    assert [each["token"] for each in content] == ["", "", "🙂", " a", ""]
    assert [each["bytes"] for each in content] == [[], [], [240, 159, 153, 130], [32, 97], None]
    assert content[0]["top_logprobs"] == [{"token": "&", "logprob": -3.0, "bytes": [38]}]
    choice["logprobs"] = logprobs(*SMILE)
    (found,) = ask(client, COMPLETIONS, generate_responses=[generated(choice)])["choices"]
    assert found["logprobs"] == {
        "text_offset": [0, 0, 0, 1],
        "token_logprobs": [-0.5] * 4,
        "tokens": ["", "", "🙂", " a"],
        "top_logprobs": [{"&": -3.0}] * 4,
    }
    empty: Any = {"token_ids": SMILE, "logprobs": {"content": None}}
    (found,) = ask(client, COMPLETIONS, generate_responses=[generated(empty)])["choices"]
    assert found["logprobs"] == {"text_offset": [], "token_logprobs": [], "tokens": [], "top_logprobs": []}
    assert ask(client, CHAT, generate_response=generated(empty))["choices"][0]["logprobs"] == {"content": None}


@pytest.mark.parametrize("route", [CHAT, COMPLETIONS])
def test_a_stream_is_the_whole_text_at_every_split(client: TestClient, route: str) -> None:
    base, numbers = Tokenizer.open(BASE_ARTIFACT), random.Random(5)
    text = "Grüße 🙂 世界<|im_end|> and more 👍🏽"
    ids = base.encode(text, special_tokens="parse").tolist()
    for _ in range(5):
        state, joined, at, offsets = None, "", 0, []
        while at < len(ids):
            part = ids[at : at + numbers.randrange(4)]
            at += len(part)
            chunk = generated({"token_ids": part, "logprobs": logprobs(*part)})
            found = ask(client, route, stream=True, generate_chunk=chunk, stream_state=state)
            (choice,), first, state = found["chunk"]["choices"], state is None, found["stream_state"]
            if route == CHAT:
                assert choice["delta"].pop("role") == ("assistant" if first else None)
                joined += choice["delta"]["content"] or ""
            else:
                offsets += choice["logprobs"]["text_offset"]
                joined += choice["text"]
            assert len(state) < 100
        assert joined == text.replace("<|im_end|>", "")
        assert not offsets or offsets[0] == 0


def test_a_chunk_may_have_no_ids_or_no_output(client: TestClient) -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
    found = ask(client, CHAT, stream=True, generate_chunk=generated(usage=usage))
    assert found["chunk"]["choices"] == []
    assert found["chunk"]["usage"] == {"prompt_tokens": 3, "total_tokens": 7, "completion_tokens": 4, **USAGE}
    last = generated({"token_ids": None, "finish_reason": "stop"}, usage=usage)
    found = ask(client, CHAT, stream=True, generate_chunk=last, stream_state=found["stream_state"], prompt_tokens=9)[
        "chunk"
    ]
    assert found["choices"][0]["delta"] == {"role": "assistant", "content": None, "reasoning": None}
    assert found["usage"]["total_tokens"] == 13
    assert found["object"] == "chat.completion.chunk"


WORDS: list[tuple[str, dict[str, Any], str]] = [
    (CHAT, {"generate_response": generated({"token_ids": []})}, "choice 0 has empty or null token_ids"),
    (CHAT, {"generate_response": generated({"token_ids": None})}, "choice 0 has empty or null token_ids"),
    (
        COMPLETIONS,
        {"generate_responses": [generated({"token_ids": []})]},
        "choice 0 in response r1 has empty or null token_ids",
    ),
    (COMPLETIONS, {"generate_responses": []}, "generate_responses must not be empty"),
    (
        COMPLETIONS,
        {"generate_responses": [generated({"token_ids": HELLO})], "prompt_tokens": [1, 2]},
        "prompt_tokens length (2) must equal generate_responses length (1)",
    ),
    (
        CHAT,
        {"stream": True, "generate_chunk": generated({"token_ids": [1]}, {"token_ids": [1]})},
        "derender_chat_stream expects at most one choice per chunk (got 2).",
    ),
    (
        COMPLETIONS,
        {"stream": True, "generate_chunk": generated({"token_ids": [1]}, {"token_ids": [1]})},
        "derender_completion_stream expects at most one choice per chunk",
    ),
    (
        CHAT,
        {"model": "short", "generate_response": generated({"token_ids": [1] * 9})},
        "token_ids length (9) in choice 0 exceeds max_model_len (8).",
    ),
    (
        CHAT,
        {"model": "short", "generate_response": generated({"token_ids": [1]}), "prompt_token_ids": [1] * 9},
        "prompt_token_ids length (9) exceeds max_model_len (8).",
    ),
    (
        CHAT,
        {
            "model": "short",
            "stream": True,
            "generate_chunk": generated({"token_ids": [1] * 5}),
            "prompt_token_ids": [1] * 4,
        },
        "prompt_token_ids length (4) plus output_token_ids length (0) plus delta (5) exceeds max_model_len (8).",
    ),
    (
        CHAT,
        {"generate_response": generated(*[{"token_ids": [1]}] * 16_385)},
        "choices count (16385) in response 'r1' exceeds server maximum (16384).",
    ),
    (
        CHAT,
        {"stream": True, "generate_chunk": generated(), "stream_state": "zz"},
        "invalid stream_state: derender failed",
    ),
]


@pytest.mark.parametrize(("route", "body", "words"), WORDS)
def test_errors_have_vllm_s_words(client: TestClient, route: str, body: dict[str, Any], words: str) -> None:
    answer = client.post(route, json=body)
    assert (answer.status_code, answer.json()["error"]["message"]) == (400, words)


PLACES: list[tuple[str, dict[str, Any], str]] = [
    (CHAT, {}, "generate_response"),
    (COMPLETIONS, {}, "generate_responses"),
    (CHAT, {"stream": True}, "generate_chunk"),
    (
        CHAT,
        {"generate_response": generated({"token_ids": [1, 4_000_000]})},
        "generate_response.choices[0].token_ids[1]",
    ),
    (CHAT, {"generate_response": generated({"token_ids": [1, -1]})}, "generate_response.choices[0].token_ids[1]"),
    (CHAT, {"generate_response": generated(output_mode="text")}, "generate_response.output_mode"),
    (COMPLETIONS, {"generate_responses": [generated({"token_ids": [1]})], "prompt_token_ids": [1]}, "prompt_token_ids"),
    (COMPLETIONS, {"stream": True, "generate_chunk": generated(), "prompt_tokens": [1]}, "prompt_tokens"),
]


@pytest.mark.parametrize(("route", "body", "place"), PLACES)
def test_errors_have_a_place(client: TestClient, route: str, body: dict[str, Any], place: str) -> None:
    answer = client.post(route, json=body)
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, place), answer.text


def test_no_state_is_taken_that_no_answer_wrote(client: TestClient) -> None:
    chunk = generated({"token_ids": SMILE[:1]})
    state = ask(client, CHAT, stream=True, generate_chunk=chunk)["stream_state"]
    data = base64.b64decode(state)
    forged = [data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :] for at in range(len(data))]
    forged += [data[:at] for at in range(len(data))] + [data + b"\0\0\0\0", b"\0" * 4096]
    texts = [base64.b64encode(each).decode() for each in forged] + [state[:-1], "\u00e9", "[]", "{}"]
    for each in texts:
        answer = client.post(CHAT, json={"stream": True, "generate_chunk": chunk, "stream_state": each})
        assert answer.status_code == 400, each
        assert answer.json()["error"]["message"] == "invalid stream_state: derender failed"
    assert client.post(CHAT, json={"stream": True, "generate_chunk": chunk, "stream_state": {}}).status_code == 400
