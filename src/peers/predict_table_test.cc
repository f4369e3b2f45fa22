// The table of SGLang's DSA defaults by date, written by hand beside the packs: auto KV dtype, NSA
// backends, page size and row layout for sm_90, sm_100 and sm_120, on the first and last day of
// each range.

#include <gtest/gtest.h>

#include "peers/peers.h"

namespace pellucid::peers {
namespace {

constexpr const char* kGlm = "GLM-5-NVFP4";
constexpr const char* kDeepSeek = "DeepSeek-V3.2";
constexpr const char* kOpen = "not covered";

struct Row {
  const char* first;
  const char* last;
  const char* model;
  const char* device;
  std::vector<std::string> flags;
  const char* kv_dtype;
  const char* prefill;
  const char* decode;
  const char* layout;
};

const Row kRows[] = {
    // 2025-10-27: static defaults of the backends, typed or not.
    {"2025-10-27",
     "2026-01-22",
     kDeepSeek,
     "sm_90",
     {},
     "bfloat16",
     "flashmla_sparse",
     "fa3",
     "bf16"},
    {"2025-10-27",
     "2026-01-22",
     kDeepSeek,
     "sm_100",
     {},
     "fp8_e4m3",
     "flashmla_sparse",
     "fa3",
     kOpen},
    {"2025-10-27",
     "2026-01-22",
     kDeepSeek,
     "sm_120",
     {},
     "fp8_e4m3",
     "flashmla_sparse",
     "fa3",
     kOpen},
    // 2026-01-23: the founding incident's range.
    {"2026-01-23",
     "2026-03-06",
     kDeepSeek,
     "sm_90",
     {},
     "bfloat16",
     "flashmla_sparse",
     "fa3",
     "bf16"},
    {"2026-01-23",
     "2026-03-06",
     kDeepSeek,
     "sm_100",
     {},
     "fp8_e4m3",
     "flashmla_auto",
     "flashmla_kv",
     "fp8_ds_mla"},
    {"2026-02-10",
     "2026-03-06",
     kGlm,
     "sm_120",
     {"--tp", "8"},
     "fp8_e4m3",
     "flashmla_auto",
     "flashmla_kv",
     "fp8_ds_mla"},
    {"2026-01-23",
     "2026-03-06",
     kDeepSeek,
     "sm_120",
     {"--kv-cache-dtype", "bf16"},
     "bfloat16",
     "flashmla_sparse",
     "trtllm",
     "bf16"},
    {"2026-01-23",
     "2026-04-08",
     kDeepSeek,
     "sm_90",
     {"--kv-cache-dtype", "fp8_e4m3"},
     "fp8_e4m3",
     "flashmla_auto",
     "flashmla_kv",
     "fp8_ds_mla"},
    // 2026-03-07: bf16 for TP, fp8 for DP.
    {"2026-03-07", "2026-03-23", kGlm, "sm_90", {}, "bfloat16", "flashmla_sparse", "fa3", "bf16"},
    {"2026-03-07",
     "2026-03-23",
     kGlm,
     "sm_100",
     {},
     "bfloat16",
     "flashmla_sparse",
     "trtllm",
     "bf16"},
    {"2026-03-07",
     "2026-03-23",
     kGlm,
     "sm_120",
     {"--tp", "8"},
     "bfloat16",
     "flashmla_sparse",
     "trtllm",
     "bf16"},
    {"2026-03-07",
     "2026-03-23",
     kGlm,
     "sm_120",
     {"--dp", "8"},
     "fp8_e4m3",
     "flashmla_auto",
     "flashmla_kv",
     "fp8_ds_mla"},
    {"2026-03-07",
     "2026-03-23",
     kGlm,
     "sm_100",
     {"--dp", "8"},
     "fp8_e4m3",
     "flashmla_auto",
     "flashmla_kv",
     "fp8_ds_mla"},
    {"2026-03-07",
     "2026-04-08",
     kGlm,
     "sm_120",
     {"--kv-cache-dtype", "fp8_e4m3"},
     "fp8_e4m3",
     "trtllm",
     "trtllm",
     "fp8_per_tensor"},
    // 2026-03-24: fp8 only with a typed modelopt_fp4 as well.
    {"2026-03-24", "2026-04-01", kGlm, "sm_90", {}, "bfloat16", "flashmla_sparse", "fa3", "bf16"},
    {"2026-03-24",
     "2026-04-01",
     kGlm,
     "sm_100",
     {},
     "bfloat16",
     "flashmla_sparse",
     "trtllm",
     "bf16"},
    {"2026-03-24",
     "2026-04-01",
     kGlm,
     "sm_120",
     {},
     "bfloat16",
     "flashmla_sparse",
     "trtllm",
     "bf16"},
    {"2026-03-24",
     "2026-04-01",
     kGlm,
     "sm_120",
     {"--dp", "8"},
     "bfloat16",
     "flashmla_sparse",
     "trtllm",
     "bf16"},
    {"2026-03-24",
     "2026-04-01",
     kGlm,
     "sm_120",
     {"--dp", "8", "--quantization", "modelopt_fp4"},
     "fp8_e4m3",
     "flashmla_auto",
     "flashmla_kv",
     "fp8_ds_mla"},
    // 2026-04-02: fp8 again, trtllm forced.
    {"2026-04-02", "2026-04-08", kGlm, "sm_90", {}, "bfloat16", "flashmla_sparse", "fa3", "bf16"},
    {"2026-04-02",
     "2026-04-08",
     kGlm,
     "sm_100",
     {"--dp", "8"},
     "fp8_e4m3",
     "trtllm",
     "trtllm",
     "fp8_per_tensor"},
    {"2026-04-02",
     "2026-04-08",
     kGlm,
     "sm_120",
     {},
     "fp8_e4m3",
     "trtllm",
     "trtllm",
     "fp8_per_tensor"},
    {"2026-04-02",
     "2026-04-02",
     kGlm,
     "sm_103",
     {},
     "fp8_e4m3",
     "trtllm",
     "trtllm",
     "fp8_per_tensor"},
    {"2026-04-03", "2026-04-03", kGlm, "sm_103", {}, "fp8_e4m3", kOpen, kOpen, kOpen},
    {"2026-04-04",
     "2026-04-08",
     kGlm,
     "sm_103",
     {},
     "fp8_e4m3",
     "trtllm",
     "trtllm",
     "fp8_per_tensor"},
    // 2026-04-09: the same values, the user's flags respected again.
    {"2026-04-09", "2026-07-20", kGlm, "sm_90", {}, "bfloat16", "flashmla_sparse", "fa3", "bf16"},
    {"2026-04-09",
     "2026-07-20",
     kGlm,
     "sm_100",
     {},
     "fp8_e4m3",
     "trtllm",
     "trtllm",
     "fp8_per_tensor"},
    {"2026-04-09",
     "2026-07-20",
     kGlm,
     "sm_120",
     {},
     "fp8_e4m3",
     "trtllm",
     "trtllm",
     "fp8_per_tensor"},
    {"2026-04-09",
     "2026-04-11",
     kGlm,
     "sm_90",
     {"--kv-cache-dtype", "fp8_e4m3"},
     "fp8_e4m3",
     "flashmla_auto",
     "flashmla_kv",
     "fp8_ds_mla"},
    {"2026-04-12",
     "2026-07-20",
     kGlm,
     "sm_90",
     {"--kv-cache-dtype", "fp8_e4m3"},
     "fp8_e4m3",
     "flashmla_kv",
     "flashmla_kv",
     "fp8_ds_mla"},
    {"2026-04-09",
     "2026-07-20",
     kGlm,
     "sm_100",
     {"--enable-hisparse"},
     "fp8_e4m3",
     "flashmla_sparse",
     "flashmla_sparse",
     "fp8_ds_mla"},
    // September 2026.
    {"2026-09-01", "2026-09-30", kGlm, "sm_90", {}, "bfloat16", "flashmla_sparse", "fa3", "bf16"},
    {"2026-09-01",
     "2026-09-30",
     kGlm,
     "sm_100",
     {},
     "fp8_e4m3",
     "trtllm",
     "trtllm",
     "fp8_per_tensor"},
    {"2026-09-01",
     "2026-09-30",
     kGlm,
     "sm_120",
     {},
     "fp8_e4m3",
     "flashinfer_sparse_mla",
     "flashinfer_sparse_mla",
     "fp8_ds_mla"},
    {"2026-09-01",
     "2026-09-30",
     kDeepSeek,
     "sm_120",
     {},
     "fp8_e4m3",
     "trtllm",
     "trtllm",
     "fp8_per_tensor"},
    {"2026-09-01",
     "2026-09-30",
     kGlm,
     "sm_90",
     {"--kv-cache-dtype", "fp8_e4m3"},
     "fp8_e4m3",
     "flashmla_kv",
     "flashmla_kv",
     "fp8_ds_mla"},
};

std::string shown(const Prediction& prediction, std::string_view name) {
  const PredictedSetting* s = prediction.find(name);
  if (s == nullptr) return "absent";
  return s->covered ? s->value : kOpen;
}

Prediction ask(const Row& row, const char* date) {
  const PeerQuery query{.engine = "sglang",
                        .at = date,
                        .device = *parse_device(row.device),
                        .model = *known_model(row.model),
                        .flags = row.flags,
                        .environment = {}};
  auto prediction = predict(query);
  EXPECT_TRUE(prediction) << prediction.error().to_string();
  return *std::move(prediction);
}

TEST(SglangTable, EveryRangeAndDevice) {
  for (const Row& row : kRows) {
    for (const char* date : {row.first, row.last}) {
      SCOPED_TRACE(std::string(date) + " " + row.device + " " + row.model);
      const Prediction prediction = ask(row, date);
      EXPECT_EQ(shown(prediction, "kv_cache_dtype"), row.kv_dtype);
      EXPECT_EQ(shown(prediction, "nsa_prefill_backend"), row.prefill);
      EXPECT_EQ(shown(prediction, "nsa_decode_backend"), row.decode);
      EXPECT_EQ(shown(prediction, "page_size"), "64");
      EXPECT_EQ(shown(prediction, "kv_pool_layout"), row.layout);
    }
  }
}

struct FlagRow {
  const char* date;
  const char* decode;
  bool forced;
};

TEST(SglangTable, TypedBackendsWereIgnoredFor33Days) {
  const FlagRow rows[] = {
      {"2026-03-06", "flashmla_kv", false}, {"2026-03-07", "trtllm", true},
      {"2026-04-01", "trtllm", true},       {"2026-04-02", "trtllm", true},
      {"2026-04-08", "trtllm", true},       {"2026-04-09", "flashmla_kv", false},
      {"2026-07-20", "flashmla_kv", false}};
  for (const FlagRow& row : rows) {
    const Prediction prediction =
        ask({.first = row.date,
             .last = row.date,
             .model = kGlm,
             .device = "sm_120",
             .flags = {"--kv-cache-dtype", "fp8_e4m3", "--nsa-prefill-backend", "flashmla_sparse",
                       "--nsa-decode-backend", "flashmla_kv"},
             .kv_dtype = "",
             .prefill = "",
             .decode = "",
             .layout = ""},
            row.date);
    const PredictedSetting* s = prediction.find("nsa_decode_backend");
    ASSERT_NE(s, nullptr);
    EXPECT_EQ(s->value, row.decode) << row.date;
    EXPECT_EQ(s->forced, row.forced) << row.date;
    EXPECT_EQ(s->typed, "flashmla_kv");
    EXPECT_EQ(s->source, row.forced ? Source::kRule : Source::kUser) << row.date;
    if (row.forced) {
      ASSERT_EQ(s->overridden.size(), 1U);
      EXPECT_EQ(s->overridden[0].source, Source::kUser);
      EXPECT_EQ(s->overridden[0].value, "flashmla_kv");
    }
  }
}

TEST(SglangTable, PageSizeIsForcedOverATypedOne) {
  const Prediction prediction = ask({.first = "",
                                     .last = "",
                                     .model = kGlm,
                                     .device = "sm_120",
                                     .flags = {"--page-size=16"},
                                     .kv_dtype = "",
                                     .prefill = "",
                                     .decode = "",
                                     .layout = ""},
                                    "2026-02-18");
  const PredictedSetting* s = prediction.find("page_size");
  EXPECT_EQ(s->value, "64");
  EXPECT_TRUE(s->forced);
  EXPECT_EQ(s->overridden.at(0).value, "16");
}

}  // namespace
}  // namespace pellucid::peers
