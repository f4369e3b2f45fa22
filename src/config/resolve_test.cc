// Resolution: every source of every setting, refusals with both sides, and properties that hold for
// any input.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <charconv>
#include <random>

#include "config/explain.h"
#include "config/resolution.h"
#include "config/test_facts.h"

namespace pellucid::config {
namespace {

using testing::HasSubstr;

/// Two different valid values of a setting, as typed.
std::pair<std::string, std::string> two_values(const Setting& setting) {
  if (setting.check_item != nullptr) return {"3=1", "4=-100"};
  if (setting.choices.size() > 1) {
    return {std::string(setting.choices[0]), std::string(setting.choices[1])};
  }
  switch (setting.type) {
    case Type::kBool:
      return {"true", "false"};
    case Type::kInt:
      if (setting.key == "engine.context") return {"2048", "1024"};
      if (setting.key == "kv.tokens") return {"8192", "9000"};
      return {"2", "1"};
    case Type::kReal:
      return {"0.5", "0.25"};
    case Type::kSize:
      return {"100GB", "90GiB"};
    default:
      return {"some text", "other text"};
  }
}

Declaration declare(const Setting& setting, std::string_view typed, SourceKind kind) {
  return {.setting = &setting,
          .value = *parse_value(setting, typed, "test"),
          .typed = std::string(typed),
          .kind = kind,
          .origin = std::string(source_name(kind))};
}

Resolution resolve_ok(const std::vector<Declaration>& declarations, const Facts& facts) {
  auto resolution = resolve(declarations, facts);
  EXPECT_TRUE(resolution.has_value()) << resolution.error().to_string();
  return *std::move(resolution);
}

TEST(Resolve, EveryUserSourceOfEverySettingIsTaken) {
  for (const Setting& setting : settings_table()) {
    const auto [first, second] = two_values(setting);
    for (const SourceKind kind : {SourceKind::kFile, SourceKind::kEnvironment, SourceKind::kArgv}) {
      const Declaration declaration = declare(setting, first, kind);
      const Resolution resolution = resolve_ok({declaration}, test_facts());
      const Effective& effective = resolution.effective(setting.key);
      EXPECT_EQ(effective.value, declaration.value) << setting.key;
      EXPECT_EQ(effective.source, kind) << setting.key;
      EXPECT_EQ(effective.typed, first) << setting.key;
    }
  }
}

TEST(Resolve, ArgvOverEnvironmentOverFileAndTheLoserIsShown) {
  for (const Setting& setting : settings_table()) {
    const auto [first, second] = two_values(setting);
    const std::vector<Declaration> all = {declare(setting, second, SourceKind::kFile),
                                          declare(setting, first, SourceKind::kArgv),
                                          declare(setting, second, SourceKind::kEnvironment)};
    const Resolution resolution = resolve_ok(all, test_facts());
    const Effective& effective = resolution.effective(setting.key);
    EXPECT_EQ(effective.value, all[1].value) << setting.key;
    ASSERT_GE(effective.chain.size(), 3U);
    EXPECT_TRUE(effective.chain[0].effective);
    EXPECT_EQ(effective.chain[1].kind, SourceKind::kEnvironment);
    EXPECT_THAT(effective.chain[1].reason, HasSubstr("overridden by argv"));
    EXPECT_THAT(effective.chain[2].reason, HasSubstr("overridden by argv"));
  }
}

TEST(Resolve, EverySettingWithoutAUserHasARuleOrADefaultAndAReason) {
  const Resolution resolution = resolve_ok({}, test_facts());
  for (const Effective& effective : resolution.settings()) {
    EXPECT_FALSE(is_user(effective.source)) << effective.setting->key;
    EXPECT_FALSE(effective.reason.empty()) << effective.setting->key;
    EXPECT_FALSE(effective.origin.empty()) << effective.setting->key;
  }
  EXPECT_EQ(resolution.effective("engine.kernels").source, SourceKind::kHardware);
  EXPECT_EQ(resolution.effective("attention.scope").source, SourceKind::kCheckpoint);
  EXPECT_EQ(resolution.effective("attention.form").source, SourceKind::kRecommendation);
  EXPECT_EQ(resolution.effective("sampling.top_p").source, SourceKind::kCheckpoint);
  EXPECT_EQ(resolution.effective("sampling.min_p").source, SourceKind::kDefault);
  EXPECT_EQ(resolution.views().sampling.top_p, 0.95);
}

TEST(Resolve, TypedAutoIsLikeUnsetAndIsShownAsTyped) {
  const Setting& threads = *find_setting("engine.threads");
  for (const char* typed : {"auto", "0"}) {
    const Resolution resolution =
        resolve_ok({declare(threads, typed, SourceKind::kArgv)}, test_facts());
    const Effective& effective = resolution.effective("engine.threads");
    EXPECT_EQ(effective.typed, typed);
    EXPECT_EQ(effective.source, SourceKind::kHardware);
    EXPECT_EQ(effective.value, Value(std::int64_t{32}));
    EXPECT_EQ(resolution.hash(), resolve_ok({}, test_facts()).hash());
  }
}

TEST(Resolve, OneSourceThatDisagreesWithItselfIsAnError) {
  const Setting& temperature = *find_setting("sampling.temperature");
  Declaration greedy = declare(temperature, "0", SourceKind::kArgv);
  greedy.origin = "argv[3] --greedy";
  Declaration typed = declare(temperature, "1", SourceKind::kArgv);
  typed.origin = "argv[4] --temperature";
  const auto resolution = resolve(std::vector{greedy, typed}, test_facts());
  ASSERT_FALSE(resolution.has_value());
  EXPECT_EQ(resolution.error().rule, "setting_conflict");
  EXPECT_THAT(resolution.error().found, HasSubstr("argv[3] --greedy"));
  EXPECT_THAT(resolution.error().found, HasSubstr("argv[4] --temperature"));
  EXPECT_TRUE(resolve(std::vector{greedy, greedy}, test_facts()).has_value());
}

TEST(Resolve, ListsOfOneSourceAreGathered) {
  const Setting& bias = *find_setting("sampling.logit_bias");
  const Resolution resolution =
      resolve_ok({declare(bias, "7=1", SourceKind::kArgv), declare(bias, "5=-2", SourceKind::kArgv),
                  declare(bias, "9=3", SourceKind::kFile)},
                 test_facts());
  EXPECT_THAT(resolution.views().sampling.logit_bias, testing::ElementsAre("5=-2", "7=1"));
}

struct RefusalCase {
  std::string_view rule;
  std::string_view family;
  std::string_view device;
  std::vector<std::string_view> changes;  ///< key=value
  std::string_view one;                   ///< in what the first side says
  std::string_view other;
  std::string_view alternative;
};

std::vector<RefusalCase> refusals_of_the_device_and_the_cache() {
  return {
      {"attention.sparse_needs_indexer",
       "deepseek_v3",
       "cpu-avx2",
       {"attention=sparse"},
       "sparse",
       "without an indexer",
       "--attention dense"},
      {"kernels.missing_feature",
       "kimi_k2",
       "cpu-x86-64",
       {"kernels=avx2"},
       "avx2",
       "missing: avx2, fma, f16c",
       "--kernels generic"},
      {"kernels.no_backend",
       "glm_moe_dsa",
       "sm_120:96GB x8",
       {},
       "compute capability 12.0",
       "CPUs only",
       "--device host"},
      {"kv.context_limit",
       "deepseek_v2",
       "cpu-avx2",
       {"context=4097"},
       "4097",
       "max_position_embeddings 4096",
       "--context 4096"},
      {"kv.chunk_in_context",
       "kimi_k2",
       "cpu-avx2",
       {"chunk=512", "context=300"},
       "512",
       "300",
       "--chunk 300"},
      {"kv.tokens_hold_context",
       "kimi_k2",
       "cpu-avx2",
       {"kv-tokens=100"},
       "100",
       "8192",
       "--kv-tokens 8192"},
  };
}

std::vector<RefusalCase> refusals_of_memory_threads_and_sampling() {
  return {
      {"memory.budget",
       "glm_moe_dsa",
       "cpu-avx2",
       {"memory-budget=1GB", "context=1048576"},
       "GB for the cache and",
       "1 GB",
       "--context "},
      {"memory.budget_of_device",
       "kimi_k2",
       "cpu-avx2:8GB",
       {"memory-budget=9GB"},
       "9 GB",
       "8 GB",
       "--memory-budget 8000000000"},
      {"threads.pin_needs_cpus",
       "kimi_k2",
       "cpu-avx2",
       {"threads=33", "pin-threads"},
       "true",
       "33 threads for 32 CPUs",
       "--threads 32"},
      {"sampling.answer_in_context",
       "kimi_k2",
       "cpu-avx2",
       {"max-tokens=8192"},
       "8192",
       "8192",
       "--max-tokens 8191"},
      {"sampling.bias_in_vocabulary",
       "kimi_k2",
       "cpu-avx2",
       {"logit-bias=163840=1"},
       "163840=1",
       "0 to 163839",
       "drop"},
      {"index_range",
       "kimi_k2",
       "cpu-avx2:1000TB",
       {"kv-tokens=137438953473", "memory-budget=auto"},
       "2147483649",
       "2147483647",
       "lower --kv-tokens"},
  };
}

TEST(Resolve, RefusalsNameBothSidesAndTheSmallestChange) {
  std::vector<RefusalCase> cases = refusals_of_the_device_and_the_cache();
  for (RefusalCase& c : refusals_of_memory_threads_and_sampling()) cases.push_back(std::move(c));
  for (const RefusalCase& c : cases) {
    std::vector<Declaration> declarations;
    for (const std::string_view change : c.changes) {
      const auto declaration = read_change(change);
      ASSERT_TRUE(declaration.has_value()) << declaration.error().to_string();
      declarations.push_back(*declaration);
    }
    const Resolution resolution =
        resolve_ok(declarations, test_facts(c.family, "fp8_block", c.device));
    const auto refusals = resolution.refusals();
    const auto found = std::ranges::find(refusals, c.rule, &Refusal::rule);
    ASSERT_NE(found, refusals.end()) << c.rule;
    EXPECT_THAT(found->one.says, HasSubstr(std::string(c.one))) << c.rule;
    EXPECT_THAT(found->other.says, HasSubstr(std::string(c.other))) << c.rule;
    ASSERT_FALSE(found->alternatives.empty()) << c.rule;
    EXPECT_THAT(found->alternatives.front(), HasSubstr(std::string(c.alternative))) << c.rule;
    const std::string line = found->to_error().to_string();
    EXPECT_THAT(line, HasSubstr(std::string(c.other))) << c.rule;
    EXPECT_THAT(line, HasSubstr(found->alternatives.front())) << c.rule;
  }
}

TEST(Resolve, TheSmallestChangeEndsTheRefusal) {
  const auto base = *read_change("context=4097");
  const Facts facts = test_facts("deepseek_v2", "bf16");
  const Resolution refused = resolve_ok({base}, facts);
  ASSERT_EQ(refused.refusals().size(), 1U);
  EXPECT_EQ(refused.refusals().front().alternatives.front(), "--context 4096");
  EXPECT_TRUE(resolve_ok({*read_change("context=4096")}, facts).refusals().empty());
}

TEST(Resolve, TheLongestContextThatFitsTheBudgetIsOffered) {
  const Declaration budget = *read_change("memory-budget=1GB");
  const Facts facts = test_facts();
  const Resolution refused = resolve_ok(
      {budget, *read_change("engine.sequences=2"), *read_change("context=1048576")}, facts);
  ASSERT_EQ(refused.refusals().size(), 1U);
  const std::string offer = refused.refusals().front().alternatives.front();
  const std::string digits = offer.substr(offer.find(' ') + 1);
  std::int64_t context = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), context);
  const auto with = [&](std::int64_t tokens) {
    return resolve_ok({budget, *read_change("engine.sequences=2"),
                       *read_change(fmt::format("context={}", tokens))},
                      facts);
  };
  EXPECT_TRUE(with(context).refusals().empty()) << offer;
  EXPECT_FALSE(with(context + 64).refusals().empty()) << offer;
}

