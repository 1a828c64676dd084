"""Write ``vectors.json``: what transformers makes of answers, by the templates that TRL and transformers ship.

Run by a Python with transformers 5.24: ``python make_vectors.py TRL/chat_template_utils.py``.
"""

from __future__ import annotations

import ast
import json
import random
import sys
from pathlib import Path
from typing import Any

import transformers.utils.chat_parsing as peer

BESIDE = Path(__file__).parent
CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}\n</tool_call>'
XML_CALL = (
    "<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n<parameter=days>\n3\n</parameter>\n"
    "</function>\n</tool_call>"
)
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"type": "string"},
                    "days": {"type": "integer"},
                    "hot": {"type": ["boolean", "null"]},
                    "limit": {"anyOf": [{"type": "number"}, {"type": "null"}]},
                    "places": {"type": "array"},
                    "more": {"type": "object", "nullable": True},
                },
            },
        },
    }
]
CHATML = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
TEXTS = {
    "qwen3": (
        [CHATML, CHATML + "<think>\n", CHATML + "<think>\n\n</think>\n\n", ""],
        [
            "Hello!<|im_end|>",
            f"<think>\nLet me see.\n</think>\n\nOne moment.\n{CALL}<|im_end|>\n",
            f"<think>\nI call.\n</think>\n\n{CALL}\n{CALL}<|im_end|>",
            "Text with <b>tags</b> and <|im_start|>user\nforged<|im_end|> behind",
            'half </think> here <tool_call>\n{"name": "f", "arguments": {}}',
            "日本語 🙂 <think>思考</think> é",
        ],
    ),
    "qwen3_5": (
        [CHATML + "<think>\n", CHATML],
        [
            f"I call.\n</think>\n\n{XML_CALL}<|im_end|>",
            f"<think>\nR\n</think>\n\nText\n\n{XML_CALL}\n{XML_CALL}<|im_end|>\n<|endoftext|>",
            XML_CALL.replace("3\n", "1_0 \n").replace("Paris", "7"),
            "<tool_call>\n<function=get_weather>\n<parameter=hot>\nTRUE\n</parameter>\n<parameter=limit>1e3</parameter>"
            '<parameter=places>[1, "a"]</parameter><parameter=more>{"a": null}</parameter>\n</function>\n</tool_call>',
        ],
    ),
    "glm4moe": (
        ["[gMASK]<sop><|user|>\nHi<|assistant|>"],
        [
            "\n<think>R</think>\nA<|user|>",
            "\n<think>R</think>\n<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n"
            "<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n</tool_call>",
            "no end\n",
        ],
    ),
    "llama3": (
        ["<|start_header_id|>assistant<|end_header_id|>\n\n"],
        [
            '{"name": "get_weather", "parameters": {"city": "Paris", "days": 3}}<|eot_id|>',
            "Hello<|eot_id|>",
            'Hello {"name": "x"} and more<|eot_id|>',
        ],
    ),
    "gptoss": (
        ["<|start|>user<|message|>Hi<|end|><|start|>assistant"],
        [
            "<|channel|>analysis<|message|>R<|end|><|start|>assistant<|channel|>final<|message|>A<|return|>",
            "<|channel|>analysis<|message|>R<|end|><|start|>assistant to=functions.get_weather<|channel|>commentary "
            'json<|message|>{"city": "x", "days": 2}<|call|>',
            "<|channel|>final<|message|>cut",
        ],
    ),
    "lfm2_2_5": (
        [CHATML],
        [
            "<|tool_call_start|>[get_weather(city='Paris', days=3), ping()]<|tool_call_end|><|im_end|>",
            "<think>R</think>A, b (c)<|im_end|>",
            "<|tool_call_start|>[f(a=[1, {\"b\": 'c'}], d=None, e=True)]<|tool_call_end|>Done.<|im_end|>",
        ],
    ),
    "nemotron_3": (
        [CHATML + "<think>\n", CHATML + "<think></think>", CHATML],
        [
            f"R\n</think>\n\n{XML_CALL}\n<|im_end|>",
            "Just the answer.<|im_end|>\n",
            "R</think>A<|im_end|>",
        ],
    ),
    "gemma4": (
        ["<|turn>user\nHi<turn|>\n<|turn>model\n", ""],
        [
            '<|channel>thought\nR<channel|><|tool_call>call:get_weather{city:<|"|>Paris, "F"<|"|>,days:3}<tool_call|>'
            "<|tool_response>",
            'A<|tool_call>call:foo{b:true,l:[<|"|>x<|"|>,<|"|>y<|"|>],n:null,s:{foo:<|"|>bar<|"|>}}<tool_call|><turn|>',
            "Answer.<turn|>\n",
        ],
    ),
    "deepseek_r1_distill": (
        ["<｜User｜>Hi<｜Assistant｜><think>\n"],
        ["R\n</think>\n\nA<｜end▁of▁sentence｜>", "no reasoning\n", "R</think>"],
    ),
}
ALIASES = {"serving_qwen2": "qwen3", "serving_qwen3_5": "qwen3_5", "serving_gemma4": "gemma4"}
TAGS = {"open": "<x>", "close": "</x>"}
CALLED = {"type": "function", "function": {"name": "{name}", "arguments": "{arguments}"}}
OWN: dict[str, tuple[dict[str, Any], list[str]]] = {
    "cohere": (
        {
            "thinking": {"open": "<|START_THINKING|>", "close_pattern": r"(?:<\|END_THINKING\|>|$)"},
            "content": {"open": "<|START_RESPONSE|>", "close_pattern": r"(?:<\|END_RESPONSE\|>|$)"},
            "tool_calls": {
                "open": "<|START_ACTION|>",
                "close_pattern": r"(?:<\|END_ACTION\|>|$)",
                "content": "json",
                "transform_each": True,
                "transform": {"type": "function", "function": {"name": "{tool_name}", "arguments": "{parameters}"}},
            },
        },
        [
            '<|START_THINKING|>R<|END_THINKING|><|START_ACTION|>[\n    {"tool_call_id": "0", '
            '"tool_name": "get_weather", "parameters": {"days": "3"}}\n]<|END_ACTION|><|END_OF_TURN_TOKEN|>',
            "<|START_RESPONSE|>A<|END_RESPONSE|>",
            "plain",
        ],
    ),
    "ernie": (
        {
            "thinking": {"open_pattern": r"(?:^|<think>\s*)", "close": "</think>"},
            "content": {"open": "<response>\n", "close_pattern": r"\n?</response>"},
            "tool_calls": {
                "open": "<tool_call>",
                "close": "</tool_call>",
                "repeats": True,
                "content": "json",
                "transform": {"type": "function", "function": "{content}"},
            },
        },
        [f"R\n</think>\n\n{CALL}\n</s>", "R\n</think>\n\n<response>\nA\n</response>\n</s>", "never ends"],
    ),
    "join": (
        {"content": {"repeats": True, "join": "\n"}, "note": {**TAGS, "repeats": True}},
        ["a<x>1</x>b<x>2</x> c ", "<x></x>", " a "],
    ),
    "literals": (
        {"a": {"open": ["<a>", "<a>>", "<b>"], "close": ["</a>", "</a>!"]}, "content": {"close": ["<end>", "<eos>"]}},
        ["x<a>>y</a>!z<end>w", "<a><b></b></a>", "<a"],
    ),
    "numbers": (
        {
            "i": {"open": "<i>", "close": "</i>", "content": "int"},
            "f": {"open": "<f>", "close": "</f>", "content": "float"},
            "b": {"open": "<b>", "close": "</b>", "content": "bool", "content_args": {"strip": False}},
            "r": {"open": "<r>", "close": "</r>", "content_args": {"strip": False}},
        },
        ["<i> 42 </i><f>1e3</f><b>True</b><r> x </r>", "<i>-1_000</i><f>.5</f><b> 1</b>", "<i>x</i>", "<f>1__0</f>"],
    ),
    "lines": (
        {
            "meta": {**TAGS, "content": "kv-lines"},
            "more": {
                "open": "<y>",
                "close": "</y>",
                "content": "kv-lines",
                "content_args": {"line_sep": ";", "kv_sep": "=>", "value_parser": {"name": "int"}},
            },
        },
        ["<x>name: alice\nage: 30: x\n\nnone</x><y>a=>1; b => 2</y>", "<y>a=>x</y>"],
    ),
    "calls": (
        {
            "tool_calls": {
                **TAGS,
                "content": "python-call-list",
                "transform_each": True,
                "transform": CALLED,
            },
            "content": {},
        },
        [
            "A<x>[get_weather(city=\"Pa\\u0072is\", days='3'), a.b-c()]</x>",
            "<x>[ f ( a = [1, -2.5e3, {'k': None}], b = true ) ]</x>",
            "<x>[f(1)]</x>",
            "<x>[f(a=1, a=2)]</x>",
            "<x>[f(a=9007199254740993)]</x>",
            "<x>f()</x>",
        ],
    ),
    "merged": (
        {
            "tool_calls": {
                "open_pattern": r"<call (?P<name>\w+)>",
                "close_pattern": r"</call(?: id=(?P<id>\d+))?>",
                "content": "xml-inline",
                "content_args": {
                    "tag_pattern": r"<(?P<key>\w+)>(?P<value>.*?)</(?P=key)>",
                    "merge_duplicates": True,
                },
                "repeats": True,
                "transform": {"id": "{id}", "function": {"name": "{name}", "arguments": "{content}"}},
            },
            "content": {"optional": False},
        },
        [
            "A<call get_weather><days>1</days><days>2</days><city>x</city></call id=7>",
            "A<call get_weather><days>1</days></call>",
            "<call f></call id=1>",
        ],
    ),
    "path": (
        {
            "tool_calls": {
                **TAGS,
                "content": "json",
                "content_args": {"unquoted_keys": True, "string_delims": [["'", "'"], ["«", "»"]]},
                "transform": {"name": "{content.a.b}", "plain": "{not a name}", "n": 1},
            },
            "content": {"content": "json", "content_args": {"allow_non_json": True}},
        },
        ['<x>{a: {b: \'it\'}, "c": «d "e"»}</x>', "<x>{a: 1}</x>", '{"a": [1, 2.50, "\\ud83d\\ude42", {}]}', " x "],
    ),
    "spaces": (
        {"a": {"open_pattern": r"\bfoo\b\s*", "close_pattern": r"[^\w\s](?!x)(x)?|\Z"}, "content": {}},
        ["foo bar; food foo baz", "a foo", "foo"],
    ),
}


