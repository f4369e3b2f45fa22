#pragma once
// What an engine computed for one prompt, gathered over all its steps.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "engine/generate.h"
#include "model/model.h"

namespace pellucid::golden {

class Recorder : public model::Tap {
 public:
  void hidden(std::int64_t layer, std::int64_t first_position,
              std::span<const float> rows) override;
  void selection(std::int64_t layer, std::int64_t first_position,
                 const kernels::Selection& selection) override;
  void index_scores(std::int64_t layer, std::int64_t first_position, std::span<const float> scores,
                    std::int64_t stride) override;
  void experts(std::int64_t layer, std::int64_t first_position,
               std::span<const std::int32_t> ids) override;

  /// By layer, then concatenated over steps.
  std::map<std::int64_t, std::vector<float>> hidden_rows;
  std::map<std::int64_t, std::vector<std::int32_t>> expert_ids;
  /// By layer: one list of positions per row, as long as its count.
  std::map<std::int64_t, std::vector<std::vector<std::int32_t>>> selections;
  /// By layer and position, for rows that were scored.
  std::map<std::int64_t, std::map<std::int64_t, std::vector<float>>> scores;
  std::vector<float> logits;  ///< [T, vocab], filled by record()
};

/// Runs `ids` as one sequence and records every position.
[[nodiscard]] Recorder record(engine::Engine& engine, std::span<const std::int32_t> ids);

/// Loads, or fails the test and gives nothing.
[[nodiscard]] std::optional<engine::Engine> load(const std::filesystem::path& model,
                                                 const engine::EngineOptions& options);

/// Ids of the small model's tokenizer; the rows from here to vocab_size are padding.
inline constexpr std::int64_t kRealVocab = 1262;

/// An operator table with an f32 cache.
[[nodiscard]] engine::EngineOptions exact_options(std::string_view ops);

/// As the references were made: greedy, ended by the checkpoint's stop ids, at most 96 tokens.
[[nodiscard]] engine::GenerateRequest greedy_request(const engine::Engine& engine,
                                                     std::span<const std::int32_t> prompt);

}  // namespace pellucid::golden
