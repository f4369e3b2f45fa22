#include "sampler/philox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "sampler/exponential.h"

namespace pellucid::sampler {
namespace {

using ::testing::ElementsAre;

// Known answers of the authors' Random123 library (kat_vectors, philox4x32 with 10 rounds).
TEST(Philox, KnownAnswers) {
  EXPECT_THAT(philox4x32({0, 0, 0, 0}, {0, 0}),
              ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  const std::uint32_t ones = 0xffffffff;
  EXPECT_THAT(philox4x32({ones, ones, ones, ones}, {ones, ones}),
              ElementsAre(0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
  EXPECT_THAT(
      philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
      ElementsAre(0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1));
}

TEST(UniformDraw, StaysBelowOneAndHasTheRightMoments) {
  constexpr int kDraws = 100000;
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double u = uniform_draw(42, static_cast<std::uint64_t>(i));
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    sum += u;
    squares += u * u;
  }
  // Standard errors: sqrt(1/12/n) = 9.1e-4 and sqrt(4/45/n) = 9.4e-4; five of each.
  EXPECT_NEAR(sum / kDraws, 1.0 / 2, 4.6e-3);
  EXPECT_NEAR(squares / kDraws, 1.0 / 3, 4.8e-3);
}

TEST(UniformDraw, SeedAndIndexUseAll64Bits) {
  const double base = uniform_draw(1, 1);
  EXPECT_NE(base, uniform_draw(1 + (std::uint64_t{1} << 32), 1));
  EXPECT_NE(base, uniform_draw(1, 1 + (std::uint64_t{1} << 32)));
}

TEST(Exponential, EdgesFirst) {
  EXPECT_EQ(exponential(-std::numeric_limits<double>::infinity()), 0.0);
  EXPECT_EQ(exponential(-1e300), 0.0);
  EXPECT_EQ(exponential(-709), 0.0);
  EXPECT_GT(exponential(-707), 0.0);
  EXPECT_EQ(exponential(0), 1.0);
  EXPECT_EQ(exponential(-0.0), 1.0);
}

TEST(Exponential, WithinTwoUlpOfTheLibrary) {
  double worst = 0;
  for (int i = 0; i <= 200000; ++i) {
    const double x = -700.0 * i / 200000;
    worst = std::max(worst, std::abs(exponential(x) / std::exp(x) - 1));
  }
  EXPECT_LE(worst, 2 * std::numeric_limits<double>::epsilon());
}

TEST(Exponential, NeverRisesAsItsArgumentFalls) {
  double before = 1;
  for (int i = 0; i < 100000; ++i) {
    const double now = exponential(-i * 1e-4);
    ASSERT_LE(now, before) << i;
    before = now;
  }
}

}  // namespace
}  // namespace pellucid::sampler
