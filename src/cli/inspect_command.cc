#include "base/json.h"
#include "checkpoint/inspect.h"
#include "cli/cli.h"
#include "cli/terminal.h"
#include "observe/progress.h"

namespace pellucid::cli {

Expected<int> inspect_command(const InspectFlags& flags) {
  observe::Progress progress("reading weights", observe::Progress::Unit::kBytes);
  const auto on_progress = [&](std::uint64_t done, std::uint64_t total) {
    progress.update(done, total);
  };
  PELLUCID_TRY(const checkpoint::Inspection inspection,
               checkpoint::inspect(flags.model, {.deep = flags.deep, .progress = on_progress}));
  progress.finish();
  if (flags.json) {
    const json::Value object = checkpoint::to_json(inspection);
    write_out(json::dump(object, {.indent = 2, .key_separator = ": "}) + "\n");
  } else {
    write_out(terminal_safe(checkpoint::to_text(inspection)));
  }
  return inspection.exit_status();
}

}  // namespace pellucid::cli
