#pragma once
// The KV cache of one engine: what attention reads of earlier tokens, in pages of a pool that is
// allocated once. A page holds `page_tokens` consecutive tokens of one sequence for all layers: one
// plane of latent rows per layer (c_kv | k_rope) and one plane of indexer keys per layer that owns
// an indexer. Every page belongs to at most one sequence and is zeroed when it is taken, so a row
// of another sequence can never be read, and a row not yet written is 0 and never a stray NaN
// (model.md section 9, hazard 8).
//
// Owns the pool and the page tables. Nothing allocates after create(), except add_sequence(), which
// allocates the page table of the new sequence. Not thread-safe; reads through views are.
// Refuses: more sequences or tokens than budgeted (Error kLimit that names the setting).

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.h"
#include "tensor/paged_rows.h"

namespace pellucid::kv {

enum class KvDtype { kBf16, kF32 };

/// Where every row lies in a page. Writer and reader of a cache must hold equal layouts.
struct KvLayout {
  std::int64_t page_tokens = 64;
  std::int64_t latent_width = 0;        ///< kv_lora_rank + qk_rope_head_dim elements
  std::int64_t index_width = 0;         ///< index_head_dim elements; 0 when no layer has an indexer
  std::vector<bool> layer_has_indexer;  ///< [layers]; true: the layer has a plane of indexer keys
  KvDtype dtype = KvDtype::kBf16;

  friend bool operator==(const KvLayout&, const KvLayout&) = default;
  [[nodiscard]] std::int64_t layers() const;
  [[nodiscard]] std::int64_t element_bytes() const;
  /// Pages that hold `tokens` tokens of one sequence.
  [[nodiscard]] std::int64_t pages_for(std::int64_t tokens) const;
  /// Bytes of one page, planes aligned to 64 bytes.
  [[nodiscard]] std::int64_t page_bytes() const;
};

struct KvBudget {
  std::int64_t sequences_max = 1;
  std::int64_t context_max = 0;  ///< tokens of the longest sequence
  std::int64_t pages = 0;        ///< pages of all sequences together
};

enum class SequenceId : std::int32_t {};

class KvCache {
 public:
  /// Allocates the pool: budget.pages * layout.page_bytes() bytes.
  [[nodiscard]] static Expected<KvCache> create(const KvLayout& layout, const KvBudget& budget);

  [[nodiscard]] const KvLayout& layout() const { return layout_; }
  [[nodiscard]] const KvBudget& budget() const { return budget_; }
  [[nodiscard]] std::int64_t pages_free() const;

  [[nodiscard]] Expected<SequenceId> add_sequence();
  /// Gives all pages of the sequence back; `id` is invalid afterwards.
  void remove_sequence(SequenceId id);

  /// Makes rows [0, tokens) of the sequence exist, or changes nothing. Never shrinks.
  [[nodiscard]] Expected<void> reserve(SequenceId id, std::int64_t tokens);
  /// Gives back the pages that hold no row below `tokens`.
  void truncate(SequenceId id, std::int64_t tokens);
  /// Rows that exist: a multiple of page_tokens.
  [[nodiscard]] std::int64_t reserved_tokens(SequenceId id) const;

  /// Views of the rows that exist now; invalid after reserve, truncate or remove_sequence.
  [[nodiscard]] tensor::MutablePagedRows latent(SequenceId id, std::int64_t layer);
  /// Width 0 and no pages when the layer owns no indexer.
  [[nodiscard]] tensor::MutablePagedRows index_keys(SequenceId id, std::int64_t layer);

 private:
  struct Plane {
    std::int64_t offset = 0;  ///< bytes from the start of a page
    std::int64_t row_bytes = 0;
    std::int64_t width = 0;
  };
  struct Sequence {
    std::vector<std::int32_t> pages;      ///< page ids in order of position
    std::vector<std::byte*> plane_pages;  ///< [planes, pages_per_sequence]: start of each plane
  };
  struct FreePool {
    void operator()(std::byte* pool) const;
  };

  KvCache(const KvLayout& layout, const KvBudget& budget);
  void add_plane(std::int64_t width);
  [[nodiscard]] Sequence& sequence(SequenceId id);
  [[nodiscard]] const Sequence& sequence(SequenceId id) const;
  [[nodiscard]] tensor::MutablePagedRows plane_rows(Sequence& sequence, std::int64_t plane) const;
  void take_page(Sequence& sequence);

  KvLayout layout_;
  KvBudget budget_;
  std::int64_t page_bytes_ = 0;
  std::int64_t pages_per_sequence_ = 0;
  std::vector<Plane> planes_;
  std::vector<std::int64_t> latent_plane_;  ///< [layers]
  std::vector<std::int64_t> index_plane_;   ///< [layers]; -1: none
  std::unique_ptr<std::byte, FreePool> pool_;
  std::vector<std::int32_t> free_pages_;  ///< a stack
  std::vector<std::optional<Sequence>> sequences_;
};

}  // namespace pellucid::kv
