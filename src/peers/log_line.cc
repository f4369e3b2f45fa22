#include "peers/log_line.h"

#include <algorithm>
#include <array>

#include "peers/date.h"

namespace pellucid::peers {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
}

/// "DDDD-DD-DD DD:DD:DD" at the start.
bool starts_with_stamp(std::string_view text) {
  constexpr std::string_view kShape = "dddd-dd-dd dd:dd:dd";
  if (text.size() < kShape.size()) return false;
  for (std::size_t i = 0; i < kShape.size(); ++i) {
    if (kShape[i] == 'd' ? !is_digit(text[i]) : text[i] != kShape[i]) return false;
  }
  return true;
}

std::string_view after(std::string_view text, std::string_view mark) {
  return text.substr(std::min(text.find(mark) + mark.size(), text.size()));
}

/// "WARNING server_args.py:1177: MSG" -> MSG; the text itself if it has no such head.
std::string_view drop_level_and_file(std::string_view text) {
  const std::size_t space = text.find(' ');
  const std::size_t py = text.find(".py:");
  const std::size_t colon = py == std::string_view::npos ? py : text.find(": ", py);
  if (space == std::string_view::npos || colon == std::string_view::npos) return text;
  const std::string_view level = text.substr(0, space);
  const bool upper = std::ranges::all_of(level, [](char c) { return c >= 'A' && c <= 'Z'; });
  const bool one_word = text.substr(space + 1, py - space - 1).find(' ') == std::string_view::npos;
  return !level.empty() && upper && space < py && one_word ? text.substr(colon + 2) : text;
}

std::optional<LogLine> parse_sglang(std::string_view line) {
  if (line.starts_with("WARNING:sglang.") || line.starts_with("INFO:sglang.")) {
    return LogLine{LogEngine::kSglang, {}, after(after(line, ":"), ":")};
  }
  if (!line.starts_with('[') || !starts_with_stamp(line.substr(1))) return std::nullopt;
  const std::size_t close = line.find("] ");
  if (close == std::string_view::npos || close > 64) return std::nullopt;
  return LogLine{LogEngine::kSglang, line.substr(1, 10),
                 drop_level_and_file(line.substr(close + 2))};
}

/// "INFO 06-29 03:29:06 [model.py:601] MSG".
std::optional<LogLine> parse_vllm(std::string_view line) {
  constexpr std::array<std::string_view, 4> kLevels{"INFO ", "WARNING ", "ERROR ", "DEBUG "};
  for (const std::string_view level : kLevels) {
    if (!line.starts_with(level)) continue;
    const std::string_view rest = line.substr(level.size());
    if (rest.size() < 16 || !is_digit(rest[0]) || rest[2] != '-' || rest[8] != ':') continue;
    const std::size_t open = rest.find(" [");
    const std::size_t close = rest.find("] ");
    if (open == std::string_view::npos || close == std::string_view::npos || close < open) continue;
    return LogLine{LogEngine::kVllm, {}, rest.substr(close + 2)};
  }
  return std::nullopt;
}

bool is_llama(std::string_view line) {
  constexpr std::array<std::string_view, 8> kHeads{"llama_",      "ggml_",         "llm_load_",
                                                   "print_info:", "load_tensors:", "common_init_",
                                                   "GGML_ASSERT", "srv  "};
  return std::ranges::any_of(kHeads, [&](std::string_view head) { return line.starts_with(head); });
}

/// "(EngineCore_DP0 pid=1) " or Ray's "(name pid=1, ip=...) ".
std::string_view drop_process(std::string_view line) {
  if (!line.starts_with('(')) return line;
  const std::size_t close = line.find(") ");
  const std::size_t pid = line.find("pid=");
  if (close == std::string_view::npos || close > 128 || pid > close) return line;
  return line.substr(close + 2);
}

bool takes(char kind, char c) {
  if (kind == 'w') return is_word(c);
  if (kind == 'd') return is_digit(c) || c == ',';
  return is_digit(c) || c == '.';
}

