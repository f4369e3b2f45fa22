#include <gtest/gtest.h>

#include <numeric>

#include "kernels/test_support.h"

namespace pellucid::kernels {
namespace {

using tensor::Element;

// Roundings of one output of attention: a score has relative error `score_roundings` with respect
// to sum |q||k| (twice: maximum and score), exp adds 8, the weighted sum runs over 64 positions and
// then over the chunks, the division and the reference's f32 weights add four.
double attention_bound(double score_error, std::int64_t count, double weighted_magnitude) {
  const auto sum_roundings = static_cast<double>(64 + (count + 63) / 64 + 4 + 8);
  return (2.2 * score_error + sum_roundings * kUnit) * weighted_magnitude * 2;
}

// For each query the positions it attends to, as the ops take them.
struct Positions {
  Positions(std::vector<std::vector<std::int32_t>> rows) {
    for (const auto& row : rows) stride = std::max(stride, std::ssize(row) + 2);
    for (const auto& row : rows) {
      counts.push_back(static_cast<std::int32_t>(row.size()));
      std::vector<std::int32_t> padded = row;
      padded.resize(static_cast<std::size_t>(stride), -1);
      indices.insert(indices.end(), padded.begin(), padded.end());
    }
  }
  [[nodiscard]] Selection from(std::int64_t first, std::int64_t count) const {
    return {indices.data() + first * stride,
            stride,
            {counts.data() + first, static_cast<std::size_t>(count)}};
  }
  std::vector<std::int32_t> indices;
  std::vector<std::int32_t> counts;
  std::int64_t stride = 0;
};

Positions random_positions(std::int64_t tokens, std::int64_t rows, Random& random) {
  std::vector<std::vector<std::int32_t>> out(static_cast<std::size_t>(tokens));
  for (auto& list : out) {
    const std::int64_t keep = 1 + random.below(10);
    for (std::int32_t s = 0; s < rows; ++s) {
      if (random.below(10) < keep) list.push_back(s);
    }
  }
  return {std::move(out)};
}

struct AbsorbedCase {
  AbsorbedCase(Element element, std::int64_t rank_, std::int64_t rope_, std::int64_t cached,
               std::int64_t page_tokens, std::uint32_t seed, std::int64_t count = 9)
      : random(seed),
        rank(rank_),
        rope(rope_),
        token_count(count),
        cache(element, cached, rank_ + rope_, page_tokens, random),
        q_latent(random.normals(count * heads * rank_)),
        q_rope(random.normals(count * heads * (rope_ + 3))),
        positions(random_positions(count, cached, random)) {}

  [[nodiscard]] std::int64_t tokens() const { return token_count; }
  [[nodiscard]] std::int64_t columns() const { return rank; }
  std::vector<float> run(const OpTable& ops, ThreadPool& pool, std::int64_t first,
                         std::int64_t count) const {
    std::vector<float> out(static_cast<std::size_t>(count * heads * rank), 55.0F);
    std::vector<float> scratch(static_cast<std::size_t>(pool.threads() * positions.stride));
    ops.absorbed_attention({.q_latent = q_latent.data() + first * heads * rank,
                            .q_rope = q_rope.data() + first * heads * (rope + 3),
                            .q_rope_token_stride = heads * (rope + 3),
                            .q_rope_head_stride = rope + 3,
                            .cache = cache.rows(),
                            .selection = positions.from(first, count),
                            .scale = scale,
                            .heads = heads,
                            .kv_lora_rank = rank,
                            .rope_dim = rope,
                            .tokens = count,
                            .out = out.data(),
                            .scratch = scratch.data()},
                           pool);
    return out;
  }

