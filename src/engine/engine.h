#pragma once
// A loaded model with its cache: token ids in, logits out. Owns the checkpoint mapping, the thread
// pool, the KV cache and all scratch; nothing is allocated in a step once a sequence exists.
// Weights stay as they lie in the mapped files; only norms and biases are copied (to f32).
//
// A step's logits do not depend on how the tokens before it were chunked, on the number of threads,
// or on other sequences: the same bits each way.
//
// Not thread-safe: one call at a time. A Sequence must not outlive its Engine. Refuses: options out
// of range, an operator table that this CPU lacks, token ids outside the vocabulary, more tokens
// than context_max (before any work starts). Tensors of next-token-prediction layers (index
// num_hidden_layers and up) are not read: speculative decoding is not implemented.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "checkpoint/model_config.h"
#include "kv/kv_cache.h"
#include "model/model.h"

namespace pellucid::engine {

/// Context when none is asked for: min(this, max_position_embeddings).
inline constexpr std::int64_t kDefaultContext = 8192;

struct EngineOptions {
  std::string ops = "auto";  ///< name of an operator table; "auto": the fastest this CPU can run
  int threads = 0;           ///< 0: one per CPU that this process may use
  bool pin_threads = false;
  kv::KvDtype kv_dtype = kv::KvDtype::kBf16;
  model::AttentionForm attention_form = model::AttentionForm::kAbsorbed;
  model::AttentionScope attention_scope = model::AttentionScope::kCheckpoint;
  std::optional<std::int64_t> context_max;  ///< tokens of one sequence; see kDefaultContext
  std::int64_t sequences_max = 1;
  std::optional<std::int64_t> kv_tokens_max;  ///< all sequences together; default: full contexts
  std::int64_t chunk_tokens = 256;            ///< tokens of one prefill step
  /// Ids from id_limit up are padding rows (the tokenizer knows); default: vocab_size.
  std::optional<std::int64_t> id_limit;
};

/// Loading first reads all block scales (done and total in bytes), then binds layer by layer.
struct LoadProgress {
  enum class Stage { kScales, kLayers };
  Stage stage = Stage::kScales;
  std::int64_t done = 0;
  std::int64_t total = 0;
};

class Engine;

/// Tokens with their cache rows. Frees its pages when destroyed.
class Sequence {
 public:
  Sequence(Sequence&& other) noexcept;
  Sequence& operator=(Sequence&& other) noexcept;
  ~Sequence();

  [[nodiscard]] std::span<const std::int32_t> tokens() const { return tokens_; }
  [[nodiscard]] std::int64_t length() const { return static_cast<std::int64_t>(tokens_.size()); }

 private:
  friend class Engine;
  Sequence(kv::KvCache& cache, kv::SequenceId id);
  kv::KvCache* cache_;  ///< null when moved from
  kv::SequenceId id_;
  std::vector<std::int32_t> tokens_;
};

class Engine {
 public:
  [[nodiscard]] static Expected<Engine> load(
      const std::filesystem::path& directory, const EngineOptions& options,
      const std::function<void(const LoadProgress&)>& progress = {});
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;
  ~Engine();

  [[nodiscard]] const checkpoint::ModelConfig& config() const;
  [[nodiscard]] const checkpoint::GenerationConfig& generation_config() const;

  /// Effective values of what EngineOptions left open.
  [[nodiscard]] std::string_view ops_name() const;
  [[nodiscard]] int threads() const;
  [[nodiscard]] std::int64_t context_max() const;
  [[nodiscard]] std::int64_t chunk_tokens() const;
  [[nodiscard]] std::int64_t id_limit() const;
  [[nodiscard]] std::int64_t kv_pool_bytes() const;

  [[nodiscard]] Expected<Sequence> new_sequence();

  /// Appends `ids` (at least one) and returns the logits [vocab_size] after the last. The span is
  /// valid until the next call. On error the sequence is unchanged.
  [[nodiscard]] Expected<std::span<const float>> prefill(Sequence& sequence,
                                                         std::span<const std::int32_t> ids);
  /// prefill of one id.
  [[nodiscard]] Expected<std::span<const float>> decode(Sequence& sequence, std::int32_t id);

  /// As prefill, handing out the logits after every position, in order.
  using LogitsSink = std::function<void(std::int64_t position, std::span<const float> logits)>;
  [[nodiscard]] Expected<void> score(Sequence& sequence, std::span<const std::int32_t> ids,
                                     const LogitsSink& sink);

  /// Forgets the tokens from `length` up; length <= sequence.length().
  void truncate(Sequence& sequence, std::int64_t length);

  /// Watches the forward pass; null stops. Not owned.
  void set_tap(model::Tap* tap);

 private:
  struct State;
  explicit Engine(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace pellucid::engine
