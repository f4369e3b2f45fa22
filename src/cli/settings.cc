#include "cli/settings.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <map>
#include <random>
#include <string_view>

#include "base/check.h"
#include "base/env.h"
#include "base/file.h"
#include "config/logit_bias.h"
#include "config/setting.h"

namespace pellucid::cli {
namespace {

std::string help_text(const config::Setting& setting) {
  std::string text(setting.doc);
  if (!setting.choices.empty()) text += fmt::format("; {}", config::accepted(setting));
  if (setting.preset && !setting.preset->empty()) {
    text += fmt::format("; default {}", *setting.preset);
  }
  return text;
}

std::string value_name(const config::Setting& setting) {
  switch (setting.type) {
    case config::Type::kInt:
      return "N";
    case config::Type::kReal:
      return "X";
    case config::Type::kSize:
      return "SIZE";
    case config::Type::kChoice:
      return "NAME";
    case config::Type::kBool:
    case config::Type::kText:
    case config::Type::kTextList:
      break;
  }
  return setting.choices.empty() ? "TEXT" : "NAME";
}

void add_flag(CLI::App& app, const config::Setting& setting, const config::Flag& flag,
              SettingsFlags& flags) {
  const std::string name(flag.name);
  const std::string group(setting.group);
  if (flag.implied) {
    const std::string implied(*flag.implied);
    app.add_flag_function(
           name,
           [&flags, name, implied](std::int64_t) {
             flags.uses.push_back({.name = name, .text = implied});
           },
           fmt::format("{} {}", setting.key, implied))
        ->group(group);
    return;
  }
  app.add_option_function<std::vector<std::string>>(
         name,
         [&flags, name](const std::vector<std::string>& values) {
           for (const std::string& value : values) {
             flags.uses.push_back({.name = name, .text = value});
           }
         },
         help_text(setting))
      ->group(group)
      ->type_name(value_name(setting))
      ->allow_extra_args(false);
}

Expected<std::string> read_file(const std::string& path) {
  constexpr std::uint64_t kBytesMax = 1 << 20;
  const std::filesystem::path file(path);
  const std::filesystem::path parent = file.has_parent_path() ? file.parent_path() : ".";
  PELLUCID_TRY(const Directory directory, Directory::open(parent));
  return directory.read(file.filename().string(), kBytesMax);
}

Expected<std::vector<config::Declaration>> read_all(const SettingsFlags& flags,
                                                    const std::optional<std::string>& file) {
  PELLUCID_TRY(std::vector<config::Declaration> all, config::read_flags(flags.uses));
  PELLUCID_TRY(const auto variables, config::read_variables(process_environment()));
  all.insert(all.end(), variables.begin(), variables.end());
  if (!file) return all;
  PELLUCID_TRY(const std::string text, read_file(*file));
  PELLUCID_TRY(const auto entries, config::read_toml(text, *file));
  all.insert(all.end(), entries.begin(), entries.end());
  return all;
}

model::AttentionForm to_model(config::AttentionForm form) {
  switch (form) {
    case config::AttentionForm::kAbsorbed:
      return model::AttentionForm::kAbsorbed;
    case config::AttentionForm::kExpanded:
      return model::AttentionForm::kExpanded;
  }
  PELLUCID_CHECK(false && "unknown form");
  __builtin_unreachable();
}

model::AttentionScope to_model(config::AttentionScope scope) {
  switch (scope) {
    case config::AttentionScope::kSparse:
      return model::AttentionScope::kCheckpoint;
    case config::AttentionScope::kDense:
      return model::AttentionScope::kDense;
  }
  PELLUCID_CHECK(false && "unknown scope");
  __builtin_unreachable();
}

kv::KvDtype to_kv(config::KvDtype dtype) {
  switch (dtype) {
    case config::KvDtype::kBf16:
      return kv::KvDtype::kBf16;
    case config::KvDtype::kF32:
      return kv::KvDtype::kF32;
  }
  PELLUCID_CHECK(false && "unknown dtype");
  __builtin_unreachable();
}

/// 63 bits, so that the seed that --json shows can be typed again.
std::uint64_t random_seed() {
  std::random_device device;
  return ((static_cast<std::uint64_t>(device()) << 32) | device()) >> 1;
}

}  // namespace

void add_settings_flags(CLI::App& app, SettingsFlags& flags) {
  for (const config::Setting& setting : config::settings_table()) {
    for (const config::Flag& flag : setting.flags) add_flag(app, setting, flag, flags);
  }
  app.add_option_function<std::string>(
         "--config", [&flags](const std::string& path) { flags.file = path; },
         "settings from a TOML file; docs/settings.md lists the keys")
      ->type_name("FILE");
}

void locate_flags(SettingsFlags& flags, int argc, const char* const* argv) {
  std::map<std::string, int> last;  // position of the last use that was located
  for (config::FlagUse& use : flags.uses) {
    for (int i = last[use.name] + 1; i < argc; ++i) {
      const std::string_view argument = argv[i];
      if (argument != use.name && !argument.starts_with(use.name + "=")) continue;
      use.position = i;
      last[use.name] = i;
      break;
    }
  }
}

Expected<std::vector<config::Declaration>> read_declarations(const SettingsFlags& flags) {
  return read_all(flags, flags.file);
}

Expected<std::vector<config::Declaration>> read_declarations(const SettingsFlags& flags,
                                                             const std::string& file) {
  return read_all(flags, file);
}

engine::EngineOptions engine_options(const config::Settings& settings) {
  return {.ops = settings.engine.kernels,
          .threads = static_cast<int>(settings.engine.threads),
          .pin_threads = settings.engine.pin_threads,
          .kv_dtype = to_kv(settings.kv.dtype),
          .attention_form = to_model(settings.attention.form),
          .attention_scope = to_model(settings.attention.scope),
          .context_max = settings.engine.context,
          .sequences_max = settings.engine.sequences,
          .kv_tokens_max = settings.kv.tokens,
          .chunk_tokens = settings.engine.chunk,
          .id_limit = std::nullopt};
}

sampler::SamplingParams sampling_params(const config::SamplingSettings& settings) {
  sampler::SamplingParams params;
  params.temperature = settings.temperature;
  params.top_k = settings.top_k;
  params.top_p = settings.top_p;
  params.min_p = settings.min_p;
  params.repetition_penalty = settings.repetition_penalty;
  params.presence_penalty = settings.presence_penalty;
  params.frequency_penalty = settings.frequency_penalty;
  params.top_logprobs = static_cast<std::int32_t>(settings.top_logprobs);
  params.seed = settings.seed ? static_cast<std::uint64_t>(*settings.seed) : random_seed();
  for (const std::string& item : settings.logit_bias) {
    const auto bias = config::parse_logit_bias(item);
    PELLUCID_CHECK(bias.has_value());  // the table checked it
    params.logit_bias.push_back({bias->token, static_cast<float>(bias->bias)});
  }
  return params;
}

}  // namespace pellucid::cli
