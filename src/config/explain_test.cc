// What explain says: chains, changes that change something and changes that do not, devices without
// a backend.

#include "config/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "config/kernel_plan.h"
#include "config/memory_plan.h"
#include "config/test_facts.h"

namespace pellucid::config {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Resolution resolved(std::vector<std::string_view> changes, const Facts& facts) {
  std::vector<Declaration> declarations;
  for (const std::string_view change : changes) declarations.push_back(*read_change(change));
  return *resolve(declarations, facts);
}

WhatIf asked(std::vector<std::string_view> changes, std::string_view change,
             const Facts& facts = test_facts()) {
  std::vector<Declaration> declarations;
  for (const std::string_view one : changes) declarations.push_back(*read_change(one));
  auto result = what_if(declarations, facts, change);
  EXPECT_TRUE(result.has_value());
  return *std::move(result);
}

TEST(Explain, TextShowsValueSourceReasonMemoryAndKernels) {
  const std::string text = explain_text(resolved({"kv.dtype=f32"}, test_facts()));
  EXPECT_THAT(text,
              AllOf(HasSubstr("glm_moe_dsa, 78 layers, 21 with an indexer"), HasSubstr("kv.dtype"),
                    HasSubstr("--what-if"), HasSubstr("the user's word"),
                    HasSubstr("weights: routed experts"), HasSubstr("cached tokens fit"),
                    HasSubstr("nvfp4_modelopt"), HasSubstr("generic (slower)")));
  EXPECT_THAT(text, HasSubstr("--all shows them"));
  const std::string all = explain_text(resolved({}, test_facts()), {.all = true});
  for (const Setting& setting : settings_table()) {
    EXPECT_THAT(all, HasSubstr(std::string(setting.key)));
  }
}

TEST(Explain, LinesFitTheTerminal) {
  for (const std::size_t width : {80U, 100U, 132U}) {
    std::stringstream text(explain_text(resolved({}, test_facts()), {.all = true, .width = width}));
    for (std::string line; std::getline(text, line);) EXPECT_LE(line.size(), width) << line;
  }
}

TEST(Explain, ADeviceWithoutABackendIsSaidPerKernel) {
  const Resolution resolution =
      resolved({}, test_facts("glm_moe_dsa", "nvfp4_modelopt", "sm_120:96GB x8"));
  for (const KernelChoice& choice : plan_kernels(resolution)) {
    EXPECT_EQ(choice.table, "") << choice.op;
    EXPECT_THAT(choice.reason, AllOf(HasSubstr("no kernel: needs"), HasSubstr("12.0"),
                                     HasSubstr("missing: cuda backend")));
  }
  EXPECT_THAT(explain_text(resolution), HasSubstr("start-up would refuse"));
}

TEST(Explain, KernelsFollowFormatsAndSettings) {
  const auto ops = [](const Resolution& resolution) {
    std::vector<std::string> out;
    for (const KernelChoice& choice : plan_kernels(resolution)) {
      out.push_back(choice.op + "/" + choice.format + "/" + choice.table);
    }
    return out;
  };
  EXPECT_THAT(ops(resolved({}, test_facts())),
              testing::IsSupersetOf({"moe/nvfp4_modelopt/avx2", "linear/bf16/avx2",
                                     "embed/bf16/avx2", "absorbed_attention/bf16 rows/avx2",
                                     "indexer_scores/bf16 rows/avx2"}));
  const auto dense = ops(resolved({"attention-form=expanded"}, test_facts("kimi_k2", "int4")));
  EXPECT_THAT(dense, testing::Contains("expanded_attention//avx2"));
  EXPECT_THAT(dense, Not(testing::Contains(HasSubstr("indexer"))));
}

TEST(WhatIf, ShowsTheDifferenceOnly) {
  const WhatIf result = asked({}, "kv.dtype=f32");
  ASSERT_FALSE(result.differences.empty());
  EXPECT_EQ(result.differences.front().what, "kv.dtype");
  EXPECT_EQ(result.differences.front().before, "bf16");
  EXPECT_EQ(result.differences.front().after, "f32");
  const std::string text = what_if_text(result);
  EXPECT_THAT(text, AllOf(HasSubstr("memory: KV cache"), HasSubstr("kernel of store_rows"),
                          Not(HasSubstr("engine.threads"))));
}

TEST(WhatIf, NothingHasAReason) {
  struct Case {
    std::vector<std::string_view> changes;
    std::string_view change;
    std::string_view says;
  };
  const Case cases[] = {
      {{}, "-kv-dtype", "kv.dtype was not set; it is bf16 by kv.dtype_bf16"},
      {{"kv-dtype=bf16"}, "-kv-dtype", "unset, kv.dtype is bf16 by kv.dtype_bf16"},
      {{}, "threads=32", "engine.threads is 32 already, by threads.one_per_cpu"},
      {{}, "threads=auto", "engine.threads is 32 already"},
      {{}, "-seed", "it stays open"},
  };
  for (const Case& c : cases) {
    const WhatIf result = asked(c.changes, c.change);
    EXPECT_TRUE(result.differences.empty()) << c.change;
    EXPECT_THAT(result.why_nothing, HasSubstr(std::string(c.says)));
    EXPECT_THAT(what_if_text(result), HasSubstr("changes nothing: "));
  }
}

TEST(WhatIf, RefusalsComeAndGo) {
  const Facts facts = test_facts("deepseek_v2", "bf16");
  const WhatIf comes = asked({}, "context=5000", facts);
  EXPECT_THAT(what_if_text(comes), HasSubstr("refusal kv.context_limit"));
  EXPECT_FALSE(comes.accepted);
  const WhatIf goes = asked({"context=5000"}, "-context", facts);
  EXPECT_THAT(what_if_text(goes), HasSubstr("gone:"));
  EXPECT_TRUE(goes.accepted);
}

TEST(WhatIf, MalformedChangesAreErrors) {
  EXPECT_EQ(what_if({}, test_facts(), "-treads").error().rule, "unknown_setting");
  EXPECT_EQ(what_if({}, test_facts(), "threads=x").error().rule, "setting_value");
  EXPECT_EQ(what_if({}, test_facts(), "threads").error().rule, "what_if");
}

TEST(Why, ShowsTheWholeChain) {
  const Setting& context = *find_setting("engine.context");
  const std::string text = why_text(resolved({"context=4096"}, test_facts()), context);
  EXPECT_THAT(text, AllOf(HasSubstr("engine.context = 4096"), HasSubstr("--what-if"),
                          HasSubstr("kv.context_of_checkpoint"), HasSubstr("kv.context_default"),
                          HasSubstr("settings table")));
  const std::string refused =
      why_text(resolved({"context=5000"}, test_facts("deepseek_v2", "bf16")), context);
  EXPECT_THAT(refused, HasSubstr("refused [kv.context_limit]"));
}

TEST(ExplainJson, HoldsEverySettingAndTheHash) {
  const Resolution resolution = resolved({}, test_facts());
  const json::Value object = explain_json(resolution);
  EXPECT_EQ(object.find("format")->integer(), 1);
  EXPECT_EQ(object.find("config_hash")->string(), resolution.hash());
  EXPECT_TRUE(object.find("accepted")->boolean());
  EXPECT_EQ(object.find("settings")->array().size(), settings_table().size());
  EXPECT_TRUE(json::parse(json::dump(object), "test").has_value());
}

TEST(Summary, NamesWhatIsNeitherDefaultNorRecommendation) {
  const std::string line = summary_line(resolved({"top-k=5"}, test_facts()));
  EXPECT_THAT(line, AllOf(HasSubstr("engine.kernels=avx2 (hardware)"),
                          HasSubstr("sampling.top_k=5 (--what-if)"), Not(HasSubstr("min_p")),
                          Not(HasSubstr("\n"))));
}

TEST(MemoryPlan, GlmAtItsFullContext) {
  // model.md 3.2 and 2.1: 576 latent values in 78 layers and 128 index values in 21, bf16.
  const MemoryPlan plan = plan_memory(resolved({"context=1048576"}, test_facts()));
  EXPECT_EQ(plan.latent_bytes_per_token, 78 * 576 * 2);
  EXPECT_EQ(plan.index_bytes_per_token, 21 * 128 * 2);
  EXPECT_EQ(plan.kv_bytes, 1048576LL * (78 * 576 + 21 * 128) * 2);
  EXPECT_EQ(plan.tokens_fitting(plan.kv_bytes + plan.scratch_bytes), 1048576);
  EXPECT_EQ(plan.tokens_fitting(plan.kv_bytes + plan.scratch_bytes - 1), 1048576 - 64);
  EXPECT_EQ(plan.tokens_fitting(0), 0);
}

TEST(MemoryPlan, HostileSizesSaturate) {
  EXPECT_EQ(saturating_product({INT64_MAX, INT64_MAX}), std::int64_t{1} << 53);
  EXPECT_EQ(saturating_product({INT64_MAX, 0, 5}), 0);
  EXPECT_EQ(saturating_product({3, 4, 5}), 60);
}

}  // namespace
}  // namespace pellucid::config
