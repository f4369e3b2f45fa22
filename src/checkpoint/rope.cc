#include "checkpoint/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "base/check.h"

namespace pellucid::checkpoint {
namespace {

constexpr RealRange kThetaRange{.above = 1, .max = 1e12};
constexpr IntRange kPositionRange{.min = 1, .max = 1LL << 31};

double yarn_mscale(double factor, double mscale) {
  return factor <= 1 ? 1.0 : 0.1 * mscale * std::log(factor) + 1.0;
}

/// One of the two objects that may describe the embedding.
struct Shape {
  std::optional<double> theta;
  std::optional<std::string> type;
  bool present = false;
};

/// Both spellings of the type; "rope_type" wins over the older "type".
Expected<std::optional<std::string>> read_type(KeyReader& keys) {
  PELLUCID_TRY(auto newer, keys.optional_string("rope_type"));
  PELLUCID_TRY(auto older, keys.optional_string("type"));
  if (newer && older && *newer != *older) {
    return keys.refuse("rope_type", "\"" + *newer + "\" beside type \"" + *older + "\"",
                       "one type");
  }
  return newer ? newer : older;
}

Expected<Shape> read_shape(KeyReader& keys) {
  Shape shape;
  shape.present = true;
  PELLUCID_TRY(shape.theta, keys.optional_real("rope_theta", kThetaRange));
  PELLUCID_TRY(shape.type, read_type(keys));
  return shape;
}

/// Keys that only a type this program knows may have; those that change the formula are refused.
Expected<void> read_yarn(KeyReader& keys, RopeConfig& rope) {
  rope.yarn = true;
  PELLUCID_TRY(rope.factor, keys.real("factor", {.above = 0, .max = 1e6}));
  if (rope.factor < 1) return keys.refuse("factor", std::to_string(rope.factor), "at least 1");
  PELLUCID_TRY(rope.original_max_position_embeddings,
               keys.integer("original_max_position_embeddings", kPositionRange));
  const struct {
    const char* key;
    double* value;
  } optional_numbers[] = {
      {"beta_fast", &rope.beta_fast}, {"beta_slow", &rope.beta_slow}, {"mscale", &rope.mscale}};
  for (const auto& [key, value] : optional_numbers) {
    PELLUCID_TRY(const auto given, keys.optional_real(key, {.above = 0, .max = 1e6}));
    if (given) *value = *given;
  }
  // 0 is a value here: it means no multiplier.
  PELLUCID_TRY(const auto all_dim,
               keys.optional_real("mscale_all_dim", {.above = -1e-300, .max = 1e6}));
  rope.mscale_all_dim = all_dim.value_or(0);
  PELLUCID_TRY(const auto attention_factor,
               keys.optional_real("attention_factor", {.above = 0, .max = 1e6}));
  if (attention_factor) {
    return keys.refuse("attention_factor", std::to_string(*attention_factor),
                       "none: the factor follows from mscale", ErrorKind::kUnsupported);
  }
  PELLUCID_TRY(const auto truncate, keys.optional_boolean("truncate"));
  if (truncate && !*truncate) {
    return keys.refuse("truncate", "false", "true", ErrorKind::kUnsupported);
  }
  return {};
}

Expected<void> check_partial(KeyReader& keys) {
  PELLUCID_TRY(const auto partial,
               keys.optional_real("partial_rotary_factor", {.above = 0, .max = 1}));
  if (partial && *partial != 1) {
    return keys.refuse("partial_rotary_factor", std::to_string(*partial),
                       "1: qk_rope_head_dim says how much is rotated", ErrorKind::kUnsupported);
  }
  return {};
}

Expected<void> read_by_type(KeyReader& keys, const std::string& type, RopeConfig& rope) {
  PELLUCID_TRY_VOID(check_partial(keys));
  if (type == "default") return {};
  if (type == "yarn" || type == "deepseek_yarn") return read_yarn(keys, rope);
  return keys.refuse("rope_type", "\"" + type + "\"", "default, yarn or deepseek_yarn",
                     ErrorKind::kUnsupported);
}

void append(std::vector<std::string>& out, const std::vector<std::string>& more) {
  out.insert(out.end(), more.begin(), more.end());
}

std::string describe(const Shape& newer, const Shape& older, bool theta_on_top) {
  const std::string type_from = newer.type ? "rope_parameters" : older.type ? "rope_scaling" : "";
  const std::string theta_from = newer.theta    ? "rope_parameters"
                                 : older.theta  ? "rope_scaling"
                                 : theta_on_top ? "rope_theta"
                                                : "";
  if (type_from.empty() || type_from == theta_from) return theta_from;
  return type_from + " + " + theta_from;
}

void warn_of_disagreement(const Shape& newer, const Shape& older, std::optional<double> top_theta,
                          std::vector<std::string>& warnings) {
  const auto differ = [](const auto& a, const auto& b) { return a && b && *a != *b; };
  if (differ(newer.theta, older.theta) || differ(newer.theta, top_theta) ||
      (!newer.theta && differ(older.theta, top_theta))) {
    warnings.push_back(
        "rope_theta is given more than once with different values; rope_parameters "
        "wins, then rope_scaling");
  }
  const bool both = newer.present && older.present;
  if (both && newer.type.value_or("default") != older.type.value_or("default")) {
    warnings.push_back("rope_scaling says type " + older.type.value_or("default") +
                       ", rope_parameters says " + newer.type.value_or("default") +
                       "; rope_parameters wins");
  }
}

}  // namespace

Expected<RopeConfig> read_rope(KeyReader& keys, std::string_view prefix, std::string_view source,
                               std::vector<std::string>& unread,
                               std::vector<std::string>& warnings) {
  static const json::Object kNone;
  PELLUCID_TRY(const json::Object* parameters, keys.optional_object("rope_parameters"));
  PELLUCID_TRY(const json::Object* scaling, keys.optional_object("rope_scaling"));
  PELLUCID_TRY(const auto top_theta, keys.optional_real("rope_theta", kThetaRange));
  KeyReader newer_keys(parameters ? *parameters : kNone, std::string(prefix) + "rope_parameters.",
                       source);
  KeyReader older_keys(scaling ? *scaling : kNone, std::string(prefix) + "rope_scaling.", source);
  Shape newer;
  Shape older;
  if (parameters) {
    PELLUCID_TRY(newer, read_shape(newer_keys));
  }
  if (scaling) {
    PELLUCID_TRY(older, read_shape(older_keys));
  }

  RopeConfig rope;
  const auto theta = newer.theta ? newer.theta : older.theta ? older.theta : top_theta;
  if (!theta) {
    auto refused = keys.refuse("rope_theta", "nothing", "a number", ErrorKind::kNotFound);
    refused.error().fix =
        "give rope_theta, at the top level or in rope_parameters; there is no default, a wrong one "
        "shows only in long contexts";
    return refused;
  }
  rope.theta = *theta;
  const std::string type = newer.type ? *newer.type : older.type.value_or("default");
  KeyReader& chosen = newer.type || !scaling ? newer_keys : older_keys;
  PELLUCID_TRY_VOID(read_by_type(chosen, type, rope));
  rope.source = describe(newer, older, top_theta.has_value());
  warn_of_disagreement(newer, older, top_theta, warnings);
  append(unread, newer_keys.unread());
  append(unread, older_keys.unread());
  return rope;
}

std::vector<float> RopeConfig::inv_freq(std::int64_t dim) const {
  PELLUCID_CHECK(dim > 0 && dim % 2 == 0 && theta > 0);
  std::vector<float> out(static_cast<std::size_t>(dim / 2));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(dim);
    out[i] = 1.0F / std::pow(static_cast<float>(theta), exponent);
  }
  if (!yarn) return out;
  const auto [low, high] = yarn_correction_range(dim);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    const auto f = static_cast<float>(factor);
    const auto r = static_cast<float>(ramp);
    out[i] = out[i] / f * r + out[i] * (1.0F - r);
  }
  return out;
}

std::pair<double, double> RopeConfig::yarn_correction_range(std::int64_t dim) const {
  const auto d = static_cast<double>(dim);
  const auto correction = [&](double rotations) {
    const auto positions = static_cast<double>(original_max_position_embeddings);
    return d * std::log(positions / (rotations * 2 * std::numbers::pi)) / (2 * std::log(theta));
  };
  const double low = std::max(std::floor(correction(beta_fast)), 0.0);
  double high = std::min(std::ceil(correction(beta_slow)), d - 1);
  if (low == high) high += 0.001;
  return {low, high};
}

double RopeConfig::softmax_scale_multiplier() const {
  if (!yarn || mscale_all_dim == 0) return 1;
  const double m = yarn_mscale(factor, mscale_all_dim);
  return m * m;
}

double RopeConfig::cos_sin_multiplier() const {
  if (!yarn) return 1;
  return yarn_mscale(factor, mscale) / yarn_mscale(factor, mscale_all_dim);
}

}  // namespace pellucid::checkpoint
