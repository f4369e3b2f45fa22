// The configuration file. toml++ keeps line and column of every key and value, which become the
// origin of the setting.

#include <fmt/format.h>

#include "base/utf8.h"
#include "config/nearest.h"
#include "config/source.h"
#include "config/toml.h"

namespace pellucid::config {
namespace {

std::string place(std::string_view source, const toml::source_position& at) {
  return fmt::format("{}:{}:{}", source, at.line, at.column);
}

/// How a scalar is typed: what the command line would have been given. Empty: not a scalar that a
/// setting can have (dates, tables, arrays).
std::optional<std::string> scalar_text(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return fmt::format("{}", number->get());
  if (const auto* real = node.as_floating_point()) return fmt::format("{}", real->get());
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  return std::nullopt;
}

/// A string may stand for a choice, a text, a size, a list's item or auto; not for a number or a
/// bool, which TOML can say.
bool type_fits(const Setting& setting, const toml::node& node) {
  if (node.is_string()) {
    const bool open = node.as_string()->get() == "auto";
    return open || (setting.type != Type::kBool && setting.type != Type::kInt &&
                    setting.type != Type::kReal);
  }
  if (node.is_boolean()) return setting.type == Type::kBool;
  if (node.is_floating_point()) return setting.type == Type::kReal;
  if (node.is_integer()) {
    return setting.type == Type::kInt || setting.type == Type::kReal || setting.type == Type::kSize;
  }
  return false;
}

std::string_view node_kind(const toml::node& node) {
  if (node.is_table()) return "a table";
  if (node.is_array()) return "an array";
  if (node.is_string()) return "a string";
  if (node.is_integer()) return "an integer";
  if (node.is_floating_point()) return "a float";
  if (node.is_boolean()) return "a bool";
  return "a date or time";
}

class TomlReader {
 public:
  explicit TomlReader(std::string_view source) : source_(source) {}

  Expected<void> read(const toml::table& table, const std::string& prefix) {
    for (const auto& [key, node] : table) {
      const std::string name =
          prefix.empty() ? std::string(key.str()) : prefix + "." + std::string(key.str());
      if (const Setting* setting = find_setting(name)) {
        PELLUCID_TRY_VOID(read_setting(*setting, node));
      } else if (node.is_table() && is_section(name)) {
        PELLUCID_TRY_VOID(read(*node.as_table(), name));
      } else {
        return fail(unknown(name, key.source().begin));
      }
    }
    return {};
  }

  std::vector<Declaration> take() { return std::move(out_); }

 private:
  static bool is_section(const std::string& name) {
    for (const Setting& setting : settings_table()) {
      if (setting.key.starts_with(name + ".")) return true;
    }
    return false;
  }

  Error unknown(const std::string& name, const toml::source_position& at) const {
    return {.kind = ErrorKind::kNotFound,
            .rule = "unknown_setting",
            .object = utf8::escape_for_display(name),
            .expected = "the key of a setting (docs/settings.md)",
            .source = place(source_, at),
            .fix = did_you_mean(name, setting_keys())};
  }

  Error wrong_type(const Setting& setting, const toml::node& node) const {
    const auto text = scalar_text(node);
    return {
        .rule = "setting_value",
        .object = std::string(setting.key),
        .found = text ? fmt::format("{} {}", node_kind(node), *text) : std::string(node_kind(node)),
        .expected = accepted(setting),
        .source = place(source_, node.source().begin)};
  }

  Expected<void> read_scalar(const Setting& setting, const toml::node& node) {
    if (!type_fits(setting, node)) return fail(wrong_type(setting, node));
    const std::string text = *scalar_text(node);
    const std::string origin = place(source_, node.source().begin);
    PELLUCID_TRY(Value value, parse_value(setting, text, origin));
    out_.push_back({.setting = &setting,
                    .value = std::move(value),
                    .typed = text,
                    .kind = SourceKind::kFile,
                    .origin = origin});
    return {};
  }

  Expected<void> read_setting(const Setting& setting, const toml::node& node) {
    if (setting.type != Type::kTextList) return read_scalar(setting, node);
    if (!node.is_array()) return fail(wrong_type(setting, node));
    for (const toml::node& item : *node.as_array()) {
      PELLUCID_TRY_VOID(read_scalar(setting, item));
    }
    return {};
  }

  std::string_view source_;
  std::vector<Declaration> out_;
};

}  // namespace

Expected<std::vector<Declaration>> read_toml(std::string_view text, std::string_view source) {
  const toml::parse_result parsed = toml::parse(text, source);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    return fail({.rule = "toml_syntax",
                 .object = "configuration file",
                 .found = utf8::escape_for_display(std::string(error.description())),
                 .expected = "TOML 1.0",
                 .source = place(source, error.source().begin)});
  }
  TomlReader reader(source);
  PELLUCID_TRY_VOID(reader.read(parsed.table(), ""));
  return reader.take();
}

}  // namespace pellucid::config
