#include <charconv>
#include <cstdio>

#include "base/utf8.h"
#include "cli/cli.h"

namespace pellucid::cli {

Expected<std::vector<std::int32_t>> parse_ids(const std::string& text, const std::string& setting) {
  std::vector<std::int32_t> ids;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  while (true) {
    std::int32_t id = 0;
    const auto [next, error] = std::from_chars(at, end, id);
    const bool more = next < end && *next == ',';
    if (error != std::errc() || id < 0 || (next < end && !more)) {
      const auto offset = static_cast<std::size_t>(at - text.data());
      return fail(
          {.rule = "setting_value",
           .object = setting,
           .found = "\"" + text.substr(offset, 20) + "\" at character " + std::to_string(offset),
           .expected = "token ids such as 1,2,3",
           .source = "command line"});
    }
    ids.push_back(id);
    if (!more) return ids;
    at = next + 1;
  }
}

Expected<void> check_utf8(std::string_view text, std::string_view source) {
  for (std::size_t i = 0; i < text.size();) {
    const utf8::Decoded d = utf8::decode(text, i);
    if (!d.valid) {
      return fail({.rule = "text_utf8",
                   .object = "byte " + std::to_string(i) + " of the text",
                   .found = utf8::escape_for_display(text.substr(i, d.length)),
                   .expected = "UTF-8",
                   .source = std::string(source),
                   .fix = "convert the text, for instance with iconv"});
    }
    i += d.length;
  }
  return {};
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
