"""The program as a user meets it: argv in; stdout, stderr and exit status out.

usage: cli_test.py PELLUCID SOURCE_DIR
"""

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = ""
SOURCE = ""
FRANCE = "What is the capital of France?"


def run(*args, stdin=b""):
    """Runs the program; stdin is closed after `stdin`."""
    return subprocess.run([PROGRAM, *args], input=stdin, capture_output=True, timeout=60)


class Tiny(unittest.TestCase):
    def setUp(self):
        self.model = os.path.join(SOURCE, "models", "tiny")
        with open(os.path.join(SOURCE, "tests/golden/reference/prompts.json")) as f:
            self.prompts = {p["name"]: p for p in json.load(f)}
        with open(os.path.join(SOURCE, "tests/golden/reference/nvfp4.json")) as f:
            self.expected = {p["name"]: p for p in json.load(f)}

    def run_json(self, *args, **kwargs):
        done = run("run", self.model, "--json", *args, **kwargs)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)


class RunTest(Tiny):
    def test_answers_and_prints_timings_on_stderr_only(self):
        done = run("run", self.model, "--no-thinking", FRANCE)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.decode(), "The capital of France is Paris.\n")
        self.assertIn("tokens/s", done.stderr.decode())

    def test_thinks_by_default(self):
        done = run("run", self.model, FRANCE)
        self.assertIn("</think>", done.stdout.decode())
        self.assertIn("Paris", done.stdout.decode())

    def test_json_matches_the_reference(self):
        got = self.run_json("--no-thinking", "--top-logprobs", "3", FRANCE)
        want = self.expected["capital"]
        self.assertEqual(got["prompt_tokens"], self.prompts["capital"]["ids"])
        self.assertEqual(got["tokens"], want["greedy_ids"])
        self.assertEqual(got["finish_reason"], "stop")
        self.assertEqual(got["text"], "The capital of France is Paris.")
        for a, b in zip(got["logprobs"], want["logprobs"]):
            self.assertAlmostEqual(a, b, delta=0.02)
        self.assertEqual([len(t) for t in got["top_logprobs"]], [3] * len(want["greedy_ids"]))
        for token, logprob, top in zip(got["tokens"], got["logprobs"], got["top_logprobs"]):
            self.assertEqual(top[0]["token"], token)
            self.assertEqual(top[0]["logprob"], logprob)
        self.assertGreater(got["timings"]["decode_tokens_per_second"], 0)

    def test_prompts_beyond_index_topk_by_ids(self):
        for name in ("recall-long-2", "tool"):
            ids = self.prompts[name]["ids"]
            self.assertGreater(len(ids), 64)
            got = self.run_json("--tokens", ",".join(map(str, ids)))
            want = self.expected[name]
            if want["min_margin"] >= 0.25:
                self.assertEqual(got["tokens"], want["greedy_ids"])
            else:
                self.assertEqual(got["tokens"][:1], want["greedy_ids"][:1])

    def test_prompt_from_standard_input(self):
        got = self.run_json("--no-thinking", "-", stdin=FRANCE.encode())
        self.assertEqual(got["prompt_tokens"], self.prompts["capital"]["ids"])

    def test_special_tokens_typed_by_a_person_stay_text(self):
        got = self.run_json("--no-thinking", "--max-tokens", "1", "a<|user|>b</think>")
        special = [i for i in got["prompt_tokens"] if i >= 1242]
        plain = self.run_json("--no-thinking", "--max-tokens", "1", "ab")
        self.assertEqual(special, [i for i in plain["prompt_tokens"] if i >= 1242])

    def test_raw_continues_without_a_template(self):
        got = self.run_json("--raw", "--max-tokens", "2", "The capital of France is")
        self.assertEqual(got["text"], " Paris.")
        self.assertEqual(got["finish_reason"], "length")

    def test_seeded_sampling_repeats_and_differs_by_seed(self):
        args = ("--temperature", "1.5", "Tell me a story about Leo and a boat.")
        first = self.run_json("--seed", "1", *args)
        self.assertEqual(first["tokens"], self.run_json("--seed", "1", *args)["tokens"])
        others = [self.run_json("--seed", str(s), *args)["tokens"] for s in range(2, 6)]
        self.assertTrue(any(o != first["tokens"] for o in others))

    def test_runs_without_a_tokenizer_on_ids(self):
        with tempfile.TemporaryDirectory() as copy:
            for name in ("config.json", "generation_config.json", "model.safetensors"):
                shutil.copy(os.path.join(self.model, name), copy)
            ids = ",".join(map(str, self.prompts["capital"]["ids"]))
            done = run("run", copy, "--tokens", ids)
            self.assertEqual(done.returncode, 0, done.stderr)
            want = self.expected["capital"]["greedy_ids"]
            self.assertEqual(done.stdout.decode().strip(), ",".join(map(str, want)))

    def test_refusals_name_the_setting_and_exit_2(self):
        cases = [
            (("--temperature", "-1", "x"), "temperature"),
            (("--top-p", "0", "x"), "top_p"),
            (("--greedy", "--temperature", "1", "x"), "--greedy"),
            (("--tokens", "1,x"), "--tokens"),
            (("--tokens", "99999"), "99999"),
            (("--tokens", "1", "--max-tokens", "0"), "max_tokens"),
            (("--context", "8", "--no-thinking", FRANCE), "context"),
            (("--kernels", "quantum", "x"), "quantum"),
            (("--threads", "-3", "x"), "threads"),
            (("--json",), "--json"),
            (("--logit-bias", "abc", "x"), "--logit-bias"),
            (("--top-logprobs", "21", "--json", "x"), "top_logprobs"),
        ]
        for args, name in cases:
            done = run("run", self.model, *args)
            self.assertEqual(done.returncode, 2, (args, done.stderr))
            self.assertIn(name, done.stderr.decode(), args)
            self.assertEqual(done.stdout, b"", args)

    def test_missing_model_is_one_line(self):
        done = run("run", "/nonexistent/model", "x")
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr.decode().count("\n"), 1)
        self.assertIn("/nonexistent/model", done.stderr.decode())