TEST(Resolve, ContractsOfTheCheckpoint) {
  const auto only = [](const Facts& facts) {
    const Resolution resolution = resolve_ok({}, facts);
    EXPECT_EQ(resolution.refusals().size(), 1U);
    return resolution.refusals().empty() ? Refusal{} : resolution.refusals().front();
  };
  Facts schedule = test_facts();
  schedule.checkpoint.layer_has_indexer_tensors[20] = false;
  EXPECT_EQ(only(schedule).rule, "indexer_schedule");
  EXPECT_THAT(only(schedule).other.says, HasSubstr("layer 20"));

  Facts theta = test_facts();
  theta.checkpoint.rope.theta = 0;
  EXPECT_EQ(only(theta).rule, "rope_theta");

  const Facts format = test_facts("glm_moe_dsa", "q4_k");
  EXPECT_EQ(only(format).rule, "kernels.weight_format");

  Facts odd = test_facts("kimi_k2");
  odd.checkpoint.dims.qk_rope_head_dim = 63;
  EXPECT_EQ(only(odd).rule, "head_dim");

  Facts problem = test_facts();
  problem.checkpoint.problems = {{.refuses = true, .rule = "scale_value", .text = "NaN scale"}};
  EXPECT_EQ(only(problem).rule, "scale_value");
}