  // Weights and magnitudes in double, straight from the formula.
  [[nodiscard]] std::vector<double> bounds() const {
    std::vector<double> out;
    for (std::int64_t th = 0; th < token_count * heads; ++th) {
      const auto t = static_cast<std::size_t>(th / heads);
      const std::int32_t* list =
          positions.indices.data() + static_cast<std::int64_t>(t) * positions.stride;
      std::vector<double> scores;
      double error = 0;
      for (std::int32_t j = 0; j < positions.counts[t]; ++j) {
        double score = 0;
        double magnitude = 0;
        for (std::int64_t i = 0; i < rank + rope; ++i) {
          const double q = i < rank ? q_latent[static_cast<std::size_t>(th * rank + i)]
                                    : q_rope[static_cast<std::size_t>(th * (rope + 3) + i - rank)];
          score += q * cache.at(list[j], i);
          magnitude += std::fabs(q * cache.at(list[j], i));
        }
        scores.push_back(score * scale);
        error = std::max(error, (dot_roundings(rank) + 2) * kUnit * magnitude * scale);
      }
      double maximum = -1e300;
      for (const double s : scores) maximum = std::max(maximum, s);
      double sum = 0;
      for (double& s : scores) sum += s = std::exp(s - maximum);
      for (std::int64_t i = 0; i < rank; ++i) {
        double weighted = 0;
        for (std::size_t j = 0; j < scores.size(); ++j) {
          weighted += scores[j] / sum * std::fabs(cache.at(list[j], i));
        }
        out.push_back(attention_bound(error, positions.counts[t], weighted));
      }
    }
    return out;
  }

