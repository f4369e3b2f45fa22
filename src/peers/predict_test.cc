#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "peers/evaluation.h"
#include "peers/test_query.h"

namespace pellucid::peers {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string shown(const Prediction& prediction, std::string_view name) {
  const PredictedSetting* s = prediction.find(name);
  if (s == nullptr) return "absent";
  return s->covered ? s->value : "not covered: " + s->reason;
}

TEST(Coverage, OutsideWhatThePackKnowsNothingIsGuessed) {
  struct Case {
    const char* at;
    const char* device;
    const char* reason;
  };
  const Case cases[] = {
      {"2025-10-26", "sm_120", "the pack covers"},
      {"2026-07-21", "sm_120", "the pack covers"},
      {"2026-10-01", "sm_120", "the pack covers"},
      {"v0.5.9", "sm_120", "the pack covers"},
      {"2026-02-18", "sm_130", "sm_130 is not a device that this pack knows"},
      {"2026-02-18", nullptr, "depends on the device, which is not given"},
  };
  for (const Case& c : cases) {
    const Prediction p = *predict(query_of("sglang", c.at, c.device, "GLM-5-NVFP4", {"--tp", "8"}));
    EXPECT_THAT(shown(p, "kv_cache_dtype"), HasSubstr(c.reason)) << c.at;
    EXPECT_THAT(shown(p, "kv_pool_layout"), HasSubstr("not covered")) << c.at;
    EXPECT_TRUE(p.contradictions.empty()) << c.at;
  }
}

TEST(Coverage, UnknownArchitectureAndOneThatCameLater) {
  PeerQuery query = query_of("sglang", "2026-02-18", "sm_120", "GLM-5-NVFP4", {});
  query.model.architecture = "LlamaForCausalLM";
  EXPECT_THAT(shown(*predict(query), "kv_cache_dtype"),
              HasSubstr("LlamaForCausalLM is not an architecture that this pack knows"));
  query.model.architecture.clear();
  EXPECT_THAT(shown(*predict(query), "kv_cache_dtype"), HasSubstr("which is not given"));
  // GLM-5 support landed on 2026-02-10.
  query = query_of("sglang", "2026-02-09", "sm_120", "GLM-5-NVFP4", {});
  EXPECT_THAT(shown(*predict(query), "kv_cache_dtype"), HasSubstr("knows on 2026-02-09"));
  query.at = "2026-02-10";
  EXPECT_EQ(shown(*predict(query), "kv_cache_dtype"), "fp8_e4m3");
}

TEST(Coverage, ATypedValueStandsWhereOnlyTheDefaultIsUnknown) {
  const Prediction p = *predict(
      query_of("sglang", "2026-02-18", nullptr, "GLM-5-NVFP4", {"--kv-cache-dtype", "bf16"}));
  EXPECT_EQ(shown(p, "kv_cache_dtype"), "bfloat16");
  EXPECT_EQ(shown(p, "nsa_prefill_backend"), "flashmla_sparse");
  EXPECT_THAT(shown(p, "nsa_decode_backend"), HasSubstr("device"));
  EXPECT_EQ(shown(p, "kv_pool_layout"), "bf16");
}

TEST(Coverage, VersionsAndTheNewestDay) {
  EXPECT_EQ(to_string(*predict(query_of("sglang", "e2fccb2ee", "sm_90", "GLM-5", {}))->date),
            "2026-02-18");
  EXPECT_EQ(to_string(*predict(query_of("sglang", "", "sm_90", "GLM-5", {}))->date), "2026-09-30");
}

TEST(Coverage, AutoTypedIsUnsetAndShownAsTyped) {
  const Prediction p =
      *predict(query_of("sglang", "2026-02-18", "sm_120", "GLM-5", {"--kv-cache-dtype", "auto"}));
  const PredictedSetting* s = p.find("kv_cache_dtype");
  EXPECT_EQ(s->value, "fp8_e4m3");
  EXPECT_EQ(s->typed, "auto");
  EXPECT_EQ(s->source, Source::kRule);
  EXPECT_FALSE(s->forced);
  EXPECT_THAT(to_text(p), HasSubstr("typed: auto"));
}

TEST(Sglang, TrtllmForOnePhaseAloneSplitsWriterAndReader) {
  const Prediction p =
      *predict(query_of("sglang", "2026-02-18", "sm_100", "GLM-5-FP8",
                        {"--kv-cache-dtype", "fp8_e4m3", "--nsa-decode-backend", "trtllm"}));
  EXPECT_EQ(shown(p, "kv_pool_layout"), "fp8_per_tensor");
  ASSERT_EQ(p.contradictions.at(0).rule, "kv_layout");
  EXPECT_EQ(p.contradictions[0].other.who, "prefill reader");
  EXPECT_THAT(p.contradictions[0].other.says, HasSubstr("656"));
}

TEST(Sglang, NsaKernelsDoNotExistOnSm120) {
  const Prediction p = *predict(query_of("sglang", "2026-02-18", "sm_120", "GLM-5", {"--tp", "8"}));
  EXPECT_EQ(shown(p, "attention_backend"), "nsa");
  std::vector<std::string> rules;
  for (const auto& c : p.contradictions) rules.push_back(c.rule);
  EXPECT_THAT(rules, ElementsAre("kv_scales", "device_kernel", "device_kernel"));
  EXPECT_TRUE(
      predict(query_of("sglang", "2026-02-18", "sm_100", "GLM-5", {"--kv-cache-dtype", "bf16"}))
          ->contradictions.empty());
}

TEST(Sglang, OneScaleContradictionNamesEveryPart) {
  PeerQuery query = founding_query();
  query.model.parts = {{"routed experts", config::ScaleFormat::kE4m3Global},
                       {"attention", config::ScaleFormat::kNone},
                       {"dense mlp", config::ScaleFormat::kE4m3Global}};
  const Prediction p = *predict(query);
  ASSERT_EQ(p.contradictions.size(), 3U);
  EXPECT_EQ(p.contradictions[1].one.who, "checkpoint (routed experts, dense mlp)");
  query.model.parts = {{"linear layers", config::ScaleFormat::kFp32Block}};
  EXPECT_EQ(predict(query)->contradictions.size(), 2U);
}

TEST(Sglang, RefusesOtherKvDtypesForDsa) {
  const Prediction p = *predict(
      query_of("sglang", "2026-02-18", "sm_120", "GLM-5", {"--kv-cache-dtype", "fp8_e5m2"}));
  ASSERT_EQ(p.refusals.size(), 1U);
  EXPECT_THAT(p.refusals[0].text, HasSubstr("not fp8_e5m2"));
}

TEST(Sglang, MlaWithoutDsaAtTheFoundingCommit) {
  struct Case {
    const char* device;
    const char* attention;
    const char* page;
  };
  for (const Case& c : {Case{"sm_90", "fa3", "1"}, Case{"sm_100", "trtllm_mla", "64"},
                        Case{"sm_120", "triton", "1"}}) {
    const Prediction p = *predict(query_of("sglang", "2026-02-18", c.device, "DeepSeek-V3", {}));
    EXPECT_EQ(shown(p, "attention_backend"), c.attention) << c.device;
    EXPECT_EQ(shown(p, "page_size"), c.page) << c.device;
    EXPECT_EQ(shown(p, "kv_cache_dtype"), "bfloat16") << c.device;
    EXPECT_EQ(shown(p, "kv_pool_layout"), "bf16") << c.device;
    EXPECT_EQ(shown(p, "nsa_prefill_backend"), "absent") << c.device;
  }
  EXPECT_EQ(shown(*predict(query_of("sglang", "2026-02-18", "sm_100", "DeepSeek-V3", {})),
                  "moe_runner_backend"),
            "flashinfer_trtllm");
}

TEST(Sglang, SizesByMemoryAndDpAttention) {
  struct Case {
    const char* device;
    std::vector<std::string> flags;
    const char* chunk;
    const char* graph;
  };
  const Case cases[] = {
      {"sm_89:16GiB", {}, "2048", "8"},
      {"sm_89:24GiB", {}, "2048", "24"},
      {"sm_89:24GiB", {"--tp", "4"}, "2048", "80"},
      {"sm_89:48GiB", {}, "4096", "32"},
      {"sm_120:96GiB", {"--tp", "8"}, "8192", "512"},
      {"sm_100:192GiB", {}, "16384", "512"},
      {"sm_100:192GiB", {"--dp", "8", "--enable-dp-attention"}, "2048", "512"},
      {"sm_100:192GiB", {"--dp", "8"}, "16384", "512"},
  };
  for (const Case& c : cases) {
    const Prediction p = *predict(query_of("sglang", "2026-02-18", c.device, "GLM-5", c.flags));
    EXPECT_EQ(shown(p, "chunked_prefill_size"), c.chunk) << c.device;
    EXPECT_EQ(shown(p, "cuda_graph_max_bs"), c.graph) << c.device;
  }
}

TEST(Sglang, SpeculativeRewritesWhatWasTyped) {
  const Prediction p =
      *predict(query_of("sglang", "2026-02-18", "sm_120", "GLM-5",
                        {"--speculative-algorithm", "NEXTN", "--speculative-num-steps", "3",
                         "--speculative-eagle-topk", "1", "--speculative-num-draft-tokens", "6"}));
  EXPECT_EQ(shown(p, "speculative_algorithm"), "EAGLE");
  EXPECT_EQ(shown(p, "speculative_num_draft_tokens"), "4");
  EXPECT_TRUE(p.find("speculative_num_draft_tokens")->forced);
  EXPECT_EQ(shown(p, "max_running_requests"), "48");
}

TEST(Sglang, TheFalseLogLineOfSeptemberIsMarked) {
  const Prediction p = *predict(
      query_of("sglang", "2026-09-15", "sm_120", "GLM-5", {"--dsa-decode-backend", "trtllm"}));
  EXPECT_EQ(shown(p, "nsa_decode_backend"), "trtllm");
  ASSERT_FALSE(p.logs.empty());
  const auto line = std::ranges::find_if(p.logs, [](const ExpectedLog& log) {
    return log.text.find("SM120/SM121") != std::string::npos;
  });
  ASSERT_NE(line, p.logs.end());
  EXPECT_THAT(line->caution, HasSubstr("default even when the user's"));
}

TEST(Vllm, Sm120TurnsAutoIntoThePackedFormat) {
  const Prediction p = *predict(query_of("vllm", "017e9f4448", "sm_120", "GLM-5-FP8", {}));
  EXPECT_EQ(shown(p, "attention_backend"), "FLASHINFER_MLA_SPARSE_SM120");
  EXPECT_EQ(shown(p, "kv_cache_dtype"), "fp8_ds_mla");
  EXPECT_EQ(shown(p, "kv_pool_layout"), "fp8_ds_mla");
  EXPECT_TRUE(p.contradictions.empty());
  const Prediction typed = *predict(
      query_of("vllm", "2026-08-17", "sm_120", "GLM-5-FP8", {"--kv-cache-dtype=bfloat16"}));
  EXPECT_EQ(shown(typed, "kv_cache_dtype"), "fp8_ds_mla");
  EXPECT_TRUE(typed.find("kv_cache_dtype")->forced);
}

TEST(Vllm, Sm100DependsOnHeadsPerRank) {
  const auto backend = [](std::vector<std::string> flags) {
    return shown(*predict(query_of("vllm", "2026-08-17", "sm_100", "GLM-5", std::move(flags))),
                 "attention_backend");
  };
  EXPECT_EQ(backend({}), "FLASHMLA_SPARSE");
  EXPECT_EQ(backend({"-tp", "4"}), "FLASHINFER_MLA_SPARSE");
  EXPECT_EQ(backend({"-tp", "2"}), "FLASHMLA_SPARSE");
  EXPECT_EQ(backend({"--kv-cache-dtype", "fp8"}), "FLASHINFER_MLA_SPARSE");
}

TEST(Vllm, AnUnknownBackendIsNotCoveredAndNotReplaced) {
  const Prediction p = *predict(
      query_of("vllm", "2026-08-17", "sm_120", "GLM-5", {"--attention-backend", "nonsense"}));
  EXPECT_FALSE(p.find("attention_backend")->covered);
  EXPECT_THAT(p.find("attention_backend")->reason, HasSubstr("unknown value nonsense"));
}

TEST(Vllm, RanksThatDoNotDivideTheHeadsContradictThem) {
  for (const char* ranks : {"7", "-3", "0"}) {
    const Prediction p = *predict(
        query_of("vllm", "2026-08-17", "sm_120", "GLM-5", {"--tensor-parallel-size", ranks}));
    ASSERT_EQ(p.contradictions.size(), 1U) << ranks;
    EXPECT_EQ(p.contradictions.front().rule, "tensor_parallel");
    EXPECT_FALSE(p.find("heads_per_rank")->covered);
  }
}

TEST(Predict, SaysWhenTheDateOrVersionIsOutsideThePack) {
  for (const char* at : {"2031-01-01", "0.5.2"}) {
    const Prediction p = *predict(query_of("sglang", at, "sm_120", "GLM-5", {}));
    EXPECT_THAT(p.outside, testing::AllOf(HasSubstr(at), HasSubstr("outside the pack"),
                                          HasSubstr("2026-07-20")));
  }
  EXPECT_EQ(predict(query_of("sglang", "2026-02-18", "sm_120", "GLM-5", {}))->outside, "");
}

TEST(Vllm, CandidatesAreNamedWhereTheChoiceIsNotKnown) {
  const Prediction p = *predict(query_of("vllm", "2026-08-17", "sm_90", "GLM-5", {}));
  EXPECT_THAT(shown(p, "attention_backend"), HasSubstr("FLASH_ATTN_MLA_SPARSE, FLASHMLA_SPARSE"));
  EXPECT_THAT(
      shown(*predict(query_of("vllm", "2026-08-18", "sm_120", "GLM-5", {})), "attention_backend"),
      HasSubstr("the pack covers 2026-08-17"));
}

TEST(Vllm, IgnoredAndUnknownVariables) {
  PeerQuery query = query_of("vllm", "2026-08-17", "sm_120", "GLM-5", {});
  query.environment = {"VLLM_ATTENTION_BACKEND=TRITON_MLA", "VLLM_TYPO=1"};
  const Prediction p = *predict(query);
  EXPECT_EQ(shown(p, "attention_backend"), "FLASHINFER_MLA_SPARSE_SM120");
  EXPECT_THAT(p.notes.at(0).text, HasSubstr("ignored"));
  EXPECT_THAT(p.not_modelled, ElementsAre("VLLM_TYPO=1"));
}

TEST(LlamaCpp, FlashAttentionFollowsTheVCache) {
  const auto flash = [](std::vector<std::string> flags) {
    return shown(*predict(query_of("llama.cpp", "2026-08-15", "sm_120", "GLM-5", std::move(flags))),
                 "flash_attn");
  };
  EXPECT_EQ(flash({"-ctv", "q8_0"}), "on");
  EXPECT_EQ(flash({"-ctv", "q8_0", "-fa", "off"}), "off");
  EXPECT_THAT(flash({}), HasSubstr("decided by the backend"));
}

TEST(IkLlamaCpp, MlaAndDsa) {
  const Prediction p =
      *predict(query_of("ik_llama.cpp", "8337e4cd3", "sm_120", "GLM-5", {"--dsa", "-sm", "graph"}));
  EXPECT_EQ(shown(p, "mla_attn"), "3");
  EXPECT_EQ(shown(p, "dsa"), "0");
  PeerQuery llama = query_of("ik_llama.cpp", "2026-08-15", "sm_120", "GLM-5", {"-mla", "2"});
  llama.model.architecture = "LlamaForCausalLM";
  EXPECT_EQ(shown(*predict(llama), "mla_attn"), "0");
  EXPECT_TRUE(predict(llama)->find("mla_attn")->forced);
  EXPECT_EQ(predict(query_of("ik_llama.cpp", "", "sm_120", "GLM-5", {"-fa", "off", "-ctv", "q4_0"}))
                ->refusals.size(),
            1U);
}

struct BadQuery {
  PeerQuery query;
  const char* rule;
};

TEST(Malformed, OneErrorEach) {
  const auto q = [](std::string at, std::vector<std::string> flags) {
    return query_of("sglang", std::move(at), "sm_120", "GLM-5", std::move(flags));
  };
  const BadQuery cases[] = {
      {query_of("sglong", "2026-02-18", "sm_120", "GLM-5", {}), "peer_engine"},
      {q("2026-02-30", {}), "peer_date"},
      {q("2026-02-18", {"--tp"}), "peer_flag_value"},
      {q("2026-02-18", {"--tp", "--host"}), "peer_flag_value"},
      {q("2026-02-18", {"--tp", "eight"}), "peer_flag_value"},
      {q("2026-02-18", {"--tp=8x"}), "peer_flag_value"},
      {q("2026-02-18", {"--tp="}), "peer_flag_value"},
      {q("2026-02-18", {"--mem-fraction-static", "most"}), "peer_flag_value"},
      {q("2026-02-18", {"--kv-cache-dtype", "fp8"}), "peer_flag_value"},
      {q("2026-02-18", {"--enable-dp-attention=yes"}), "peer_flag_value"},
      {q("2026-02-18", {"stray"}), "peer_flag_stray"},
      {q("2026-02-18", {"--tp", "8", "stray"}), "peer_flag_stray"},
      {q("2026-02-18", std::vector<std::string>(5000, "-x")), "peer_flag_stray"},
  };
  for (const BadQuery& c : cases) {
    const auto p = predict(c.query);
    ASSERT_FALSE(p) << c.rule;
    EXPECT_EQ(p.error().rule, c.rule) << p.error().to_string();
    EXPECT_FALSE(p.error().expected.empty());
  }
  PeerQuery env = q("2026-02-18", {});
  env.environment = {"=1"};
  EXPECT_EQ(predict(env).error().rule, "peer_env");
  EXPECT_THAT(predict(cases[0].query).error().fix, HasSubstr("sglang"));
  EXPECT_FALSE(parse_target("sglang@"));
  EXPECT_FALSE(parse_target(""));
  EXPECT_EQ(parse_target("vllm@017e9f4448")->at, "017e9f4448");
}

TEST(Malformed, UnknownFlagsAreListedWithTheNearest) {
  const Prediction p =
      *predict(query_of("sglang", "2026-02-18", "sm_120", "GLM-5",
                        {"--kv-cache-dtpe", "bf16", "--mystery", "a", "b", "--tp", "8",
                         "--dsa-decode-backend", "trtllm", "--esc", "\x1b[2J"}));
  EXPECT_THAT(
      p.not_modelled,
      ElementsAre("--kv-cache-dtpe bf16 (did you mean --kv-cache-dtype?)", "--mystery a b",
                  "--dsa-decode-backend trtllm (not a flag on this date)", "--esc \\x1b[2J"));
  EXPECT_EQ(shown(p, "tp_size"), "8");
}

TEST(WhatIf, ErrorsAndKeys) {
  for (const char* change : {"", "-", "kv-cache-dtype", "kv-cache-dtype=", "=bf16", "nonsense=1",
                             "-date", "device=gpu", "date=2026-02-30", "tp=x"}) {
    EXPECT_FALSE(what_if(founding_query(), change)) << change;
  }
  EXPECT_THAT(what_if(founding_query(), "kv-cache-dtyp=bf16").error().fix,
              HasSubstr("kv-cache-dtype"));
  EXPECT_FALSE(what_if(founding_query(), "device=sm_100")->changes_nothing());
  EXPECT_FALSE(what_if(founding_query(), "date=2026-03-07")->changes_nothing());
  EXPECT_TRUE(what_if(founding_query(), "date=2026-02-19")->changes_nothing());
}

TEST(WhatIf, AForcedSettingSaysSo) {
  const PeerQuery query = query_of("sglang", "2026-04-05", "sm_120", "GLM-5", {});
  const Difference d = *what_if(query, "nsa-decode-backend=flashmla_kv");
  EXPECT_TRUE(d.changes_nothing());
  EXPECT_THAT(d.why_nothing, HasSubstr("stays trtllm"));
  EXPECT_THAT(d.why_nothing, HasSubstr("the typed value is overridden"));
}

TEST(Timeline, RefusesWrongRangesAndNames) {
  const PeerQuery query = founding_query();
  const Date first = *parse_date("2026-02-18");
  const Date last = *parse_date("2026-02-01");
  EXPECT_FALSE(timeline(query, first, last));
  const std::string unknown[] = {"colour"};
  EXPECT_FALSE(timeline(query, last, first, unknown));
  EXPECT_EQ(timeline(query, first, first)->size(), 1U);
}

TEST(Properties, OrderOfFlagsDoesNotMatterAndEveryValueHasSourceAndReason) {
  const std::vector<std::vector<std::string>> groups = {{"--tp", "8"},
                                                        {"--attention-backend", "flashinfer"},
                                                        {"--page-size", "16"},
                                                        {"--kv-cache-dtype", "fp8_e4m3"},
                                                        {"--dp", "2"},
                                                        {"--nsa-decode-backend", "trtllm"},
                                                        {"--enable-dp-attention"},
                                                        {"--speculative-algorithm", "NEXTN"},
                                                        {"--moe-runner-backend", "triton"}};
  std::mt19937 random(20260218);
  for (const char* date : {"2025-12-01", "2026-02-18", "2026-03-10", "2026-03-30", "2026-04-05",
                           "2026-05-01", "2026-09-15", "2026-08-01"}) {
    for (const char* device : {"sm_90:80GB", "sm_100:180GB", "sm_120:96GB", "sm_103"}) {
      std::vector<std::size_t> order(groups.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::string first;
      for (int round = 0; round < 4; ++round) {
        std::vector<std::string> flags;
        for (const std::size_t i : order) {
          flags.insert(flags.end(), groups[i].begin(), groups[i].end());
        }
        const Prediction p = *predict(query_of("sglang", date, device, "GLM-5-NVFP4", flags));
        std::string text;
        for (const PredictedSetting& s : p.settings) {
          EXPECT_FALSE(s.reason.empty()) << s.name;
          EXPECT_FALSE(s.origin.empty()) << s.name;
          EXPECT_FALSE(s.citation.empty()) << s.name;
          EXPECT_EQ(s.covered || s.value.empty(), true) << s.name;
          text += s.name + "=" + s.value + "|" + std::string(source_name(s.source)) + "\n";
        }
        for (const auto& c : p.contradictions) {
          EXPECT_FALSE(c.one.source.empty() || c.other.source.empty() || c.fix.empty()) << c.rule;
          text += c.rule + "\n";
        }
        if (round == 0) first = text;
        EXPECT_EQ(text, first) << date << " " << device;
        std::ranges::shuffle(order, random);
      }
    }
  }
}

TEST(Properties, OfARepeatedFlagTheLastCounts) {
  const Prediction p =
      *predict(query_of("sglang", "2026-02-18", "sm_120", "GLM-5", {"--tp", "4", "--tp-size=8"}));
  const PredictedSetting* s = p.find("tp_size");
  EXPECT_EQ(s->value, "8");
  ASSERT_EQ(s->overridden.size(), 1U);
  EXPECT_EQ(s->overridden[0].value, "4");
}

TEST(Calculate, IntegersOnly) {
  EXPECT_EQ(calculate("7 + 1"), 8);
  EXPECT_EQ(calculate("7 - 9"), -2);
  EXPECT_EQ(calculate("7 * 3"), 21);
  EXPECT_EQ(calculate("16384 / 8"), 2048);
  for (const char* text : {"", "7", "7 /", "7 / 0", "7 / -1", "a + 1", "1 + b", "1 ^ 2", "1+2",
                           "9223372036854775807 + 1", "9223372036854775807 * 2"}) {
    EXPECT_EQ(calculate(text), std::nullopt) << text;
  }
}

TEST(Json, SaysWhatTheTextSays) {
  const json::Value v = to_json(*predict(founding_query()));
  EXPECT_EQ(v.find("schema")->string(), "pellucid.peer_prediction.v1");
  EXPECT_EQ(v.find("date")->string(), "2026-02-18");
  EXPECT_EQ(v.find("contradictions")->array().size(), 3U);
  const std::string text = json::dump(v);
  EXPECT_EQ(*json::parse(text, "dump"), v);
  const json::Value d = to_json(*what_if(founding_query(), "-kv-cache-dtype"));
  EXPECT_TRUE(d.find("changes_nothing")->boolean());
  PeerQuery binary = founding_query();
  binary.flags.insert(binary.flags.end(), {"--odd", "\xff\xfe"});
  binary.model.architecture = "\xff";
  EXPECT_TRUE(json::parse(json::dump(to_json(*predict(binary))), "dump"));
}

}  // namespace
}  // namespace pellucid::peers
