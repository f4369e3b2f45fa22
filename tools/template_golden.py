#!/usr/bin/env python3
"""Writes what Python's jinja2 renders, in the environment that Hugging Face transformers sets up for
chat templates (utils/chat_template_utils.py: immutable sandbox, trim_blocks, lstrip_blocks, loop
controls, its own tojson), as fixtures for the C++ tests:

  conversations.json  generated conversations, rendered by every template of the folder and by the
                      one of the shipped model
  features.json       the rows of template_features.py, one feature each

Usage, from the repository root, with jinja2 3.1.6:
  python3 tools/template_golden.py tests/golden/templates
"""

import datetime
import json
import pathlib
import random
import re
import sys

import jinja2
import jinja2.ext
import jinja2.sandbox

from template_features import FEATURES

UNIX_TIME = 1_700_000_000
MODEL_TEMPLATE = "models/tiny/chat_template.jinja"
CONVERSATIONS = 220


class Generation(jinja2.ext.Extension):
    """{% generation %}: a scope without other effect."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        call = self.call_method("_render")
        return jinja2.nodes.CallBlock(call, [], [], body).set_lineno(line)

    def _render(self, caller):
        return caller()


class Namespace(jinja2.utils.Namespace):
    """Refuses names with a leading underscore, as transformers does."""

    def __init__(*args, **kwargs):
        self, args = args[0], args[1:]
        attributes = dict(*args, **kwargs)
        for name in attributes:
            Namespace.check(name)
        jinja2.utils.Namespace.__init__(self, attributes)

    def __setitem__(self, name, value):
        Namespace.check(name)
        jinja2.utils.Namespace.__setitem__(self, name, value)

    @staticmethod
    def check(name):
        if isinstance(name, str) and name.startswith("_"):
            raise jinja2.exceptions.SecurityError(name)


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators,
                      sort_keys=sort_keys)


def strftime_now(text):
    return datetime.datetime.fromtimestamp(UNIX_TIME, datetime.timezone.utc).replace(
        tzinfo=None).strftime(text)


def environment():
    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = strftime_now
    env.globals["namespace"] = Namespace
    return env


def outcome(env, text, variables):
    """{"text": ...} or {"error": message}. A text with a memory address counts as an error."""
    try:
        rendered = env.from_string(text).render(**variables)
        if re.search(r" at 0x[0-9a-f]+>", rendered):
            return {"error": "the text of an object without one"}
        return {"text": rendered}
    except Exception as error:  # whatever Python raises, the C++ side must return an error
        return {"error": type(error).__name__}


WORDS = ["hello", "weather", "Paris", "naïve", "Größe", "北京", "天気", "مرحبا", "🚀", "👩‍🔬", "a<b>&c",
         "</script>", "\"quoted\"", "it's", "{{ x }}", "{% raw %}", "tab\there", "<think>",
         "</think>", "<|user|>", "\\n", "\u2028", "e\u0301", "𝔘nicode", "100%", "null", "C:\\dir"]


class Generator:
    def __init__(self, seed):
        self.rng = random.Random(seed)

    def sentence(self, low=1, high=8):
        text = " ".join(self.rng.choices(WORDS, k=self.rng.randint(low, high)))
        if self.rng.random() < 0.2:
            text = self.rng.choice(["\n", "  ", "\n\n\t"]) + text
        if self.rng.random() < 0.2:
            text += self.rng.choice(["\n", "  ", " \n"])
        return text

    def content(self):
        kind = self.rng.random()
        if kind < 0.08:
            return ""
        if kind < 0.75:
            return self.sentence()
        return [{"type": "text", "text": self.sentence()} for _ in range(self.rng.randint(0, 3))]

    def value(self, depth=0):
        choices = [self.sentence(0, 2), self.rng.randint(-10**6, 10**12), True, False, None, 0.1,
                   -2.5e-7, 1e20, 3.0, ""]
        if depth < 3 and self.rng.random() < 0.4:
            if self.rng.random() < 0.5:
                return [self.value(depth + 1) for _ in range(self.rng.randint(0, 3))]
            return {f"k{i}_{self.rng.choice(WORDS)}": self.value(depth + 1)
                    for i in range(self.rng.randint(0, 3))}
        return self.rng.choice(choices)

    def tool(self, index):
        function = {
            "name": f"tool_{index}",
            "description": self.sentence(),
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string", "description": self.sentence()},
                               "items": {"type": "array", "items": {"type": "integer"}}},
                "required": ["city"],
            },
        }
        if self.rng.random() < 0.3:
            function["strict"] = True
        if self.rng.random() < 0.2:
            function["defer_loading"] = self.rng.random() < 0.5
        return {"type": "function", "function": function}

    def tool_calls(self):
        calls = []
        for index in range(self.rng.randint(1, 3)):
            names = self.rng.sample(["city", "ünï", "items", "n", "x y"], k=self.rng.randint(0, 3))
            call = {"type": "function",
                    "function": {"name": f"tool_{index}",
                                 "arguments": {name: self.value() for name in names}}}
            if self.rng.random() < 0.7:
                call["id"] = f"functions.tool_{index}:{self.rng.randint(0, 9)}"
            calls.append(call)
        return calls

    def assistant(self, with_tools):
        message = {"role": "assistant", "content": self.content()}
        if self.rng.random() < 0.4:
            message["reasoning_content"] = self.sentence()
        elif self.rng.random() < 0.3 and isinstance(message["content"], str):
            message["content"] = f"<think>\n{self.sentence()}\n</think>\n\n" + message["content"]
        if with_tools and self.rng.random() < 0.6:
            message["tool_calls"] = self.tool_calls()
            if self.rng.random() < 0.3:
                message["content"] = self.rng.choice([None, ""])
        return message

    def conversation(self):
        with_tools = self.rng.random() < 0.5
        messages = []
        if self.rng.random() < 0.5:
            role = self.rng.choice(["system", "system", "developer"])
            messages.append({"role": role, "content": self.sentence()})
        for _ in range(self.rng.randint(1, 4)):
            messages.append({"role": "user", "content": self.content()})
            if self.rng.random() < 0.8:
                answer = self.assistant(with_tools)
                messages.append(answer)
                for call in answer.get("tool_calls", []):
                    messages.append({"role": "tool", "tool_call_id": call.get("id", "call"),
                                     "name": call["function"]["name"], "content": self.content()})
                if "tool_calls" in answer and self.rng.random() < 0.6:
                    messages.append(self.assistant(with_tools))
        if self.rng.random() < 0.03:
            messages.append({"role": "critic", "content": "x"})
        variables = {"messages": messages, "bos_token": "<｜begin▁of▁sentence｜>"}
        if with_tools:
            variables["tools"] = [self.tool(i) for i in range(self.rng.randint(0, 3))]
        elif self.rng.random() < 0.3:
            variables["tools"] = None
        for name, chance, values in [
                ("add_generation_prompt", 0.8, [True, True, False]),
                ("enable_thinking", 0.4, [True, False]),
                ("clear_thinking", 0.3, [True, False]),
                ("thinking", 0.4, [True, False]),
                ("reasoning_effort", 0.4, ["high", "max", "low"])]:
            if self.rng.random() < chance:
                variables[name] = self.rng.choice(values)
        return variables


def write(path, rows, folder):
    document = {
        "provenance": {
            "command": f"python3 tools/template_golden.py {folder}",
            "jinja2": jinja2.__version__,
            "unix_time": UNIX_TIME,
        },
        "rows": rows,
    }
    path.write_text(json.dumps(document, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")


def main():
    folder = pathlib.Path(sys.argv[1])
    env = environment()
    templates = {path.name: path for path in sorted(folder.glob("*.jinja"))}
    templates[MODEL_TEMPLATE] = pathlib.Path(MODEL_TEMPLATE)
    conversations = []
    for seed in range(CONVERSATIONS):
        variables = Generator(seed).conversation()
        rendered = {name: outcome(env, path.read_text(encoding="utf-8"), variables)
                    for name, path in templates.items()}
        conversations.append({"variables": variables, "rendered": rendered})
    write(folder / "conversations.json", conversations, sys.argv[1])
    features = [{"template": text, "variables": variables, **outcome(env, text, variables)}
                for text, variables in FEATURES]
    write(folder / "features.json", features, sys.argv[1])
    for name in templates:
        errors = sum("error" in row["rendered"][name] for row in conversations)
        print(f"{name}: {len(conversations)} conversations, {errors} of them errors")
    print(f"features: {len(features)}, {sum('error' in row for row in features)} of them errors")


main()