  Random random;
  std::int64_t heads = 3;
  std::int64_t rank;
  std::int64_t rope;
  std::int64_t token_count;
  TestCache cache;
  std::vector<float> q_latent;
  std::vector<float> q_rope;
  Positions positions;
  float scale = 0.21F;
};

class AbsorbedAttention : public EveryTable {};
PELLUCID_FOR_EVERY_TABLE(AbsorbedAttention);

TEST_P(AbsorbedAttention, MatchesTheReference) {
  std::uint32_t seed = 1;
  for (const Element element : {Element::kBf16, Element::kF32}) {
    for (const std::int64_t rank : {1, 8, 29, 64, 131}) {
      for (const std::int64_t page_tokens : {1, 6, 16}) {
        SCOPED_TRACE(rank);
        expect_matches_reference(
            AbsorbedCase(element, rank, 1 + rank % 11, 1 + 40 * (seed % 4), page_tokens, seed, 3),
            ops());
        ++seed;
      }
    }
  }
}

TEST_P(AbsorbedAttention, HasTheSameBitsInEveryBatchAndForEveryThreadCount) {
  expect_invariant(AbsorbedCase(Element::kBf16, 67, 10, 150, 16, 2), ops());
  expect_invariant(AbsorbedCase(Element::kF32, 67, 10, 150, 7, 3), ops());
}

TEST_P(AbsorbedAttention, NonFiniteOperandsAppearWhereTheReferenceHasThem) {
  for (const float value : {kNan, kInf, -kInf}) {
    for (const std::int64_t i : {0, 8, 36}) {
      AbsorbedCase query(Element::kBf16, 37, 5, 70, 16, 4, 4);
      query.q_latent[static_cast<std::size_t>(37 * 3 + i)] = value;
      expect_same_non_finite(query, ops(), "q_latent");
      AbsorbedCase latent(Element::kBf16, 37, 5, 70, 16, 4, 4);
      latent.cache.set(65, i, value);
      expect_same_non_finite(latent, ops(), "latent");
      latent.cache.set(65, i, 0);
      latent.cache.set(3, 37 + i % 5, value);
      expect_same_non_finite(latent, ops(), "k_rope");
    }
    AbsorbedCase rope(Element::kF32, 37, 5, 70, 16, 5, 4);
    rope.q_rope[6] = value;
    expect_same_non_finite(rope, ops(), "q_rope");
  }
}

TEST_P(AbsorbedAttention, ANanScoreIsSeenInEveryOutputOfItsHeadAndNowhereElse) {
  AbsorbedCase op(Element::kBf16, 16, 4, 40, 16, 6, 2);
  op.q_latent[16 + 2] = kNan;  // token 0, head 1
  const std::vector<float> out = run_all(op, ops());
  for (std::size_t i = 0; i < out.size(); ++i) {
    EXPECT_EQ(numerics::is_nan(out[i]), i / 16 == 1) << i;
  }
}

TEST_P(AbsorbedAttention, NothingSelectedGivesZeros) {
  AbsorbedCase op(Element::kBf16, 16, 4, 40, 16, 7, 3);
  op.positions = Positions({{1, 2}, {}, {3}});
  const std::vector<float> out = run_all(op, ops());
  for (std::size_t i = 48; i < 96; ++i) EXPECT_EQ(out[i], 0.0F);
  EXPECT_NE(out[0], 0.0F);
  EXPECT_NE(out[100], 0.0F);
}

TEST_P(AbsorbedAttention, RowsOfMinusInfinityGiveZerosAndDoNotPoisonOthers) {
  AbsorbedCase op(Element::kF32, 4, 1, 3, 2, 8, 1);
  op.positions = Positions({{0, 1, 2}});
  std::fill(op.q_latent.begin(), op.q_latent.end(), 0.0F);
  std::fill(op.q_rope.begin(), op.q_rope.end(), 1.0F);
  for (std::int64_t r = 0; r < 3; ++r) {
    for (std::int64_t i = 0; i < 4; ++i) op.cache.set(r, i, static_cast<float>(r + 1));
    op.cache.set(r, 4, -kInf);
  }
  for (const float value : run_all(op, ops())) EXPECT_EQ(value, 0.0F);
  op.cache.set(1, 4, 0.5F);  // the only visible row has weight 1
  for (const float value : run_all(op, ops())) EXPECT_EQ(value, 2.0F);
}

// Rows that are not selected hold NaN: a product with a zero weight would show them.
TEST_P(AbsorbedAttention, UnselectedRowsAreNotRead) {
  AbsorbedCase op(Element::kBf16, 16, 4, 40, 16, 9, 1);
  op.positions = Positions({{0, 17, 39}});
  const std::vector<float> before = run_all(op, ops());
  for (std::int64_t r = 0; r < 40; ++r) {
    if (r == 0 || r == 17 || r == 39) continue;
    for (std::int64_t i = 0; i < 20; ++i) op.cache.set(r, i, kNan);
  }
  EXPECT_EQ(run_all(op, ops()), before);
}

TEST_P(AbsorbedAttention, LargeScoresDoNotOverflow) {
  AbsorbedCase op(Element::kF32, 8, 2, 20, 4, 10, 2);
  op.scale = 1e4F;
  for (const float value : run_all(op, ops())) EXPECT_TRUE(numerics::is_finite(value));
}

struct ExpandedCase {
  ExpandedCase(std::int64_t nope_, std::int64_t rope_, std::int64_t v_, std::int64_t cached_,
               std::uint32_t seed, std::int64_t count = 9)
      : random(seed),
        nope(nope_),
        rope(rope_),
        v(v_),
        cached(cached_),
        token_count(count),
        q(random.normals(count * heads * (nope_ + rope_ + 1))),
        kv(random.normals(cached_ * heads * (nope_ + v_))),
        k_rope(random.normals(cached_ * (rope_ + 2))),
        positions(random_positions(count, cached_, random)) {}
  [[nodiscard]] std::int64_t tokens() const { return token_count; }
  [[nodiscard]] std::int64_t columns() const { return v; }
  [[nodiscard]] std::int64_t q_stride() const { return nope + rope + 1; }
  std::vector<float> run(const OpTable& ops, ThreadPool& pool, std::int64_t first,
                         std::int64_t count) const {
    std::vector<float> out(static_cast<std::size_t>(count * heads * v), 55.0F);
    std::vector<float> scratch(static_cast<std::size_t>(pool.threads() * positions.stride));
    ops.expanded_attention({.q = q.data() + first * heads * q_stride(),
                            .q_token_stride = heads * q_stride(),
                            .q_head_stride = q_stride(),
                            .kv = kv.data(),
                            .k_rope = k_rope.data(),
                            .k_rope_stride = rope + 2,
                            .selection = positions.from(first, count),
                            .scale = scale,
                            .heads = heads,
                            .nope_dim = nope,
                            .rope_dim = rope,
                            .v_dim = v,
                            .tokens = count,
                            .out = out.data(),
                            .scratch = scratch.data()},
                           pool);
    return out;
  }
  [[nodiscard]] double kv_at(std::int64_t s, std::int64_t h, std::int64_t i) const {
    return kv[static_cast<std::size_t>((s * heads + h) * (nope + v) + i)];
  }
  [[nodiscard]] std::vector<double> bounds() const {
    std::vector<double> out;
    for (std::int64_t th = 0; th < token_count * heads; ++th) {
      const auto t = static_cast<std::size_t>(th / heads);
      const std::int64_t h = th % heads;
      const std::int32_t* list =
          positions.indices.data() + static_cast<std::int64_t>(t) * positions.stride;
      std::vector<double> scores;
      double error = 0;
      for (std::int32_t j = 0; j < positions.counts[t]; ++j) {
        double score = 0;
        double magnitude = 0;
        for (std::int64_t i = 0; i < nope + rope; ++i) {
          const double key =
              i < nope ? kv_at(list[j], h, i)
                       : k_rope[static_cast<std::size_t>(list[j] * (rope + 2) + i - nope)];
          const double product = q[static_cast<std::size_t>(th * q_stride() + i)] * key;
          score += product;
          magnitude += std::fabs(product);
        }
        scores.push_back(score * scale);
        error = std::max(error, (dot_roundings(nope + rope) + 2) * kUnit * magnitude * scale);
      }
      double maximum = -1e300;
      for (const double s : scores) maximum = std::max(maximum, s);
      double sum = 0;
      for (double& s : scores) sum += s = std::exp(s - maximum);
      for (std::int64_t i = 0; i < v; ++i) {
        double weighted = 0;
        for (std::size_t j = 0; j < scores.size(); ++j) {
          weighted += scores[j] / sum * std::fabs(kv_at(list[j], h, nope + i));
        }
        out.push_back(attention_bound(error, positions.counts[t], weighted));
      }
    }
    return out;
  }

