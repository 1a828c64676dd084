"""Compare what tokd and the parsers of vLLM 0.32 read from the same answers: a table, family by family.

Run ``python -m tests.support.vllm_parsers PYTHON``, with the Python of an environment with vLLM. That runs this file
too, so each half imports its own packages in its functions. Its environment also needs ``cohere_melody``, and
``TIKTOKEN_ENCODINGS_BASE`` with ``o200k_base.tiktoken`` for gpt-oss.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LLAMA = "meta-llama-Llama-3.1-8B-Instruct meta-llama-Llama-3.2-3B-Instruct meta-llama-Llama-3.3-70B-Instruct"
HERMES = "Qwen-Qwen2.5-7B-Instruct NousResearch-Hermes-3-Llama-3.1-8B-tool_use MiMo-VL HuggingFaceTB-SmolLM3-3B"
FAMILIES = {
    "Qwen 2.5, Hermes 3, MiMo VL, SmolLM 3": (HERMES, "", "hermes"),
    "Qwen 3": ("Qwen-Qwen3-0.6B", "qwen3", "hermes"),
    "Qwen 3.5": ("Qwen3.5-4B", "qwen3", "qwen3_coder"),
    "QwQ": ("Qwen-QwQ-32B", "deepseek_r1", "hermes"),
    "DeepSeek R1": ("llama-cpp-deepseek-r1", "deepseek_r1", "deepseek_v3"),
    "DeepSeek V3.1": ("deepseek-ai-DeepSeek-V3.1", "deepseek_v3", "deepseek_v31"),
    "DeepSeek V3.2": ("deepseek-ai-DeepSeek-V3.2", "deepseek_v3", "deepseek_v32"),
    "gpt-oss": ("openai-gpt-oss-120b", "openai_gptoss", "openai"),
    "Llama 3.1, 3.2, 3.3": (LLAMA, "", "llama3_json"),
    "Mistral Nemo": ("mistralai-Mistral-Nemo-Instruct-2407", "", "mistral"),
    "Mistral Small 3.2": ("Mistral-Small-3.2-24B-Instruct-2506", "", "mistral"),
    "GLM 4.6": ("GLM-4.6", "glm45", "glm45"),
    "Kimi K2": ("moonshotai-Kimi-K2", "", "kimi_k2"),
    "MiniMax M2": ("MiniMax-M2", "minimax_m2", "minimax_m2"),
    "MiniCPM 5": ("openbmb-MiniCPM5-1B", "qwen3", "minicpm5"),
    "Granite 4": ("ibm-granite-granite-4.0", "", "granite4"),
    "Seed-OSS": ("ByteDance-Seed-OSS", "seed_oss", "seed_oss"),
    "Nemotron 3": ("NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "nemotron_v3", "qwen3_coder"),
    "Command R7B": ("CohereForAI-c4ai-command-r7b-12-2024-tool_use", "cohere_command3", "cohere_command3"),
    "Gemma 4": ("google-gemma-4-31B-it", "gemma4", "gemma4"),
    "LFM 2": ("LFM2-8B-A1B", "", "lfm2"),
}
"""Templates of a family, and vLLM's reasoning and tool parser for its models."""

MARK = re.compile(r"<[^<>\s'\"]{1,60}>|\[/?[A-Z_]+\]")
NO_THOUGHT = re.compile(r"<think>\s*</think>\s*\Z")
HEADS = "turns", "equal", "better by white space", "better", "worse", "tokd back", "vLLM back"
Message = dict[str, Any]


def messages(form: type) -> Iterator[tuple[Message, list[Any]]]:
    """Return the messages with their tools: texts, reasoning, calls with arguments of each kind, calls beside these."""
    from tokenizer_core.responses.probes import NAMES, SAID, THOUGHT, call, tool
    from tokenizer_core.responses.verify import VALUES

    said, thought, marks = {"content": SAID}, {"reasoning_content": THOUGHT}, {"content": "a < b\n\n<b>c</b> {}"}
    plan = [(0, "strings", more) for more in (said, marks, {**said, **thought})] + [(1, kind, {}) for kind in VALUES]
    for more in ({}, said, thought, {**said, **thought}):
        plan += [(1, "strings", more), (2, "strings", more)]
    for count, kind, more in plan:
        of, values = VALUES[kind]
        given = {f"key_{at}": value for at, value in enumerate(values)}
        calls = {"tool_calls": [call(at, NAMES[at], given, form) for at in range(count)]} if count else {}
        yield {"content": "", **more, **calls}, [tool(name, dict.fromkeys(given, of)) for name in NAMES]