TEST(Resolve, NotesRefuseNothing) {
  Facts facts = test_facts();
  facts.checkpoint.unread_keys = {"mystery"};
  facts.checkpoint.rope.indexer_interleaved = false;
  const std::vector<Declaration> declarations = {
      *read_change("attention=dense"), *read_change("threads=64"), *read_change("temperature=0"),
      *read_change("top-k=5")};
  const Resolution resolution = resolve_ok(declarations, facts);
  EXPECT_TRUE(resolution.refusals().empty());
  std::vector<std::string> rules;
  for (const Note& note : resolution.notes()) rules.push_back(note.rule);
  EXPECT_THAT(rules,
              testing::IsSupersetOf({"config.unread", "rope_pairing", "attention.dense_differs",
                                     "threads.oversubscribed", "sampling.greedy_ignores"}));
}

TEST(Resolve, TheHashFollowsValuesAndNothingElse) {
  const Resolution base = resolve_ok({}, test_facts());
  EXPECT_EQ(base.hash().size(), 16U);
  const Resolution same = resolve_ok({*read_change("threads=32")}, test_facts());
  EXPECT_EQ(same.hash(), base.hash());
  const Resolution other = resolve_ok({*read_change("threads=31")}, test_facts());
  EXPECT_NE(other.hash(), base.hash());
}

