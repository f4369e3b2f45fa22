// The parser: Boost.JSON's SAX parser drives a builder that keeps our rules (depth, duplicate keys,
// number of values). The builder holds its own stack of open containers, so depth costs heap only.

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/src.hpp>
#include <charconv>
#include <unordered_set>

#include "base/json.h"
#include "base/utf8.h"

namespace pellucid::json {
namespace {

struct Open {
  Value container;
  std::string key;  ///< of the member being read, when the container is an object
  std::unordered_set<std::string> keys;  ///< of the members, once they are too many to compare
};

/// Up to this many members a new key is compared with each; a header of 100,000 tensors has as many
/// objects of three keys, for which sets cost more than all the rest of the parsing.
constexpr std::size_t kComparedMembers = 16;

/// Boost.JSON 1.81 is off by a unit in the last place for some decimals; from_chars is exact.
/// Beyond the range of double, where from_chars gives none, `approximate` is the infinity or the
/// zero.
double nearest(std::string_view text, double approximate) {
  double value = approximate;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// False when the object has that key already.
bool add_key(Open& open, const std::string& key) {
  const Object& members = open.container.object();
  if (members.size() < kComparedMembers) {
    return std::none_of(members.begin(), members.end(),
                        [&](const Member& member) { return member.first == key; });
  }
  if (open.keys.empty()) {
    for (const Member& member : members) open.keys.insert(member.first);
  }
  return open.keys.insert(key).second;
}

class Builder {
 public:
  // Limits that Boost.JSON wants to know; ours are tighter and checked below.
  static constexpr std::size_t max_object_size = SIZE_MAX;
  static constexpr std::size_t max_array_size = SIZE_MAX;
  static constexpr std::size_t max_key_size = SIZE_MAX;
  static constexpr std::size_t max_string_size = SIZE_MAX;

  explicit Builder(const Limits& limits) : limits_(limits) {}

  [[nodiscard]] Value take() { return std::move(root_); }
  [[nodiscard]] const std::string& rule() const { return rule_; }
  [[nodiscard]] const std::string& detail() const { return detail_; }

  using Code = boost::system::error_code;
  using View = boost::json::string_view;

  bool on_document_begin(Code&) { return true; }
  bool on_document_end(Code&) { return true; }
  bool on_object_begin(Code& ec) { return open(Value(Object{}), ec); }
  bool on_array_begin(Code& ec) { return open(Value(Array{}), ec); }
  bool on_object_end(std::size_t, Code& ec) { return close(ec); }
  bool on_array_end(std::size_t, Code& ec) { return close(ec); }

  bool on_key_part(View part, std::size_t, Code&) {
    text_.append(part.data(), part.size());
    return true;
  }
  bool on_key(View part, std::size_t, Code& ec) {
    text_.append(part.data(), part.size());
    Open& top = stack_.back();
    if (!add_key(top, text_)) {
      return refuse("duplicate_key", "key \"" + utf8::escape_for_display(text_) + "\" twice", ec);
    }
    top.key = std::move(text_);
    text_.clear();
    return true;
  }
  bool on_string_part(View part, std::size_t, Code&) {
    text_.append(part.data(), part.size());
    return true;
  }
  bool on_string(View part, std::size_t, Code& ec) {
    text_.append(part.data(), part.size());
    Value value(std::move(text_));
    text_.clear();
    return put(std::move(value), ec);
  }
  bool on_number_part(View, Code&) { return true; }
  bool on_int64(std::int64_t v, View, Code& ec) { return put(Value(v), ec); }
  bool on_uint64(std::uint64_t v, View, Code& ec) { return put(Value(v), ec); }
  bool on_double(double v, View text, Code& ec) { return put(Value(nearest(text, v)), ec); }
  bool on_bool(bool v, Code& ec) { return put(Value(v), ec); }
  bool on_null(Code& ec) { return put(Value(), ec); }
  bool on_comment_part(View, Code&) { return true; }
  bool on_comment(View, Code&) { return true; }

 private:
  bool refuse(std::string rule, std::string detail, Code& ec) {
    rule_ = std::move(rule);
    detail_ = std::move(detail);
    ec = boost::json::error::exception;
    return false;
  }

  bool count(Code& ec) {
    if (++values_ <= limits_.values_max) return true;
    return refuse("json_limit", "more than " + std::to_string(limits_.values_max) + " values", ec);
  }

  bool open(Value container, Code& ec) {
    if (stack_.size() >= limits_.depth_max) {
      return refuse("json_depth", "nesting beyond " + std::to_string(limits_.depth_max), ec);
    }
    if (!count(ec)) return false;
    stack_.push_back({std::move(container), {}, {}});
    return true;
  }

  bool close(Code& ec) {
    Value done = std::move(stack_.back().container);
    stack_.pop_back();
    --values_;  // put() counts it again
    return put(std::move(done), ec);
  }

  bool put(Value value, Code& ec) {
    if (!count(ec)) return false;
    if (stack_.empty()) {
      root_ = std::move(value);
      return true;
    }
    Open& top = stack_.back();
    if (top.container.is_array()) {
      top.container.array().push_back(std::move(value));
    } else {
      top.container.object().emplace_back(std::move(top.key), std::move(value));
    }
    return true;
  }

  Limits limits_;
  std::vector<Open> stack_;
  Value root_;
  std::string text_;
  std::uint64_t values_ = 0;
  std::string rule_;
  std::string detail_;
};

/// Whether the escape that ends at `offset` is a leading surrogate: \uD800 to \uDBFF.
bool ends_in_leading_surrogate(std::string_view text, std::size_t offset) {
  if (offset < 6 || offset > text.size()) return false;
  const std::string_view escape = text.substr(offset - 6, 4);
  constexpr std::string_view kThird = "89abAB";
  return (escape.starts_with("\\ud") || escape.starts_with("\\uD")) &&
         kThird.find(escape[3]) != std::string_view::npos;
}

bool is_utf8_fault(std::string_view text, std::size_t offset, const boost::system::error_code& ec) {
  if (ec == boost::json::error::illegal_leading_surrogate) return true;
  if (ec == boost::json::error::illegal_trailing_surrogate) return true;
  if (ends_in_leading_surrogate(text, offset)) return true;
  for (std::size_t i = 0; i < text.size() && i <= offset;) {
    const utf8::Decoded d = utf8::decode(text, i);
    if (!d.valid) return true;
    i += d.length;
  }
  return false;
}

Error syntax_error(std::string_view text, std::string_view source, std::size_t offset,
                   const Builder& builder, const boost::system::error_code& ec) {
  Error error{.rule = "json_syntax",
              .object = "JSON at byte " + std::to_string(offset),
              .found = ec.message(),
              .source = std::string(source)};
  if (!builder.rule().empty()) {
    error.rule = builder.rule();
    error.found = builder.detail();
    if (error.rule != "duplicate_key") error.kind = ErrorKind::kLimit;
  } else if (is_utf8_fault(text, offset, ec)) {
    error.rule = "json_utf8";
    error.found = "invalid UTF-8 or a lone surrogate";
  }
  return error;
}

}  // namespace

Expected<Value> parse(std::string_view text, std::string_view source, const Limits& limits) {
  if (text.size() > limits.bytes_max) {
    return fail({.kind = ErrorKind::kLimit,
                 .rule = "json_limit",
                 .object = "JSON text",
                 .found = std::to_string(text.size()) + " bytes",
                 .expected = "at most " + std::to_string(limits.bytes_max),
                 .source = std::string(source)});
  }
  boost::json::parse_options options;
  options.max_depth = limits.depth_max;
  boost::json::basic_parser<Builder> parser(options, limits);
  boost::system::error_code ec;
  std::size_t used = parser.write_some(false, text.data(), text.size(), ec);
  if (!ec && used < text.size()) ec = boost::json::error::extra_data;
  if (ec) {
    Error error = syntax_error(text, source, used, parser.handler(), ec);
    if (ec == boost::json::error::too_deep) {
      error.rule = "json_depth";
      error.kind = ErrorKind::kLimit;
      error.found = "nesting beyond " + std::to_string(limits.depth_max);
    }
    return fail(std::move(error));
  }
  return parser.handler().take();
}

}  // namespace pellucid::json
