// Every line of tests/golden/config/resolution.tsv, and the page that is generated from the table.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "config/explain.h"
#include "config/kernel_plan.h"
#include "config/memory_plan.h"
#include "config/test_facts.h"

namespace pellucid::config {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> out;
  std::stringstream stream(text);
  for (std::string item; std::getline(stream, item, separator);) out.push_back(item);
  return out;
}

std::string sorted_refusals(const Resolution& resolution) {
  std::vector<std::string> rules;
  for (const Refusal& refusal : resolution.refusals()) rules.push_back(refusal.rule);
  std::ranges::sort(rules);
  std::string out;
  for (const std::string& rule : rules) out += (out.empty() ? "" : ",") + rule;
  return out.empty() ? "-" : out;
}

std::string effective_row(const Resolution& resolution) {
  std::string row;
  for (const char* key :
       {"engine.kernels", "engine.threads", "engine.context", "engine.chunk", "attention.scope",
        "attention.form", "kv.dtype", "kv.tokens", "sampling.temperature"}) {
    row += format_value(resolution.effective(key).value) + "\t";
  }
  const MemoryPlan plan = plan_memory(resolution);
  return row + std::to_string(plan.kv_bytes) + "\t" + std::to_string(plan.scratch_bytes) + "\t" +
         sorted_refusals(resolution);
}

TEST(Golden, Resolution) {
  std::ifstream file(PELLUCID_SOURCE_DIR "/tests/golden/config/resolution.tsv");
  ASSERT_TRUE(file.good());
  std::string line;
  std::getline(file, line);  // provenance
  std::getline(file, line);  // names of the columns
  int cases = 0;
  while (std::getline(file, line)) {
    const auto cells = split(line, '\t');
    ASSERT_EQ(cells.size(), 16U) << line;
    std::vector<Declaration> declarations;
    for (const std::string& change : split(cells[3] == "-" ? "" : cells[3], ' ')) {
      const auto declaration = read_change(change);
      ASSERT_TRUE(declaration.has_value()) << change;
      declarations.push_back(*declaration);
    }
    const auto resolution = resolve(declarations, test_facts(cells[0], cells[1], cells[2]));
    ASSERT_TRUE(resolution.has_value());
    std::string want;
    for (std::size_t i = 4; i < cells.size(); ++i) want += (i == 4 ? "" : "\t") + cells[i];
    EXPECT_EQ(effective_row(*resolution), want) << line;
    ++cases;
  }
  EXPECT_EQ(cases, 360);
}

TEST(Golden, TheSettingsPageIsTheTable) {
  std::ifstream file(PELLUCID_SOURCE_DIR "/docs/settings.md");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), settings_page()) << "pellucid explain --settings-page > docs/settings.md";
}

}  // namespace
}  // namespace pellucid::config