TEST(Resolve, TheHashLeavesOutTheMemoryThatIsFreeNow) {
  Facts busy = test_facts();
  busy.device.memory_available -= 4096;
  const std::string base = resolve_ok({}, test_facts()).hash();
  EXPECT_EQ(resolve_ok({}, busy).hash(), base);
  const std::vector<Declaration> set{*read_change("memory-budget=9GB")};
  EXPECT_NE(resolve_ok(set, test_facts()).hash(), base);
  EXPECT_EQ(resolve_ok(set, busy).hash(), resolve_ok(set, test_facts()).hash());
}

TEST(Resolve, UnknownMemoryLeavesTheBudgetOpen) {
  Facts facts = test_facts();
  facts.device.memory_total = 0;
  facts.device.memory_available = 0;
  const Resolution resolution = resolve_ok({}, facts);
  const Effective& budget = resolution.effective("memory.budget");
  EXPECT_TRUE(is_auto(budget.value));
  EXPECT_THAT(budget.reason, HasSubstr("does not say"));
  EXPECT_TRUE(resolution.refusals().empty());
  EXPECT_EQ(resolution.views().memory.budget, std::nullopt);
  const std::string text = explain_text(resolution);
  EXPECT_THAT(text, HasSubstr("memory not known"));
  EXPECT_THAT(text, testing::Not(HasSubstr("0 B of")));
  const json::Value object = explain_json(resolution);
  EXPECT_TRUE(object.find("memory")->find("budget_bytes")->is_null());
  EXPECT_TRUE(object.find("memory")->find("tokens_fitting")->is_null());
}

