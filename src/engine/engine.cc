#include "engine/engine.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/thread_pool.h"
#include "checkpoint/checkpoint.h"
#include "engine/options.h"
#include "model/weights.h"

namespace pellucid::engine {

Sequence::Sequence(kv::KvCache& cache, kv::SequenceId id) : cache_(&cache), id_(id) {
  tokens_.reserve(static_cast<std::size_t>(cache.budget().context_max));
}

Sequence::Sequence(Sequence&& other) noexcept
    : cache_(std::exchange(other.cache_, nullptr)),
      id_(other.id_),
      tokens_(std::move(other.tokens_)) {}

Sequence& Sequence::operator=(Sequence&& other) noexcept {
  std::swap(cache_, other.cache_);
  std::swap(id_, other.id_);
  std::swap(tokens_, other.tokens_);
  return *this;
}

Sequence::~Sequence() {
  if (cache_ != nullptr) cache_->remove_sequence(id_);
}

struct Engine::State {
  checkpoint::Checkpoint checkpoint;
  EffectiveOptions options;
  model::Weights weights;
  std::unique_ptr<ThreadPool> pool;
  kv::KvCache cache;
  std::unique_ptr<model::Model> model;
  std::vector<model::LayerCache> layer_caches;
  model::Tap* tap = nullptr;

  State(checkpoint::Checkpoint opened, EffectiveOptions effective, model::Weights bound,
        kv::KvCache rows, std::unique_ptr<ThreadPool> threads)
      : checkpoint(std::move(opened)),
        options(std::move(effective)),
        weights(std::move(bound)),
        pool(std::move(threads)),
        cache(std::move(rows)),
        layer_caches(weights.layers.size()) {}