def cases(family: str, name: str) -> Iterator[dict[str, Any]]:
    """Write the messages as the template does, where it takes them, and read them."""
    from tests.core.chat.conversations import source
    from tests.core.responses.test_derived import SPECIALS, read
    from tokenizer_core.chat.templates import compiled
    from tokenizer_core.responses.calls import places
    from tokenizer_core.responses.derive import derive
    from tokenizer_core.responses.probes import THOUGHT, Prober, Turn

    template = compiled(source(name))
    spec, notes = derive(template, SPECIALS)
    assert spec is not None
    is_split = any("read by its marks" in note for note in notes)
    prober = Prober(template, SPECIALS)
    prober.called()

    def behind(turn: Turn) -> str:
        return turn.text.removeprefix(turn.prompt).removeprefix(NO_THOUGHT.sub("", turn.prompt))

    def follows(turn: Turn) -> tuple[bool, bool, bool]:
        """Tell if the turn can follow its prompt, if it has tools, and if thinking is set as its message is."""
        thought, set_to = turn.message.get("reasoning_content", ""), list(turn.options[1].values())
        opened = is_split and thought and turn.prompt.rstrip().endswith("<think>")
        after = turn.text.startswith(turn.prompt) or not (is_split or behind(turn).startswith(("</think>", turn.text)))
        able = opened or (after and turn.written("reasoning_content") == thought)
        return bool(able), bool(turn.options[0]), set_to in ([True], ["enabled"]) if thought else set_to == [False]

    for message, tools in messages(prober.arguments):
        # Where the prompt begins reasoning, no answer is without.
        for each in (message, {**message, "reasoning_content": THOUGHT}):
            turn = max((one for one in prober.turns(each, tools) if one.history == 0), key=follows, default=None)
            if turn is None or follows(turn)[0]:
                break
        if turn is None or not follows(turn)[0] or ("tool_calls" in message and not places(turn)):
            continue
        wanted = {"tool_calls": message.get("tool_calls")}
        wanted |= {field: turn.written(field) for field in ("content", "reasoning_content")}
        if (text := behind(turn)) == turn.text:  # The template leaves the reasoning out.
            begun = max(text.rfind(each, 0, turn.slots[0].start) + len(each) for each in spec["start_anchor"])
            wanted["reasoning_content"] = THOUGHT
            text = f"{THOUGHT}\n" + ("" if text.startswith("</think>", begun) else "</think>\n\n") + text[begun:]
        if family != "gpt-oss":  # Elsewhere vLLM takes the token that ended the turn away.
            text = re.sub(spec["fields"]["content"].get("close_pattern", r"\Z"), "", text)
        case = {"family": family, "source": template.source, "thinking": turn.options[1], "tools": tools}
        case |= {"prompt": turn.prompt, "text": text, "wanted": wanted, "turn": (prober, turn)}
        yield {**case, "tokd": read(spec, turn.prompt, text, tools)}


