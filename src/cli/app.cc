// Verbs and flags, declared with CLI11. Parsing errors name the flag; help has examples.

#include "cli/app.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <new>

#include "cli/cli.h"
#include "cli/terminal.h"
#include "config/nearest.h"
#include "peers/peers.h"

namespace pellucid::cli {
namespace {

template <class T>
CLI::Option* add_optional(CLI::App* app, const std::string& name, std::optional<T>& target,
                          const std::string& help) {
  return app->add_option_function<T>(name, [&target](const T& value) { target = value; }, help);
}

CLI::App* add_run(CLI::App& app, RunFlags& f) {
  CLI::App* run = app.add_subcommand("run", "answer a prompt, or chat when there is none");
  run->add_option("model", f.model, "model directory (Hugging Face layout)")->required();
  add_optional(run, "prompt", f.prompt, "the prompt; - reads standard input; none starts a chat");
  run->add_flag("--raw", f.raw, "no chat template: continue the prompt as it is");
  add_optional(run, "--tokens", f.tokens, "the prompt as ids, 1,2,3; needs no tokenizer");
  run->add_flag("--json", f.json, "one JSON object instead of text");
  run->add_flag("--quiet", f.quiet, "nothing on stderr but errors");
  add_settings_flags(*run, f.settings);
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

CLI::App* add_explain(CLI::App& app, ExplainFlags& f) {
  CLI::App* explain = app.add_subcommand(
      "explain", "every effective setting with its source and reason, before a weight is read");
  add_optional(explain, "model", f.model, "model directory; only headers are read");
  explain
      ->add_option(
          "--device", f.device,
          "host, or a machine that is not here: NAME[:MEMORY] [xN], such as sm_120:96GB x8")
      ->capture_default_str();
  explain->add_flag("--measure", f.measure, "measure the memory bandwidth of the host");
  explain->add_flag("--all", f.all, "settings at their defaults, too");
  add_optional(explain, "--why", f.why, "every voice in the choice of one setting")
      ->type_name("KEY");
  add_optional(explain, "--what-if", f.what_if,
               "only what would change: key=value, or -key to unset")
      ->type_name("CHANGE");
  explain->add_option("--diff", f.diff, "what differs between two configuration files")
      ->type_name("A.toml B.toml")
      ->expected(2);
  explain->add_flag("--json", f.json, "one JSON object (docs/formats/explain-json.md)");
  explain->add_flag("--settings-page", f.settings_page, "print docs/settings.md");
  const std::string peers = "Other engines";
  add_optional(
      explain, "--as", f.as,
      "predict what sglang, vllm, llama.cpp or ik_llama.cpp would do; its own flags after --")
      ->type_name("ENGINE[@DATE|@VERSION]")
      ->group(peers);
  add_optional(explain, "--over", f.over, "with --as: the days on which its settings changed")
      ->type_name("FIRST..LAST")
      ->group(peers);
  explain->add_option("--env", f.peer_environment, "a variable of that engine; repeatable")
      ->type_name("KEY=VAL")
      ->allow_extra_args(false)
      ->group(peers);
  add_settings_flags(*explain, f.settings);
  std::string known;
  for (const std::string_view name : peers::known_model_names()) known += " " + std::string(name);
  explain->footer(
      "With --as, the model may also be the name of a built-in description:" + known +
      "\nExamples:\n"
      "  pellucid explain models/tiny\n"
      "  pellucid explain models/tiny --context 4096 --why engine.context\n"
      "  pellucid explain models/tiny --what-if kv.dtype=f32\n"
      "  pellucid explain models/tiny --what-if -context\n"
      "  pellucid explain models/tiny --device cpu-zen5:768GB\n"
      "  pellucid explain models/tiny --diff a.toml b.toml\n"
      "  pellucid explain GLM-5-NVFP4 --as sglang@2026-02-18 --device sm_120:96GB x8 -- "
      "--attention-backend flashinfer\n"
      "  pellucid explain GLM-5 --as sglang --device sm_120 --over 2026-01-23..2026-09-30 -- --tp "
      "8\n"
      "Exit status: 0 it would start, 1 start-up would refuse or sides contradict each other, 2 "
      "the "
      "question is malformed.");
  return explain;
}

CLI::App* add_logs(CLI::App& app, LogsFlags& f) {
  CLI::App* logs = app.add_subcommand(
      "logs", "what an SGLang, vLLM or llama.cpp log says of settings, KV layout and crashes");
  logs->add_option("file", f.file, "the log; - reads standard input")->required();
  logs->add_flag("--follow", f.follow, "go on as the file grows, until every --expect is settled");
  logs->add_option("--expect", f.expect, "a setting that must be effective; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  logs->add_flag("--json", f.json, "one JSON object");
  logs->footer(
      "Examples:\n"
      "  pellucid logs server.log\n"
      "  pellucid logs server.log --follow --expect kv-cache-dtype=bfloat16\n"
      "Exit status: 0 sound, 1 a crash, a contradiction, an unmet expectation or no engine\n"
      "recognised, 2 unreadable.");
  return logs;
}

/// The arguments as CLI11 wants them, without the program and last first. "--device sm_120:96GB x8"
/// is two arguments for one value: the count joins it. What follows "explain ... --" is another
/// engine's and goes to `peer_flags`.
std::vector<std::string> parser_arguments(int argc, const char* const* argv,
                                          std::vector<std::string>& peer_flags) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const auto dashes = std::ranges::find(arguments, "--");
  if (!arguments.empty() && arguments.front() == "explain" && dashes != arguments.end()) {
    peer_flags.assign(dashes + 1, arguments.end());
    arguments.erase(dashes, arguments.end());
  }
  const auto is_count = [](const std::string& text) {
    return text.size() > 1 && text[0] == 'x' &&
           text.find_first_not_of("0123456789", 1) == std::string::npos;
  };
  for (std::size_t i = 0; i + 2 < arguments.size(); ++i) {
    if (arguments[i] != "--device" || !is_count(arguments[i + 2])) continue;
    arguments[i + 1] += " " + arguments[i + 2];
    arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(i) + 2);
  }
  std::ranges::reverse(arguments);
  return arguments;
}

/// The first argument that nothing takes, and the flag that was probably meant.
Error unknown_argument(const CLI::App& app) {
  const CLI::App* verb = &app;
  for (const CLI::App* subcommand : app.get_subcommands()) verb = subcommand;
  std::vector<std::string> flags;
  for (const CLI::Option* option : verb->get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  }
  const std::vector<std::string_view> names(flags.begin(), flags.end());
  const auto remaining = app.remaining(/*recurse=*/true);
  const std::string first = remaining.empty() ? "" : remaining.front();
  return {.kind = ErrorKind::kNotFound,
          .rule = "unknown_flag",
          .object = first,
          .expected = "an argument of pellucid " + verb->get_name() + " --help",
          .source = "command line",
          .fix = config::did_you_mean(first.substr(0, first.find('=')), names)};
}

/// A message longer than this is cut: it may quote a hostile value.
constexpr std::size_t kMessageBytesMax = 2000;

int report_error(const Error& error) {
  std::string text = terminal_safe(error.to_string());
  if (text.size() > kMessageBytesMax) text = text.substr(0, kMessageBytesMax) + "...";
  write_err("pellucid: error: " + text + "\n");
  return error.kind == ErrorKind::kNumeric ? kNumericFault : kUnusable;
}

int report(const Expected<int>& status) {
  if (!status) return report_error(status.error());
  if (!output_lost()) return *status;
  return report_error({.kind = ErrorKind::kIo,
                       .rule = "output_lost",
                       .object = "standard output",
                       .found = "a write that failed",
                       .expected = "room for the answer"});
}

/// The first word when it is no verb: CLI11 would only say that a verb is missing.
std::optional<Error> unknown_verb(const CLI::App& app, int argc, const char* const* argv) {
  const std::string first = argc > 1 ? argv[1] : "";
  if (first.empty() || first.starts_with('-')) return std::nullopt;
  std::vector<std::string> verbs;
  for (const CLI::App* verb : app.get_subcommands({})) verbs.push_back(verb->get_name());
  if (std::ranges::find(verbs, first) != verbs.end()) return std::nullopt;
  const std::vector<std::string_view> names(verbs.begin(), verbs.end());
  return Error{.kind = ErrorKind::kNotFound,
               .rule = "unknown_verb",
               .object = first,
               .expected = "a verb of pellucid --help",
               .source = "command line",
               .fix = config::did_you_mean(first, names)};
}

int run_verb(int argc, const char* const* argv) {
  CLI::App app("pellucid: an LLM inference engine that is never a black box", "pellucid");
  app.set_version_flag("--version", "pellucid " PELLUCID_VERSION);
  app.require_subcommand(1);
  RunFlags run_flags;
  TokenizeFlags tokenize_flags;
  InspectFlags inspect_flags;
  ExplainFlags explain_flags;
  LogsFlags logs_flags;
  const CLI::App* run = add_run(app, run_flags);
  const CLI::App* explain = add_explain(app, explain_flags);
  const CLI::App* tokenize = add_tokenize(app, tokenize_flags);
  const CLI::App* logs = add_logs(app, logs_flags);
  add_inspect(app, inspect_flags);
  if (const auto unknown = unknown_verb(app, argc, argv)) return report_error(*unknown);
  try {
    app.parse(parser_arguments(argc, argv, explain_flags.peer_flags));
  } catch (const CLI::ExtrasError&) {
    return report(fail(unknown_argument(app)));
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kOk : kUnusable;
  }
  locate_flags(run_flags.settings, argc, argv);
  locate_flags(explain_flags.settings, argc, argv);
  if (run->parsed()) return report(run_command(run_flags));
  if (explain->parsed()) return report(explain_command(explain_flags));
  if (logs->parsed()) return report(logs_command(logs_flags));
  if (tokenize->parsed()) return report(tokenize_command(tokenize_flags));
  return report(inspect_command(inspect_flags));
}

}  // namespace

int run_cli(int argc, const char* const* argv) {
  try {
    return run_verb(argc, argv);
  } catch (const std::bad_alloc&) {
    return report_error({.kind = ErrorKind::kLimit,
                         .rule = "out_of_memory",
                         .object = "memory",
                         .found = "an allocation that the system refused",
                         .expected = "more memory, or a higher limit (ulimit -v)"});
  }
}

}  // namespace pellucid::cli
