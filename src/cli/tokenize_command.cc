#include <fmt/format.h>

#include "base/json.h"
#include "base/utf8.h"
#include "cli/cli.h"
#include "cli/terminal.h"
#include "tokenizer/tokenizer.h"

namespace pellucid::cli {
namespace {

Expected<int> decode(const tokenizer::Tokenizer& tokenizer, const TokenizeFlags& flags) {
  PELLUCID_TRY(const std::vector<std::int32_t> ids, parse_ids(*flags.decode, "--decode"));
  PELLUCID_TRY(const std::string bytes, tokenizer.decode_bytes(ids));
  const std::string text = utf8::replace_invalid(bytes);
  if (flags.json) {
    write_out(json::dump(json::Object{{"text", text}}) + "\n");
  } else {
    write_out((stdout_is_terminal() ? terminal_safe(text) : bytes) + "\n");
  }
  return kOk;
}

std::string piece_of(const tokenizer::Tokenizer& tokenizer, std::int32_t id) {
  return std::string(tokenizer.bytes_of(id).value_or(""));
}

}  // namespace

Expected<int> tokenize_command(const TokenizeFlags& flags) {
  if (flags.text.has_value() == flags.decode.has_value()) {
    return fail({.rule = "setting_conflict",
                 .object = "tokenize",
                 .found = flags.text ? "a text and --decode" : "neither a text nor --decode",
                 .expected = "one of them",
                 .source = "command line"});
  }
  if (flags.decode && flags.plain) {
    return fail({.rule = "setting_conflict",
                 .object = "--decode and --plain",
                 .expected = "--plain with a text: it says how the text is read",
                 .source = "command line"});
  }
  PELLUCID_TRY(const tokenizer::Tokenizer tokenizer, tokenizer::Tokenizer::load(flags.model));
  if (flags.decode) return decode(tokenizer, flags);
  std::string text = *flags.text;
  if (text == "-") {
    PELLUCID_TRY(text, read_standard_input());
  }
  PELLUCID_TRY_VOID(check_utf8(text, *flags.text == "-" ? "-" : "text"));
  PELLUCID_TRY(const std::vector<std::int32_t> ids,
               tokenizer.encode(text, flags.plain ? tokenizer::Special::kAsText
                                                  : tokenizer::Special::kAsTokens));
  if (flags.json) {
    json::Array id_array;
    json::Array pieces;
    for (const std::int32_t id : ids) {
      id_array.emplace_back(static_cast<std::int64_t>(id));
      pieces.emplace_back(utf8::replace_invalid(piece_of(tokenizer, id)));
    }
    const json::Value object = json::Object{{"tokens", std::move(id_array)},
                                            {"pieces", std::move(pieces)},
                                            {"count", static_cast<std::int64_t>(ids.size())}};
    write_out(json::dump(object) + "\n");
    return kOk;
  }
  std::string lines;
  for (const std::int32_t id : ids) {
    lines += fmt::format("{:>8}  {}\n", id, utf8::escape_for_display(piece_of(tokenizer, id)));
  }
  write_out(lines + fmt::format("{} tokens\n", ids.size()));
  return kOk;
}

}  // namespace pellucid::cli
