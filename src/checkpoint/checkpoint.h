#pragma once
// A Hugging Face checkpoint directory, opened and checked: config, shards, tensors by name, weight
// formats decided by the tensors in the files and cross-checked with what the config claims.
//
// Owns the mappings of the shards; every view it hands out is valid as long as it lives. Opening
// reads headers only. Thread-safe for concurrent reads after open(). Refuses: anything in
// api-and-hostile-inputs rows M1-M16, a config that contradicts the tensors, missing tensors.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "checkpoint/model_config.h"
#include "checkpoint/problem.h"
#include "checkpoint/shape.h"
#include "tensor/dtype.h"
#include "tensor/weight.h"

namespace pellucid::checkpoint {

/// A tensor of a shard: header data, and its bytes in the mapping.
struct TensorInfo {
  std::string_view name;
  tensor::DType dtype;
  Shape shape;
  std::span<const std::byte> bytes;
  std::uint32_t shard;
};

struct OpenOptions {
  /// Record NaN or zero scales and non-finite globals found by the load checks instead of refusing.
  bool allow_nonfinite_weights = false;
};

class Checkpoint {
 public:
  [[nodiscard]] static Expected<Checkpoint> open(const std::filesystem::path& directory,
                                                 const OpenOptions& options = {});
  Checkpoint(Checkpoint&&) noexcept;
  Checkpoint& operator=(Checkpoint&&) noexcept;
  ~Checkpoint();

  [[nodiscard]] const std::filesystem::path& path() const;
  [[nodiscard]] const ModelConfig& config() const;
  [[nodiscard]] const GenerationConfig& generation_config() const;

  /// Null when absent. Names are full names, prefix included.
  [[nodiscard]] const TensorInfo* find(std::string_view name) const;
  [[nodiscard]] bool has_linear(std::string_view module) const;

  /// The matrix of linear `module` ("model.layers.3.self_attn.q_a_proj"; no ".weight"), in
  /// whatever format its tensors have. [rows, cols] is checked against the expected shape.
  [[nodiscard]] Expected<tensor::WeightView> linear(std::string_view module, std::int64_t rows,
                                                    std::int64_t cols) const;

  /// A small tensor (norm weight, bias) as f32, of exactly `count` elements.
  [[nodiscard]] Expected<std::vector<float>> vector(std::string_view name,
                                                    std::int64_t count) const;

  /// What open() found and did not refuse for: warnings, notes, and with allow_nonfinite_weights
  /// the values it let pass.
  [[nodiscard]] const std::vector<Problem>& problems() const;

  /// Reads every block scale and refuses NaN, infinity and negative ones, with tensor and place
  /// (model.md 5.8); open() itself reads headers and scalars only. `progress` gets bytes done and
  /// total. Rules: those of deep_scan.h.
  [[nodiscard]] Expected<void> check_block_scales(
      const std::function<void(std::uint64_t done, std::uint64_t total)>& progress);

  /// False when a shard changed on disk since open(). A loader asks again after it has read: the
  /// shards are mapped, so one that was rewritten gives mixed data, and one that became shorter
  /// raises SIGBUS on access beyond its new end, which nothing here catches.
  [[nodiscard]] bool still_intact() const;

 private:
  struct State;
  explicit Checkpoint(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace pellucid::checkpoint
