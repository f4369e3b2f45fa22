#include "peers/pack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace pellucid::peers {
namespace {

using ::testing::HasSubstr;

std::string_view folder(const EmbeddedText& file) {
  return file.name.substr(0, file.name.find('/'));
}

TEST(Packs, TheBuiltInOnesRead) {
  const std::span<const EmbeddedText> files = embedded_packs();
  std::vector<std::string> engines;
  for (std::size_t first = 0; first < files.size();) {
    std::size_t last = first;
    while (last < files.size() && folder(files[last]) == folder(files[first])) ++last;
    const auto pack = read_pack(files.subspan(first, last - first));
    ASSERT_TRUE(pack) << pack.error().to_string();
    EXPECT_EQ(pack->engine, folder(files[first]));
    engines.push_back(pack->engine);
    first = last;
  }
  EXPECT_THAT(engines,
              ::testing::UnorderedElementsAre("sglang", "vllm", "llama.cpp", "ik_llama.cpp"));
}

TEST(Packs, EveryRuleCitesASourceAndLiesWithinThePack) {
  for (const Pack& pack : packs()) {
    for (const Rule& rule : pack.rules) {
      EXPECT_FALSE(rule.source.empty()) << rule.id;
      for (const DateRange& range : rule.dates) {
        EXPECT_TRUE(contains(pack.dates, range.first)) << rule.id << " " << to_string(range);
        EXPECT_TRUE(contains(pack.dates, range.last)) << rule.id << " " << to_string(range);
      }
    }
  }
}

constexpr std::string_view kHeader =
    "[pack]\nengine='e'\ntitle='t'\ndates=['2026-01-01..2026-01-31']\npasses=['p']\n"
    "[[setting]]\nname='a'\ndefault='auto'\n";

Expected<Pack> read(std::string_view text) {
  const EmbeddedText part{"x/y.toml", text};
  return read_pack(std::span(&part, 1));
}

struct BadCase {
  const char* tail;
  const char* rule;
};

TEST(Packs, RefusesWhatIsWrong) {
  ASSERT_TRUE(read(kHeader));
  const BadCase cases[] = {
      {"[[rule]\n", "pack_syntax"},
      {"[[surprise]]\n", "pack_key"},
      {"[[setting]]\nname='b'\ncolour='red'\n", "pack_key"},
      {"[[setting]]\n", "pack_key"},
      {"[[setting]]\nname=3\n", "pack_key"},
      {"[[rule]]\nid='r'\npass='q'\nset='a'\nvalue='1'\nreason='x'\nsource='s'\n", "pack_rule"},
      {"[[rule]]\nid='r'\npass='p'\nset='a'\nvalue='1'\nreason='x'\n", "pack_key"},
      {"[[rule]]\nid='r'\npass='p'\nset='a'\nvalue='1'\nsource='s'\n", "pack_rule"},
      {"[[rule]]\nid='r'\npass='p'\nset='a'\nreason='x'\nsource='s'\n", "pack_rule"},
      {"[[rule]]\nid='r'\npass='p'\nsource='s'\n", "pack_rule"},
      {"[[rule]]\nid='r'\npass='p'\nset='b'\nvalue='1'\nreason='x'\nsource='s'\n", "pack_name"},
      {"[[rule]]\nid='r'\npass='p'\nnote='{b}'\nsource='s'\n", "pack_name"},
      {"[[rule]]\nid='r'\npass='p'\nnote='n'\nwhen=['b == 1']\nsource='s'\n", "pack_name"},
      {"[[rule]]\nid='r'\npass='p'\nnote='n'\nwhen=['a ~ 1']\nsource='s'\n", "pack_condition"},
      {"[[rule]]\nid='r'\npass='p'\nnote='n'\ndates=['2026-02-30']\nsource='s'\n", "peer_date"},
      {"[[rule]]\nid='r'\npass='p'\nnote='n'\nsource='s'\n[[rule]]\nid='r'\npass='p'\nnote='n'\n"
       "source='s'\n",
       "pack_rule"},
      {"[[flag]]\nnames=['--b']\nsetting='b'\n", "pack_name"},
      {"[[flag]]\nnames=['--a']\nkind='colour'\n", "pack_key"},
  };
  for (const BadCase& c : cases) {
    const auto pack = read(std::string(kHeader) + c.tail);
    ASSERT_FALSE(pack) << c.tail;
    EXPECT_EQ(pack.error().rule, c.rule) << c.tail << pack.error().to_string();
    EXPECT_FALSE(pack.error().source.empty()) << c.tail;
  }
  EXPECT_FALSE(read(""));
  EXPECT_FALSE(read("[[setting]]\nname='a'\n"));
}

}  // namespace
}  // namespace pellucid::peers
