#include "tokenizer/bpe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <string>

namespace pellucid::tokenizer {
namespace {

using testing::ElementsAre;

/// Bytes are ids 0 to 255; each merge appends a token. Pieces are given as ids.
class Table {
 public:
  Table() {
    for (int byte = 0; byte < 256; ++byte) add(std::string(1, static_cast<char>(byte)));
  }
  /// The next rank: `left` and `right` join.
  TokenId merge(TokenId left, TokenId right) {
    const TokenId id = add(bytes(left) + bytes(right));
    EXPECT_TRUE(bpe.add_merge(left, right, rank_++, id));
    merges.push_back({left, right, id});
    return id;
  }
  [[nodiscard]] std::string bytes(TokenId id) const {
    return tokens_[static_cast<std::size_t>(id)];
  }
  [[nodiscard]] TokenId size() const { return static_cast<TokenId>(tokens_.size()); }
  [[nodiscard]] std::vector<TokenId> encode(std::string_view piece) const {
    std::vector<TokenId> ids;
    Bpe::Scratch scratch;
    bpe.encode(piece, ids, scratch);
    return ids;
  }
  /// The definition, word for word: while some pair has a merge, apply the lowest rank, leftmost.
  [[nodiscard]] std::vector<TokenId> encode_by_definition(std::string_view piece) const {
    std::vector<TokenId> ids;
    for (const char c : piece) ids.push_back(static_cast<unsigned char>(c));
    for (bool merged = true; merged;) {
      merged = false;
      for (const auto& [left, right, id] : merges) {
        for (std::size_t i = 0; i + 1 < ids.size() && !merged; ++i) {
          if (ids[i] != left || ids[i + 1] != right) continue;
          ids[i] = id;
          ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(i) + 1);
          merged = true;
        }
        if (merged) break;
      }
    }
    return ids;
  }

  Bpe bpe;
  struct Entry {
    TokenId left, right, id;
  };
  std::vector<Entry> merges;

 private:
  TokenId add(std::string token) {
    tokens_.push_back(std::move(token));
    bpe.add_token(tokens_.back(), size() - 1);
    return size() - 1;
  }
  std::deque<std::string> tokens_;  // does not move its elements
  std::uint32_t rank_ = 0;
};

TEST(Bpe, LowestRankWinsOverPosition) {
  Table table;
  const TokenId bc = table.merge('b', 'c');
  table.merge('a', 'b');
  EXPECT_THAT(table.encode("abc"), ElementsAre('a', bc));
}

TEST(Bpe, LeftmostWinsOnEqualRank) {
  Table table;
  const TokenId aa = table.merge('a', 'a');
  EXPECT_THAT(table.encode("aaa"), ElementsAre(aa, 'a'));
  EXPECT_THAT(table.encode("aaaaa"), ElementsAre(aa, aa, 'a'));
}

TEST(Bpe, MergesOfMergesAreFound) {
  Table table;
  const TokenId ab = table.merge('a', 'b');
  const TokenId cd = table.merge('c', 'd');
  const TokenId abcd = table.merge(ab, cd);
  EXPECT_THAT(table.encode("abcdab"), ElementsAre(abcd, ab));
}

TEST(Bpe, WholePieceFirstSkipsTheMerges) {
  Table table;
  const TokenId bc = table.merge('b', 'c');
  const TokenId ab = table.merge('a', 'b');
  const TokenId abc = table.merge(ab, 'c');  // the merges never build it from "abc"
  EXPECT_THAT(table.encode("abc"), ElementsAre('a', bc));
  table.bpe.set_whole_piece_first(true);
  EXPECT_THAT(table.encode("abc"), ElementsAre(abc));
  table.bpe.forget_whole("abc");
  EXPECT_THAT(table.encode("abc"), ElementsAre('a', bc));
}

TEST(Bpe, ASecondMergeOfAPairIsReported) {
  Table table;
  table.merge('a', 'b');
  EXPECT_FALSE(table.bpe.add_merge('a', 'b', 7, 'c'));
}

TEST(Bpe, MissingByteIsNamed) {
  EXPECT_EQ(Bpe().missing_byte(), 0);
  EXPECT_EQ(Table().bpe.missing_byte(), std::nullopt);
}

// Both algorithms (short and long pieces) against the definition, with merges over few letters so
// that pairs overlap and change often.
TEST(Bpe, EqualsTheDefinitionOnRandomTables) {
  std::mt19937 rng(20261201);
  for (int round = 0; round < 60; ++round) {
    Table table;
    std::vector<TokenId> symbols = {'a', 'b', 'c'};
    for (int i = 0; i < 40; ++i) {
      const TokenId left = symbols[rng() % symbols.size()];
      const TokenId right = symbols[rng() % symbols.size()];
      const std::string joined = table.bytes(left) + table.bytes(right);
      if (joined.size() > 12 || table.bpe.id_of(joined)) continue;
      symbols.push_back(table.merge(left, right));
    }
    for (const std::size_t length : {1, 2, 7, 48, 49, 120, 300}) {
      std::string piece;
      while (piece.size() < length) piece.push_back(static_cast<char>('a' + rng() % 3));
      EXPECT_EQ(table.encode(piece), table.encode_by_definition(piece)) << piece;
    }
  }
}

}  // namespace
}  // namespace pellucid::tokenizer
