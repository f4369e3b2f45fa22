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

    def test_thinks_by_default_and_shows_where_the_answer_begins(self):
        done = run("run", self.model, FRANCE)
        reasoning, answer = done.stdout.decode().split("</think>\n")
        self.assertTrue(reasoning.startswith("<think>"), reasoning)
        self.assertEqual(answer, "The capital of France is Paris.\n")

    def test_quiet_leaves_stderr_empty_and_a_cut_answer_says_length(self):
        quiet = run("run", self.model, "--quiet", "--no-thinking", FRANCE)
        self.assertEqual(quiet.stderr, b"")
        cut = run("run", self.model, "--no-thinking", "--max-tokens", "2", FRANCE)
        self.assertIn("length;", cut.stderr.decode())

    def test_invalid_utf8_names_the_prompt_and_the_byte(self):
        for args in (("run", self.model, "-"), ("run", self.model, "--raw", "-"),
                     ("tokenize", self.model, "-")):
            done = run(*args, stdin=b"ab\xff")
            self.assertEqual(done.returncode, 2, args)
            self.assertIn("byte 2", done.stderr.decode())
            self.assertIn("text_utf8", done.stderr.decode())

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
            (("--tokens", "1,,2"), "--tokens"),
            (("--tokens", "1,"), "--tokens"),
            (("--tokens", ""), "--tokens"),
            (("--raw", "--no-thinking", "x"), "chat.thinking"),
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


class EnvironmentTest(Tiny):
    """Streams and limits that a system may take away: no signal, no success that is none."""

    def shell(self, command):
        return subprocess.run(["bash", "-c", command.format(p=PROGRAM, m=self.model)],
                              capture_output=True, timeout=60)

    def test_output_that_is_lost_is_no_success(self):
        for verb in ("run {m} --no-thinking hi", "inspect {m}", "tokenize {m} hi", "explain {m}"):
            done = self.shell("{p} " + verb + " >/dev/full")
            self.assertEqual(done.returncode, 2, verb)
            self.assertIn("output_lost", done.stderr.decode(), verb)

    def test_stderr_that_cannot_be_written_changes_nothing(self):
        for redirect in ("2>&-", "2>/dev/full"):
            done = self.shell("{p} run {m} --no-thinking hi " + redirect)
            self.assertEqual(done.returncode, 0, redirect)
            self.assertEqual(self.shell("{p} run /nonexistent hi " + redirect).returncode, 2)

    def test_limits_of_memory_and_threads_are_errors(self):
        for limit in range(30_000, 200_000, 10_000):
            done = self.shell(f"ulimit -v {limit}; {{p}} run {{m}} --quiet --no-thinking hi")
            self.assertIn(done.returncode, (0, 2, 127), (limit, done.stderr))
        many = self.shell("ulimit -v 1000000; {p} run {m} --threads 1024 hi")
        self.assertEqual(many.returncode, 2, many.stderr)
        self.assertIn("threads", many.stderr.decode())


class NumericFaultTest(Tiny):
    def test_a_nan_block_scale_is_refused_at_load_with_its_place(self):
        with tempfile.TemporaryDirectory() as copy:
            for name in os.listdir(self.model):
                shutil.copy(os.path.join(self.model, name), copy)
            tensor = "model.layers.3.mlp.experts.5.down_proj.weight_scale"
            poison(os.path.join(copy, "model.safetensors"), tensor, b"\x40\x7f")
            done = run("run", copy, "--no-thinking", FRANCE)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertEqual(done.stdout, b"")
            self.assertIn(tensor, done.stderr.decode())
            self.assertIn("[0, 1]", done.stderr.decode())

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

    def test_text_files_that_run_would_refuse_are_problems(self):
        for name, text in (("tokenizer.json", "{"), ("chat_template.jinja", "{% if %}")):
            with tempfile.TemporaryDirectory() as copy:
                for file in os.listdir(self.model):
                    shutil.copy(os.path.join(self.model, file), copy)
                with open(os.path.join(copy, name), "w") as f:
                    f.write(text)
                done = run("inspect", copy)
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertIn(name, done.stdout.decode())

    def test_unusable_exits_2(self):
        with tempfile.TemporaryDirectory() as empty:
            self.assertEqual(run("inspect", empty).returncode, 2)