def vllm(case: dict[str, Any]) -> Message:
    """Read an answer as vLLM's server does, with a tokenizer of bytes and marks."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast
    from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
    from vllm.entrypoints.openai.parser.harmony_utils import get_encoding
    from vllm.parser.parser_manager import ParserManager

    _, reasoning, tool = FAMILIES[case["family"]]
    inner = Tokenizer(models.BPE({each: at for at, each in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}, []))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    # Some parsers ask for tokens that the templates of their models do not name.
    marks = MARK.findall(case["source"] + case["prompt"] + "<|python_tag|><|tool_call_start|><|tool_call_end|>")
    inner.add_special_tokens(list(dict.fromkeys(marks)))
    tokenizer, harmony = PreTrainedTokenizerFast(tokenizer_object=inner), tool == "openai"
    prompt, ids = (
        get_encoding().encode(text, allowed_special="all") if harmony else tokenizer.encode(text)
        for text in (case["prompt"], case["text"])
    )
    given = {"messages": [{"role": "user", "content": "Asking?"}], "tools": case["tools"]}
    request = ChatCompletionRequest(**given, chat_template_kwargs=case["thinking"])
    made = ParserManager.get_parser(tool, reasoning, enable_auto_tools=True, is_harmony=harmony)
    parser = made(tokenizer, request.tools, chat_template_kwargs=case["thinking"])
    parser.set_prompt_token_ids(prompt)
    request = parser.adjust_request(request)
    thought, content, calls = parser.parse(case["text"], request, enable_auto_tools=True, model_output_token_ids=ids)
    called = [{"function": {"name": each.name, "arguments": each.arguments}} for each in calls or []]
    return {"reasoning_content": thought, "content": content, "tool_calls": called}


def plain(message: Message) -> Message:
    """Return a message without empty fields, with arguments as objects and the ids that were given."""
    calls = []
    for at, function in enumerate(each["function"] for each in message.get("tool_calls") or []):
        given = function["arguments"]
        given = json.loads(given) if isinstance(given, str) and given[:1] == "{" else given
        calls.append({"id": f"callid00{at}", "type": "function", "function": {**function, "arguments": given}})
    found = {"reasoning_content": message.get("reasoning_content"), "content": message.get("content")}
    return {field: each for field, each in {**found, "tool_calls": calls}.items() if each}


def judged(case: dict[str, Any], other: Message) -> list[str]:
    """Return what is counted of a turn, and print one that tokd reads worse."""
    prober, turn = case["turn"]
    bare = {field: each.strip() if isinstance(each, str) else each for field, each in other.items()}
    both = plain(case["tokd"]), plain(other)
    wanted, *texts, stripped = (
        json.dumps(each, sort_keys=True) for each in (plain(case["wanted"]), *both, plain(bare))
    )
    again = [prober.turn({"role": "assistant", "content": "", **each}, turn.history, turn.options) for each in both]
    back = [each is not None and each.text == turn.text for each in again]
    ours, theirs = zip((each == wanted for each in texts), back, strict=True)
    verdict = "equal" if ours == theirs else "better" if ours > theirs else "worse"
    if verdict == "better" and stripped == wanted:
        verdict = "better by white space"
    if verdict == "worse":
        sys.stdout.write("\n".join([case["family"], json.dumps(case["text"]), wanted, *texts, ""]))
    return ["turns", verdict, *(name for name, is_back in zip(HEADS[-2:], back, strict=True) if is_back)]


def compare(python: str) -> None:
    """Print the table."""
    named = ((family, name) for family, (names, *_) in FAMILIES.items() for name in names.split())
    found = [case for each in named for case in {case["text"]: case for case in cases(*each)}.values()]
    sent = json.dumps([{key: each for key, each in case.items() if key != "turn"} for case in found])
    command, root = [python, "-m", "tests.support.vllm_parsers"], Path(__file__).resolve().parents[2]
    done = subprocess.run(command, cwd=root, input=sent, stdout=subprocess.PIPE, text=True, check=True)
    counts: dict[str, Counter[str]] = {family: Counter() for family in FAMILIES}
    for case, other in zip(found, json.loads(done.stdout.splitlines()[-1]), strict=True):
        counts[case["family"]].update(judged(case, other))
    for family, (_, *parsers) in FAMILIES.items():
        row = [family, ", ".join(dict.fromkeys(filter(None, parsers))), *(counts[family][each] for each in HEADS)]
        sys.stdout.write("| " + " | ".join(map(str, row)) + " |\n")


if __name__ == "__main__":
    if sys.argv[1:]:
        compare(sys.argv[1])
    else:
        sys.stdout.write("\n" + json.dumps([vllm(case) for case in json.load(sys.stdin)]) + "\n")
