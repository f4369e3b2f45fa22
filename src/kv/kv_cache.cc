#include "kv/kv_cache.h"

#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/checked.h"

namespace pellucid::kv {
namespace {

constexpr std::int64_t kPlaneAlignment = 64;  // one cache line

std::int64_t align_plane(std::int64_t bytes) {
  return (bytes + kPlaneAlignment - 1) / kPlaneAlignment * kPlaneAlignment;
}

Error pool_error(std::string found, std::string expected) {
  return {.kind = ErrorKind::kLimit,
          .rule = "kv_pool",
          .object = "kv cache pool",
          .found = std::move(found),
          .expected = std::move(expected),
          .source = "kv_tokens_max",
          .fix = "lower engine.kv_tokens, engine.sequences or engine.context"};
}

}  // namespace

std::int64_t KvLayout::layers() const {
  return static_cast<std::int64_t>(layer_has_indexer.size());
}

std::int64_t KvLayout::element_bytes() const {
  return dtype == KvDtype::kBf16 ? 2 : 4;
}

std::int64_t KvLayout::pages_for(std::int64_t tokens) const {
  return (tokens + page_tokens - 1) / page_tokens;
}

std::int64_t KvLayout::page_bytes() const {
  std::int64_t total = 0;
  for (const bool has_indexer : layer_has_indexer) {
    total += align_plane(page_tokens * latent_width * element_bytes());
    if (has_indexer) total += align_plane(page_tokens * index_width * element_bytes());
  }
  return total;
}

void KvCache::FreePool::operator()(std::byte* pool) const {
  ::operator delete[](pool, std::align_val_t{kPlaneAlignment});
}

KvCache::KvCache(const KvLayout& layout, const KvBudget& budget)
    : layout_(layout), budget_(budget) {
  for (const bool has_indexer : layout.layer_has_indexer) {
    latent_plane_.push_back(static_cast<std::int64_t>(planes_.size()));
    add_plane(layout.latent_width);
    index_plane_.push_back(has_indexer ? static_cast<std::int64_t>(planes_.size()) : -1);
    if (has_indexer) add_plane(layout.index_width);
  }
  PELLUCID_CHECK(page_bytes_ == layout.page_bytes());
  pages_per_sequence_ = layout.pages_for(budget.context_max);
  sequences_.resize(static_cast<std::size_t>(budget.sequences_max));
}

void KvCache::add_plane(std::int64_t width) {
  const std::int64_t row_bytes = width * layout_.element_bytes();
  planes_.push_back({.offset = page_bytes_, .row_bytes = row_bytes, .width = width});
  page_bytes_ += align_plane(layout_.page_tokens * row_bytes);
}

Expected<KvCache> KvCache::create(const KvLayout& layout, const KvBudget& budget) {
  PELLUCID_CHECK(layout.page_tokens > 0 && layout.latent_width > 0 && layout.layers() > 0);
  PELLUCID_CHECK(budget.sequences_max > 0 && budget.context_max > 0 && budget.pages > 0);
  KvCache cache(layout, budget);
  const auto bytes = checked_mul(static_cast<std::uint64_t>(budget.pages),
                                 static_cast<std::uint64_t>(cache.page_bytes_));
  if (!bytes || budget.pages > INT32_MAX) {
    return fail(pool_error(std::to_string(budget.pages) + " pages", "at most 2^31 - 1 pages"));
  }
  cache.pool_.reset(static_cast<std::byte*>(
      ::operator new[](*bytes, std::align_val_t{kPlaneAlignment}, std::nothrow)));
  if (!cache.pool_) {
    return fail(pool_error(std::to_string(*bytes) + " bytes refused by the system",
                           "a pool that fits in memory"));
  }
  cache.free_pages_.reserve(static_cast<std::size_t>(budget.pages));
  for (auto page = static_cast<std::int32_t>(budget.pages); page-- > 0;) {
    cache.free_pages_.push_back(page);
  }
  return cache;
}

std::int64_t KvCache::pages_free() const {
  return static_cast<std::int64_t>(free_pages_.size());
}

Expected<SequenceId> KvCache::add_sequence() {
  for (std::size_t slot = 0; slot < sequences_.size(); ++slot) {
    if (sequences_[slot]) continue;
    Sequence& added = sequences_[slot].emplace();
    added.pages.reserve(static_cast<std::size_t>(pages_per_sequence_));
    added.plane_pages.resize(planes_.size() * static_cast<std::size_t>(pages_per_sequence_));
    return static_cast<SequenceId>(slot);
  }
  return fail({.kind = ErrorKind::kLimit,
               .rule = "kv_sequences",
               .object = "sequences held at once",
               .found = std::to_string(sequences_.size() + 1),
               .expected = "at most " + std::to_string(sequences_.size()),
               .source = "sequences_max",
               .fix = "raise sequences_max or free a sequence"});
}

void KvCache::remove_sequence(SequenceId id) {
  truncate(id, 0);
  sequences_[static_cast<std::size_t>(id)].reset();
}

Expected<void> KvCache::reserve(SequenceId id, std::int64_t tokens) {
  Sequence& grown = sequence(id);
  if (tokens > budget_.context_max) {
    return fail({.kind = ErrorKind::kLimit,
                 .rule = "context_max",
                 .object = "tokens of a sequence",
                 .found = std::to_string(tokens),
                 .expected = "at most " + std::to_string(budget_.context_max),
                 .source = "context_max",
                 .fix = "raise engine.context or shorten the prompt"});
  }
  const std::int64_t held = static_cast<std::int64_t>(grown.pages.size());
  const std::int64_t missing = layout_.pages_for(tokens) - held;
  if (missing > pages_free()) {
    return fail({.kind = ErrorKind::kLimit,
                 .rule = "kv_pages",
                 .object = "pages of the kv cache pool",
                 .found = std::to_string(missing) + " more needed",
                 .expected = "at most the " + std::to_string(pages_free()) + " free of " +
                             std::to_string(budget_.pages),
                 .source = "kv_tokens_max",
                 .fix = "raise kv_tokens_max or free a sequence"});
  }
  for (std::int64_t i = 0; i < missing; ++i) take_page(grown);
  return {};
}

void KvCache::take_page(Sequence& sequence) {
  const std::int32_t page = free_pages_.back();
  free_pages_.pop_back();
  std::byte* start = pool_.get() + page * page_bytes_;
  std::memset(start, 0, static_cast<std::size_t>(page_bytes_));
  const std::size_t index = sequence.pages.size();
  sequence.pages.push_back(page);
  for (std::size_t plane = 0; plane < planes_.size(); ++plane) {
    sequence.plane_pages[plane * static_cast<std::size_t>(pages_per_sequence_) + index] =
        start + planes_[plane].offset;
  }
}

void KvCache::truncate(SequenceId id, std::int64_t tokens) {
  PELLUCID_CHECK(tokens >= 0);
  Sequence& cut = sequence(id);
  const auto kept = static_cast<std::size_t>(layout_.pages_for(tokens));
  while (cut.pages.size() > kept) {
    free_pages_.push_back(cut.pages.back());
    cut.pages.pop_back();
  }
}

std::int64_t KvCache::reserved_tokens(SequenceId id) const {
  return static_cast<std::int64_t>(sequence(id).pages.size()) * layout_.page_tokens;
}

tensor::MutablePagedRows KvCache::latent(SequenceId id, std::int64_t layer) {
  return plane_rows(sequence(id), latent_plane_[static_cast<std::size_t>(layer)]);
}

tensor::MutablePagedRows KvCache::index_keys(SequenceId id, std::int64_t layer) {
  const std::int64_t plane = index_plane_[static_cast<std::size_t>(layer)];
  if (plane < 0) return {};
  return plane_rows(sequence(id), plane);
}

tensor::MutablePagedRows KvCache::plane_rows(Sequence& sequence, std::int64_t plane) const {
  const Plane& at = planes_[static_cast<std::size_t>(plane)];
  return {
      .pages = {sequence.plane_pages.data() + plane * pages_per_sequence_, sequence.pages.size()},
      .page_tokens = layout_.page_tokens,
      .row_bytes = at.row_bytes,
      .width = at.width,
      .element = layout_.dtype == KvDtype::kBf16 ? tensor::Element::kBf16 : tensor::Element::kF32};
}

KvCache::Sequence& KvCache::sequence(SequenceId id) {
  const auto index = static_cast<std::size_t>(id);
  PELLUCID_CHECK(index < sequences_.size() && sequences_[index].has_value());
  return *sequences_[index];
}

const KvCache::Sequence& KvCache::sequence(SequenceId id) const {
  const auto index = static_cast<std::size_t>(id);
  PELLUCID_CHECK(index < sequences_.size() && sequences_[index].has_value());
  return *sequences_[index];
}

}  // namespace pellucid::kv
