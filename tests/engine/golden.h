#pragma once
// Recorded outputs of other implementations, and comparison with them position by position.

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pellucid::golden {

/// A tensor of a safetensors file, F32 or I32.
struct Tensor {
  std::vector<std::int64_t> shape;
  std::vector<float> f32;
  std::vector<std::int32_t> i32;

  /// Row `row` of a matrix, or of the flattened leading dimensions.
  [[nodiscard]] std::span<const float> row(std::int64_t row) const;
  [[nodiscard]] std::span<const std::int32_t> ids(std::int64_t row) const;
};

using Tensors = std::map<std::string, Tensor, std::less<>>;

/// Empty, with a test failure, when the file cannot be read.
[[nodiscard]] Tensors read_tensors(const std::filesystem::path& file);

struct Prompt {
  std::string name;
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> greedy_ids;
  std::vector<double> logprobs;  ///< empty when not recorded
  double min_margin = 0;
};

/// A weight format of the small model with what is recorded of it.
struct Format {
  std::string name;
  std::filesystem::path model;
  std::filesystem::path references;  ///< folder of NAME.json and NAME.safetensors
};

[[nodiscard]] std::vector<Format> formats();
/// How googletest prints a Format.
void PrintTo(const Format& format, std::ostream* out);
/// "fp8_ue8m0": the format's name as a test may be called.
[[nodiscard]] std::string format_test_name(const testing::TestParamInfo<Format>& format);
[[nodiscard]] std::filesystem::path source_path(std::string_view relative);
[[nodiscard]] std::vector<Prompt> read_prompts(const Format& format);

/// Prompt names that have tensors ("NAME.ids").
[[nodiscard]] std::vector<std::string> recorded_prompts(const Tensors& tensors);

/// 6 for "PREFIX6"; nothing when the name does not start with `prefix`.
[[nodiscard]] std::optional<std::int64_t> layer_of(std::string_view name, std::string_view prefix);

/// ||found - expected|| / ||expected|| <= tolerance, non-finite positions equal.
[[nodiscard]] testing::AssertionResult rows_near(std::span<const float> found,
                                                 std::span<const float> expected, double tolerance);

}  // namespace pellucid::golden