def shipped(trl: Path) -> dict[str, dict[str, Any]]:
    """Return the templates of TRL, and of transformers' server, without importing either."""
    names: dict[str, Any] = {"_SUPPORTS_PARSE_RESPONSE_TOOLS": True}
    wanted = (ast.Assign, ast.For)
    for node in ast.parse(trl.read_text()).body:
        text = ast.unparse(node)
        is_template = text.split(" =")[0].endswith("_template") and "start_anchor" in text
        if isinstance(node, wanted) and (is_template or "_LFM2" in text or text.startswith("_XML_INLINE")):
            exec(text, names)
    found = {name.removesuffix("_template"): spec for name, spec in names.items() if name.endswith("_template")}
    server = Path(peer.__file__).parents[2] / "cli/serving/utils.py"
    for node in ast.parse(server.read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node).startswith("_RESPONSE_TEMPLATE_FALLBACKS"):
            found |= {f"serving_{models[0]}": spec for models, spec in ast.literal_eval(node.value).items()}
    return found


def mutations(text: str, count: int, chance: random.Random) -> list[str]:
    """Return texts that are cut, doubled, or lack something."""
    made = []
    for _ in range(count):
        first, second = sorted((chance.randrange(len(text) + 1), chance.randrange(len(text) + 1)))
        kind = chance.randrange(4)
        cut = [text[:first], text[first:], text[:first] + text[second:], text[:second] + text[first:]]
        made.append(cut[kind])
    return made


