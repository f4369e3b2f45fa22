#include <charconv>
#include <cstdio>

#include "cli/cli.h"

namespace pellucid::cli {

Expected<std::vector<std::int32_t>> parse_ids(const std::string& text, const std::string& setting) {
  std::vector<std::int32_t> ids;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  const auto is_separator = [](char c) { return c == ',' || c == ' ' || c == '\n'; };
  while (at < end) {
    if (is_separator(*at)) {
      ++at;
      continue;
    }
    std::int32_t id = 0;
    const auto [next, error] = std::from_chars(at, end, id);
    if (error != std::errc() || id < 0 || (next < end && !is_separator(*next))) {
      return fail(
          {.rule = "setting_value",
           .object = setting,
           .found = "\"" + text.substr(static_cast<std::size_t>(at - text.data()), 20) + "\"",
           .expected = "token ids such as 1,2,3",
           .source = "command line"});
    }
    ids.push_back(id);
    at = next;
  }
  return ids;
}

Expected<std::string> read_standard_input() {
  constexpr std::size_t kBytesMax = 64U << 20;
  std::string text;
  char buffer[1 << 16];
  while (const std::size_t got = std::fread(buffer, 1, sizeof(buffer), stdin)) {
    text.append(buffer, got);
    if (text.size() > kBytesMax) {
      return fail({.kind = ErrorKind::kLimit,
                   .rule = "input_size",
                   .object = "standard input",
                   .found = "more than 64 MiB",
                   .expected = "at most 64 MiB",
                   .source = "-"});
    }
  }
  if (std::ferror(stdin) != 0) {
    return fail({.kind = ErrorKind::kIo, .rule = "file_io", .object = "read", .source = "-"});
  }
  return text;
}

}  // namespace pellucid::cli