  Random random;
  std::int64_t heads = 2;
  std::int64_t nope;
  std::int64_t rope;
  std::int64_t v;
  std::int64_t cached;
  std::int64_t token_count;
  std::vector<float> q;
  std::vector<float> kv;
  std::vector<float> k_rope;
  Positions positions;
  float scale = 0.17F;
};

class ExpandedAttention : public EveryTable {};
PELLUCID_FOR_EVERY_TABLE(ExpandedAttention);

TEST_P(ExpandedAttention, MatchesTheReference) {
  std::uint32_t seed = 1;
  for (const std::int64_t nope : {1, 8, 29, 64}) {
    for (const std::int64_t v : {1, 16, 67}) {
      SCOPED_TRACE(nope);
      expect_matches_reference(ExpandedCase(nope, 1 + nope % 7, v, 1 + 50 * (seed % 3), seed, 3),
                               ops());
      ++seed;
    }
  }
}

TEST_P(ExpandedAttention, HasTheSameBitsInEveryBatchAndForEveryThreadCount) {
  expect_invariant(ExpandedCase(20, 6, 35, 150, 2), ops());
}

TEST_P(ExpandedAttention, NonFiniteOperandsAppearWhereTheReferenceHasThem) {
  for (const float value : {kNan, kInf, -kInf}) {
    for (const std::size_t i : {std::size_t{0}, std::size_t{9}, std::size_t{55}}) {
      ExpandedCase op(10, 4, 11, 70, 3, 4);
      const float q = std::exchange(op.q[i], value);
      expect_same_non_finite(op, ops(), "q");
      op.q[i] = q;
      const float kv = std::exchange(op.kv[i], value);
      expect_same_non_finite(op, ops(), "kv");
      op.kv[i] = kv;
      op.k_rope[i] = value;
      expect_same_non_finite(op, ops(), "k_rope");
    }
  }
}

TEST_P(ExpandedAttention, NothingSelectedGivesZeros) {
  ExpandedCase op(8, 2, 8, 10, 4, 2);
  op.positions = Positions({{}, {1}});
  const std::vector<float> out = run_all(op, ops());
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(out[i], 0.0F);
  EXPECT_NE(out[16], 0.0F);
}

// The two forms of MLA give one answer: q W_UK . c = q . (W_UK c), and W_UV (sum p c) = sum p
// (W_UV c) (model.md section 10 b).
TEST_P(AbsorbedAttention, EqualsTheExpandedForm) {
  Random random(31);
  for (int repeat = 0; repeat < 8; ++repeat) {
    const std::int64_t nope = 3 + random.below(30);
    const std::int64_t v = 3 + random.below(30);
    const std::int64_t heads = 2;
    ExpandedCase expanded(nope, 4, v, 30, 40 + static_cast<std::uint32_t>(repeat), 3);
    AbsorbedCase absorbed(Element::kF32, 24, 4, 30, 8, 60 + static_cast<std::uint32_t>(repeat), 3);
    absorbed.heads = heads;
    absorbed.scale = expanded.scale;
    absorbed.positions = expanded.positions;
    TestWeight kv_b(kWeightFormats[2], heads * (nope + v), 24, random);
    ThreadPool pool(2);

    std::vector<float> latents;
    for (std::int64_t s = 0; s < 30; ++s) {
      for (std::int64_t i = 0; i < 24; ++i) {
        latents.push_back(static_cast<float>(absorbed.cache.at(s, i)));
      }
      for (std::int64_t i = 0; i < 4; ++i) {
        expanded.k_rope[static_cast<std::size_t>(s * 6 + i)] =
            static_cast<float>(absorbed.cache.at(s, 24 + i));
      }
    }
    ops().linear({.weight = kv_b.view(),
                  .x = latents.data(),
                  .x_stride = 24,
                  .y = expanded.kv.data(),
                  .y_stride = heads * (nope + v),
                  .tokens = 30},
                 pool);
    ops().absorb_query({.kv_b = kv_b.view(),
                        .q = expanded.q.data(),
                        .q_token_stride = heads * expanded.q_stride(),
                        .q_head_stride = expanded.q_stride(),
                        .q_latent = absorbed.q_latent.data(),
                        .heads = heads,
                        .nope_dim = nope,
                        .v_dim = v,
                        .tokens = 3},
                       pool);
    for (std::int64_t th = 0; th < 3 * heads; ++th) {
      for (std::int64_t i = 0; i < 4; ++i) {
        absorbed.q_rope[static_cast<std::size_t>(th * 7 + i)] =
            expanded.q[static_cast<std::size_t>(th * expanded.q_stride() + nope + i)];
      }
    }
    const std::vector<float> o_latent = absorbed.run(ops(), pool, 0, 3);
    std::vector<float> found(static_cast<std::size_t>(3 * heads * v));
    ops().project_value({.kv_b = kv_b.view(),
                         .o_latent = o_latent.data(),
                         .out = found.data(),
                         .heads = heads,
                         .nope_dim = nope,
                         .v_dim = v,
                         .tokens = 3},
                        pool);
    const std::vector<float> expected = expanded.run(ops(), pool, 0, 3);
    // Chains of sums of at most 34 terms around values of about 1: 1e-5 is 170 half ulps.
    const numerics::Tolerance tolerance{.absolute = 1e-5, .relative = 1e-5, .relative_l2 = 1e-5};
    EXPECT_TRUE(verdict(numerics::compare(found, expected, v, tolerance)));
  }
}

// Sparse attention whose selection holds every position is dense attention, bit for bit.
TEST_P(AbsorbedAttention, SelectingEverythingIsDense) {
  AbsorbedCase op(Element::kBf16, 40, 8, 90, 16, 11, 4);
  const std::vector<std::int32_t> visible = {3, 64, 65, 90};
  std::vector<std::vector<std::int32_t>> dense;
  for (const std::int32_t n : visible) {
    dense.emplace_back(static_cast<std::size_t>(n));
    std::iota(dense.back().begin(), dense.back().end(), 0);
  }
  op.positions = Positions(dense);
  const std::vector<float> expected = run_all(op, ops());
  std::vector<std::int32_t> indices(4 * 90);
  std::vector<std::int32_t> counts(4);
  std::int64_t nans = 0;
  ThreadPool pool(2);
  ops().topk({.scores = nullptr,
              .scores_stride = 0,
              .visible = visible,
              .k = 90,
              .tokens = 4,
              .indices = indices.data(),
              .stride = 90,
              .counts = counts,
              .scratch = nullptr,
              .nan_count = &nans},
             pool);
  op.positions.indices = indices;
  op.positions.counts = counts;
  op.positions.stride = 90;
  EXPECT_EQ(run_all(op, ops()), expected);
}

}  // namespace
}  // namespace pellucid::kernels
