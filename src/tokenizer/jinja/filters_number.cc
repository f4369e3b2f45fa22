#include <charconv>
#include <cmath>

#include "tokenizer/jinja/attributes.h"
#include "tokenizer/jinja/filters.h"
#include "tokenizer/jinja/operators.h"
#include "tokenizer/jinja/text.h"

namespace pellucid::tokenizer::jinja {
namespace {

/// Python accepts white space around a number and _ between digits.
std::string number_text(std::string_view text) {
  text = strip_right(strip_left(text));
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool between = i > 0 && i + 1 < text.size() && is_digit(text[i - 1]) &&
                         is_digit(static_cast<unsigned char>(text[i + 1]));
    if (text[i] != '_' || !between) out += text[i];
  }
  return out;
}

/// float(text): false when the text is not a number.
bool parse_float(std::string_view text, double& value) {
  const std::string clean = number_text(text);
  std::string_view digits = clean;
  if (digits.starts_with('+')) digits.remove_prefix(1);
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (parsed.ec == std::errc::result_out_of_range && parsed.ptr == digits.data() + digits.size()) {
    value = digits.starts_with('-') ? -HUGE_VAL : HUGE_VAL;
    return true;
  }
  return !digits.empty() && parsed.ec == std::errc() &&
         parsed.ptr == digits.data() + digits.size() && digits.find('(') == std::string_view::npos;
}

enum class Parsed { kYes, kNo, kOverflow };

Parsed parse_integer(std::string_view text, int base, std::int64_t& value) {
  const std::string clean = number_text(text);
  std::string_view digits = clean;
  const bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) digits.remove_prefix(1);
  const char radix = base == 16 ? 'x' : base == 8 ? 'o' : base == 2 ? 'b' : '\0';
  if (radix != '\0' && digits.size() > 2 && digits[0] == '0' && (digits[1] | 0x20) == radix) {
    digits.remove_prefix(2);
  }
  if (digits.empty() || digits[0] == '-') return Parsed::kNo;
  const std::string signed_digits = (negative ? "-" : "") + std::string(digits);
  const char* end = signed_digits.data() + signed_digits.size();
  const auto parsed = std::from_chars(signed_digits.data(), end, value, base);
  if (parsed.ptr != end) return Parsed::kNo;
  if (parsed.ec == std::errc::result_out_of_range) return Parsed::kOverflow;
  return parsed.ec == std::errc() ? Parsed::kYes : Parsed::kNo;
}

std::unexpected<Error> beyond_int() {
  return wrong("int", "a number beyond 64 bits", "a 64-bit signed integer");
}

Result<Value> truncate(double value, const Value& otherwise) {
  if (std::isnan(value) || std::isinf(value)) return otherwise;
  if (std::fabs(value) >= 0x1p63) return beyond_int();
  return Value::integer(static_cast<std::int64_t>(value));
}

double round_half_even(double value, std::int64_t digits) {
  if (!std::isfinite(value) || digits > 20) return value;
  if (digits < -20) return std::copysign(0.0, value);
  // Shortest correct decimal rounding: printf rounds the exact binary value half to even.
  if (digits >= 0) {
    char buffer[400];
    const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::fixed,
                                   static_cast<int>(digits));
    double rounded = value;
    std::from_chars(buffer, end.ptr, rounded);
    return rounded;
  }
  const double scale = std::pow(10.0, static_cast<double>(-digits));
  return std::nearbyint(value / scale) * scale;
}

Result<Value> round_common(const Value& subject, std::int64_t digits) {
  if (subject.is(Kind::kFloat)) return Value::floating(round_half_even(subject.number(), digits));
  if (digits >= 0) return Value::integer(subject.integer());
  if (digits < -18) return Value::integer(0);
  std::int64_t scale = 1;
  for (std::int64_t i = digits; i < 0; ++i) scale *= 10;
  const std::int64_t value = subject.integer();
  std::int64_t quotient = value / scale;
  const std::int64_t rest = value % scale < 0 ? -(value % scale) : value % scale;
  const bool up = rest > scale / 2 || (rest == scale / 2 && quotient % 2 != 0);
  if (up) quotient += value < 0 ? -1 : 1;
  PELLUCID_TRY(const std::int64_t rounded, multiply(quotient, scale));
  return Value::integer(rounded);
}

}  // namespace