bool scan_at(std::string_view text, std::string_view pattern,
             std::vector<std::string_view>& captures) {
  captures.clear();
  std::size_t at = 0;
  for (std::size_t p = 0; p < pattern.size(); ++p) {
    if (pattern[p] != '%') {
      if (at >= text.size() || text[at++] != pattern[p]) return false;
      continue;
    }
    const std::size_t from = at;
    ++p;
    while (at < text.size() && takes(pattern[p], text[at])) ++at;
    // "flashmla_kv." and "120," end in punctuation that belongs to the sentence.
    while (at > from && (text[at - 1] == '.' || text[at - 1] == ',')) --at;
    if (at == from) return false;
    captures.push_back(text.substr(from, at - from));
  }
  return true;
}

std::string unquote(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  if (text == "None") return {};
  const bool quoted = text.size() >= 2 && (text.front() == '\'' || text.front() == '"') &&
                      text.back() == text.front();
  return std::string(quoted ? text.substr(1, text.size() - 2) : text);
}

/// End of the item that starts at `from`: the next ',' or closing bracket at depth 0.
std::size_t item_end(std::string_view text, std::size_t from) {
  int depth = 0;
  char quote = 0;
  for (std::size_t i = from; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == '\\') {
        ++i;
      } else if (c == quote) {
        quote = 0;
      }
      continue;
    }
    if (c == '\'' || c == '"') quote = c;
    if (c == '(' || c == '[' || c == '{') ++depth;
    const bool closes = c == ')' || c == ']' || c == '}';
    if (depth == 0 && (c == ',' || closes)) return i;
    if (closes) --depth;
  }
  return text.size();
}

}  // namespace

std::string strip_escapes(std::string_view line) {
  std::string out;
  out.reserve(line.size());
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\r') continue;
    if (line[i] != '\x1b') {
      out += line[i];
      continue;
    }
    const char kind = i + 1 < line.size() ? line[++i] : '\0';
    if (kind == '[') {
      // Parameters and intermediates are 0x20..0x3f, the final byte is 0x40..0x7e.
      while (i + 1 < line.size() && line[i + 1] >= 0x20 && line[i + 1] <= 0x3f) ++i;
      if (i + 1 < line.size()) ++i;
    } else if (kind == ']') {
      while (i + 1 < line.size() && line[i + 1] != '\a' && line[i + 1] != '\x1b') ++i;
      if (i + 1 < line.size() && line[i + 1] == '\a') ++i;
    }
  }
  return out;
}

LogLine parse_line(std::string_view line) {
  const std::string_view body = drop_process(line);
  if (const auto sglang = parse_sglang(body)) return *sglang;
  if (const auto vllm = parse_vllm(body)) return *vllm;
  if (is_llama(body)) return {LogEngine::kLlamaCpp, {}, body};
  return {LogEngine::kUnknown, {}, body};
}

std::optional<std::vector<std::string_view>> scan(std::string_view text, std::string_view pattern) {
  std::vector<std::string_view> captures;
  const std::string_view head = pattern.substr(0, pattern.find('%'));
  if (head.empty()) {
    // A pattern that begins with a capture begins at the start of a word.
    for (std::size_t at = 0; at < text.size(); ++at) {
      if (at > 0 && is_word(text[at - 1])) continue;
      if (scan_at(text.substr(at), pattern, captures)) return captures;
    }
    return std::nullopt;
  }
  for (std::size_t at = text.find(head); at != std::string_view::npos;
       at = text.find(head, at + 1)) {
    if (scan_at(text.substr(at), pattern, captures)) return captures;
  }
  return std::nullopt;
}

std::vector<NamedValue> parse_python_items(std::string_view text, char separator,
                                           std::size_t items_max) {
  std::vector<NamedValue> out;
  std::size_t at = 0;
  while (at < text.size() && out.size() < items_max) {
    const std::size_t end = item_end(text, at);
    const std::string_view item = text.substr(at, end - at);
    const std::size_t middle = item.find(separator);
    if (middle != std::string_view::npos) {
      out.push_back({unquote(item.substr(0, middle)), unquote(item.substr(middle + 1))});
    }
    if (end >= text.size() || text[end] != ',') break;
    at = end + 1;
  }
  return out;
}

}  // namespace pellucid::peers
