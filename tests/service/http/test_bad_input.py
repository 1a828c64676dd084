"""What is wrong with a request is answered 4xx, with a code and a place, and the server lives on."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from typing import Any

import pytest
from fastapi.testclient import TestClient

from service.schemas.parts import PARTS
from tests.service.conftest import MakeClient
from tests.service.problems import assert_problem

JSON = {"content-type": "application/json"}

BODIES: list[tuple[str, bytes, str, str | None]] = [
    # route, body, code, path
    ("/encode", b"", "invalid_json", None),
    ("/encode", b"null", "invalid_type", None),
    ("/encode", b"[]", "invalid_type", None),
    ("/encode", b'"text"', "invalid_type", None),
    ("/encode", b"{}", "missing_field", "text"),
    ("/encode", b'{"text":"a"', "invalid_json", None),
    ("/encode", b'{"text":"a"} {}', "invalid_json", None),
    ("/encode", b"{'text':'a'}", "invalid_json", None),
    ("/encode", b'{"text":"a",}', "invalid_json", None),
    ("/encode", b'{"text":"\t"}', "invalid_json", None),
    ("/encode", b'{"text":NaN}', "invalid_json", None),
    ("/encode", b'{"text":"a","max_length":NaN}', "invalid_json", None),
    ("/encode", b'{"text":"a","x":NaN}', "invalid_json", None),
    ("/encode", b'{"text":"a","x":"NaN"}', "unknown_field", "x"),
    ("/encode", b'{"text":"a",' + b",".join(b'"%d":-Infinity' % n for n in range(99)) + b"}", "invalid_json", None),
    ("/encode", b'{"text":"\xff NaN"}', "invalid_unicode", None),
    ("/encode", b'{"text":NaN,"text":"a"}', "invalid_json", None),
    ("/encode", b'{"text":"a","max_length":Infinity,"max_length":5}', "invalid_json", None),
    ("/encode", b'{"text":"a","padding":-Infinity,"padding":"none"}', "invalid_json", None),
    ("/encode", b'{"messages":[{"role":"user","content":"a","x":[NaN]}]}', "invalid_json", None),
    ("/encode", b'{"messages":[{"role":"user","content":"a"}],"template_args":{"x":NaN}}', "invalid_json", None),
    ("/encode", b'{"messages":[{"role":"user","content":"\\\\"}],"tools":[{"\\"":NaN}]}', "invalid_json", None),
    ("/train-job", b'{"corpus":{"texts":["a"]},"settings":{"vocab_size":NaN,"vocab_size":300}}', "invalid_json", None),
    ("/encode", b'{"text":"a","max_length":Infinity}', "invalid_json", None),
    ("/encode", b'{"text":"a","max_length":1e400}', "invalid_type", "max_length"),
    ("/encode", b'{"text":"a","max_length":1.0}', "invalid_type", "max_length"),
    ("/encode", b'{"text":"a","max_length":true}', "invalid_type", "max_length"),
    ("/encode", b'{"text":"a","max_length":"8"}', "invalid_type", "max_length"),
    ("/encode", b'{"text":"a","max_length":-1}', "invalid_value", "max_length"),
    ("/encode", b'{"text":"a","max_length":4294967296}', "invalid_value", "max_length"),
    ("/encode", b'{"text":null}', "invalid_type", "text"),
    ("/encode", b'{"text":1}', "invalid_type", "text"),
    ("/encode", b'{"text":{"a":"b"}}', "invalid_type", "text"),
    ("/encode", b'{"text":["a",1]}', "invalid_type", "text[1]"),
    ("/encode", b'{"text":["a",["b"]]}', "invalid_type", "text[1]"),
    ("/encode", b'{"text":"a","add_special_tokens":1}', "invalid_type", "add_special_tokens"),
    ("/encode", b'{"text":"a","special_tokens":"allow"}', "invalid_value", "special_tokens"),
    ("/encode", b'{"text":"a","special_tokens":"ordinary"}', "invalid_value", "special_tokens"),
    ("/encode", b'{"text":"a","padding":true}', "invalid_value", "padding"),
    ("/encode", b'{"text":"a","padding_side":"both"}', "invalid_value", "padding_side"),
    ("/encode", b'{"text":"a","padding":"max_length"}', "invalid_option", "max_length"),
    ("/encode", b'{"text":"a","pad_to_multiple_of":8}', "invalid_option", "pad_to_multiple_of"),
    ("/encode", b'{"text":"a","padding":"longest","pad_to_multiple_of":0}', "invalid_value", "pad_to_multiple_of"),
    ("/encode", b'{"text":"a","max_length":1}', "invalid_option", "max_length"),
    ("/encode", b'{"text":"a","padding":"longest","tokenizer":"bare"}', "invalid_option", "padding"),
    ("/encode", b'{"text":"a","return":"ids"}', "invalid_type", "return"),
    ("/encode", b'{"text":"a","return":["ids","idz"]}', "invalid_value", "return[1]"),
    ("/encode", b'{"text":"a","return":["ids"' + b',"ids"' * len(PARTS) + b"]}", "invalid_value", "return"),
    ("/encode", b'{"text":"a","messages":[]}', "invalid_option", "messages"),
    ("/encode", b'{"text":"a","train_on":"assistant"}', "invalid_option", "train_on"),
    ("/encode", b'{"messages":[{"role":"user","content":"a"}],"train_on":"last"}', "invalid_option", "train_on"),
    ("/encode", b'{"messages":[],"sanitize_specal":true}', "unknown_field", "sanitize_specal"),
    ("/encode", b'{"text":"a","allowed_specal":"all"}', "unknown_field", "allowed_specal"),
    ("/encode", b'{"text":"a","parts":["ids"]}', "unknown_field", "parts"),
    ("/encode", b'{"text":"a","":1}', "unknown_field", ""),
    ("/encode", b'{"text":"a","tokenizer":7}', "invalid_type", "tokenizer"),
    ("/encode", b'{"text":"a","tokenizer":"nobody"}', "tokenizer_not_found", "tokenizer"),
    ("/encode", b'{"text":"a","tokenizer":""}', "invalid_name", "tokenizer"),
    ("/encode", b'{"text":"a<|eos|>b"}', "reserved_literal", "text"),
    ("/encode", b'{"text":["a","b<|eos|>"]}', "reserved_literal", "text[1]"),
    ("/encode", b'{"text":["a","b<|eos|>"],"return":["spans"]}', "reserved_literal", "text[1]"),
    ("/count", b'{"text":["a","b<|eos|>"]}', "reserved_literal", "text[1]"),
    ("/offsets", b'{"text":["a","b<|eos|>"]}', "reserved_literal", "text[1]"),
    # Unicode
    ("/encode", b'{"text":"a\\ud800b"}', "invalid_unicode", "text"),
    ("/encode", b'{"text":"\\udc00"}', "invalid_unicode", "text"),
    ("/encode", b'{"text":"\\ud83d"}', "invalid_unicode", "text"),
    ("/encode", b'{"text":"\\ud83dx"}', "invalid_unicode", "text"),
    ("/encode", b'{"text":"\\ud83d\\u0041"}', "invalid_unicode", "text"),
    ("/encode", b'{"text":"\\ud83d\\ud83d"}', "invalid_unicode", "text"),
    ("/encode", b'{"text":["a","\\uDEAD"]}', "invalid_unicode", "text[1]"),
    ("/encode", b'{"text":"a","\\ud800":1}', "invalid_unicode", None),
    ("/encode", b'{"messages":[{"role":"user","content":"\\ud800"}]}', "invalid_unicode", "messages[0].content"),
    ("/render", b'{"messages":[[{"a":[1,{"text":"\\udc00"}]}]]}', "invalid_unicode", "messages[0][0].a[1].text"),
    ("/render", b'{"messages":[{"a":[[]],"b":{}},{"c":{"d":1},".e":"\\udc00"}]}', "invalid_unicode", "messages[1]..e"),
    ("/render", b'{"messages":[{"a":{"\\ud800":1}}]}', "invalid_unicode", "messages[0].a"),
    ("/encode", b'["\\ud800"]', "invalid_unicode", "[0]"),
    ("/encode", b'"\\ud800"', "invalid_unicode", None),
    ("/count", b'{"messages":[{"role":"a","\\ud800":"\\ud800"}]}', "invalid_unicode", "messages[0]"),
    ("/encode", b'{"text":"\xed\xa0\x80"}', "invalid_unicode", None),
    ("/encode", b'{"text":"\xff"}', "invalid_unicode", None),
    ("/encode", b'{"text":"\xc0\xaf"}', "invalid_unicode", None),
    ("/encode", b'{"text":"\xf4\x90\x80\x80"}', "invalid_unicode", None),
    ("/encode", b'{"text":"caf\xe9"}', "invalid_unicode", None),
    ("/encode", b"\xff", "invalid_unicode", None),
    ("/encode", '{"text":"a"}'.encode("utf-16"), "invalid_unicode", None),
    ("/encode", '{"text":"a"}'.encode("utf-16-le"), "invalid_unicode", None),
    ("/encode", '{"text":"a"}'.encode("utf-16-be"), "invalid_unicode", None),
    ("/encode", '{"text":"a"}'.encode("utf-32"), "invalid_unicode", None),
    ("/encode", b'\xef\xbb\xbf{"text":"a"}', "invalid_json", None),
    # ids
    ("/decode", b'{"ids":[true]}', "invalid_type", "ids[0]"),
    ("/decode", b'{"ids":[1,false]}', "invalid_type", "ids[1]"),
    ("/decode", b'{"ids":[1.5]}', "invalid_type", "ids[0]"),
    ("/decode", b'{"ids":[1.0]}', "invalid_type", "ids[0]"),
    ("/decode", b'{"ids":[1e2]}', "invalid_type", "ids[0]"),
    ("/decode", b'{"ids":["7"]}', "invalid_type", "ids[0]"),
    ("/decode", b'{"ids":[null]}', "invalid_type", "ids[0]"),
    ("/decode", b'{"ids":[NaN],"ids":[1]}', "invalid_json", None),
    ("/decode", b'{"ids":[NaN]}', "invalid_json", None),
    ("/decode", b'{"ids":["\\ud800"]}', "invalid_unicode", "ids[0]"),
    ("/decode", b'{"ids":[1,-1]}', "unknown_token_id", "ids[1]"),
    ("/decode", b'{"ids":[1,4294967295]}', "unknown_token_id", "ids[1]"),
    ("/decode", b'{"ids":[1,4294967296]}', "unknown_token_id", "ids[1]"),
    ("/decode", b'{"ids":[1,2,18446744073709551616]}', "unknown_token_id", "ids[2]"),
    ("/decode", b'{"ids":[[1],[2,99999]]}', "unknown_token_id", "ids[1][1]"),
    ("/decode", b'{"ids":[[1],[2,true]]}', "invalid_type", "ids[1][1]"),
    ("/decode", b'{"ids":[[1],2]}', "invalid_type", "ids[1]"),
    ("/decode", b'{"ids":[1,[2]]}', "invalid_type", "ids[1]"),
    ("/decode", b'{"ids":[[[1]]]}', "invalid_type", "ids[0][0]"),
    ("/decode", b'{"ids":7}', "invalid_type", "ids"),
    ("/decode", b'{"ids":"7"}', "invalid_type", "ids"),
    ("/decode", b'{"ids":{}}', "invalid_type", "ids"),
    ("/decode", b'{"ids":[' + b"9" * 5000 + b"]}", "invalid_json", None),
    ("/decode", b'{"ids":[1],"skip_special_tokens":"yes"}', "invalid_type", "skip_special_tokens"),
    ("/decode", b'{"ids":[1],"final":true}', "invalid_option", "final"),
    ("/decode", b'{"ids":[[1]],"pending":""}', "invalid_option", "pending"),
    ("/decode", b'{"ids":[1],"pending":"f"}', "invalid_value", "pending"),
    ("/decode", b'{"ids":[1],"pending":"f09f9299"}', "invalid_value", "pending"),
    ("/decode", b'{"ids":[1],"pending":"41"}', "invalid_value", "pending"),
    ("/decode", b'{"ids":[1],"pending":"e4b8ad"}', "invalid_value", "pending"),
    ("/decode", b'{"ids":[1],"pending":"zz"}', "invalid_value", "pending"),
    # spans
    ("/offsets", b'{"text":"abc","unit":"bytes"}', "invalid_value", "unit"),
    ("/offsets", b'{"text":"abc","target_spans":[[0,4]]}', "invalid_value", "target_spans[0]"),
    ("/offsets", b'{"text":"abc","target_spans":[[0,1],[2,1]]}', "invalid_value", "target_spans[1]"),
    ("/offsets", b'{"text":"abc","target_spans":[[0,1,2]]}', "invalid_value", "target_spans[0]"),
    ("/offsets", b'{"text":"abc","target_spans":[[0]]}', "invalid_value", "target_spans[0]"),
    ("/offsets", b'{"text":"abc","target_spans":[[0,-1]]}', "invalid_value", "target_spans[0][1]"),
    ("/offsets", b'{"text":"abc","target_spans":[0,1]}', "invalid_type", "target_spans[0]"),
    ("/offsets", b'{"text":"abc","target_spans":[[[0,1]]]}', "invalid_type", "target_spans"),
    ("/offsets", b'{"text":["abc"],"target_spans":[[0,1]]}', "invalid_type", "target_spans"),
    ("/offsets", b'{"text":["abc"],"target_spans":[[[0,1]],[]]}', "invalid_value", "target_spans"),
    ("/offsets", b'{"text":["a","bc"],"target_spans":[[],[[0,1],[1,9]]]}', "invalid_value", "target_spans[1][1]"),
    # depth
    ("/encode", b'{"text":' + b"[" * 200_000, "invalid_json", None),
    ("/encode", b'{"text":' + b"[" * 200_000 + b"]" * 200_000 + b"}", "invalid_json", None),
    ("/decode", b'{"ids":' + b'{"a":' * 200_000 + b"1" + b"}" * 200_001, "invalid_json", None),
    ("/encode", b'{"text":"a","zz":' + b"[" * 100 + b"]" * 100 + b"}", "unknown_field", "zz"),
]


@pytest.mark.parametrize(
    ("route", "body", "code", "path"), BODIES, ids=[f"{route}-{body[:60]!r}" for route, body, _, _ in BODIES]
)
def test_bad_body_is_refused_with_its_place(
    client: TestClient, route: str, body: bytes, code: str, path: str | None
) -> None:
    assert_problem(client.post(route, content=body, headers=JSON), code, path)
    assert client.post("/count", json={"text": "alive"}).status_code == 200


@pytest.mark.parametrize(
    ("route", "body"),
    [
        ("/tokenize", b'{"prompt":"a","x":NaN}'),
        ("/tokenize", b'{"prompt":"a","x":{"y":[-Infinity]}}'),
        ("/detokenize", b'{"tokens":[1],"x":NaN}'),
        ("/v1/tokenize", b'{"prompt":"a","x":NaN}'),
        ("/v1/responses/input_tokens", b'{"input":"a","x":NaN}'),
        ("/v1/messages/count_tokens", b'{"messages":[{"role":"user","content":"a"}],"x":NaN}'),
    ],
)
def test_what_is_no_json_is_refused_where_foreign_fields_are_passed_over(
    client: TestClient, route: str, body: bytes
) -> None:
    answer = client.post(route, content=body, headers=JSON)
    assert answer.status_code == 400
    assert "is not JSON" in answer.text


def test_looking_for_a_surrogate_takes_memory_in_proportion_to_the_body(client: TestClient) -> None:
    name, values = b"k" * 20_000, b"0," * 10_000
    for body, place in (
        (b'{"%b":[%b0],"text":"\\ud800"}' % (name, values), "text"),
        (b'{"%b":[%b"\\ud800"]}' % (name, values), "k" * 197 + "..."),
    ):
        tracemalloc.start()
        answer = client.post("/encode", content=body, headers=JSON)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert_problem(answer, "invalid_unicode", place)
        assert peak < 50 * len(body)


HEADERS: list[tuple[dict[str, str], str, str]] = [
    ({"content-type": "text/plain"}, "unsupported_media_type", "header content-type"),
    ({"content-type": "application/x-www-form-urlencoded"}, "unsupported_media_type", "header content-type"),
    ({"content-type": "application/jsonp"}, "unsupported_media_type", "header content-type"),
    ({"content-type": ""}, "unsupported_media_type", "header content-type"),
    ({"content-type": "application/json" + ";" * 1009}, "unsupported_media_type", "header content-type"),
    ({"content-type": "application/json; charset=utf-16"}, "unsupported_charset", "header content-type"),
    ({"content-type": 'application/json;charset="iso-8859-1"'}, "unsupported_charset", "header content-type"),
    ({**JSON, "content-encoding": "gzip"}, "invalid_encoding", "header content-encoding"),
    ({**JSON, "content-encoding": "zstd"}, "invalid_encoding", "header content-encoding"),
    ({**JSON, "content-encoding": "gzip, gzip"}, "unsupported_encoding", "header content-encoding"),
    ({**JSON, "content-encoding": "identity, br"}, "unsupported_encoding", "header content-encoding"),
    ({**JSON, "transfer-encoding": "gzip, chunked"}, "unsupported_transfer_coding", "header transfer-encoding"),
]


@pytest.mark.parametrize(("headers", "code", "path"), HEADERS)
@pytest.mark.parametrize("route", ["/encode", "/decode", "/offsets", "/count"])
def test_bad_header_is_refused(client: TestClient, route: str, headers: dict[str, str], code: str, path: str) -> None:
    answer = client.post(route, content=b'{"text":"a"}', headers=headers)
    assert_problem(answer, code, path)


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "Application/JSON",
        "application/json; charset=utf-8",
        'application/json;charset="UTF-8"',
        "application/json" + ";" * 1008,
    ],
)
def test_json_content_type_is_taken_however_it_is_written(client: TestClient, content_type: str) -> None:
    assert client.post("/count", content=b'{"text":"a"}', headers={"content-type": content_type}).status_code == 200


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE", "OPTIONS"])
@pytest.mark.parametrize("route", ["/encode", "/decode", "/offsets", "/count"])
def test_wrong_method_is_a_problem_that_names_the_right_one(client: TestClient, route: str, method: str) -> None:
    answer = client.request(method, route)
    assert_problem(answer, "method_not_allowed")
    assert answer.headers["allow"] == "POST"


@pytest.mark.parametrize(
    "path",
    [
        "/playground",
        "/playground/",
        "/playground/..%2fapp.py",
        "/encode/",
        "/Encode",
        "/encode/x",
        "/tokenizers/",
        "/tokenizersx/a",
        "/%00",
        "/🙂",
        "/docs/",
    ],
)
def test_unknown_route_is_a_problem(client: TestClient, path: str) -> None:
    assert_problem(client.get(path), "not_found")


NAMES = [
    "con", "CON", "nul.txt", "foo.", ".", "..", ".hidden", "~root", "naïve", "a" * 129, "C:\\x", "x\n", "x y", "-x",
    "sha256:../../x",
    "sha256:" + "0" * 63, "sha256:" + "A" * 64, "sha256:", "md5:" + "0" * 32, "name@", "@sha256:" + "0" * 64,
    "name@name", "....", "../framed", "a/../b", "....//....//etc", "..%2f..%2fetc%2fpasswd", "framed\0", "\ufb01",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_what_cannot_be_a_reference_is_refused_and_touches_no_file(client: TestClient, name: str) -> None:
    assert_problem(client.post("/count", json={"text": "a", "tokenizer": name}), "invalid_name", "tokenizer")


@pytest.mark.parametrize("name", ["x", "a/b", "sha256:" + "0" * 64, "framed@sha256:" + "0" * 64, "frame", "framedd"])
def test_reference_that_finds_nothing_is_not_found(client: TestClient, name: str) -> None:
    assert_problem(client.post("/count", json={"text": "a", "tokenizer": name}), "tokenizer_not_found", "tokenizer")
    assert_problem(client.get(f"/tokenizers/{name}"), "tokenizer_not_found", "tokenizer")
    assert_problem(client.get(f"/tokenizers/{name}/check"), "tokenizer_not_found", "tokenizer")


def test_part_of_a_hash_finds_nothing(client: TestClient, framed: Any) -> None:
    assert_problem(
        client.post("/count", json={"text": "a", "tokenizer": framed.hash[:-1]}), "invalid_name", "tokenizer"
    )


def test_last_of_two_equal_keys_counts(client: TestClient) -> None:
    answer = client.post("/count", content=b'{"text":"a","text":["b","c"]}', headers=JSON)
    assert len(answer.json()["count"]) == 2


def test_body_over_the_limit_is_refused(make_client: MakeClient) -> None:
    client = make_client(max_body_bytes=1000)
    fits = json.dumps({"text": "a" * (1000 - len('{"text": ""}'))})
    assert client.post("/count", content=fits, headers=JSON).status_code == 200
    assert_problem(client.post("/count", content=fits + " ", headers=JSON), "body_too_large")


def test_body_over_the_limit_is_refused_when_no_length_was_declared(make_client: MakeClient) -> None:
    client = make_client(max_body_bytes=1000)
    answer = client.post("/count", content=iter([b"x" * 600, b"x" * 600]), headers=JSON)
    assert_problem(answer, "body_too_large")


def test_too_many_items_and_ids_are_refused(make_client: MakeClient) -> None:
    client = make_client(max_items=3, max_ids=5)
    for route in ("/encode", "/count", "/offsets"):
        bare = {"text": ["a"] * 3, "add_special_tokens": False}
        assert client.post(route, json=bare).status_code == 200
        if route != "/count":
            # The frames of three texts would be more ids than the limit.
            assert_problem(client.post(route, json=bare | {"add_special_tokens": True}), "too_many_ids", "text")
        assert_problem(client.post(route, json={"text": ["a"] * 4}), "too_many_items", "text")
    assert client.post("/decode", json={"ids": [40] * 5}).status_code == 200
    assert_problem(client.post("/decode", json={"ids": [40] * 6}), "too_many_ids", "ids")
    assert_problem(client.post("/decode", json={"ids": [[40], [40] * 6]}), "too_many_ids", "ids[1]")
    assert_problem(client.post("/decode", json={"ids": [[40]] * 4}), "too_many_items", "ids")
    assert_problem(client.post("/decode", json={"ids": [[40] * 3] * 2}), "too_many_ids", "ids")


def test_padding_cannot_make_more_ids_than_the_limit(make_client: MakeClient) -> None:
    client = make_client(max_ids=1000)
    body = {"text": ["a", "b"], "padding": "max_length"}
    assert client.post("/encode", json={**body, "max_length": 500}).status_code == 200
    assert_problem(client.post("/encode", json={**body, "max_length": 501}), "too_many_ids", "padding")
    # What no setting could allow is refused by the core itself.
    assert_problem(client.post("/encode", json={**body, "max_length": 1 << 31}), "invalid_option", "max_length")
    body = {"text": "a", "padding": "longest", "pad_to_multiple_of": 1 << 31}
    assert_problem(client.post("/encode", json=body), "invalid_option", "pad_to_multiple_of")


@pytest.mark.parametrize(
    "body",
    [
        {"text": ["x"] * 200_000},
        {"text": [1] * 200_000},
        {"ids": ["x"] * 200_000},
        {"ids": [[True]] * 200_000},
        {f"field{number}": 1 for number in range(50_000)},
        {"x" * 200_000: 1},
        {"text": "a", "return": ["y" * 100_000]},
        {"text": "a", "tokenizer": "z" * 100_000},
        {"text": "a", "special_tokens": "\U0001f642" * 50_000},
    ],
    ids=lambda body: next(iter(body))[:20],
)
def test_error_is_small_however_large_the_request(client: TestClient, body: dict[str, Any]) -> None:
    for route in ("/encode", "/decode"):
        answer = client.post(route, json=body)
        assert 400 <= answer.status_code < 500
        assert_problem(answer, answer.json()["code"], answer.json()["path"])


@pytest.mark.parametrize("unit", [b"[],", b'{"":0},', b"1,", b'"ab",', b"[[[[]]]],"])
def test_body_that_would_blow_up_when_parsed_is_refused_before(make_client: MakeClient, unit: bytes) -> None:
    client = make_client()
    body = b'{"text":[' + unit * ((24 << 20) // len(unit)) + b"1]}"
    answer = client.post("/encode", content=body, headers=JSON)
    assert_problem(answer, "too_many_values")


def test_marks_inside_a_long_text_are_no_values(client: TestClient) -> None:
    text = ',[{"\\' * 600_000
    answer = client.post("/count", json={"text": text})
    assert answer.status_code == 200, answer.text[:300]


@pytest.mark.parametrize(
    "body", [{"text": [1] * 200_000}, {"text": ["x"] * 200_000, "odd": 1}, {"text": ["x"] * 200_000}]
)
def test_error_is_small_however_many_entries_are_wrong(client: TestClient, body: dict[str, Any]) -> None:
    answer = client.post("/encode", json=body)
    assert answer.status_code in (413, 422)
    assert_problem(answer, answer.json()["code"], answer.json()["path"])


def test_literal_of_a_special_token_is_named_with_its_place(client: TestClient) -> None:
    body = assert_problem(client.post("/encode", json={"text": "né<|eos|>"}), "reserved_literal", "text")
    assert (body["literal"], body["span"], body["unit"]) == ("<|eos|>", [2, 9], "char")
    assert '"text"' in body["detail"]
    assert '"parse"' in body["detail"]


def test_compressed_body_that_is_not_declared_is_told_from_utf_16(client: TestClient) -> None:
    answer = client.post(
        "/encode", content=gzip.compress(b'{"text":"a"}'), headers={"content-type": "application/json"}
    )
    assert_problem(answer, "unsupported_encoding")