class NumericFaultTest(Tiny):
    def test_infinite_weights_end_the_answer_with_status_3(self):
        with tempfile.TemporaryDirectory() as copy:
            for name in os.listdir(self.model):
                shutil.copy(os.path.join(self.model, name), copy)
            poison(os.path.join(copy, "model.safetensors"), "model.norm.weight", b"\x80\x7f")
            done = run("run", copy, "--no-thinking", FRANCE)
            self.assertIn(done.returncode, (2, 3), done.stderr)
            self.assertNotIn("Paris", done.stdout.decode())
            inspected = run("inspect", "--deep", copy)
            self.assertEqual(inspected.returncode, 1, inspected.stderr)
            self.assertIn("model.norm.weight", inspected.stdout.decode())


def poison(path, tensor, value):
    """Overwrites the first bytes of a tensor's payload in a safetensors file."""
    with open(path, "r+b") as f:
        length = int.from_bytes(f.read(8), "little")
        begin = json.loads(f.read(length))[tensor]["data_offsets"][0]
        f.seek(8 + length + begin)
        f.write(value)


class ChatTest(Tiny):
    def test_two_turns_from_a_pipe(self):
        lines = b"Hello!\nWhat does the cow say?\n"
        done = run("run", self.model, "--no-thinking", stdin=lines)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("moo", done.stdout.decode().lower())

    def test_commands_on_a_terminal_and_interrupt(self):
        pid, terminal = pty.fork()
        if pid == 0:
            os.execv(PROGRAM, [PROGRAM, "run", self.model, "--no-thinking"])
        self.assertIn("/clear", talk(terminal, b"/help\n"))
        os.kill(pid, signal.SIGINT)
        self.assertIn("/exit", talk(terminal, b""))
        self.assertIn("Paris", talk(terminal, FRANCE.encode() + b"\n"))
        os.write(terminal, b"/exit\n")
        self.assertEqual(os.waitpid(pid, 0)[1], 0)


def talk(terminal, line, seconds=3.0):
    """Sends a line to the pseudo-terminal and returns what comes back until it is quiet."""
    os.set_blocking(terminal, False)
    os.write(terminal, line)
    out, end = b"", time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            out += os.read(terminal, 65536)
        except BlockingIOError:
            time.sleep(0.05)
        except OSError:
            break
    return out.decode(errors="replace")


class TokenizeTest(Tiny):
    def test_json_round_trip(self):
        text = "The capital of France, é 😀"
        got = json.loads(run("tokenize", self.model, "--json", text).stdout)
        self.assertEqual(got["count"], len(got["tokens"]))
        ids = ",".join(map(str, got["tokens"]))
        back = json.loads(run("tokenize", self.model, "--json", "--decode", ids).stdout)
        self.assertEqual(back["text"], text)

    def test_special_tokens_on_and_off(self):
        on = json.loads(run("tokenize", self.model, "--json", "<|user|>").stdout)
        off = json.loads(run("tokenize", self.model, "--json", "--plain", "<|user|>").stdout)
        self.assertEqual(on["count"], 1)
        self.assertGreater(off["count"], 1)

    def test_bad_ids_are_refused(self):
        done = run("tokenize", self.model, "--decode", "5000000")
        self.assertEqual(done.returncode, 2)
        self.assertIn("5000000", done.stderr.decode())


class InspectTest(Tiny):
    def test_clean_model_exits_0(self):
        done = run("inspect", "--deep", self.model)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("glm_moe_dsa", done.stdout.decode())

    def test_json_is_one_object(self):
        got = json.loads(run("inspect", "--json", self.model).stdout)
        self.assertEqual(got["model"]["family"], "glm_moe_dsa")

    def test_unusable_exits_2(self):
        with tempfile.TemporaryDirectory() as empty:
            self.assertEqual(run("inspect", empty).returncode, 2)


class HelpTest(unittest.TestCase):
    def test_every_verb_has_help_with_examples(self):
        top = run("--help")
        self.assertEqual(top.returncode, 0)
        for verb in ("run", "inspect", "tokenize"):
            self.assertIn(verb, top.stdout.decode())
            done = run(verb, "--help")
            self.assertEqual(done.returncode, 0)
            self.assertIn("Examples:", done.stdout.decode())

    def test_bad_usage_exits_2(self):
        for args in ((), ("fly",), ("run",), ("run", "m", "--no-such-flag")):
            self.assertEqual(run(*args).returncode, 2, args)


if __name__ == "__main__":
    PROGRAM, SOURCE = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
