// The founding incident from end to end: the contradictions, the change that changes nothing, the
// one that does, the four states in seven months, and the log of the same run.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "peers/log_reader.h"
#include "peers/test_query.h"

namespace pellucid::peers {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> rules_of(const std::vector<config::Contradiction>& list) {
  std::vector<std::string> out;
  for (const config::Contradiction& c : list) out.push_back(c.rule);
  return out;
}

TEST(Founding, ThreeContradictionsEachWithItsFix) {
  const Prediction p = *predict(founding_query());
  ASSERT_THAT(rules_of(p.contradictions), ElementsAre("kv_layout", "scale_format", "kv_scales"));
  const config::Contradiction& rows = p.contradictions[0];
  EXPECT_THAT(rows.one.says, HasSubstr("656"));
  EXPECT_THAT(rows.other.says, HasSubstr("576"));
  EXPECT_THAT(rows.one.source, HasSubstr("sglang.pool.dsa.packed"));
  EXPECT_THAT(rows.other.source, HasSubstr("flashinfer"));
  EXPECT_THAT(rows.fix, HasSubstr("--kv-cache-dtype bf16"));
  EXPECT_THAT(p.contradictions[1].one.says, HasSubstr("e4m3"));
  EXPECT_THAT(p.contradictions[1].other.says, HasSubstr("ue8m0"));
  EXPECT_THAT(p.contradictions[1].fix, HasSubstr("SGLANG_ENABLE_JIT_DEEPGEMM=0"));
  EXPECT_THAT(p.contradictions[2].other.says, HasSubstr("1.0"));
}

TEST(Founding, DeletingTheFlagChangesNothing) {
  const Difference d = *what_if(founding_query(), "-kv-cache-dtype");
  EXPECT_TRUE(d.changes_nothing());
  EXPECT_EQ(to_text(d),
            "-kv-cache-dtype: changes nothing: kv_cache_dtype stays fp8_e4m3: auto becomes "
            "fp8_e4m3: DSA, and compute capability 12.0 >= 10 "
            "[sglang.kv_dtype.dsa.auto.blackwell]; to change it, say bf16\n");
}

TEST(Founding, AskingForBf16EndsTheLayoutContradiction) {
  for (const char* change : {"kv-cache-dtype=bf16", "kv_cache_dtype=bfloat16"}) {
    const Difference d = *what_if(founding_query(), change);
    EXPECT_THAT(rules_of(d.ended), ElementsAre("kv_layout", "kv_scales"));
    EXPECT_THAT(d.begun, IsEmpty());
    EXPECT_THAT(d.refusals_begun, IsEmpty());
    std::vector<std::string> changed;
    for (const SettingChange& c : d.settings) changed.push_back(c.name);
    EXPECT_THAT(changed, ElementsAre("kv_cache_dtype", "nsa_prefill_backend", "nsa_decode_backend",
                                     "kv_pool_layout", "kv_read_layout.prefill",
                                     "kv_read_layout.decode", "kv_scale"));
  }
}

TEST(Founding, DeepGemmIsTurnedOffByTheVariableNotByTheGemmFlag) {
  PeerQuery query = founding_query();
  const Difference flag = *what_if(query, "fp8-gemm-backend=cutlass");
  EXPECT_THAT(flag.ended, IsEmpty());
  const Difference variable = *what_if(query, "env.SGLANG_ENABLE_JIT_DEEPGEMM=0");
  EXPECT_THAT(rules_of(variable.ended), ElementsAre("scale_format"));
  query.environment = {"SGLANG_ENABLE_JIT_DEEPGEMM=0"};
  EXPECT_THAT(rules_of(predict(query)->contradictions), ElementsAre("kv_layout", "kv_scales"));
}

TEST(Founding, LogLinesToExpectAreThoseOfTheLog) {
  PeerQuery query = founding_query();
  query.flags.resize(query.flags.size() - 2);
  const Prediction p = *predict(query);
  std::vector<std::string> texts;
  for (const ExpectedLog& log : p.logs) texts.push_back(log.text);
  EXPECT_THAT(
      texts,
      ElementsAre("Setting page size to 64 for DeepSeek DSA.",
                  "Setting KV cache dtype to fp8_e4m3 for DeepSeek DSA on SM12 device.",
                  "Set NSA backends for fp8_e4m3 KV Cache: prefill=flashmla_auto, "
                  "decode=flashmla_kv.",
                  "Force NSA prefill to use MLA (i.e. disable MHA_ONE_SHOT) for "
                  "GlmMoeDsaForCausalLM on Blackwell.",
                  "Using FP8 KV cache but no scaling factors provided. Defaulting to scaling "
                  "factors of 1.0.",
                  "DeepGemm is enabled but the scale_fmt of checkpoint is not ue8m0. This might "
                  "cause accuracy degradation on Blackwell."));
}

TEST(Founding, FourStatesInSevenMonths) {
  const PeerQuery query =
      query_of("sglang", "2026-02-18", "sm_120 x8", "GLM-5-NVFP4", {"--tp", "8"});
  const auto points = *timeline(query, *parse_date("2026-02-18"), *parse_date("2026-09-30"));
  std::vector<std::string> states;
  for (const TimelinePoint& point : points) {
    std::string state = to_string(point.dates) + ":";
    for (const PredictedSetting& s : point.settings) {
      state += s.covered ? " " + s.value : std::string(" -");
    }
    states.push_back(state);
  }
  EXPECT_THAT(
      states,
      ElementsAre("2026-02-18..2026-03-06: fp8_e4m3 flashmla_auto flashmla_kv 64 fp8_ds_mla",
                  "2026-03-07..2026-04-01: bfloat16 flashmla_sparse trtllm 64 bf16",
                  "2026-04-02..2026-07-20: fp8_e4m3 trtllm trtllm 64 fp8_per_tensor",
                  "2026-07-21..2026-08-31: - - - - -",
                  "2026-09-01..2026-09-30: fp8_e4m3 flashinfer_sparse_mla "
                  "flashinfer_sparse_mla 64 fp8_ds_mla"));
}

std::string golden(const char* name) {
  std::ifstream in(std::string(PELLUCID_SOURCE_DIR "/tests/golden/peers/") + name,
                   std::ios::binary);
  EXPECT_TRUE(in) << name;
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

LogReport read(const char* name) {
  LogReader reader({});
  reader.push_bytes(golden(name));
  reader.finish();
  return reader.report();
}

TEST(Founding, TheLogShowsTheSameContradictions) {
  const LogReport r = read("sglang_founding.log");
  EXPECT_EQ(r.engine, LogEngine::kSglang);
  ASSERT_THAT(rules_of(r.contradictions), ElementsAre("kv_layout", "scale_format", "kv_scales"));
  const config::Contradiction predicted = predict(founding_query())->contradictions[0];
  EXPECT_EQ(r.contradictions[0].one.says, predicted.one.says);
  EXPECT_EQ(r.contradictions[0].other.says, predicted.other.says);
  EXPECT_EQ(r.contradictions[0].fix, predicted.fix);
  EXPECT_THAT(r.contradictions[0].one.source, HasSubstr("line 27"));
  EXPECT_THAT(r.contradictions[0].other.source, HasSubstr("line 8"));
  EXPECT_THAT(r.unknowns, IsEmpty());
}

TEST(Founding, TheLogOfTheBf16RunShowsNone) {
  const LogReport r = read("sglang_bf16.log");
  EXPECT_THAT(rules_of(r.contradictions), IsEmpty());
  ASSERT_TRUE(r.pool && r.pool->match);
  EXPECT_EQ(r.pool->match->layout, config::KvLayoutId::kBf16);
  EXPECT_EQ(r.cause(), nullptr);
}

// The page shows real output; a change of output is a change of the page.
TEST(Founding, ThePageShowsWhatIsPrinted) {
  std::ifstream in(PELLUCID_SOURCE_DIR "/docs/diagnosis/founding-incident.md");
  std::stringstream text;
  text << in.rdbuf();
  const std::string page = text.str();
  PeerQuery query = founding_query();
  EXPECT_THAT(page, HasSubstr(to_text(*predict(query))));
  EXPECT_THAT(page, HasSubstr(to_text(*what_if(query, "-kv-cache-dtype"))));
  EXPECT_THAT(page, HasSubstr(to_text(*what_if(query, "kv-cache-dtype=bf16"))));
  EXPECT_THAT(page, HasSubstr(to_text(read("sglang_founding.log"))));
  query.flags = {"--tp", "8"};
  EXPECT_THAT(
      page,
      HasSubstr(to_text(*timeline(query, *parse_date("2026-02-18"), *parse_date("2026-09-30")))));
}

}  // namespace
}  // namespace pellucid::peers