Result<Value> filter_abs(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  PELLUCID_TRY_VOID(runtime.steps(1));
  PELLUCID_TRY_VOID(bind("abs", arguments, {}));
  if (subject.is(Kind::kFloat)) return Value::floating(std::fabs(subject.number()));
  if (!subject.is_integral()) return wrong("abs", subject.type_name(), "a number");
  if (subject.integer() < 0) return negate(subject);
  return Value::integer(subject.integer());
}

Result<Value> filter_int(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  PELLUCID_TRY(const auto bound, bind("int", arguments, {"default", "base"}));
  const Value otherwise = bound[0] == nullptr ? Value::integer(0) : *bound[0];
  if (subject.is(Kind::kUint)) return subject;
  if (subject.is_integral()) return Value::integer(subject.integer());
  if (subject.is(Kind::kFloat)) {
    if (std::isinf(subject.number())) return beyond_int();
    return truncate(subject.number(), otherwise);
  }
  if (subject.is_undefined()) return wrong("int", "an undefined value", "a number or str");
  if (!subject.is_string()) return otherwise;
  PELLUCID_TRY_VOID(runtime.scan(subject.text().size()));
  std::int64_t base = 10;
  if (bound[1] != nullptr) {
    if (!bound[1]->is_integral()) return wrong("int", bound[1]->type_name(), "an int as base");
    base = bound[1]->integer();
  }
  if (base != 2 && base != 8 && base != 10 && base != 16) {
    return wrong("int", "base " + std::to_string(base), "base 2, 8, 10 or 16");
  }
  std::int64_t value = 0;
  const Parsed parsed = parse_integer(subject.text(), static_cast<int>(base), value);
  if (parsed == Parsed::kYes) return Value::integer(value);
  if (parsed == Parsed::kOverflow) return beyond_int();
  double number = 0;
  return parse_float(subject.text(), number) ? truncate(number, otherwise) : otherwise;
}

Result<Value> filter_float(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  PELLUCID_TRY(const auto bound, bind("float", arguments, {"default"}));
  if (subject.is_number() || subject.is(Kind::kUint)) return Value::floating(subject.number());
  if (subject.is_undefined()) return wrong("float", "an undefined value", "a number or str");
  const Value otherwise = bound[0] == nullptr ? Value::floating(0) : *bound[0];
  if (!subject.is_string()) return otherwise;
  PELLUCID_TRY_VOID(runtime.scan(subject.text().size()));
  double value = 0;
  return parse_float(subject.text(), value) ? Value::floating(value) : otherwise;
}

Result<Value> filter_round(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  PELLUCID_TRY_VOID(runtime.steps(1));
  PELLUCID_TRY(const auto bound, bind("round", arguments, {"precision", "method"}));
  if (!subject.is_number()) return wrong("round", subject.type_name(), "a number");
  if (bound[0] != nullptr && !bound[0]->is_integral()) {
    return wrong("round", bound[0]->type_name(), "an int as precision");
  }
  const std::int64_t digits = bound[0] == nullptr ? 0 : bound[0]->integer();
  const std::string_view method =
      bound[1] != nullptr && bound[1]->is_string() ? bound[1]->text() : "common";
  if (method == "common") return round_common(subject, digits);
  if (method != "ceil" && method != "floor") {
    return wrong("round", "method '" + std::string(method) + "'", "common, ceil or floor");
  }
  if (digits < -300 || digits > 300) return wrong("round", "the precision", "-300 to 300");
  const double scale = std::pow(10.0, static_cast<double>(digits));
  const double scaled = subject.number() * scale;
  if (!std::isfinite(scaled)) return wrong("round", "a number that is not finite", "a finite one");
  return Value::floating((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale);
}

Result<Value> filter_sum(Runtime& runtime, const Value& subject, const Arguments& arguments) {
  PELLUCID_TRY(const auto bound, bind("sum", arguments, {"attribute", "start"}));
  const bool by_attribute = bound[0] != nullptr && !bound[0]->is(Kind::kNone);
  Value total = bound[1] == nullptr ? Value::integer(0) : *bound[1];
  if (total.is_string()) return wrong("sum", "a str as start", "a number or list");
  PELLUCID_TRY(const Items items, iterate(runtime, subject));
  for (std::size_t i = 0; i < items.count; ++i) {
    PELLUCID_TRY_VOID(runtime.steps(1));
    Value item = items.at(i);
    if (by_attribute) {
      PELLUCID_TRY(item, attribute_path(runtime, item, *bound[0]));
    }
    PELLUCID_TRY(total, binary(runtime, Op::kAdd, total, item));
  }
  return total;
}

}  // namespace pellucid::tokenizer::jinja
