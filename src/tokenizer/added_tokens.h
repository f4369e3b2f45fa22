#pragma once
// Finds added tokens in trusted text: exact text, leftmost, the longest of those that start there,
// not overlapping. Tokens marked `normalized` are searched after the others, in what these leave
// (as the reference does; without a normalizer their text is the same).
//
// The cost per byte is bounded by the longest token, so content is limited to kAddedBytesMax.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "base/error.h"
#include "tokenizer/tokenizer.h"

namespace pellucid::tokenizer {

inline constexpr std::size_t kAddedBytesMax = 256;
inline constexpr std::size_t kAddedCountMax = 65'536;

struct AddedToken {
  std::int64_t id = 0;
  std::string content;
  bool special = false;
  bool normalized = false;
};

class AddedTokens {
 public:
  /// Part of a text: an added token, or text between them (nullopt).
  struct Part {
    std::string_view text;
    std::optional<TokenId> id;
  };

  /// Rules ("tokenizer_added"): not empty, not longer than kAddedBytesMax, each content once.
  [[nodiscard]] Expected<void> add(const AddedToken& token, std::string_view source);
  [[nodiscard]] std::optional<TokenId> id_of(std::string_view content) const;
  [[nodiscard]] std::size_t size() const { return ids_.size(); }
  /// Whether the content of some added token begins with this byte.
  [[nodiscard]] bool can_start(unsigned char byte) const {
    return exact_.can_start(byte) || normalized_.can_start(byte);
  }
  /// The parts of `text` in order; none is empty.
  [[nodiscard]] std::vector<Part> split(std::string_view text) const;

 private:
  /// A byte trie: node 0 is the root; edges are keyed by (node << 8 | byte).
  class Trie {
   public:
    void add(std::string_view content, TokenId id);
    /// Appends the parts of `text`.
    void split(std::string_view text, std::vector<Part>& parts) const;
    [[nodiscard]] bool can_start(unsigned char byte) const { return starts_[byte]; }

   private:
    struct Match {
      std::size_t length = 0;
      TokenId id = 0;
    };
    [[nodiscard]] Match longest_at(std::string_view text, std::size_t begin) const;
    static constexpr TokenId kNone = -1;
    std::array<bool, 256> starts_{};
    std::vector<TokenId> ids_{kNone};  ///< by node: the token that ends there
    boost::unordered_flat_map<std::uint64_t, std::uint32_t> edges_;
  };

  boost::unordered_flat_map<std::string, TokenId> ids_;
  Trie exact_;
  Trie normalized_;
};

}  // namespace pellucid::tokenizer