TEST(Resolve, NoChangeThatIsSuggestedForTheBudgetIsItselfRefused) {
  Facts facts = test_facts();
  facts.device.memory_total = facts.device.memory_available = 16'000'000'000;
  const std::vector<Declaration> many{*read_change("sequences=1048576")};
  const Resolution resolution = resolve_ok(many, facts);
  ASSERT_EQ(resolution.refusals().size(), 1U);
  const Refusal& refusal = resolution.refusals().front();
  EXPECT_THAT(refusal.one.says, testing::AllOf(HasSubstr("for the cache"), HasSubstr("scratch")));
  ASSERT_FALSE(refusal.alternatives.empty());
  for (const std::string& change : refusal.alternatives) {
    const std::size_t space = change.find(' ');
    ASSERT_NE(space, std::string::npos) << change;
    std::vector<Declaration> changed =
        change.starts_with("--sequences") ? std::vector<Declaration>{} : many;
    changed.push_back(*read_change(change.substr(2, space - 2) + "=" + change.substr(space + 1)));
    EXPECT_TRUE(resolve_ok(changed, facts).refusals().empty()) << change;
  }
}

TEST(ParseDevice, RefusesMemoryThatArithmeticCannotHold) {
  for (const char* text : {"sm_120:9000000TB x1024", "sm_120:9000TB x2", "sm_120:9100TB"}) {
    const auto device = parse_device(text, "test");
    ASSERT_FALSE(device.has_value()) << text;
    EXPECT_EQ(device.error().rule, "device_spec");
    EXPECT_THAT(device.error().found, HasSubstr(text));
  }
  EXPECT_TRUE(parse_device("sm_120:8000GB x1024", "test").has_value());
}

/// A few declarations of random settings from random sources, none twice in one source.
std::vector<Declaration> arbitrary_declarations() {
  const auto table = settings_table();
  std::vector<Declaration> out;
  const auto count = *rc::gen::inRange(0, 12);
  for (int i = 0; i < count; ++i) {
    const Setting& setting = table[*rc::gen::inRange<std::size_t>(0, table.size())];
    const auto kind = static_cast<SourceKind>(*rc::gen::inRange(4, 7));
    const bool repeated = std::ranges::any_of(
        out, [&](const Declaration& d) { return d.setting == &setting && d.kind == kind; });
    if (repeated) continue;
    const auto [first, second] = two_values(setting);
    out.push_back(declare(setting, *rc::gen::arbitrary<bool>() ? first : second, kind));
  }
  return out;
}

Facts arbitrary_facts() {
  const auto& family = kTestFamilies[*rc::gen::inRange<std::size_t>(0, kTestFamilies.size())];
  const auto names = device_names();
  return test_facts(family.name, *rc::gen::element<std::string>("bf16", "fp8_block", "int4"),
                    names[*rc::gen::inRange<std::size_t>(0, names.size())]);
}

TEST(ResolveProperty, DeterministicAndIndependentOfTheOrderOfInputs) {
  EXPECT_TRUE(rc::check([] {
    const auto declarations = arbitrary_declarations();
    auto shuffled = declarations;
    const auto seed = *rc::gen::arbitrary<unsigned>();
    std::shuffle(shuffled.begin(), shuffled.end(), std::mt19937(seed));
    const Facts facts = arbitrary_facts();
    const auto a = resolve(declarations, facts);
    const auto b = resolve(shuffled, facts);
    RC_ASSERT(a.has_value() && b.has_value());
    RC_ASSERT(json::dump(explain_json(*a)) == json::dump(explain_json(*b)));
  }));
}

TEST(ResolveProperty, NeverChangesAUserValueAndAlwaysSaysWhy) {
  EXPECT_TRUE(rc::check([] {
    const auto declarations = arbitrary_declarations();
    const auto resolution = resolve(declarations, arbitrary_facts());
    RC_ASSERT(resolution.has_value());
    for (const Effective& effective : resolution->settings()) {
      const Declaration* strongest = nullptr;
      for (const Declaration& d : declarations) {
        if (d.setting != effective.setting) continue;
        if (strongest == nullptr || d.kind > strongest->kind) strongest = &d;
      }
      if (strongest != nullptr) {
        RC_ASSERT(effective.value == strongest->value);
        RC_ASSERT(effective.source == strongest->kind);
      }
      RC_ASSERT(!effective.reason.empty());
      RC_ASSERT(!effective.origin.empty());
      RC_ASSERT(std::ranges::count(effective.chain, true, &Step::effective) == 1);
    }
  }));
}

}  // namespace
}  // namespace pellucid::config
