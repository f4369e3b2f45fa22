// Verbs and flags, declared with CLI11. Parsing errors name the flag; help has examples.

#include "cli/app.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <functional>

#include "cli/cli.h"
#include "cli/terminal.h"

namespace pellucid::cli {
namespace {

template <class T>
CLI::Option* add_optional(CLI::App* app, const std::string& name, std::optional<T>& target,
                          const std::string& help) {
  return app->add_option_function<T>(name, [&target](const T& value) { target = value; }, help);
}

void add_sampling_flags(CLI::App* app, SamplingFlags& f) {
  const std::string group = "Sampling (default: the checkpoint's generation_config.json)";
  app->add_flag("--greedy", f.greedy, "always the most probable token")->group(group);
  add_optional(app, "--temperature", f.temperature, "0 to 100; 0 is greedy")->group(group);
  add_optional(app, "--top-k", f.top_k, "keep the K most probable tokens; 0: all")->group(group);
  add_optional(app, "--top-p", f.top_p, "keep the smallest set of mass P; 1: all")->group(group);
  add_optional(app, "--min-p", f.min_p, "drop tokens below P times the best; 0: none")
      ->group(group);
  add_optional(app, "--repetition-penalty", f.repetition_penalty,
               "divides positive logits of tokens seen so far; 1: off")
      ->group(group);
  add_optional(app, "--presence-penalty", f.presence_penalty,
               "subtracted once per token already in the answer; -2 to 2")
      ->group(group);
  add_optional(app, "--frequency-penalty", f.frequency_penalty,
               "subtracted per occurrence in the answer; -2 to 2")
      ->group(group);
  app->add_option("--logit-bias", f.logit_bias, "ID=BIAS added to a logit; -100 bans; repeatable")
      ->group(group)
      ->allow_extra_args(false);
  add_optional(app, "--seed", f.seed, "seed of the draw; default: random, shown by --json")
      ->group(group);
  app->add_option("--top-logprobs", f.top_logprobs,
                  "with --json: the K best tokens of each step, 0 to 20")
      ->group(group);
}

void add_engine_flags(CLI::App* app, engine::EngineOptions& o) {
  const std::string group = "Engine";
  app->add_option("--threads", o.threads, "0: one per CPU this process may use")
      ->group(group)
      ->capture_default_str();
  add_optional(app, "--context", o.context_max,
               fmt::format("tokens of prompt and answer; default: the model's limit, at most {}",
                           engine::kDefaultContext))
      ->group(group);
  app->add_option("--chunk", o.chunk_tokens, "tokens of one prefill step")
      ->group(group)
      ->capture_default_str();
  app->add_option("--kernels", o.ops, "reference, generic, avx2, or auto: the fastest here")
      ->group(group)
      ->capture_default_str();
  app->add_option("--kv-dtype", o.kv_dtype, "bf16 or f32 rows in the KV cache; default bf16")
      ->group(group)
      ->transform(CLI::CheckedTransformer(std::map<std::string, kv::KvDtype>{
          {"bf16", kv::KvDtype::kBf16}, {"f32", kv::KvDtype::kF32}}));
  app->add_option("--attention-form", o.attention_form,
                  "absorbed (on cached latents) or expanded (keys and values); default absorbed")
      ->group(group)
      ->transform(CLI::CheckedTransformer(std::map<std::string, model::AttentionForm>{
          {"absorbed", model::AttentionForm::kAbsorbed},
          {"expanded", model::AttentionForm::kExpanded}}));
  app->add_option("--attention", o.attention_scope,
                  "sparse (as the checkpoint says) or dense (every position); default sparse")
      ->group(group)
      ->transform(CLI::CheckedTransformer(std::map<std::string, model::AttentionScope>{
          {"sparse", model::AttentionScope::kCheckpoint},
          {"dense", model::AttentionScope::kDense}}));
}

CLI::App* add_run(CLI::App& app, RunFlags& f) {
  CLI::App* run = app.add_subcommand("run", "answer a prompt, or chat when there is none");
  run->add_option("model", f.model, "model directory (Hugging Face layout)")->required();
  add_optional(run, "prompt", f.prompt, "the prompt; - reads standard input; none starts a chat");
  add_optional(run, "--system", f.system, "system message");
  add_optional(run, "--max-tokens", f.max_tokens, "tokens of the answer; default: what fits");
  run->add_flag("--no-thinking", f.no_thinking, "ask the template to switch reasoning off");
  add_optional(run, "--reasoning-effort", f.reasoning_effort,
               "passed to the template, such as high");
  run->add_flag("--raw", f.raw, "no chat template: continue the prompt as it is");
  add_optional(run, "--tokens", f.tokens, "the prompt as ids, 1,2,3; needs no tokenizer");
  run->add_flag("--json", f.json, "one JSON object instead of text");
  add_sampling_flags(run, f.sampling);
  add_engine_flags(run, f.engine);
  run->footer(
      "Examples:\n"
      "  pellucid run models/tiny \"What is the capital of France?\"\n"
      "  pellucid run models/tiny --no-thinking --json \"What is 7 plus 5?\"\n"
      "  echo \"Who are you?\" | pellucid run models/tiny -\n"
      "  pellucid run models/tiny --tokens 1244,1246,1249 --max-tokens 8\n"
      "  pellucid run models/tiny                      (chat; /help inside)\n"
      "Exit status: 0 answered, 2 refused, 3 a value was not finite, 130 interrupted.");
  return run;
}

CLI::App* add_tokenize(CLI::App& app, TokenizeFlags& f) {
  CLI::App* tokenize = app.add_subcommand("tokenize", "text to token ids, and back");
  tokenize->add_option("model", f.model, "model directory")->required();
  add_optional(tokenize, "text", f.text, "the text; - reads standard input");
  add_optional(tokenize, "--decode", f.decode, "ids to text: 1,2,3");
  tokenize->add_flag("--plain", f.plain, "special tokens in the text are ordinary text");
  tokenize->add_flag("--json", f.json, "one JSON object");
  tokenize->footer(
      "Examples:\n"
      "  pellucid tokenize models/tiny \"The capital of France\"\n"
      "  pellucid tokenize models/tiny --json --plain \"<|user|>\"\n"
      "  pellucid tokenize models/tiny --decode 404,452,322");
  return tokenize;
}

CLI::App* add_inspect(CLI::App& app, InspectFlags& f) {
  CLI::App* inspect =
      app.add_subcommand("inspect", "what a checkpoint is, and what is wrong with it");
  inspect->add_option("model", f.model, "model directory")->required();
  inspect->add_flag("--deep", f.deep, "read every payload: non-finite weights, bad scales");
  inspect->add_flag("--json", f.json, "one JSON object");
  inspect->footer(
      "Examples:\n"
      "  pellucid inspect models/tiny\n"
      "  pellucid inspect --deep --json models/tiny\n"
      "Exit status: 0 clean, 1 problems found, 2 unusable.");
  return inspect;
}

int report(const Expected<int>& status) {
  if (status) return *status;
  const Error& error = status.error();
  fmt::print(stderr, "pellucid: error: {}\n", terminal_safe(error.to_string()));
  return error.kind == ErrorKind::kNumeric ? kNumericFault : kUnusable;
}

}  // namespace

int run_cli(int argc, const char* const* argv) {
  CLI::App app("pellucid: an LLM inference engine that is never a black box", "pellucid");
  app.set_version_flag("--version", "pellucid " PELLUCID_VERSION);
  app.require_subcommand(1);
  RunFlags run_flags;
  TokenizeFlags tokenize_flags;
  InspectFlags inspect_flags;
  const CLI::App* run = add_run(app, run_flags);
  const CLI::App* tokenize = add_tokenize(app, tokenize_flags);
  add_inspect(app, inspect_flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kOk : kUnusable;
  }
  if (run->parsed()) return report(run_command(run_flags));
  if (tokenize->parsed()) return report(tokenize_command(tokenize_flags));
  return report(inspect_command(inspect_flags));
}

}  // namespace pellucid::cli
