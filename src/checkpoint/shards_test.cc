#include "checkpoint/shards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>

#include "base/check.h"
#include "base/json.h"
#include "checkpoint/test_checkpoint.h"

namespace pellucid::checkpoint {
namespace {

using ::testing::HasSubstr;
using testing::small_model;
using testing::TemporaryDirectory;

struct Reading {
  Shards shards;
  ProblemLog log;

  [[nodiscard]] std::string rules() const {
    std::string out;
    for (const auto& [rule, count] : log.counts()) out += (out.empty() ? "" : " ") + rule;
    return out;
  }
  [[nodiscard]] std::string text() const {
    std::string out;
    for (const Problem& problem : log.problems()) out += problem.error.to_string() + "\n";
    return out;
  }
};

Reading read(const TemporaryDirectory& directory) {
  const auto opened = Directory::open(directory.path());
  PELLUCID_CHECK(opened.has_value());
  Reading out;
  out.shards = read_shards(*opened, out.log);
  return out;
}

void write_index(const TemporaryDirectory& directory, const std::string& shard) {
  directory.write("model.safetensors.index.json",
                  R"({"weight_map":{"a":)" + json::dump(shard) + "}}");
}

void write_shard(const TemporaryDirectory& directory, const std::string& name,
                 const std::string& tensor) {
  const std::byte byte{1};
  const TensorData data{.spec = {.name = tensor, .shape = {1}}, .bytes = {&byte, 1}};
  PELLUCID_CHECK(write_safetensors(directory.path() / name, {&data, 1}).has_value());
}

TEST(Shards, RefusesShardPathsThatLeadElsewhere) {
  for (const std::string& shard :
       {std::string("../../etc/passwd"), std::string("/etc/passwd"), std::string("a\0b", 3),
        std::string(""), std::string("."), std::string("sub/../../x"), std::string("a//b"),
        std::string("./a"), std::string(600, 'a')}) {
    const TemporaryDirectory directory;
    write_index(directory, shard);
    EXPECT_EQ(read(directory).rules(), "shard_path") << shard;
  }
}

TEST(Shards, RefusesWhatIsNoRegularFileAndDoesNotHang) {
  const struct {
    const char* what;
    void (*make)(const std::filesystem::path& path);
  } cases[] = {
      {"FIFO",
       [](const std::filesystem::path& path) { PELLUCID_CHECK(mkfifo(path.c_str(), 0600) == 0); }},
      {"directory",
       [](const std::filesystem::path& path) { std::filesystem::create_directory(path); }},
      {"device behind a link",
       [](const std::filesystem::path& path) {
         std::filesystem::create_symlink("/dev/zero", path);
       }},
      {"link out of the directory",
       [](const std::filesystem::path& path) {
         std::filesystem::create_symlink("/etc/passwd", path);
       }},
      {"link upwards",
       [](const std::filesystem::path& path) { std::filesystem::create_symlink("../x", path); }},
      {"link to itself",
       [](const std::filesystem::path& path) {
         std::filesystem::create_symlink("s.safetensors", path);
       }},
  };
  for (const auto& c : cases) {
    const TemporaryDirectory directory;
    write_index(directory, "s.safetensors");
    c.make(directory.path() / "s.safetensors");
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(read(directory).rules(), "shard_path") << c.what;
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    EXPECT_LT(elapsed.count(), 2.0) << c.what;
  }
}

TEST(Shards, ListsUpToTenMissingShards) {
  const TemporaryDirectory directory;
  std::string map;
  for (int i = 0; i < 14; ++i) {
    map += (i > 0 ? ",\"t" : "\"t") + std::to_string(i) + R"(":"shard)" + std::to_string(i) + "\"";
  }
  directory.write("model.safetensors.index.json", R"({"weight_map":{)" + map + "}}");
  const Reading reading = read(directory);
  EXPECT_EQ(reading.rules(), "shard_missing");
  EXPECT_THAT(reading.text(), HasSubstr("shard9 and 4 more"));
  EXPECT_TRUE(reading.shards.incomplete);
}

TEST(Shards, AMillionShardsEndQuickly) {
  const TemporaryDirectory directory;
  std::string map;
  for (int i = 0; i < 1'000'000; ++i) {
    map += (i > 0 ? ",\"" : "\"") + std::to_string(i) + R"(":"s)" + std::to_string(i) + "\"";
  }
  directory.write("model.safetensors.index.json", R"({"weight_map":{)" + map + "}}");
  EXPECT_THAT(read(directory).rules(), ::testing::AnyOf("shard_count", "json_limit"));
}

TEST(Shards, RefusesIndexesByRule) {
  const struct {
    const char* text;
    const char* rule;
  } cases[] = {
      {"", "index_json"},
      {"[]", "index_json"},
      {"{}", "index_json"},
      {R"({"weight_map":{}})", "index_json"},
      {R"({"weight_map":[]})", "index_json"},
      {R"({"weight_map":{"a":1}})", "shard_path"},
      {R"({"weight_map":{"a":null}})", "shard_path"},
      {R"({"weight_map":{"a":"s","a":"s"}})", "duplicate_tensor"},
      {R"({"weight_map":{"a":"s","\u0061":"s"}})", "duplicate_tensor"},
      {R"({"weight_map":{"a":"s"}} x)", "index_json"},
      {R"({"weight_map":{"a":"s"},"weight_map":{"b":"s"}})", "duplicate_tensor"},
  };
  for (const auto& c : cases) {
    const TemporaryDirectory directory;
    directory.write("model.safetensors.index.json", c.text);
    EXPECT_EQ(read(directory).rules(), c.rule) << c.text;
  }
}

TEST(Shards, ReadsIndexesThatAreNotPlain) {
  for (const char* extra : {R"("metadata":{"total_size":1.5e3},)", R"("metadata":{"x":[1,null]},)",
                            R"("metadata":{"total_size":12},)", R"("metadata":{"a":"ü"},)", ""}) {
    const TemporaryDirectory directory;
    write_shard(directory, "s.safetensors", "a");
    directory.write("model.safetensors.index.json",
                    std::string("{") + extra + R"("weight_map":{"a":"s.safetensors"}})");
    const Reading reading = read(directory);
    EXPECT_EQ(reading.rules(), "") << extra << reading.text();
    EXPECT_NE(reading.shards.find("a"), nullptr) << extra;
  }
}

TEST(Shards, ComparesTheIndexWithTheShards) {
  const TemporaryDirectory directory;
  write_shard(directory, "one.safetensors", "a");
  write_shard(directory, "two.safetensors", "b");
  const auto rules_of = [&](const std::string& map) {
    directory.write("model.safetensors.index.json", R"({"weight_map":{)" + map + "}}");
    return read(directory).rules();
  };
  const std::string a = R"("a":"one.safetensors")";
  const std::string b = R"("b":"two.safetensors")";
  EXPECT_EQ(rules_of(a + "," + b), "");
  EXPECT_EQ(rules_of(a + "," + b + R"(,"c":"two.safetensors")"), "tensor_absent");
  EXPECT_EQ(rules_of(R"("a":"two.safetensors","b":"one.safetensors")"), "tensor_shard");
  EXPECT_EQ(rules_of(a + R"(,"c":"two.safetensors")"), "tensor_absent tensor_unindexed");
  write_shard(directory, "two.safetensors", "a");
  EXPECT_EQ(rules_of(a + R"(,"b":"two.safetensors")"), "duplicate_tensor tensor_absent");
}

TEST(Shards, RefusesDirectoriesWithoutSafetensors) {
  const struct {
    const char* file;
    const char* rule;
  } cases[] = {{"pytorch_model.bin", "bin_only"},
               {"model.gguf", "bin_only"},
               {"consolidated.safetensors", "no_weights"},
               {"README.md", "no_weights"}};
  for (const auto& c : cases) {
    const TemporaryDirectory directory;
    directory.write(c.file, "x");
    const Reading reading = read(directory);
    EXPECT_EQ(reading.rules(), c.rule) << c.file;
    const bool names_it = reading.text().find(c.file) != std::string::npos;
    EXPECT_EQ(names_it, std::string_view(c.file) != "README.md") << c.file;
  }
}

TEST(Shards, IgnoresCodeAndOtherFormatsAndSaysSo) {
  const TemporaryDirectory directory;
  small_model().write(directory);
  directory.write("modeling_evil.py", "import os");
  directory.write("pytorch_model.bin", "x");
  const Reading reading = read(directory);
  EXPECT_EQ(reading.rules(), "");
  EXPECT_THAT(reading.shards.ignored_files,
              ::testing::ElementsAre("modeling_evil.py", "pytorch_model.bin"));
}

TEST(Shards, TwoSetsOfWeightsAreRefused) {
  const TemporaryDirectory directory;
  write_shard(directory, "s.safetensors", "a");
  write_shard(directory, "model.safetensors", "a");
  write_index(directory, "s.safetensors");
  EXPECT_EQ(read(directory).rules(), "two_weight_sets");
  write_index(directory, "model.safetensors");
  EXPECT_EQ(read(directory).rules(), "");
}

}  // namespace
}  // namespace pellucid::checkpoint
