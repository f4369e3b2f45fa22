#include "base/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

namespace pellucid {
namespace {

namespace fs = std::filesystem;

class FileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "pellucid-file-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    fs::create_directories(root_ / "model");
    std::ofstream(root_ / "outside.txt") << "outside";
    std::ofstream(root_ / "model" / "a.txt") << "hello";
  }
  void TearDown() override { fs::remove_all(root_); }

  std::string rule_of(std::string_view name) {
    const Expected<std::string> text = Directory::open(root_ / "model")->read(name, 1 << 20);
    return text ? "accepted" : text.error().rule;
  }

  fs::path root_;
};

TEST_F(FileTest, ReadsRegularFilesInside) {
  const Directory dir = *Directory::open(root_ / "model");
  EXPECT_EQ(*dir.read("a.txt", 100), "hello");
  EXPECT_EQ(dir.read("a.txt", 4).error().rule, "file_size");
  EXPECT_TRUE(dir.contains("a.txt"));
  EXPECT_FALSE(dir.contains("b.txt"));
  EXPECT_EQ(*dir.list(), std::vector<std::string>{"a.txt"});
}

TEST_F(FileTest, RefusesEveryWayOut) {
  fs::create_symlink(root_ / "outside.txt", root_ / "model" / "absolute-link");
  fs::create_symlink("../outside.txt", root_ / "model" / "relative-link");
  EXPECT_EQ(rule_of("../outside.txt"), "shard_path");
  EXPECT_EQ(rule_of((root_ / "outside.txt").string()), "shard_path");
  EXPECT_EQ(rule_of("absolute-link"), "shard_path");
  EXPECT_EQ(rule_of("relative-link"), "shard_path");
  EXPECT_EQ(rule_of(std::string("a\0b", 3)), "shard_path");
  EXPECT_EQ(rule_of(""), "shard_path");
  EXPECT_EQ(rule_of("missing"), "file_missing");
}

TEST_F(FileTest, FollowsLinksInsideAndTheHubCacheLayout) {
  fs::create_symlink("a.txt", root_ / "model" / "inner-link");
  EXPECT_EQ(rule_of("inner-link"), "accepted");
  fs::create_directories(root_ / "blobs");
  fs::create_directories(root_ / "snapshots" / "rev");
  std::ofstream(root_ / "blobs" / "abc") << "blob";
  fs::create_symlink("../../blobs/abc", root_ / "snapshots" / "rev" / "w");
  EXPECT_EQ(*Directory::open(root_ / "snapshots" / "rev")->read("w", 100), "blob");
}

TEST_F(FileTest, NeverBlocksOnAFifoOrReadsADirectory) {
  ASSERT_EQ(mkfifo((root_ / "model" / "fifo").c_str(), 0600), 0);
  fs::create_directories(root_ / "model" / "dir");
  EXPECT_EQ(rule_of("fifo"), "file_kind");
  EXPECT_EQ(rule_of("dir"), "file_kind");
}

TEST_F(FileTest, MappingNoticesAChangedFile) {
  const Directory dir = *Directory::open(root_ / "model");
  const MappedFile file = *MappedFile::open(dir, "a.txt");
  EXPECT_EQ(file.bytes().size(), 5U);
  EXPECT_TRUE(file.still_intact());
  ASSERT_EQ(truncate((root_ / "model" / "a.txt").c_str(), 2), 0);
  EXPECT_FALSE(file.still_intact());
}

TEST_F(FileTest, EmptyFileMapsToNoBytes) {
  std::ofstream(root_ / "model" / "empty");
  EXPECT_EQ(MappedFile::open(*Directory::open(root_ / "model"), "empty")->bytes().size(), 0U);
}

TEST_F(FileTest, MissingDirectoryIsNamed) {
  const Expected<Directory> dir = Directory::open(root_ / "nowhere");
  ASSERT_FALSE(dir);
  EXPECT_EQ(dir.error().rule, "directory_missing");
  EXPECT_EQ(Directory::open(root_ / "outside.txt").error().found, "a file");
}

}  // namespace
}  // namespace pellucid
