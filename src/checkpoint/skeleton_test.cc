// The full-size skeleton of tools/make_skeleton.py: 118,629 tensors, no data.

#include <gtest/gtest.h>

#include <cstdlib>

#include "checkpoint/inspect.h"
#include "checkpoint/test_checkpoint.h"

namespace pellucid::checkpoint {
namespace {

TEST(Skeleton, Glm52InFp8HasThePublishedInventory) {
  if (std::system("python3 -c pass 2>/dev/null") != 0) GTEST_SKIP() << "python3 is not installed";
  const testing::TemporaryDirectory directory;
  const std::string command = "python3 " PELLUCID_SOURCE_DIR "/tools/make_skeleton.py " +
                              directory.path().string() + " >/dev/null";
  ASSERT_EQ(std::system(command.c_str()), 0);
  const auto inspection = inspect(directory.path());
  ASSERT_TRUE(inspection) << inspection.error().to_string();
  EXPECT_EQ(inspection->exit_status(), 0) << to_text(*inspection);
  EXPECT_EQ(inspection->tensors, 118'629U);
  EXPECT_EQ(inspection->parameters, 743'377'019'904U);
  EXPECT_EQ(inspection->parameters_mtp, 9'952'920'576U);
  EXPECT_EQ(inspection->mtp_layers, 1);
  EXPECT_EQ(inspection->indexer_layers.size(), 21U);
}

}  // namespace
}  // namespace pellucid::checkpoint
