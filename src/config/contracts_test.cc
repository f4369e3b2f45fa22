#include "config/contracts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace pellucid::config {
namespace {

using ::testing::HasSubstr;

TEST(KvLayouts, FieldsTileTheRow) {
  for (const KvLayout& layout : kv_layouts()) {
    std::uint32_t offset = 0;
    for (const KvField& field : layout.fields) {
      EXPECT_EQ(field.offset_bytes, offset) << layout.name << "." << field.name;
      offset += field.size_bytes;
    }
    EXPECT_EQ(offset, layout.bytes_per_token) << layout.name;
    EXPECT_EQ(kv_layout_by_name(layout.name), layout.id);
    EXPECT_EQ(&kv_layout(layout.id), &layout);
  }
  EXPECT_EQ(kv_layout_by_name("fp8"), std::nullopt);
}

TEST(KvLayouts, SizesAreThoseOfTheFormats) {
  EXPECT_EQ(kv_layout(KvLayoutId::kBf16).bytes_per_token, 1152U);
  EXPECT_EQ(kv_layout(KvLayoutId::kFp8DsMla).bytes_per_token, 656U);
  EXPECT_EQ(kv_layout(KvLayoutId::kFp8PerTensor).bytes_per_token, 576U);
  EXPECT_EQ(kv_layout(KvLayoutId::kNvfp4).bytes_per_token, 416U);
}

struct InferCase {
  double bytes;
  std::int64_t layers;
  std::int64_t indexer_layers;
  std::optional<KvLayoutId> layout;
  bool with_indexer;
};

TEST(InferKvLayout, FromBytesPerTokenAndLayer) {
  const InferCase cases[] = {
      // A public bf16 run: 314304 tokens, 29.32 GB, 78 layers.
      {29.32 * 1073741824.0 / 314304 / 78, 78, 78, KvLayoutId::kBf16, true},
      {656, 78, 78, KvLayoutId::kFp8DsMla, false},
      {788, 78, 78, KvLayoutId::kFp8DsMla, true},
      {576, 61, 61, KvLayoutId::kFp8PerTensor, false},
      {708, 61, 61, KvLayoutId::kFp8PerTensor, true},
      {1152, 61, 0, KvLayoutId::kBf16, false},
      {416 + 132, 78, 78, KvLayoutId::kNvfp4, true},
      // GLM-5.2: 21 of 78 layers own an indexer. 656 + 132 * 21 / 78.
      {53940.0 / 78, 78, 21, KvLayoutId::kFp8DsMla, true},
      {656 * 1.01, 78, 0, std::nullopt, false},
      {708, 61, 0, std::nullopt, false},
      {0, 78, 78, std::nullopt, false},
      {-656, 78, 78, std::nullopt, false},
      {std::numeric_limits<double>::quiet_NaN(), 78, 78, std::nullopt, false},
      {std::numeric_limits<double>::infinity(), 78, 78, std::nullopt, false},
      {-std::numeric_limits<double>::infinity(), 78, 78, std::nullopt, false},
  };
  for (const InferCase& c : cases) {
    const std::optional<KvLayoutMatch> match = infer_kv_layout(c.bytes, c.layers, c.indexer_layers);
    ASSERT_EQ(match.has_value(), c.layout.has_value()) << c.bytes;
    if (!match) continue;
    EXPECT_EQ(match->layout, *c.layout) << c.bytes;
    EXPECT_EQ(match->with_indexer, c.with_indexer) << c.bytes;
  }
}

TEST(KvRows, EveryReaderMustEqualTheWriter) {
  const KvRowUser writer{"KV pool", KvLayoutId::kFp8DsMla, "kv_cache_dtype = fp8_e4m3", {}};
  const KvRowUser readers[] = {{"prefill", KvLayoutId::kFp8DsMla, "a", {}},
                               {"decode", KvLayoutId::kFp8PerTensor, "b", "say bf16"},
                               {"draft", KvLayoutId::kBf16, "c", {}}};
  const std::vector<Contradiction> found = check_kv_rows(writer, readers);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].rule, "kv_layout");
  EXPECT_EQ(found[0].one.says, "writes 656-byte rows (fp8_ds_mla)");
  EXPECT_EQ(found[0].other.says, "reads 576-byte rows (fp8_per_tensor)");
  EXPECT_EQ(found[0].other.source, "b");
  EXPECT_EQ(found[0].fix, "say bf16");
  EXPECT_THAT(found[0].consequence, HasSubstr("NaN"));
  EXPECT_THAT(found[1].fix, HasSubstr("fp8_ds_mla"));
  EXPECT_TRUE(check_kv_rows(writer, std::span(readers).first(1)).empty());
}

