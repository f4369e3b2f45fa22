#include "tokenizer/bpe.h"

#include <algorithm>
#include <functional>

#include "base/check.h"

namespace pellucid::tokenizer {
namespace {

// Up to here scanning all ranks per merge beats the heap: a cache line or three, no branches to
// mispredict.
constexpr std::size_t kScanSymbolsMax = 48;

constexpr std::uint64_t heap_entry(std::uint32_t rank, std::size_t index) {
  return std::uint64_t{rank} << 32 | index;
}

}  // namespace

void Bpe::add_token(std::string_view bytes, TokenId id) {
  if (bytes.empty()) return;
  tokens_.try_emplace(bytes, id);
  if (bytes.size() == 1) byte_ids_[static_cast<unsigned char>(bytes.front())] = id;
}

bool Bpe::add_merge(TokenId left, TokenId right, std::uint32_t rank, TokenId merged) {
  PELLUCID_CHECK(rank != kNoRank);
  return merges_.try_emplace(key(left, right), Merge{.rank = rank, .id = merged}).second;
}

std::optional<int> Bpe::missing_byte() const {
  const auto missing = std::ranges::find(byte_ids_, kNoToken);
  if (missing == byte_ids_.end()) return std::nullopt;
  return static_cast<int>(missing - byte_ids_.begin());
}

std::optional<TokenId> Bpe::id_of(std::string_view bytes) const {
  const auto found = tokens_.find(bytes);
  if (found == tokens_.end()) return std::nullopt;
  return found->second;
}

void Bpe::encode(std::string_view piece, std::vector<TokenId>& out, Scratch& scratch) const {
  if (whole_piece_first_) {
    const auto whole = tokens_.find(piece);
    if (whole != tokens_.end()) {
      out.push_back(whole->second);
      return;
    }
  }
  std::vector<TokenId>& ids = scratch.ids;
  ids.resize(piece.size());
  for (std::size_t i = 0; i < piece.size(); ++i) {
    ids[i] = byte_ids_[static_cast<unsigned char>(piece[i])];
  }
  if (ids.size() <= kScanSymbolsMax) {
    merge_by_scan(scratch);
  } else {
    merge_by_heap(scratch);
  }
  out.insert(out.end(), ids.begin(), ids.end());
}

void Bpe::merge_by_scan(Scratch& scratch) const {
  std::vector<TokenId>& ids = scratch.ids;
  std::vector<std::uint32_t>& ranks = scratch.ranks;
  const auto rank_at = [&](std::size_t i) {
    return i + 1 < ids.size() ? merge_of(ids[i], ids[i + 1]).rank : kNoRank;
  };
  ranks.resize(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) ranks[i] = rank_at(i);
  for (;;) {
    const auto least = std::ranges::min_element(ranks);
    if (*least == kNoRank) return;
    const auto i = static_cast<std::size_t>(least - ranks.begin());
    ids[i] = merge_of(ids[i], ids[i + 1]).id;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    ranks.erase(least + 1);
    ranks[i] = rank_at(i);
    if (i > 0) ranks[i - 1] = rank_at(i - 1);
  }
}

// A doubly linked list of symbols and a heap of the pairs that may merge. Heap entries are not
// removed when their pair changes: one whose rank is no longer that of its place is stale.
void Bpe::merge_by_heap(Scratch& scratch) const {
  auto& [ids, ranks, next, previous, heap] = scratch;
  const std::size_t count = ids.size();
  ranks.assign(count, kNoRank);
  next.resize(count);
  previous.resize(count);
  heap.clear();
  const auto set_rank = [&](std::size_t i) {
    ranks[i] = next[i] < count ? merge_of(ids[i], ids[next[i]]).rank : kNoRank;
    if (ranks[i] != kNoRank) heap.push_back(heap_entry(ranks[i], i));
    return ranks[i] != kNoRank;
  };
  for (std::size_t i = 0; i < count; ++i) {
    next[i] = static_cast<std::uint32_t>(i + 1);
    previous[i] = i == 0 ? kNoRank : static_cast<std::uint32_t>(i - 1);
  }
  for (std::size_t i = 0; i < count; ++i) set_rank(i);
  std::ranges::make_heap(heap, std::greater{});

  const auto reconsider = [&](std::size_t i) {
    if (set_rank(i)) std::ranges::push_heap(heap, std::greater{});
  };
  while (!heap.empty()) {
    std::ranges::pop_heap(heap, std::greater{});
    const auto rank = static_cast<std::uint32_t>(heap.back() >> 32);
    const auto i = static_cast<std::size_t>(heap.back() & UINT32_MAX);
    heap.pop_back();
    if (ranks[i] != rank) continue;
    const std::uint32_t gone = next[i];
    ids[i] = merge_of(ids[i], ids[gone]).id;
    ids[gone] = kNoToken;
    ranks[gone] = kNoRank;
    next[i] = next[gone];
    if (next[i] < count) previous[next[i]] = static_cast<std::uint32_t>(i);
    reconsider(i);
    if (previous[i] != kNoRank) reconsider(previous[i]);
  }
  std::erase(ids, kNoToken);
}

}  // namespace pellucid::tokenizer