class ExplainTest(Tiny):
    def explain(self, *args, env=None):
        done = subprocess.run([PROGRAM, "explain", self.model, *args], capture_output=True,
                              timeout=60, env={**os.environ, **(env or {})})
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def test_every_source_with_its_origin(self):
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as f:
            f.write("[engine]\nchunk = 64\nthreads = 1\n[kv]\ndtype = \"f32\"\n")
            f.flush()
            status, out, _ = self.explain("--config", f.name, "--context", "512", "--json",
                                          env={"PELLUCID_ENGINE_THREADS": "2"})
            self.assertEqual(status, 0)
            settings = {s["key"]: s for s in json.loads(out)["settings"]}
            want = {"engine.chunk": ("file", f"{f.name}:2:9"), "kv.dtype": ("file", f"{f.name}:5:9"),
                    "engine.threads": ("env", "PELLUCID_ENGINE_THREADS"),
                    "engine.context": ("argv", "argv[5] --context")}
            for key, (source, origin) in want.items():
                self.assertEqual((settings[key]["source"], settings[key]["origin"]), (source, origin))
            overridden = settings["engine.threads"]["chain"][1]
            self.assertIn("overridden by PELLUCID_ENGINE_THREADS", overridden["reason"])

    def test_run_takes_the_same_settings_and_says_so(self):
        done = run("run", self.model, "--no-thinking", "--context", "256", FRANCE)
        self.assertEqual(done.stdout.decode(), "The capital of France is Paris.\n")
        self.assertIn("engine.context=256 (argv[4] --context)", done.stderr.decode())
        quiet = run("run", self.model, "--no-thinking", "--quiet", FRANCE)
        self.assertNotIn("config", quiet.stderr.decode())

    def test_refusals_exit_1_and_run_exits_2_with_both_sides(self):
        status, out, _ = self.explain("--context", "9000")
        self.assertEqual(status, 1)
        self.assertIn("--context 8192", out)
        done = run("run", self.model, "--context", "9000", "x")
        self.assertEqual(done.returncode, 2)
        for part in ("9000", "max_position_embeddings 8192", "--context 8192"):
            self.assertIn(part, done.stderr.decode())

    def test_a_device_that_is_not_here(self):
        status, out, _ = self.explain("--device", "sm_120:96GB", "x8")
        self.assertEqual(status, 1)
        self.assertIn("missing: cuda backend", out)
        self.assertIn("8 of them", out)
        self.assertEqual(self.explain("--device", "cpu-zen5:768GB")[0], 0)

    def test_what_if_why_and_diff(self):
        self.assertIn("changes nothing: kv.dtype was not set",
                      self.explain("--what-if", "-kv-dtype")[1])
        self.assertIn("bf16 -> f32", self.explain("--what-if", "kv.dtype=f32")[1])
        self.assertIn("kv.context_of_checkpoint", self.explain("--why", "context")[1])
        with tempfile.TemporaryDirectory() as folder:
            names = [os.path.join(folder, name) for name in ("a.toml", "b.toml")]
            for name, chunk in zip(names, (32, 64)):
                with open(name, "w") as f:
                    f.write(f"engine.chunk = {chunk}\n")
            status, out, _ = self.explain("--diff", *names)
            self.assertEqual(status, 0)
            self.assertIn("32 -> 64", out)

    def test_malformed_questions_exit_2_with_one_line(self):
        cases = [(("--treads", "2"), "did you mean --threads"),
                 (("--what-if", "thread=2"), "did you mean"),
                 (("--why", "engine.kernel"), "did you mean engine.kernels"),
                 (("--device", "sm_12"), "did you mean sm_120"),
                 (("--config", "/nonexistent.toml"), "nonexistent.toml"),
                 (("--why", "context", "--what-if", "-context"), "one of them"),
                 (("--", "--tp", "8"), "--as ENGINE"),
                 (("--as", "sglan"), "sglan"),
                 (("--as", "sglang", "--threads", "2"), "--threads")]
        for args, says in cases:
            status, out, err = self.explain(*args)
            self.assertEqual((status, out), (2, ""), args)
            self.assertIn(says, err)
            self.assertEqual(err.count("\n"), 1, args)
        status, _, err = self.explain(env={"PELLUCID_THREADS": "2"})
        self.assertEqual(status, 2)
        self.assertIn("did you mean PELLUCID_", err)