TEST(ScaleFormats, KernelMustAssumeWhatTheTensorsHold) {
  for (const ScaleFormat held :
       {ScaleFormat::kNone, ScaleFormat::kPerTensorFp32, ScaleFormat::kFp32Block,
        ScaleFormat::kUe8m0Block, ScaleFormat::kE4m3Global, ScaleFormat::kE4m3Reciprocal}) {
    for (const ScaleFormat assumed : {ScaleFormat::kFp32Block, ScaleFormat::kUe8m0Block,
                                      ScaleFormat::kE4m3Global, ScaleFormat::kE4m3Reciprocal}) {
      const auto found =
          check_scale_format({"experts", held, "file"}, {"kernel", assumed, "rule"}, "turn it off");
      EXPECT_EQ(found.has_value(), held != ScaleFormat::kNone && held != assumed);
      if (!found) continue;
      EXPECT_THAT(found->one.says, HasSubstr(std::string(scale_format_name(held))));
      EXPECT_THAT(found->other.says, HasSubstr(std::string(scale_format_name(assumed))));
      EXPECT_EQ(found->fix, "turn it off");
    }
  }
}

TEST(KvScales, MissingOnesAreSaidOnlyWhenKnownToBeMissing) {
  EXPECT_FALSE(check_kv_scales({"bfloat16", "rule", false, false, {}}));
  EXPECT_FALSE(check_kv_scales({"fp8_e4m3", "rule", true, true, {}}));
  EXPECT_FALSE(check_kv_scales({"fp8_e4m3", "rule", true, std::nullopt, {}}));
  const auto found = check_kv_scales({"fp8_e4m3", "rule", true, false, {}});
  ASSERT_TRUE(found);
  EXPECT_THAT(found->other.says, HasSubstr("1.0"));
  EXPECT_THAT(found->fix, HasSubstr("bf16"));
}

TEST(Heads, DivideOverRanksAndHaveAKernel) {
  const std::int64_t dims[] = {64, 128, 192};
  EXPECT_FALSE(check_heads({"k", 64, 8, 128, dims, "config.json"}));
  EXPECT_FALSE(check_heads({"k", 64, 8, 576, {}, "config.json"}));
  EXPECT_THAT(check_heads({"k", 64, 6, 128, dims, "config.json"})->fix, HasSubstr("64"));
  EXPECT_THAT(check_heads({"k", 64, 8, 256, dims, "config.json"})->other.says,
              HasSubstr("64, 128, 192"));
}

TEST(KAlignment, PerRank) {
  EXPECT_FALSE(check_k_alignment({"down_proj", 2048, 8, 128, "gemm", "tp"}));
  EXPECT_TRUE(check_k_alignment({"down_proj", 2048, 8, 512, "gemm", "tp"}));
  EXPECT_TRUE(check_k_alignment({"down_proj", 1536, 7, 1, "gemm", "tp"}));
  EXPECT_THAT(check_k_alignment({"down_proj", 1408, 8, 32, "gemm", "tp"})->one.says,
              HasSubstr("176 per rank"));
}

TEST(IndexRange, ProductsBeyondTheIndexType) {
  const std::uint64_t fits[] = {1048576, 2047};
  const std::uint64_t wraps[] = {1048576, 2048};
  const std::uint64_t beyond_64_bits[] = {~0ULL, 2};
  EXPECT_FALSE(check_index_range({.kernel = "fattn",
                                  .expression = "a * b",
                                  .extents = fits,
                                  .source = "-c -ub",
                                  .fix = "smaller -ub"}));
  EXPECT_THAT(check_index_range({.kernel = "fattn",
                                 .expression = "a * b",
                                 .extents = wraps,
                                 .source = "-c -ub",
                                 .fix = "smaller -ub"})
                  ->one.says,
              HasSubstr("2147483648"));
  EXPECT_TRUE(check_index_range({.kernel = "fattn",
                                 .expression = "a * b",
                                 .extents = beyond_64_bits,
                                 .source = "",
                                 .fix = ""}));
}

}  // namespace
}  // namespace pellucid::config
