#include <gtest/gtest.h>

#include "kernels/test_support.h"

namespace pellucid::kernels {
namespace {

// Rows of kv_b per head: nope, then v.
struct AbsorbCase {
  AbsorbCase(const WeightFormat& format, std::int64_t rank_, std::uint32_t seed)
      : random(seed),
        rank(rank_),
        kv_b(format, heads * (nope + v), rank_, random),
        q(random.normals(token_count * heads * q_stride)) {}
  [[nodiscard]] std::int64_t tokens() const { return token_count; }
  [[nodiscard]] std::int64_t columns() const { return rank; }
  std::vector<float> run(const OpTable& ops, ThreadPool& pool, std::int64_t first,
                         std::int64_t count) const {
    std::vector<float> out(static_cast<std::size_t>(count * heads * rank), 55.0F);
    ops.absorb_query({.kv_b = kv_b.view(),
                      .q = q.data() + first * heads * q_stride,
                      .q_token_stride = heads * q_stride,
                      .q_head_stride = q_stride,
                      .q_latent = out.data(),
                      .heads = heads,
                      .nope_dim = nope,
                      .v_dim = v,
                      .tokens = count},
                     pool);
    return out;
  }
  // The sum runs over the nope rows one by one: one rounding (two when not fused) per row.
  [[nodiscard]] std::vector<double> bounds() const {
    std::vector<double> out;
    for (std::int64_t th = 0; th < token_count * heads; ++th) {
      for (std::int64_t l = 0; l < rank; ++l) {
        double magnitude = 0;
        for (std::int64_t n = 0; n < nope; ++n) {
          magnitude += std::fabs(q[static_cast<std::size_t>(th * q_stride + n)] *
                                 kv_b.at(th % heads * (nope + v) + n, l));
        }
        out.push_back(static_cast<double>(nope + 4) * kUnit * magnitude);
      }
    }
    return out;
  }
  static constexpr std::int64_t heads = 3, nope = 19, v = 10, token_count = 5, q_stride = 24;
  Random random;
  std::int64_t rank;
  TestWeight kv_b;
  std::vector<float> q;
};

struct ProjectCase {
  ProjectCase(const WeightFormat& format, std::int64_t rank_, std::uint32_t seed)
      : random(seed),
        rank(rank_),
        kv_b(format, heads * (nope + v), rank_, random),
        o_latent(random.normals(token_count * heads * rank_)) {}
  [[nodiscard]] std::int64_t tokens() const { return token_count; }
  [[nodiscard]] std::int64_t columns() const { return v; }
  std::vector<float> run(const OpTable& ops, ThreadPool& pool, std::int64_t first,
                         std::int64_t count) const {
    std::vector<float> out(static_cast<std::size_t>(count * heads * v), 55.0F);
    ops.project_value({.kv_b = kv_b.view(),
                       .o_latent = o_latent.data() + first * heads * rank,
                       .out = out.data(),
                       .heads = heads,
                       .nope_dim = nope,
                       .v_dim = v,
                       .tokens = count},
                      pool);
    return out;
  }
  [[nodiscard]] std::vector<double> bounds() const {
    std::vector<double> out;
    for (std::int64_t th = 0; th < token_count * heads; ++th) {
      for (std::int64_t i = 0; i < v; ++i) {
        double magnitude = 0;
        for (std::int64_t l = 0; l < rank; ++l) {
          magnitude += std::fabs(o_latent[static_cast<std::size_t>(th * rank + l)] *
                                 kv_b.at(th % heads * (nope + v) + nope + i, l));
        }
        out.push_back(dot_roundings(rank) * kUnit * magnitude);
      }
    }
    return out;
  }
  static constexpr std::int64_t heads = 3, nope = 7, v = 21, token_count = 5;
  Random random;
  std::int64_t rank;
  TestWeight kv_b;
  std::vector<float> o_latent;
};

class MlaProjections : public EveryTable {};
PELLUCID_FOR_EVERY_TABLE(MlaProjections);

TEST_P(MlaProjections, MatchTheReferenceInEveryFormat) {
  for (const WeightFormat& format : kWeightFormats) {
    for (const std::int64_t rank : {5, 64, 130, 515}) {
      SCOPED_TRACE(std::string(format.name) + " rank " + std::to_string(rank));
      expect_matches_reference(AbsorbCase(format, rank, 1), ops());
      expect_matches_reference(ProjectCase(format, rank, 2), ops());
    }
  }
}

TEST_P(MlaProjections, HaveTheSameBitsInEveryBatchAndForEveryThreadCount) {
  for (const WeightFormat& format : kWeightFormats) {
    SCOPED_TRACE(format.name);
    expect_invariant(AbsorbCase(format, 515, 3), ops());
    expect_invariant(ProjectCase(format, 515, 4), ops());
  }
}

TEST_P(MlaProjections, NonFiniteOperandsAppearWhereTheReferenceHasThem) {
  for (const float value : {kNan, kInf, -kInf}) {
    AbsorbCase absorb(kWeightFormats[0], 37, 5);
    absorb.q[24 + 18] = value;
    expect_same_non_finite(absorb, ops(), "q");
    absorb.q[24 + 18] = 1;
    absorb.q[24 + 19] = value;  // a rope dim: not an operand
    for (const float out : run_all(absorb, ops())) EXPECT_TRUE(numerics::is_finite(out));
    std::memcpy(absorb.kv_b.row(29 + 4) + 36 * 4, &value, 4);
    expect_same_non_finite(absorb, ops(), "W_UK");
    ProjectCase project(kWeightFormats[0], 37, 6);
    project.o_latent[40] = value;
    expect_same_non_finite(project, ops(), "o_latent");
    project.o_latent[40] = 1;
    std::memcpy(project.kv_b.row(28 + 7 + 3) + 36 * 4, &value, 4);
    expect_same_non_finite(project, ops(), "W_UV");
  }
}

}  // namespace
}  // namespace pellucid::kernels
