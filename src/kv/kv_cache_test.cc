#include "kv/kv_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <set>

namespace pellucid::kv {
namespace {

using ::testing::HasSubstr;

KvLayout layout_of_three(KvDtype dtype) {
  return {.page_tokens = 4,
          .latent_width = 5,
          .index_width = 3,
          .layer_has_indexer = {true, false, true},
          .dtype = dtype};
}

KvCache make_cache(const KvLayout& layout, KvBudget budget) {
  auto cache = KvCache::create(layout, budget);
  EXPECT_TRUE(cache.has_value());
  return *std::move(cache);
}

TEST(KvLayout, PageBytesCountEveryPlaneAtCacheLines) {
  // bf16: latent 4 * 5 * 2 = 40 -> 64, index 4 * 3 * 2 = 24 -> 64; three latent, two index planes.
  EXPECT_EQ(layout_of_three(KvDtype::kBf16).page_bytes(), 5 * 64);
  // f32: latent 80 -> 128, index 48 -> 64.
  EXPECT_EQ(layout_of_three(KvDtype::kF32).page_bytes(), 3 * 128 + 2 * 64);
}

TEST(KvLayout, EveryFieldIsPartOfItsIdentity) {
  const KvLayout base = layout_of_three(KvDtype::kBf16);
  EXPECT_EQ(base, layout_of_three(KvDtype::kBf16));
  EXPECT_NE(base, layout_of_three(KvDtype::kF32));
  for (auto change :
       {+[](KvLayout& l) { l.page_tokens = 8; }, +[](KvLayout& l) { l.latent_width = 6; },
        +[](KvLayout& l) { l.index_width = 4; },
        +[](KvLayout& l) { l.layer_has_indexer[1] = true; }}) {
    KvLayout other = base;
    change(other);
    EXPECT_NE(base, other);
  }
}

TEST(KvCache, ViewsNameWidthElementAndPages) {
  KvCache cache = make_cache(layout_of_three(KvDtype::kF32), {1, 10, 3});
  const SequenceId id = *cache.add_sequence();
  ASSERT_TRUE(cache.reserve(id, 9).has_value());
  EXPECT_EQ(cache.reserved_tokens(id), 12);
  const tensor::MutablePagedRows latent = cache.latent(id, 1);
  EXPECT_EQ(latent.pages.size(), 3U);
  EXPECT_EQ(latent.width, 5);
  EXPECT_EQ(latent.row_bytes, 20);
  EXPECT_EQ(latent.element, tensor::Element::kF32);
  EXPECT_EQ(cache.index_keys(id, 2).width, 3);
  EXPECT_EQ(cache.index_keys(id, 1).width, 0);
  EXPECT_TRUE(cache.index_keys(id, 1).pages.empty());
}

TEST(KvCache, RowsOfAllPlanesAndSequencesAreDisjoint) {
  KvCache cache = make_cache(layout_of_three(KvDtype::kBf16), {2, 10, 6});
  const SequenceId ids[] = {*cache.add_sequence(), *cache.add_sequence()};
  std::set<const std::byte*> bytes;
  std::size_t expected = 0;
  const auto visit = [&](const tensor::MutablePagedRows& rows) {
    for (std::int64_t t = 0; t < 10; ++t) {
      for (std::int64_t b = 0; b < rows.row_bytes; ++b) bytes.insert(rows.row(t) + b);
      expected += static_cast<std::size_t>(rows.row_bytes);
    }
  };
  for (const SequenceId id : ids) {
    ASSERT_TRUE(cache.reserve(id, 10).has_value());
    for (std::int64_t layer = 0; layer < 3; ++layer) {
      visit(cache.latent(id, layer));
      if (layer != 1) visit(cache.index_keys(id, layer));
    }
  }
  EXPECT_EQ(bytes.size(), expected);
}

TEST(KvCache, PagesAreZeroWhenTakenAgain) {
  KvCache cache = make_cache(layout_of_three(KvDtype::kF32), {1, 4, 1});
  const SequenceId id = *cache.add_sequence();
  ASSERT_TRUE(cache.reserve(id, 4).has_value());
  for (std::int64_t t = 0; t < 4; ++t) std::memset(cache.latent(id, 2).row(t), 0xFF, 20);
  cache.truncate(id, 0);
  ASSERT_TRUE(cache.reserve(id, 4).has_value());
  const std::byte zero[20] = {};
  for (std::int64_t t = 0; t < 4; ++t) {
    EXPECT_EQ(std::memcmp(cache.latent(id, 2).row(t), zero, sizeof zero), 0) << t;
  }
}

TEST(KvCache, TruncateKeepsThePageOfTheLastRowAndItsContents) {
  KvCache cache = make_cache(layout_of_three(KvDtype::kF32), {1, 12, 3});
  const SequenceId id = *cache.add_sequence();
  ASSERT_TRUE(cache.reserve(id, 12).has_value());
  const float value = 7;
  std::memcpy(cache.latent(id, 0).row(4), &value, sizeof value);
  cache.truncate(id, 5);
  EXPECT_EQ(cache.reserved_tokens(id), 8);
  EXPECT_EQ(cache.pages_free(), 1);
  float kept = 0;
  std::memcpy(&kept, cache.latent(id, 0).row(4), sizeof kept);
  EXPECT_EQ(kept, 7);
}

TEST(KvCache, LimitsAreErrorsThatNameTheSettingAndChangeNothing) {
  KvCache cache = make_cache(layout_of_three(KvDtype::kBf16), {2, 100, 3});
  const SequenceId a = *cache.add_sequence();
  const SequenceId b = *cache.add_sequence();
  const auto third = cache.add_sequence();
  ASSERT_FALSE(third.has_value());
  EXPECT_EQ(third.error().kind, ErrorKind::kLimit);
  EXPECT_EQ(third.error().source, "sequences_max");

  ASSERT_TRUE(cache.reserve(a, 8).has_value());
  const auto pages = cache.reserve(b, 5);
  ASSERT_FALSE(pages.has_value());
  EXPECT_EQ(pages.error().rule, "kv_pages");
  EXPECT_THAT(pages.error().to_string(), HasSubstr("kv_tokens_max"));
  EXPECT_EQ(cache.reserved_tokens(b), 0);
  EXPECT_EQ(cache.pages_free(), 1);

  const auto context = cache.reserve(a, 101);
  ASSERT_FALSE(context.has_value());
  EXPECT_EQ(context.error().rule, "context_max");
  EXPECT_EQ(cache.reserved_tokens(a), 8);
}

TEST(KvCache, PoolThatCannotBeAddressedIsRefused) {
  const auto cache =
      KvCache::create(layout_of_three(KvDtype::kBf16), {1, 100, std::int64_t{1} << 40});
  ASSERT_FALSE(cache.has_value());
  EXPECT_EQ(cache.error().rule, "kv_pool");
}

// Property: whatever the order of calls, free pages plus held pages is the pool.
TEST(KvCache, PagesAreConserved) {
  constexpr std::int64_t kPages = 17;
  KvCache cache = make_cache(layout_of_three(KvDtype::kBf16), {4, 40, kPages});
  std::mt19937 random(7);
  std::vector<SequenceId> live;
  for (int step = 0; step < 5000; ++step) {
    const auto pick = [&] { return live[random() % live.size()]; };
    const auto action = random() % 4;
    if (action == 0) {
      if (auto id = cache.add_sequence()) live.push_back(*id);
    } else if (action == 1 && !live.empty()) {
      (void)cache.reserve(pick(), static_cast<std::int64_t>(random() % 45));
    } else if (action == 2 && !live.empty()) {
      cache.truncate(pick(), static_cast<std::int64_t>(random() % 41));
    } else if (!live.empty() && random() % 8 == 0) {
      cache.remove_sequence(live.back());
      live.pop_back();
    }
    std::int64_t held = 0;
    for (const SequenceId id : live) held += cache.reserved_tokens(id) / 4;
    ASSERT_EQ(held + cache.pages_free(), kPages) << "step " << step;
  }
}

}  // namespace
}  // namespace pellucid::kv