class PeersTest(unittest.TestCase):
    QUERY = ("explain", "GLM-5-NVFP4", "--as", "sglang@2026-02-18", "--device", "sm_120:96GB", "x8")
    FLAGS = ("--", "--attention-backend", "flashinfer", "--tp", "8")

    def test_the_prediction_shows_the_contradictions(self):
        done = run(*self.QUERY, *self.FLAGS)
        self.assertEqual(done.returncode, 1)
        for rule in ("kv_layout", "scale_format", "kv_scales"):
            self.assertIn(f"[{rule}]", done.stdout.decode())

    def test_unsetting_changes_nothing_and_bf16_does(self):
        nothing = run(*self.QUERY, "--what-if", "-kv-cache-dtype", *self.FLAGS)
        self.assertIn("changes nothing", nothing.stdout.decode())
        bf16 = run(*self.QUERY, "--what-if", "kv-cache-dtype=bf16", "--json", *self.FLAGS)
        self.assertNotIn("changes nothing", bf16.stdout.decode())

    def test_states_over_days(self):
        done = run("explain", "GLM-5", "--as", "sglang", "--device", "sm_120", "--over",
                   "2026-01-23..2026-09-30", "--", "--tp", "8")
        self.assertEqual(done.returncode, 0, done.stderr)
        for value in ("flashmla_kv", "bfloat16", "trtllm", "flashinfer_sparse_mla"):
            self.assertIn(value, done.stdout.decode())


class LogsTest(unittest.TestCase):
    LINE = b'[2026-02-18 10:00:00] server_args=ServerArgs(model_path="x", kv_cache_dtype="fp8_e4m3")\n'

    def test_expectations_decide_the_status(self):
        met = run("logs", "-", "--expect", "kv-cache-dtype=fp8_e4m3", stdin=self.LINE)
        self.assertEqual(met.returncode, 0, met.stdout)
        self.assertEqual(run("logs", "-", "--expect", "kv-cache-dtype=bf16",
                             stdin=self.LINE).returncode, 1)
        self.assertEqual(run("logs", "/nonexistent.log").returncode, 2)

    def test_follow_ends_as_soon_as_the_expectation_is_contradicted(self):
        with tempfile.NamedTemporaryFile() as f:
            follower = subprocess.Popen([PROGRAM, "logs", f.name, "--follow", "--expect",
                                         "kv-cache-dtype=bf16"], stdout=subprocess.PIPE)
            time.sleep(0.3)
            self.assertIsNone(follower.poll())
            f.write(self.LINE)
            f.flush()
            out, _ = follower.communicate(timeout=10)
            self.assertEqual(follower.returncode, 1)
            self.assertIn("contradicted", out.decode())


class HelpTest(unittest.TestCase):
    def test_every_verb_has_help_with_examples(self):
        top = run("--help")
        self.assertEqual(top.returncode, 0)
        for verb in ("run", "explain", "logs", "inspect", "tokenize"):
            self.assertIn(verb, top.stdout.decode())
            done = run(verb, "--help")
            self.assertEqual(done.returncode, 0)
            self.assertIn("Examples:", done.stdout.decode())

    def test_unknown_verb_is_named_with_the_nearest(self):
        done = run("runn", "--help")
        self.assertEqual(done.returncode, 2)
        self.assertIn("did you mean run", done.stderr.decode())

    def test_bad_usage_exits_2(self):
        for args in ((), ("fly",), ("run",), ("run", "m", "--no-such-flag")):
            self.assertEqual(run(*args).returncode, 2, args)


if __name__ == "__main__":
    PROGRAM, SOURCE = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