  Expected<void> check_ids(std::span<const std::int32_t> ids) const;
  /// Calls after_chunk(first row's position, rows) after each chunk of `ids`.
  template <class AfterChunk>
  Expected<void> run(Sequence& sequence, std::span<const std::int32_t> ids,
                     const AfterChunk& after_chunk);
  Expected<void> run_chunk(kv::SequenceId id, std::int64_t position,
                           std::span<const std::int32_t> ids);
};

Expected<void> Engine::State::check_ids(std::span<const std::int32_t> ids) const {
  if (ids.empty()) {
    return fail({.kind = ErrorKind::kInvalid,
                 .rule = "prompt_empty",
                 .object = "token ids",
                 .found = "none",
                 .expected = "at least one",
                 .source = "prompt",
                 .fix = ""});
  }
  const auto bad = std::find_if(
      ids.begin(), ids.end(), [this](std::int32_t id) { return id < 0 || id >= options.id_limit; });
  if (bad == ids.end()) return {};
  return fail({.kind = ErrorKind::kInvalid,
               .rule = "token_id",
               .object = "token id at index " + std::to_string(bad - ids.begin()),
               .found = std::to_string(*bad),
               .expected = "from 0 to " + std::to_string(options.id_limit - 1),
               .source = "prompt",
               .fix = ""});
}

// Index scores that are NaN count as -inf in a selection; the text that follows would look sound.
Expected<void> Engine::State::run_chunk(kv::SequenceId id, std::int64_t position,
                                        std::span<const std::int32_t> ids) {
  for (std::size_t layer = 0; layer < layer_caches.size(); ++layer) {
    const auto number = static_cast<std::int64_t>(layer);
    layer_caches[layer] = {.latent = cache.latent(id, number),
                           .index_keys = cache.index_keys(id, number)};
  }
  const std::int64_t nan_before = model->nan_index_scores();
  model->forward({.ids = ids, .first_position = position, .caches = layer_caches}, tap);
  const std::int64_t nans = model->nan_index_scores() - nan_before;
  if (nans == 0) return {};
  return fail({.kind = ErrorKind::kNumeric,
               .rule = "index_scores_finite",
               .object = "index scores of positions " + std::to_string(position) + " to " +
                         std::to_string(position + static_cast<std::int64_t>(ids.size()) - 1),
               .found = std::to_string(nans) + " NaN",
               .expected = "no NaN",
               .source = "lightning indexer",
               .fix = ""});
}

template <class AfterChunk>
Expected<void> Engine::State::run(Sequence& sequence, std::span<const std::int32_t> ids,
                                  const AfterChunk& after_chunk) {
  PELLUCID_CHECK(sequence.cache_ == &cache);
  PELLUCID_TRY_VOID(check_ids(ids));
  const std::int64_t before = sequence.length();
  PELLUCID_TRY_VOID(cache.reserve(sequence.id_, before + static_cast<std::int64_t>(ids.size())));
  const auto chunk = static_cast<std::size_t>(options.model.chunk_tokens);
  for (std::size_t done = 0; done < ids.size(); done += chunk) {
    const auto part = ids.subspan(done, std::min(chunk, ids.size() - done));
    const std::int64_t position = before + static_cast<std::int64_t>(done);
    if (auto result = run_chunk(sequence.id_, position, part); !result) {
      cache.truncate(sequence.id_, before);
      return result;
    }
    after_chunk(position, static_cast<std::int64_t>(part.size()));
  }
  sequence.tokens_.insert(sequence.tokens_.end(), ids.begin(), ids.end());
  return {};
}

Engine::Engine(std::unique_ptr<State> state) : state_(std::move(state)) {}
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;
Engine::~Engine() = default;

Expected<Engine> Engine::load(const std::filesystem::path& directory, const EngineOptions& options,
                              const std::function<void(const LoadProgress&)>& progress) {
  PELLUCID_TRY(auto checkpoint, checkpoint::Checkpoint::open(directory));
  const std::int64_t layers = checkpoint.config().num_hidden_layers;
  PELLUCID_TRY(auto effective, resolve_options(options, checkpoint.config()));
  PELLUCID_TRY_VOID(checkpoint.check_block_scales([&](std::uint64_t done, std::uint64_t total) {
    if (progress) {
      progress({.stage = LoadProgress::Stage::kScales,
                .done = static_cast<std::int64_t>(done),
                .total = static_cast<std::int64_t>(total)});
    }
  }));
  PELLUCID_TRY(auto weights, model::load_weights(checkpoint, [&](std::int64_t done) {
                 if (progress) {
                   progress({.stage = LoadProgress::Stage::kLayers, .done = done, .total = layers});
                 }
               }));
  PELLUCID_TRY(auto cache, kv::KvCache::create(effective.kv_layout, effective.kv_budget));
  PELLUCID_TRY(auto pool, ThreadPool::create(effective.threads, options.pin_threads));
  auto state = std::make_unique<State>(std::move(checkpoint), std::move(effective),
                                       std::move(weights), std::move(cache), std::move(pool));
  PELLUCID_TRY(state->model,
               model::Model::create(state->checkpoint.config(), state->weights,
                                    state->options.model, *state->options.ops, *state->pool));
  if (!state->checkpoint.still_intact()) {
    return fail({.kind = ErrorKind::kIo,
                 .rule = "checkpoint_changed",
                 .object = "checkpoint",
                 .found = "files changed while they were loaded",
                 .expected = "files that stay as they are",
                 .source = directory.string(),
                 .fix = "load again when the download has ended"});
  }
  return Engine(std::move(state));
}

const checkpoint::ModelConfig& Engine::config() const {
  return state_->checkpoint.config();
}

const checkpoint::GenerationConfig& Engine::generation_config() const {
  return state_->checkpoint.generation_config();
}

std::string_view Engine::ops_name() const {
  return state_->options.ops->name;
}
int Engine::threads() const {
  return state_->options.threads;
}
std::int64_t Engine::context_max() const {
  return state_->options.model.context_max;
}
std::int64_t Engine::chunk_tokens() const {
  return state_->options.model.chunk_tokens;
}
std::int64_t Engine::id_limit() const {
  return state_->options.id_limit;
}

std::int64_t Engine::kv_pool_bytes() const {
  return state_->cache.budget().pages * state_->cache.layout().page_bytes();
}

Expected<Sequence> Engine::new_sequence() {
  PELLUCID_TRY(const kv::SequenceId id, state_->cache.add_sequence());
  return Sequence(state_->cache, id);
}

Expected<std::span<const float>> Engine::prefill(Sequence& sequence,
                                                 std::span<const std::int32_t> ids) {
  std::int64_t last_row = 0;
  PELLUCID_TRY_VOID(
      state_->run(sequence, ids, [&](std::int64_t, std::int64_t rows) { last_row = rows - 1; }));
  return state_->model->logits(last_row, 1);
}

Expected<std::span<const float>> Engine::decode(Sequence& sequence, std::int32_t id) {
  return prefill(sequence, {&id, 1});
}

Expected<void> Engine::score(Sequence& sequence, std::span<const std::int32_t> ids,
                             const LogitsSink& sink) {
  const auto vocab = static_cast<std::size_t>(config().vocab_size);
  const auto hand_out = [&](std::int64_t position, std::int64_t rows) {
    for (std::int64_t row = 0; row < rows; row += model::kLogitRowsMax) {
      const std::int64_t count = std::min(model::kLogitRowsMax, rows - row);
      const std::span<const float> logits = state_->model->logits(row, count);
      for (std::int64_t i = 0; i < count; ++i) {
        sink(position + row + i, logits.subspan(static_cast<std::size_t>(i) * vocab, vocab));
      }
    }
  };
  return state_->run(sequence, ids, hand_out);
}

void Engine::truncate(Sequence& sequence, std::int64_t length) {
  PELLUCID_CHECK(sequence.cache_ == &state_->cache);
  PELLUCID_CHECK(length >= 0 && length <= sequence.length());
  sequence.tokens_.resize(static_cast<std::size_t>(length));
  state_->cache.truncate(sequence.id_, length);
}

void Engine::set_tap(model::Tap* tap) {
  state_->tap = tap;
}

}  // namespace pellucid::engine
