#pragma once
// The forward pass of multi-head latent attention with DeepSeek sparse attention and mixture of
// experts (model.md section 3), over the operator table. One step takes T consecutive tokens of one
// sequence: any T from 1 (decode) to chunk_tokens (prefill), with the same bits.
//
// Owns scratch sized at construction; a step allocates nothing. Weights, cache rows, operator table
// and thread pool are borrowed. Not thread-safe. Inputs are checked by the engine: here they are
// CHECKs.

#include <cstdint>
#include <memory>
#include <span>

#include "base/error.h"
#include "base/thread_pool.h"
#include "checkpoint/model_config.h"
#include "kernels/ops.h"
#include "model/weights.h"
#include "tensor/paged_rows.h"

namespace pellucid::model {

/// Two ways to the same attention (model.md 3.2). Absorbed works on the cached latents and costs
/// less per step the longer the context is against the chunk; expanded materialises keys and values
/// of every cached row, which costs memory in proportion to the context. One form serves prefill
/// and decode alike, since changing it with the chunk size would change the bits with it.
enum class AttentionForm { kAbsorbed, kExpanded };

/// kCheckpoint: sparse where the checkpoint has an indexer. kDense: every position, everywhere.
enum class AttentionScope { kCheckpoint, kDense };

/// Rows of one logits() call: bounds its scratch to 8 * vocab_size floats (5 MB for GLM).
inline constexpr std::int64_t kLogitRowsMax = 8;

struct ModelOptions {
  AttentionForm attention_form = AttentionForm::kAbsorbed;
  AttentionScope attention_scope = AttentionScope::kCheckpoint;
  std::int64_t context_max = 0;
  std::int64_t chunk_tokens = 0;
};

/// Cache rows of one layer of one sequence.
struct LayerCache {
  tensor::MutablePagedRows latent;      ///< kv_lora_rank + qk_rope_head_dim wide
  tensor::MutablePagedRows index_keys;  ///< index_head_dim wide; width 0 without an indexer
};

/// Observes a step; every row pointer is valid during the call only. Default: looks at nothing.
class Tap {
 public:
  virtual ~Tap() = default;
  /// Residual stream after `layer`: [T, hidden_size].
  virtual void hidden(std::int64_t /*layer*/, std::int64_t /*first_position*/,
                      std::span<const float> /*rows*/) {}
  /// What the indexer of `layer` chose; called for layers that own one.
  virtual void selection(std::int64_t /*layer*/, std::int64_t /*first_position*/,
                         const kernels::Selection& /*selection*/) {}
  /// Index scores of consecutive rows that see more than index_topk positions: [rows, stride],
  /// -inf from the row's own position on.
  virtual void index_scores(std::int64_t /*layer*/, std::int64_t /*first_position*/,
                            std::span<const float> /*scores*/, std::int64_t /*stride*/) {}
  /// Routed experts of `layer`: [T, num_experts_per_tok], best first.
  virtual void experts(std::int64_t /*layer*/, std::int64_t /*first_position*/,
                       std::span<const std::int32_t> /*ids*/) {}
};

/// T consecutive tokens of one sequence.
struct Step {
  std::span<const std::int32_t> ids;   ///< [T]
  std::int64_t first_position = 0;     ///< tokens of the sequence before ids[0]
  std::span<const LayerCache> caches;  ///< [num_hidden_layers], rows [0, first_position + T) exist
};

class Model {
 public:
  struct State;  ///< opaque: model_state.h

  /// `config` and `weights` must outlive the model. Rule: "model_scratch" when the buffers for
  /// context_max and chunk_tokens do not fit in memory.
  [[nodiscard]] static Expected<std::unique_ptr<Model>> create(
      const checkpoint::ModelConfig& config, const Weights& weights, const ModelOptions& options,
      const kernels::OpTable& ops, ThreadPool& pool);
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  /// Runs all layers and the final norm, and writes the step's cache rows.
  void forward(const Step& step, Tap* tap);

  /// Logits [rows, vocab_size] of rows first_row.. of the last forward(); rows <= kLogitRowsMax.
  /// Valid until the next call.
  [[nodiscard]] std::span<const float> logits(std::int64_t first_row, std::int64_t rows);

  /// NaN index scores seen since construction: they count as -inf in a selection, so that text from
  /// a damaged key would look sound. A caller must compare before and after a step.
  [[nodiscard]] std::int64_t nan_index_scores() const;

 private:
  explicit Model(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// True when the model runs the indexer: the checkpoint has one and the scope does not forbid it.
[[nodiscard]] bool uses_indexer(const checkpoint::ModelConfig& config, AttentionScope scope);

}  // namespace pellucid::model
