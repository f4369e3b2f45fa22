#include "recorder.h"

#include <gtest/gtest.h>

namespace pellucid::golden {

void Recorder::hidden(std::int64_t layer, std::int64_t /*first_position*/,
                      std::span<const float> rows) {
  auto& all = hidden_rows[layer];
  all.insert(all.end(), rows.begin(), rows.end());
}

void Recorder::selection(std::int64_t layer, std::int64_t /*first_position*/,
                         const kernels::Selection& selection) {
  for (std::size_t row = 0; row < selection.counts.size(); ++row) {
    const std::int32_t* first =
        selection.indices + static_cast<std::int64_t>(row) * selection.stride;
    selections[layer].emplace_back(first, first + selection.counts[row]);
  }
}

void Recorder::index_scores(std::int64_t layer, std::int64_t first_position,
                            std::span<const float> rows, std::int64_t stride) {
  const auto width = static_cast<std::size_t>(stride);
  for (std::size_t row = 0; row * width < rows.size(); ++row) {
    const auto one = rows.subspan(row * width, width);
    scores[layer][first_position + static_cast<std::int64_t>(row)].assign(one.begin(), one.end());
  }
}

void Recorder::experts(std::int64_t layer, std::int64_t /*first_position*/,
                       std::span<const std::int32_t> ids) {
  auto& all = expert_ids[layer];
  all.insert(all.end(), ids.begin(), ids.end());
}

Recorder record(engine::Engine& engine, std::span<const std::int32_t> ids) {
  Recorder recorder;
  auto sequence = engine.new_sequence();
  if (!sequence) {
    ADD_FAILURE() << sequence.error().to_string();
    return recorder;
  }
  engine.set_tap(&recorder);
  const auto scored =
      engine.score(*sequence, ids, [&](std::int64_t /*position*/, std::span<const float> logits) {
        recorder.logits.insert(recorder.logits.end(), logits.begin(), logits.end());
      });
  engine.set_tap(nullptr);
  if (!scored) ADD_FAILURE() << scored.error().to_string();
  return recorder;
}

std::optional<engine::Engine> load(const std::filesystem::path& model,
                                   const engine::EngineOptions& options) {
  auto engine = engine::Engine::load(model, options);
  if (engine) return *std::move(engine);
  ADD_FAILURE() << engine.error().to_string()
                << "\n(formats are made by the ctest test engine.make_formats)";
  return std::nullopt;
}

engine::EngineOptions exact_options(std::string_view ops) {
  engine::EngineOptions options;
  options.ops = ops;
  options.kv_dtype = kv::KvDtype::kF32;
  options.context_max = 512;
  options.threads = 1;  // programs run side by side; the bits are the same (identity_test.cc)
  options.id_limit = kRealVocab;
  return options;
}

engine::GenerateRequest greedy_request(const engine::Engine& engine,
                                       std::span<const std::int32_t> prompt) {
  engine::GenerateRequest request;
  request.prompt = prompt;
  request.sampling.temperature = 0;
  request.stop_ids = engine.config().eos_token_ids;
  request.max_tokens = 96;
  return request;
}

}  // namespace pellucid::golden
