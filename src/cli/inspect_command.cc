#include <utility>

#include "base/json.h"
#include "checkpoint/inspect.h"
#include "cli/cli.h"
#include "cli/terminal.h"
#include "observe/progress.h"
#include "tokenizer/chat_template.h"
#include "tokenizer/tokenizer.h"

namespace pellucid::cli {
namespace {

/// What `run` would refuse or miss: kNotFound is a note (ids still work), anything else an error.
void add_problem(checkpoint::Inspection& inspection, Error error) {
  const auto severity = error.kind == ErrorKind::kNotFound ? checkpoint::Severity::kNote
                                                           : checkpoint::Severity::kError;
  ++inspection.problem_counts[error.rule];
  inspection.problems.push_back({.severity = severity, .error = std::move(error)});
}

/// The files that turn text into ids are not the checkpoint's, and a model needs them all the same.
void inspect_text_side(checkpoint::Inspection& inspection, const std::string& model) {
  auto tokenizer = tokenizer::Tokenizer::load(model);
  if (!tokenizer) {
    add_problem(inspection, std::move(tokenizer).error());
  } else if (inspection.config && tokenizer->id_limit() > inspection.config->vocab_size) {
    add_problem(inspection,
                {.rule = "vocab_mismatch",
                 .object = "ids of the tokenizer",
                 .found = std::to_string(tokenizer->id_limit()) + " ids",
                 .expected = "at most vocab_size " + std::to_string(inspection.config->vocab_size) +
                             " of config.json",
                 .source = "tokenizer and config.json"});
  }
  auto chat_template = tokenizer::ChatTemplate::load(model);
  if (!chat_template) add_problem(inspection, std::move(chat_template).error());
}

}  // namespace

Expected<int> inspect_command(const InspectFlags& flags) {
  observe::Progress progress("reading weights", observe::Progress::Unit::kBytes);
  const auto on_progress = [&](std::uint64_t done, std::uint64_t total) {
    progress.update(done, total);
  };
  PELLUCID_TRY(checkpoint::Inspection inspection,
               checkpoint::inspect(flags.model, {.deep = flags.deep, .progress = on_progress}));
  progress.finish();
  inspect_text_side(inspection, flags.model);
  if (flags.json) {
    const json::Value object = checkpoint::to_json(inspection);
    write_out(json::dump(object, {.indent = 2, .key_separator = ": "}) + "\n");
  } else {
    write_out(terminal_safe(checkpoint::to_text(inspection)));
  }
  return inspection.exit_status();
}

}  // namespace pellucid::cli
