// The rows. Values and reasons that depend on the model or the machine are rules (rules/), not
// defaults: their rows have no preset.

#include "config/kernel_catalog.h"
#include "config/logit_bias.h"
#include "config/setting.h"
#include "config/store.h"

namespace pellucid::config {
namespace {

constexpr double kInt64Max = 9.2e18;       // below 2^63, so that every double up to it fits
constexpr double kTokensMax = 2147483647;  // positions are int32 in every kernel

constexpr std::string_view kEngine = "Engine";
constexpr std::string_view kSampling =
    "Sampling (default: the checkpoint's generation_config.json)";
constexpr std::string_view kChat = "Chat template";

std::vector<Setting> engine_rows() {
  return {
      row<&Settings::engine, &EngineSettings::kernels>(
          {.key = "engine.kernels",
           .group = kEngine,
           .owner = "kernels",
           .axis = true,
           .flags = {{"--kernels"}},
           .choices = kernel_table_names(),
           .preset = std::nullopt,
           .doc = "operator table; auto: the fastest that the CPU can run"}),
      row<&Settings::engine, &EngineSettings::threads>(
          {.key = "engine.threads",
           .group = kEngine,
           .owner = "engine",
           .axis = true,
           .flags = {{"--threads"}},
           .unit = "threads",
           .range = Range{1, 1024},
           .preset = std::nullopt,
           .auto_synonym = "0",
           .doc = "auto or 0: one per CPU that this process may use"}),
      row<&Settings::engine, &EngineSettings::pin_threads>(
          {.key = "engine.pin_threads",
           .group = kEngine,
           .owner = "engine",
           .axis = true,
           .flags = {{"--pin-threads", "true"}, {"--no-pin-threads", "false"}},
           .preset = "false",
           .doc = "bind each thread to one CPU; off, since two processes would share the CPUs"}),
      row<&Settings::engine, &EngineSettings::context>(
          {.key = "engine.context",
           .group = kEngine,
           .owner = "engine",
           .flags = {{"--context"}},
           .unit = "tokens",
           .range = Range{1, kTokensMax},
           .preset = std::nullopt,
           .doc = "tokens of prompt and answer; auto: the model's limit, at most 8192"}),
      row<&Settings::engine, &EngineSettings::chunk>(
          {.key = "engine.chunk",
           .group = kEngine,
           .owner = "engine",
           .axis = true,
           .flags = {{"--chunk"}},
           .unit = "tokens",
           .range = Range{1, kTokensMax},
           .preset = std::nullopt,
           .doc = "tokens of one prefill step; auto: 256, or the context if that is smaller"}),
      row<&Settings::engine, &EngineSettings::sequences>(
          {.key = "engine.sequences",
           .group = kEngine,
           .owner = "engine",
           .flags = {{"--sequences"}},
           .unit = "sequences",
           .range = Range{1, 1048576},
           .preset = "1",
           .doc = "sequences that the cache holds at a time"}),
  };
}

std::vector<Setting> model_rows() {
  return {
      row<&Settings::attention, &AttentionSettings::scope>(
          {.key = "attention.scope",
           .group = kEngine,
           .owner = "model",
           .axis = true,
           .flags = {{"--attention"}},
           .preset = std::nullopt,
           .doc =
               "sparse (the positions that the indexer selects) or dense (every position); auto: "
               "as the checkpoint says"}),
      row<&Settings::attention, &AttentionSettings::form>(
          {.key = "attention.form",
           .group = kEngine,
           .owner = "model",
           .axis = true,
           .flags = {{"--attention-form"}},
           .preset = std::nullopt,
           .doc = "absorbed (on cached latents) or expanded (keys and values per head)"}),
      row<&Settings::kv, &KvSettings::dtype>({.key = "kv.dtype",
                                              .group = kEngine,
                                              .owner = "kv",
                                              .axis = true,
                                              .flags = {{"--kv-dtype"}},
                                              .preset = std::nullopt,
                                              .doc = "rows of the KV cache"}),
      row<&Settings::kv, &KvSettings::tokens>(
          {.key = "kv.tokens",
           .group = kEngine,
           .owner = "kv",
           .flags = {{"--kv-tokens"}},
           .unit = "tokens",
           .range = Range{1, kInt64Max},
           .preset = std::nullopt,
           .doc = "cached tokens of all sequences together; auto: a full context for each"}),
      row<&Settings::memory, &MemorySettings::budget>(
          {.key = "memory.budget",
           .group = kEngine,
           .owner = "engine",
           .flags = {{"--memory-budget"}},
           .unit = "bytes",
           .range = Range{1, kInt64Max},
           .preset = std::nullopt,
           .doc =
               "most memory for the KV cache and scratch; auto: what the machine has available"}),
  };
}

std::vector<Setting> sampling_rows() {
  return {
      row<&Settings::sampling, &SamplingSettings::temperature>(
          {.key = "sampling.temperature",
           .group = kSampling,
           .owner = "sampler",
           .scope = Scope::kRequest,
           .flags = {{"--temperature"}, {"--greedy", "0"}},
           .range = Range{0, 100},
           .preset = "1",
           .doc = "0 is greedy: always the most probable token"}),
      row<&Settings::sampling, &SamplingSettings::top_k>(
          {.key = "sampling.top_k",
           .group = kSampling,
           .owner = "sampler",
           .scope = Scope::kRequest,
           .flags = {{"--top-k"}},
           .unit = "tokens",
           .range = Range{0, kInt64Max},
           .preset = "0",
           .doc = "keep the K most probable tokens; 0: all"}),
      row<&Settings::sampling, &SamplingSettings::top_p>(
          {.key = "sampling.top_p",
           .group = kSampling,
           .owner = "sampler",
           .scope = Scope::kRequest,
           .flags = {{"--top-p"}},
           .range = Range{0, 1, true},
           .preset = "1",
           .doc = "keep the smallest set of tokens of mass P; 1: all"}),
      row<&Settings::sampling, &SamplingSettings::min_p>(
          {.key = "sampling.min_p",
           .group = kSampling,
           .owner = "sampler",
           .scope = Scope::kRequest,
           .flags = {{"--min-p"}},
           .range = Range{0, 1},
           .preset = "0",
           .doc = "drop tokens below P times the best; 0: none"}),
      row<&Settings::sampling, &SamplingSettings::repetition_penalty>(
          {.key = "sampling.repetition_penalty",
           .group = kSampling,
           .owner = "sampler",
           .scope = Scope::kRequest,
           .flags = {{"--repetition-penalty"}},
           .range = Range{0.01, 100},
           .preset = "1",
           .doc = "divides positive logits of tokens seen so far; 1: off"}),
      row<&Settings::sampling, &SamplingSettings::presence_penalty>(
          {.key = "sampling.presence_penalty",
           .group = kSampling,
           .owner = "sampler",
           .scope = Scope::kRequest,
           .flags = {{"--presence-penalty"}},
           .range = Range{-2, 2},
           .preset = "0",
           .doc = "subtracted once per token already in the answer"}),
      row<&Settings::sampling, &SamplingSettings::frequency_penalty>(
          {.key = "sampling.frequency_penalty",
           .group = kSampling,
           .owner = "sampler",
           .scope = Scope::kRequest,
           .flags = {{"--frequency-penalty"}},
           .range = Range{-2, 2},
           .preset = "0",
           .doc = "subtracted per occurrence in the answer"}),
  };
}

std::vector<Setting> answer_rows() {
  return {
      row<&Settings::sampling, &SamplingSettings::logit_bias>(
          {.key = "sampling.logit_bias",
           .group = kSampling,
           .owner = "sampler",
           .scope = Scope::kRequest,
           .flags = {{"--logit-bias"}},
           .preset = "",
           .doc = "ID=BIAS added to a logit, -100 to 100; -100 bans the token; repeatable",
           .check_item = check_logit_bias}),
      row<&Settings::sampling, &SamplingSettings::seed>(
          {.key = "sampling.seed",
           .group = kSampling,
           .owner = "sampler",
           .scope = Scope::kRequest,
           .flags = {{"--seed"}},
           .range = Range{0, kInt64Max},
           .preset = std::nullopt,
           .doc = "seed of the draw; auto: drawn when the answer starts, shown by --json"}),
      row<&Settings::sampling, &SamplingSettings::top_logprobs>(
          {.key = "sampling.top_logprobs",
           .group = kSampling,
           .owner = "sampler",
           .scope = Scope::kRequest,
           .flags = {{"--top-logprobs"}},
           .unit = "tokens",
           .range = Range{0, 20},
           .preset = "0",
           .doc = "with --json: the K best tokens of each step"}),
      row<&Settings::sampling, &SamplingSettings::max_tokens>(
          {.key = "sampling.max_tokens",
           .group = kSampling,
           .owner = "engine",
           .scope = Scope::kRequest,
           .flags = {{"--max-tokens"}},
           .unit = "tokens",
           .range = Range{1, kTokensMax},
           .preset = std::nullopt,
           .doc = "tokens of the answer; auto: what is left of the context"}),
      row<&Settings::chat, &ChatSettings::thinking>(
          {.key = "chat.thinking",
           .group = kChat,
           .owner = "tokenizer",
           .scope = Scope::kRequest,
           .flags = {{"--thinking", "true"}, {"--no-thinking", "false"}},
           .preset = "true",
           .doc = "ask the template for reasoning before the answer"}),
      row<&Settings::chat, &ChatSettings::reasoning_effort>(
          {.key = "chat.reasoning_effort",
           .group = kChat,
           .owner = "tokenizer",
           .scope = Scope::kRequest,
           .flags = {{"--reasoning-effort"}},
           .preset = std::nullopt,
           .doc = "passed to the template, such as high; unset: the template decides"}),
      row<&Settings::chat, &ChatSettings::system>({.key = "chat.system",
                                                   .group = kChat,
                                                   .owner = "tokenizer",
                                                   .scope = Scope::kRequest,
                                                   .flags = {{"--system"}},
                                                   .preset = std::nullopt,
                                                   .doc = "system message"}),
  };
}

std::vector<Setting> all_rows() {
  std::vector<Setting> rows;
  for (auto* part : {&engine_rows, &model_rows, &sampling_rows, &answer_rows}) {
    for (Setting& setting : (*part)()) rows.push_back(std::move(setting));
  }
  return rows;
}

}  // namespace

std::span<const Setting> settings_table() {
  static const std::vector<Setting> kRows = all_rows();
  return kRows;
}

}  // namespace pellucid::config
