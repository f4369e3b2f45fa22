#include "peers/condition.h"

#include <gtest/gtest.h>

#include <map>

namespace pellucid::peers {
namespace {

class FixedTerms : public Terms {
 public:
  std::map<std::string, Term, std::less<>> terms{
      {"fp8", {.known = true, .by_user = true, .set = true, .value = "fp8_e4m3"}},
      {"auto", {.known = true, .by_user = false, .set = false, .value = "auto"}},
      {"empty", {.known = true, .by_user = false, .set = false, .value = ""}},
      {"twelve", {.known = true, .by_user = false, .set = true, .value = "12"}},
      {"yes", {.known = true, .by_user = false, .set = true, .value = "true"}},
      {"typed_unknown", {.known = false, .by_user = true, .set = true, .value = ""}},
  };
  [[nodiscard]] Term term(std::string_view name) const override {
    const auto found = terms.find(name);
    return found == terms.end() ? Term{} : found->second;
  }
};

struct Case {
  const char* text;
  Truth truth;
};

TEST(Condition, ThreeValues) {
  const FixedTerms terms;
  const Case cases[] = {
      {"fp8 == fp8_e4m3", Truth::kTrue},
      {"fp8 == bfloat16", Truth::kFalse},
      {"fp8 != bfloat16", Truth::kTrue},
      {"fp8 in a|fp8_e4m3", Truth::kTrue},
      {"fp8 not in a|fp8_e4m3", Truth::kFalse},
      {"empty not in |none", Truth::kFalse},
      {"fp8 by user", Truth::kTrue},
      {"fp8 not by user", Truth::kFalse},
      {"auto unset", Truth::kTrue},
      {"fp8 unset", Truth::kFalse},
      {"twelve >= 10", Truth::kTrue},
      {"twelve < 12", Truth::kFalse},
      {"twelve <= 12", Truth::kTrue},
      {"twelve > 12", Truth::kFalse},
      {"yes", Truth::kTrue},
      {"not yes", Truth::kFalse},
      {"auto", Truth::kFalse},
      {"fp8 > 3", Truth::kUnknown},
      {"nobody == 1", Truth::kUnknown},
      {"nobody != 1", Truth::kUnknown},
      {"not nobody", Truth::kUnknown},
      {"nobody unset", Truth::kUnknown},
      {"nobody >= 1", Truth::kUnknown},
      {"typed_unknown by user", Truth::kTrue},
      {"typed_unknown == x", Truth::kUnknown},
  };
  for (const Case& c : cases) {
    const auto condition = parse_condition(c.text);
    ASSERT_TRUE(condition) << c.text;
    EXPECT_EQ(evaluate(*condition, terms), c.truth) << c.text;
  }
}

TEST(Condition, FalseWinsOverUnknownAndTheFirstUnknownIsNamed) {
  const FixedTerms terms;
  const auto all = [&](std::vector<const char*> texts) {
    std::vector<Condition> list;
    for (const char* text : texts) list.push_back(*parse_condition(text));
    return evaluate_all(list, terms);
  };
  EXPECT_EQ(all({}).truth, Truth::kTrue);
  EXPECT_EQ(all({"nobody == 1", "fp8 == x"}).truth, Truth::kFalse);
  EXPECT_EQ(all({"yes", "nobody == 1", "other == 2"}).unknown, "nobody");
  EXPECT_EQ(all({"yes", "nobody == 1"}).truth, Truth::kUnknown);
}

TEST(Condition, RefusesWhatIsNotOneComparison) {
  for (const char* text : {"", "a b", "a == b c", "a ~ b", "a < b", "not a == b", "a by him",
                           "a is not by user", "x == 1 == 2"}) {
    EXPECT_FALSE(parse_condition(text)) << text;
  }
}

}  // namespace
}  // namespace pellucid::peers
