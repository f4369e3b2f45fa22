#include "peers/flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/utf8.h"
#include "config/nearest.h"
#include "peers/condition.h"

namespace pellucid::peers {
namespace {

constexpr std::size_t kArgumentsMax = 4096;

bool is_number(std::string_view text) {
  double out = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, out);
  return error == std::errc() && stop == end && !text.empty();
}

/// "-1" is a value; "-1x", "--tp" and "-c" are flags.
bool looks_like_flag(std::string_view text) {
  return text.size() >= 2 && text[0] == '-' && !is_number(text);
}

std::string shown(std::string_view text) {
  return utf8::escape_for_display(text.substr(0, 200));
}

const FlagDef* exact_flag(const Pack& pack, std::string_view name, Date date) {
  for (const FlagDef& flag : pack.flags) {
    if (!flag.dates.empty() && !contains(flag.dates, date)) continue;
    if (std::ranges::find(flag.names, name) != flag.names.end()) return &flag;
  }
  return nullptr;
}

std::vector<std::string> all_names(const Pack& pack) {
  std::vector<std::string> out;
  for (const FlagDef& flag : pack.flags)
    out.insert(out.end(), flag.names.begin(), flag.names.end());
  return out;
}

std::string join(std::span<const std::string> words, std::string_view separator) {
  std::string out;
  for (const std::string& word : words) {
    if (!out.empty()) out += separator;
    out += word;
  }
  return out;
}

Error value_error(std::string_view flag, std::string_view found, std::string expected) {
  return {.kind = ErrorKind::kInvalid,
          .rule = "peer_flag_value",
          .object = shown(flag),
          .found = shown(found),
          .expected = std::move(expected),
          .source = "flags after --"};
}

Expected<void> check_value(const FlagUse& use) {
  using Kind = FlagDef::Kind;
  std::int64_t integer = 0;
  if (use.flag->kind == Kind::kInteger && !parse_integer(use.typed, integer)) {
    return fail(value_error(use.name, use.typed, "an integer"));
  }
  if (use.flag->kind == Kind::kNumber && !is_number(use.typed)) {
    return fail(value_error(use.name, use.typed, "a number"));
  }
  const std::vector<std::string>& choices = use.flag->choices;
  if (choices.empty() || std::ranges::find(choices, use.typed) != choices.end()) return {};
  Error error = value_error(use.name, use.typed, "one of " + join(choices, ", "));
  const std::string near = nearest(use.typed, choices);
  if (!near.empty()) error.fix = "did you mean " + near + "?";
  return fail(std::move(error));
}

struct Token {
  std::string_view name;
  std::optional<std::string_view> value;  ///< of --name=value
};

Token split(std::string_view argument) {
  const std::size_t equals = argument.find('=');
  if (!argument.starts_with("--") || equals == std::string_view::npos) return {argument, {}};
  return {argument.substr(0, equals), argument.substr(equals + 1)};
}

/// An unknown flag takes what follows it, as far as that does not look like a flag.
std::string take_unknown(const Pack& pack, std::span<const std::string> argv, std::size_t& i,
                         const Token& token) {
  std::string text = shown(argv[i]);
  std::size_t next = i + 1;
  while (next < argv.size() && !looks_like_flag(argv[next])) text += " " + shown(argv[next++]);
  i = next;
  const std::string near = nearest(token.name, all_names(pack));
  if (near == token.name) return text + " (not a flag on this date)";
  if (!near.empty()) return text + " (did you mean " + near + "?)";
  return text;
}

Expected<FlagUse> take_known(const FlagDef& flag, std::span<const std::string> argv, std::size_t i,
                             const Token& token) {
  FlagUse use;
  use.flag = &flag;
  use.name = token.name;
  use.first = i;
  use.origin = fmt::format("{} (argument {})", token.name, i + 1);
  if (flag.kind == FlagDef::Kind::kSwitch) {
    if (token.value) return fail(value_error(token.name, *token.value, "no value"));
    use.typed = "true";
    use.value = flag.value;
    return use;
  }
  if (!token.value && (i + 1 >= argv.size() || looks_like_flag(argv[i + 1]))) {
    return fail(value_error(token.name, "nothing", "a value"));
  }
  use.count = token.value ? 1 : 2;
  use.typed = token.value ? std::string(*token.value) : argv[i + 1];
  PELLUCID_TRY_VOID(check_value(use));
  const auto alias = flag.alias.find(use.typed);
  use.value = alias == flag.alias.end() ? use.typed : alias->second;
  return use;
}

std::string canonical(std::string_view key) {
  key.remove_prefix(std::min(key.find_first_not_of('-'), key.size()));
  std::string out(key);
  std::ranges::replace(out, '_', '-');
  return out;
}

}  // namespace

std::string nearest(std::string_view word, std::span<const std::string> candidates) {
  constexpr std::size_t kWordMax = 64;
  if (word.size() > kWordMax) return {};
  const std::vector<std::string_view> names(candidates.begin(), candidates.end());
  return std::string(config::nearest(word, names));
}

const FlagDef* find_flag(const Pack& pack, std::string_view key) {
  const std::string wanted = canonical(key);
  for (const FlagDef& flag : pack.flags) {
    for (const std::string& name : flag.names) {
      if (canonical(name) == wanted) return &flag;
    }
  }
  for (const FlagDef& flag : pack.flags) {
    if (!flag.setting.empty() && canonical(flag.setting) == wanted) return &flag;
  }
  return nullptr;
}

Expected<ParsedFlags> parse_flags(const Pack& pack, std::span<const std::string> argv, Date date) {
  if (argv.size() > kArgumentsMax) {
    return fail({.kind = ErrorKind::kLimit,
                 .rule = "peer_flag_stray",
                 .object = "flags after --",
                 .found = fmt::format("{} arguments", argv.size()),
                 .expected = fmt::format("at most {}", kArgumentsMax)});
  }
  ParsedFlags out;
  for (std::size_t i = 0; i < argv.size();) {
    if (!looks_like_flag(argv[i])) {
      return fail({.kind = ErrorKind::kInvalid,
                   .rule = "peer_flag_stray",
                   .object = fmt::format("argument {} after --", i + 1),
                   .found = shown(argv[i]),
                   .expected = fmt::format("a flag of {}", pack.engine)});
    }
    const Token token = split(argv[i]);
    const FlagDef* flag = exact_flag(pack, token.name, date);
    if (flag == nullptr) {
      out.not_modelled.push_back(take_unknown(pack, argv, i, token));
      continue;
    }
    PELLUCID_TRY(FlagUse use, take_known(*flag, argv, i, token));
    i += use.count;
    out.uses.push_back(std::move(use));
  }
  return out;
}

Expected<std::vector<Variable>> parse_environment(std::span<const std::string> env) {
  std::vector<Variable> out;
  for (const std::string& entry : env) {
    const std::size_t equals = entry.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return fail({.kind = ErrorKind::kInvalid,
                   .rule = "peer_env",
                   .object = "environment variable",
                   .found = shown(entry),
                   .expected = "KEY=VALUE"});
    }
    out.push_back({entry.substr(0, equals), entry.substr(equals + 1)});
  }
  return out;
}

}  // namespace pellucid::peers
