// The log of a stranger's server: how it is cut into pieces changes nothing, and what is printed
// of it cannot steer a terminal.

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "fuzz.h"
#include "peers/log_reader.h"

using pellucid::peers::LogReader;
using pellucid::peers::LogReport;

namespace {

LogReport read(std::string_view text, std::size_t piece) {
  pellucid::peers::LogOptions options;
  options.expectations = {*pellucid::peers::parse_expectation("kv-cache-dtype=bf16")};
  options.line_bytes_max = 1024;
  LogReader reader(std::move(options));
  for (std::size_t at = 0; at < text.size(); at += piece) reader.push_bytes(text.substr(at, piece));
  reader.finish();
  return reader.report();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = as_text(data, size);
  const LogReport report = read(text, std::max<std::size_t>(size, 1));
  PELLUCID_CHECK(report.lines <= size);
  const std::string json = pellucid::json::dump(to_json(report));
  PELLUCID_CHECK(pellucid::utf8::is_valid(json));
  for (const std::size_t piece : {1, 7}) {
    PELLUCID_CHECK(pellucid::json::dump(to_json(read(text, piece))) == json);
  }
  const std::string shown = to_text(report);
  PELLUCID_CHECK(pellucid::utf8::is_valid(shown));
  PELLUCID_CHECK(std::all_of(shown.begin(), shown.end(), [](char c) {
    return c == '\n' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7F);
  }));
  return 0;
}
