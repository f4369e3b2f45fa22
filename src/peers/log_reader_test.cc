#include "peers/log_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <fstream>
#include <random>
#include <sstream>

#include "peers/log_line.h"
#include "peers/log_shapes.h"

namespace pellucid::peers {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string golden(const char* name) {
  std::ifstream in(std::string(PELLUCID_SOURCE_DIR "/tests/golden/peers/") + name,
                   std::ios::binary);
  EXPECT_TRUE(in) << name;
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

LogReport read(std::string_view text, LogOptions options = {}) {
  LogReader reader(std::move(options));
  reader.push_bytes(text);
  reader.finish();
  return reader.report();
}

std::string value(const LogReport& r, std::string_view name) {
  const ObservedSetting* s = r.find(name);
  return s == nullptr ? "absent" : s->effective().value;
}

TEST(LogLines, PrefixesOfEveryEngine) {
  struct Case {
    const char* line;
    LogEngine engine;
    const char* date;
    const char* message;
  };
  const Case cases[] = {
      {"[2026-02-19 00:19:10] WARNING server_args.py:1177: MSG", LogEngine::kSglang, "2026-02-19",
       "MSG"},
      {"[2026-06-28 13:58:47] Setting page size", LogEngine::kSglang, "2026-06-28",
       "Setting page size"},
      {"[2026-02-19 00:19:12 TP0] MSG", LogEngine::kSglang, "2026-02-19", "MSG"},
      {"[2026-02-19 00:19:12.123 DP1 TP0 EP3 PP2] MSG", LogEngine::kSglang, "2026-02-19", "MSG"},
      {"(worker pid=12, ip=10.0.0.1) [2026-02-19 00:19:12 TP0] MSG", LogEngine::kSglang,
       "2026-02-19", "MSG"},
      {"WARNING:sglang.srt.server_args:MSG", LogEngine::kSglang, "", "MSG"},
      {"(APIServer pid=1) INFO 06-29 03:29:06 [model.py:601] MSG", LogEngine::kVllm, "", "MSG"},
      {"WARNING 06-29 03:29:06 [v1/core/a.py:6] MSG", LogEngine::kVllm, "", "MSG"},
      {"llama_init_from_model: flash_attn = 1", LogEngine::kLlamaCpp, "",
       "llama_init_from_model: flash_attn = 1"},
      {"[2026-02-19] no stamp", LogEngine::kUnknown, "", "[2026-02-19] no stamp"},
      {"", LogEngine::kUnknown, "", ""},
      {"(", LogEngine::kUnknown, "", "("},
      {"INFO ", LogEngine::kUnknown, "", "INFO "},
  };
  for (const Case& c : cases) {
    const LogLine line = parse_line(c.line);
    EXPECT_EQ(line.shape, c.engine) << c.line;
    EXPECT_EQ(line.date, c.date) << c.line;
    EXPECT_EQ(line.message, c.message) << c.line;
  }
}

TEST(LogLines, EscapesAreRemoved) {
  EXPECT_EQ(strip_escapes("a\x1b[1;31mb\x1b[0mc\r"), "abc");
  EXPECT_EQ(strip_escapes("a\x1b]0;title\x07"
                          "b"),
            "ab");
  EXPECT_EQ(strip_escapes("a\x1b"), "a");
  EXPECT_EQ(strip_escapes("a\x1b["), "a");
  EXPECT_EQ(strip_escapes("a\x1b]open"), "a");
}

TEST(LogLines, ScanAndPythonItems) {
  EXPECT_THAT(*scan("x prefill=flashmla_auto, decode=flashmla_kv.", "prefill=%w, decode=%w"),
              ElementsAre("flashmla_auto", "flashmla_kv"));
  EXPECT_THAT(*scan("size: 1,234,567 tokens, ", "size: %d tokens"), ElementsAre("1,234,567"));
  EXPECT_THAT(*scan("KV size: 29.32 GB.", "KV size: %f GB"), ElementsAre("29.32"));
  EXPECT_EQ(scan("KV size:  GB", "KV size: %f GB"), std::nullopt);
  EXPECT_EQ(scan("", "KV"), std::nullopt);
  const auto items =
      parse_python_items("a='x, y', b=[1, {2: 3}], c=None, d='it\\'s', e=f(1, 2)) tail=1", '=', 99);
  ASSERT_EQ(items.size(), 5U);
  EXPECT_EQ(items[0].value, "x, y");
  EXPECT_EQ(items[1].value, "[1, {2: 3}]");
  EXPECT_EQ(items[2].value, "");
  EXPECT_EQ(items[4].value, "f(1, 2)");
  EXPECT_EQ(parse_python_items("a=1, b=2, c=3", '=', 2).size(), 2U);
}

TEST(LogReader, Founding) {
  const LogReport r = read(golden("sglang_founding.log"));
  EXPECT_EQ(r.engine, LogEngine::kSglang);
  EXPECT_EQ(r.date, "2026-02-19");
  EXPECT_EQ(r.architecture, "GlmMoeDsaForCausalLM");
  EXPECT_TRUE(r.ready);
  EXPECT_EQ(r.prefill_lines, 1U);
  EXPECT_EQ(r.decode_lines, 0U);
  EXPECT_EQ(value(r, "kv_cache_dtype"), "fp8_e4m3");
  EXPECT_EQ(r.find("kv_cache_dtype")->sightings.front().line, 5U);
  EXPECT_EQ(value(r, "attention_backend"), "flashinfer");
  EXPECT_EQ(value(r, "nsa_decode_backend"), "flashmla_kv");
  EXPECT_EQ(value(r, "page_size"), "64");
  ASSERT_TRUE(r.pool && r.pool->match);
  EXPECT_EQ(r.pool->line, 27U);
  EXPECT_EQ(r.pool->match->layout, config::KvLayoutId::kFp8DsMla);
  EXPECT_TRUE(r.pool->match->with_indexer);
  ASSERT_NE(r.cause(), nullptr);
  EXPECT_EQ(r.cause()->id, "sampler_assert");
  EXPECT_THAT(r.cause()->meaning, HasSubstr("the logits were already bad at this point"));
  ASSERT_EQ(r.asserts.size(), 1U);
  EXPECT_EQ(r.asserts[0].count, 24U);
  EXPECT_EQ(r.asserts[0].line, "112");
  EXPECT_EQ(r.asserts[0].condition,
            "probability tensor contains either `inf`, `nan` or element < 0");
  ASSERT_EQ(r.noise.size(), 2U);
  EXPECT_EQ(r.noise[0].id, "rope_transformers");
  EXPECT_EQ(r.noise[1].id, "deep_gemm_scale_fmt");
}

TEST(LogReader, VllmShowsRequestedAndEffective) {
  const LogReport r = read(golden("vllm.log"));
  EXPECT_EQ(r.engine, LogEngine::kVllm);
  const ObservedSetting* kv = r.find("kv_cache_dtype");
  ASSERT_NE(kv, nullptr);
  ASSERT_EQ(kv->sightings.size(), 3U);
  EXPECT_EQ(kv->sightings[0].evidence, Evidence::kRequested);
  EXPECT_EQ(kv->sightings[0].value, "auto");
  EXPECT_EQ(kv->effective().evidence, Evidence::kRunning);
  EXPECT_EQ(kv->effective().value, "fp8_ds_mla");
  EXPECT_EQ(value(r, "attention_backend"), "FLASHINFER_MLA_SPARSE_SM120");
  ASSERT_TRUE(r.pool && r.pool->match);
  EXPECT_EQ(r.pool->match->layout, config::KvLayoutId::kFp8DsMla);
  EXPECT_TRUE(r.ready);
  EXPECT_THAT(r.contradictions, IsEmpty());
}

TEST(LogReader, LlamaCppPrintsEffectiveValues) {
  const LogReport r = read(golden("ik_llama.log"));
  EXPECT_EQ(r.engine, LogEngine::kLlamaCpp);
  EXPECT_EQ(value(r, "flash_attn"), "1");
  EXPECT_EQ(value(r, "mla_attn"), "3");
  EXPECT_EQ(r.cause()->id, "nan_in_op");
}

TEST(LogReader, LayersComeFromTheOptionTheNameOrTheArchitecture) {
  const std::string pool =
      "[2026-02-19 00:00:00 TP0] KV Cache is allocated. #tokens: 512000, KV "
      "size: 29.31 GB\n";
  EXPECT_THAT(read(pool).unknowns.at(0), HasSubstr("the number of layers is not known"));
  LogOptions options;
  options.layers = 78;
  EXPECT_EQ(read(pool, options).pool->match->layout, config::KvLayoutId::kFp8DsMla);
  options.layers = 10;
  EXPECT_THAT(read(pool, options).unknowns.at(0), HasSubstr("no known layout"));
  const std::string load =
      "[2026-02-19 00:00:00 TP0] Load weight end. type=GlmMoeDsaForCausalLM, "
      "dtype=torch.bfloat16, avail mem=36.93 GB, mem usage=57.06 GB\n";
  EXPECT_EQ(read(load + pool).pool->match->layout, config::KvLayoutId::kFp8DsMla);
  // GLM-5.2 owns 21 indexer rows: 53,940 bytes per token.
  const std::string glm52 =
      "[2026-02-19 00:00:00 TP0] KV Cache is allocated. #tokens: 512000, KV "
      "size: 25.72 GB\n";
  EXPECT_EQ(read(load + glm52).pool->match->layout, config::KvLayoutId::kFp8DsMla);
  const std::string args =
      "[2026-02-19 00:00:00] server_args=ServerArgs(model_path='/m/GLM-5', "
      "pp_size=2)\n";
  const std::string half =
      "[2026-02-19 00:00:00 PP0] KV Cache is allocated. #tokens: 512000, KV "
      "size: 14.66 GB\n";
  EXPECT_EQ(read(args + half).pool->layers, 39);
  EXPECT_EQ(read(args + half).pool->match->layout, config::KvLayoutId::kFp8DsMla);
}

TEST(LogReader, ADtypeThatThePoolDenies) {
  std::string text = golden("sglang_bf16.log");
  for (std::size_t at = text.find("bfloat16'"); at != std::string::npos;
       at = text.find("bfloat16'")) {
    text.replace(at, 8, "fp8_e4m3");
  }
  const std::string tail = "[2026-02-19 00:30:00 TP0] Using KV cache dtype: torch.float8_e4m3fn\n";
  const LogReport r = read(text + tail);
  ASSERT_FALSE(r.contradictions.empty());
  EXPECT_EQ(r.contradictions[0].rule, "kv_dtype");
}

TEST(LogReader, AnUncoveredDateSaysSo) {
  std::string text = golden("sglang_founding.log");
  for (std::size_t at = text.find("2026-02-19"); at != std::string::npos;
       at = text.find("2026-02-19", at)) {
    text.replace(at, 10, "2026-08-10");
  }
  const LogReport r = read(text);
  ASSERT_EQ(r.unknowns.size(), 1U);
  EXPECT_THAT(r.unknowns[0], HasSubstr("the pack covers"));
}

TEST(LogReader, OverridesThatNoShapeCovers) {
  const LogReport r = read(
      "[2026-02-19 00:00:00] WARNING server_args.py:9: Overlap scheduler is disabled because X\n"
      "[2026-02-19 00:00:00] WARNING server_args.py:9: Overlap scheduler is disabled because X\n"
      "[2026-02-19 00:00:00] WARNING server_args.py:9: Setting page size to 64 for DeepSeek "
      "DSA.\n");
  ASSERT_EQ(r.overrides.size(), 1U);
  EXPECT_EQ(r.overrides[0].line, 1U);
}

TEST(LogReader, TheFalseLineOfSeptemberIsCautioned) {
  const LogReport r = read(
      "[2026-09-15 00:00:00] Set DSA backends for GLM FP8 KV Cache on SM120/SM121: "
      "prefill=flashinfer_sparse_mla, decode=flashinfer_sparse_mla.\n"
      "[2026-09-15 00:00:01] server_args=ServerArgs(dsa_prefill_backend='trtllm', "
      "dsa_decode_backend='trtllm')\n");
  EXPECT_EQ(value(r, "nsa_decode_backend"), "trtllm");
  EXPECT_THAT(r.find("nsa_decode_backend")->caution, HasSubstr("default"));
}

Expectation expectation(const char* text) {
  return *parse_expectation(text);
}

/// Lines needed until the reader is settled; 0 if it never is.
std::size_t settled_after(const std::string& text, std::vector<Expectation> list,
                          LogReport* report = nullptr) {
  LogOptions options;
  options.expectations = std::move(list);
  LogReader reader(std::move(options));
  std::stringstream in(text);
  std::string line;
  std::size_t count = 0;
  while (std::getline(in, line)) {
    reader.push_line(line);
    ++count;
    if (report != nullptr) *report = reader.report();
    if (reader.settled()) return count;
  }
  return 0;
}

TEST(Expectations, MetOrContradictedAsSoonAsKnown) {
  const std::string log = golden("sglang_founding.log");
  LogReport report;
  EXPECT_EQ(settled_after(log, {expectation("kv-cache-dtype=bf16")}, &report), 5U);
  EXPECT_EQ(report.expectations[0].outcome, Outcome::kContradicted);
  EXPECT_EQ(report.expectations[0].found, "fp8_e4m3");
  EXPECT_EQ(settled_after(log, {expectation("kv_cache_dtype=fp8_e4m3")}, &report), 5U);
  EXPECT_EQ(report.expectations[0].outcome, Outcome::kMet);
  EXPECT_EQ(settled_after(log, {expectation("kv-layout=fp8_ds_mla")}, &report), 27U);
  EXPECT_EQ(
      settled_after(log, {expectation("kv_cache_dtype=fp8_e4m3"), expectation("kv-layout=bf16")},
                    &report),
      27U);
  EXPECT_EQ(report.expectations[1].outcome, Outcome::kContradicted);
  EXPECT_EQ(settled_after(log, {expectation("colour=red")}, &report), 0U);
  EXPECT_EQ(report.expectations[0].outcome, Outcome::kUnknown);
  EXPECT_THAT(to_text(report), HasSubstr("expect colour=red: unknown so far"));
  EXPECT_EQ(settled_after(log, {}), 0U);
}

TEST(Expectations, WhatWasAskedForIsNotWhatIsInEffect) {
  const std::string vllm = golden("vllm.log");
  EXPECT_EQ(settled_after(vllm, {expectation("kv-cache-dtype=auto")}), 15U);
  EXPECT_EQ(settled_after(vllm, {expectation("kv-cache-dtype=fp8_ds_mla")}), 15U);
  for (const char* text : {"", "=", "a", "=b", "a="}) EXPECT_FALSE(parse_expectation(text)) << text;
}

TEST(Hostile, PiecesOfAnySizeGiveTheSameReport) {
  const std::string log = golden("sglang_founding.log");
  const std::string whole = to_text(read(log));
  for (const std::size_t size : {1U, 7U, 4096U}) {
    LogReader reader({});
    for (std::size_t at = 0; at < log.size(); at += size) {
      reader.push_bytes(std::string_view(log).substr(at, size));
    }
    reader.finish();
    EXPECT_EQ(to_text(reader.report()), whole);
  }
  EXPECT_EQ(to_text(read(log.substr(0, log.size() - 1))), whole);
}

TEST(Hostile, LongLinesAreCutAndFloodsFolded) {
  LogReader reader({});
  for (int i = 0; i < 2000; ++i) reader.push_bytes(std::string(10'000, 'x'));
  reader.push_bytes("\n");
  for (int i = 0; i < 100'000; ++i) {
    reader.push_line("/p/T.cu:112: k: block: [0,0,0], thread: [1,0,0] Assertion `a < b` failed.");
  }
  for (int i = 0; i < 500; ++i) {
    reader.push_line(fmt::format("/p/T.cu:{}: k: Assertion `c` failed.", i));
  }
  for (int i = 0; i < 5000; ++i) {
    reader.push_line(fmt::format("llama_context: key{} = {}", i, i));
    reader.push_line(fmt::format("llama_context: same = {}", i));
    reader.push_line(fmt::format("[2026-02-19 00:00:00] X{} is set to Y", i));
  }
  reader.finish();
  const LogReport r = reader.report();
  EXPECT_EQ(r.cut_lines, 1U);
  EXPECT_EQ(r.asserts.size(), 64U);
  EXPECT_EQ(r.asserts[0].count, 100'000U);
  EXPECT_EQ(r.asserts_beyond, 437U);
  EXPECT_LE(r.settings.size(), 1024U);
  EXPECT_LE(r.find("same")->sightings.size(), 64U);
  EXPECT_TRUE(r.find("same")->truncated);
  EXPECT_EQ(r.find("same")->effective().value, "4999");
  EXPECT_EQ(r.overrides.size(), 64U);
  EXPECT_EQ(r.overrides_beyond, 4936U);
}

TEST(Hostile, NothingPrintedDrivesATerminal) {
  const LogReport r = read(
      "[2026-02-19 00:00:00] server_args=ServerArgs(model_path='\x9b"
      "31m\x01\x02', "
      "attention_backend='\xff\xfe', evil\x07name='x')\n"
      "llama_context: k = \x01\x02\xe2\x80\xae\n"
      "\x05 CUDA out of memory \x7f\n");
  const std::string text = to_text(r);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    EXPECT_TRUE(c == '\n' || (byte >= 0x20 && byte < 0x7f)) << static_cast<int>(byte);
  }
  EXPECT_TRUE(json::parse(json::dump(to_json(r)), "dump"));
}

TEST(Hostile, RandomBytesAndCutPatternsDoNotBreakIt) {
  std::mt19937 random(7);
  const std::string log = golden("sglang_founding.log") + golden("vllm.log");
  for (int round = 0; round < 60; ++round) {
    std::string text = log;
    for (int i = 0; i < 200; ++i) text[random() % text.size()] = static_cast<char>(random() % 256);
    text.resize(random() % text.size());
    const LogReport r = read(text);
    EXPECT_TRUE(json::parse(json::dump(to_json(r)), "dump"));
    EXPECT_FALSE(to_text(r).empty());
  }
  EXPECT_THAT(to_text(read("")), HasSubstr("unknown log, 0 lines"));
  EXPECT_THAT(to_text(read("hello\n")), HasSubstr("no engine was recognised"));
  EXPECT_THAT(to_text(read(log)), Not(HasSubstr("no engine was recognised")));
}

TEST(LogReader, JsonSaysWhatTheTextSays) {
  const json::Value v = to_json(read(golden("sglang_founding.log")));
  EXPECT_EQ(v.find("schema")->string(), "pellucid.log_report.v1");
  EXPECT_EQ(v.find("engine")->string(), "sglang");
  EXPECT_EQ(v.find("pool")->find("layout")->string(), "fp8_ds_mla");
  EXPECT_EQ(v.find("contradictions")->array().size(), 3U);
  EXPECT_THAT(json::dump(v), Not(HasSubstr("nan,")));
}

}  // namespace
}  // namespace pellucid::peers
