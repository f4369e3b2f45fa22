#pragma once
// Byte-pair encoding of one pre-token: start from its bytes, and as long as some adjacent pair has
// a merge, apply the one of lowest rank, the leftmost on equal rank (model.md section 7.1).
//
// One table serves both file formats: (left id, right id) -> (rank, merged id). tokenizer.json
// lists the merges; for tiktoken files, where every pair whose joined bytes are a token may merge
// with that token's rank (model.md section 7.4), all such pairs are listed at load.
//
// Immutable once built. Time O(n log n) in the bytes of the piece, memory O(n).

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "tokenizer/tokenizer.h"

namespace pellucid::tokenizer {

class Bpe {
 public:
  /// Working memory of encode(), kept between calls.
  struct Scratch {
    std::vector<TokenId> ids;
    std::vector<std::uint32_t> ranks;     ///< of the pair (i, next[i]); kNoRank when it has none
    std::vector<std::uint32_t> next;      ///< index of the following symbol; size() at the end
    std::vector<std::uint32_t> previous;  ///< index of the symbol before; kNoRank at the start
    std::vector<std::uint64_t> heap;      ///< rank << 32 | index, least first
  };

  /// `bytes` must stay where they are for the life of this object.
  void add_token(std::string_view bytes, TokenId id);
  /// False when the pair has a merge already.
  [[nodiscard]] bool add_merge(TokenId left, TokenId right, std::uint32_t rank, TokenId merged);
  /// A piece that is a token as a whole is that token, whatever the merges say (`ignore_merges`;
  /// tiktoken always).
  void set_whole_piece_first(bool value) { whole_piece_first_ = value; }
  /// From now on no piece becomes this token as a whole, only by merges that build it.
  void forget_whole(std::string_view bytes) { tokens_.erase(bytes); }

  /// The first byte that has no token of its own; nullopt when all 256 have one.
  [[nodiscard]] std::optional<int> missing_byte() const;
  [[nodiscard]] std::optional<TokenId> id_of(std::string_view bytes) const;

  /// Appends the ids of `piece` (not empty, less than 2^32 - 1 bytes). All bytes must have tokens.
  void encode(std::string_view piece, std::vector<TokenId>& out, Scratch& scratch) const;

 private:
  struct Merge {
    std::uint32_t rank = kNoRank;
    TokenId id = -1;
  };
  static constexpr std::uint32_t kNoRank = UINT32_MAX;
  static constexpr TokenId kNoToken = -1;

  [[nodiscard]] static std::uint64_t key(TokenId left, TokenId right) {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 |
           static_cast<std::uint32_t>(right);
  }
  [[nodiscard]] Merge merge_of(TokenId left, TokenId right) const {
    const auto found = merges_.find(key(left, right));
    return found == merges_.end() ? Merge{} : found->second;
  }
  void merge_by_scan(Scratch& scratch) const;
  void merge_by_heap(Scratch& scratch) const;

  static constexpr std::array<TokenId, 256> no_bytes() {
    std::array<TokenId, 256> ids{};
    ids.fill(kNoToken);
    return ids;
  }
  std::array<TokenId, 256> byte_ids_ = no_bytes();
  boost::unordered_flat_map<std::string_view, TokenId> tokens_;
  boost::unordered_flat_map<std::uint64_t, Merge> merges_;
  bool whole_piece_first_ = false;
};

}  // namespace pellucid::tokenizer
