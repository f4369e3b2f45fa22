#include <fmt/format.h>

#include "base/json.h"
#include "cli/cli.h"
#include "cli/facts.h"
#include "cli/terminal.h"
#include "config/explain.h"
#include "tokenizer/chat_template.h"
#include "tokenizer/tokenizer.h"

namespace pellucid::cli {
namespace {

Error usage(std::string object, std::string found, std::string expected) {
  return {.rule = "setting_conflict",
          .object = std::move(object),
          .found = std::move(found),
          .expected = std::move(expected),
          .source = "command line"};
}

/// At most one view at a time; each needs a model.
Expected<void> check_flags(const ExplainFlags& flags) {
  std::string views;
  const auto add = [&](bool asked, std::string_view name) {
    if (asked) views += (views.empty() ? "" : " and ") + std::string(name);
  };
  add(flags.why.has_value(), "--why");
  add(flags.what_if.has_value(), "--what-if");
  add(!flags.diff.empty(), "--diff");
  if (views.find(" and ") != std::string::npos) return fail(usage("explain", views, "one of them"));
  if (!flags.diff.empty() && flags.settings.file) {
    return fail(usage("--diff", "--config as well", "the two files of --diff only"));
  }
  if (!flags.model) return fail(usage("explain", "no model", "a model directory"));
  if (!flags.peer_flags.empty() || !flags.peer_environment.empty() || flags.over) {
    return fail(usage("explain", "flags or variables of another engine", "--as ENGINE as well"));
  }
  return {};
}

void print(const std::string& text, const json::Value& object, bool as_json) {
  if (as_json) {
    write_out(json::dump(object, {.indent = 2, .key_separator = ": "}) + "\n");
  } else {
    write_out(terminal_safe(text));
  }
}

/// A broken file refuses; a missing one is worth a note, since ids can be run without it.
void add_text_problem(const Error& error, config::CheckpointFacts& facts) {
  facts.problems.push_back({.refuses = error.kind != ErrorKind::kNotFound,
                            .rule = error.rule,
                            .text = error.to_string()});
}

/// The files that `run` reads beside the weights.
void check_text_files(const std::string& directory, config::CheckpointFacts& facts) {
  const auto tokenizer = tokenizer::Tokenizer::load(directory);
  if (!tokenizer) add_text_problem(tokenizer.error(), facts);
  const auto chat_template = tokenizer::ChatTemplate::load(directory);
  if (!chat_template) add_text_problem(chat_template.error(), facts);
}

Expected<int> show_all(const ExplainFlags& flags, const config::Resolution& resolution) {
  const config::ExplainStyle style{.all = flags.all, .width = terminal_width()};
  print(flags.json ? "" : config::explain_text(resolution, style),
        flags.json ? config::explain_json(resolution) : json::Value(), flags.json);
  return resolution.refusals().empty() ? kOk : kProblems;
}

Expected<int> show_why(const ExplainFlags& flags, const config::Resolution& resolution) {
  PELLUCID_TRY(const config::Setting* setting, config::named_setting(*flags.why, "--why"));
  if (!flags.json) {
    write_out(terminal_safe(config::why_text(resolution, *setting, {.width = terminal_width()})));
    return kOk;
  }
  const json::Value object = config::explain_json(resolution);
  for (const json::Value& entry : object.find("settings")->array()) {
    if (entry.find("key")->string() == setting->key) print("", entry, true);
  }
  return kOk;
}

Expected<int> show_what_if(const ExplainFlags& flags,
                           const std::vector<config::Declaration>& declarations,
                           const config::Facts& facts) {
  PELLUCID_TRY(const config::WhatIf result, config::what_if(declarations, facts, *flags.what_if));
  print(config::what_if_text(result, {.width = terminal_width()}), config::what_if_json(result),
        flags.json);
  return result.accepted ? kOk : kProblems;
}

Expected<int> show_diff(const ExplainFlags& flags, const config::Facts& facts) {
  PELLUCID_TRY(const auto first, read_declarations(flags.settings, flags.diff[0]));
  PELLUCID_TRY(const auto second, read_declarations(flags.settings, flags.diff[1]));
  PELLUCID_TRY(const config::Resolution before, config::resolve(first, facts));
  PELLUCID_TRY(const config::Resolution after, config::resolve(second, facts));
  const auto differences = config::compare(before, after);
  const std::string text = differences.empty()
                               ? "no difference\n"
                               : config::differences_text(differences, {.width = terminal_width()});
  print(text, json::Object{{"format", 1}, {"differences", config::differences_json(differences)}},
        flags.json);
  return kOk;
}

}  // namespace

Expected<int> explain_command(const ExplainFlags& flags) {
  if (flags.settings_page) {
    write_out(config::settings_page());
    return kOk;
  }
  if (flags.as) return explain_peer_command(flags);
  PELLUCID_TRY_VOID(check_flags(flags));
  PELLUCID_TRY(config::DeviceFacts device, read_device_facts(flags.device, flags.measure));
  PELLUCID_TRY(CheckpointReading checkpoint, read_checkpoint_facts(*flags.model));
  check_text_files(*flags.model, checkpoint.facts);
  const config::Facts facts{.checkpoint = std::move(checkpoint.facts), .device = std::move(device)};
  if (!flags.diff.empty()) return show_diff(flags, facts);
  PELLUCID_TRY(const auto declarations, read_declarations(flags.settings));
  if (flags.what_if) return show_what_if(flags, declarations, facts);
  PELLUCID_TRY(const config::Resolution resolution, config::resolve(declarations, facts));
  if (flags.why) return show_why(flags, resolution);
  return show_all(flags, resolution);
}

}  // namespace pellucid::cli