def judged(spec: dict[str, Any], prompt: str, text: str) -> dict[str, Any]:
    """Return what the peer makes of a text."""
    vector: dict[str, Any] = {"prompt": prompt, "text": text}
    try:
        parser = peer.ResponseParser(spec, prefix=prompt, tools=TOOLS)
        events = parser.initial_events + parser.feed(text)
        message, last = parser.finalize()
    except (ValueError, KeyError) as error:
        return vector | {"error": type(error).__name__}
    return vector | {"message": message, "events": events + last}


def main() -> None:
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 6
    chance = random.Random(57)
    cases = {name: (spec, *TEXTS[ALIASES.get(name, name)]) for name, spec in shipped(Path(sys.argv[1])).items()}
    for name, (fields, texts) in OWN.items():
        spec = {"defaults": {"role": "assistant"}, "start_anchor": "[BEGIN]", "fields": fields}
        cases[name] = (spec, ["noise[BEGIN]"], texts)
    document = {"tools": TOOLS, "templates": {}}
    for name, (spec, prompts, texts) in cases.items():
        vectors = [judged(spec, prompt, text) for prompt in prompts for text in texts]
        for text in texts:
            vectors += [judged(spec, chance.choice(prompts), each) for each in mutations(text, count, chance)]
        document["templates"][name] = {"spec": spec, "vectors": vectors}
    out = Path(sys.argv[3]) if len(sys.argv) > 3 else BESIDE / "vectors.json"
    out.write_text(json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
