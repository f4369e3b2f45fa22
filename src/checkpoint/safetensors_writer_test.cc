#include "checkpoint/safetensors_writer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>

#include "checkpoint/safetensors.h"
#include "checkpoint/test_checkpoint.h"

namespace pellucid::checkpoint {
namespace {

using testing::TemporaryDirectory;

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

/// Reads a file and writes its tensors again, in the order of their data.
std::string rewritten(const std::string& file, const TemporaryDirectory& directory) {
  const auto header = parse_header(bytes_of(file), "f");
  EXPECT_TRUE(header) << header.error().to_string();
  const auto data = bytes_of(file).subspan(header->data_begin);
  std::vector<TensorData> tensors;
  for (const HeaderTensor& t : header->tensors) {
    tensors.push_back({.spec = {.name = std::string(t.name),
                                .dtype = t.dtype,
                                .shape = {t.shape.begin(), t.shape.end()}},
                       .bytes = data.subspan(t.begin, t.end - t.begin)});
  }
  const auto path = directory.path() / "again.safetensors";
  const auto written =
      write_safetensors(path, tensors, TensorOrder::kGiven, {.metadata = header->metadata});
  EXPECT_TRUE(written) << written.error().to_string();
  return read_file(path);
}

TEST(SafetensorsWriter, WritesTheBytesOfOtherWriters) {
  const TemporaryDirectory directory;
  for (const char* name :
       {"/tests/golden/checkpoint/official.safetensors", "/models/tiny/model.safetensors"}) {
    const std::string file = read_file(std::string(PELLUCID_SOURCE_DIR) + name);
    ASSERT_FALSE(file.empty()) << name;
    EXPECT_TRUE(rewritten(file, directory) == file) << name;
  }
}

TEST(SafetensorsWriter, SortsByNameWhenAsked) {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "sorted.safetensors";
  const std::vector<TensorData> tensors = {
      {.spec = {.name = "b", .dtype = tensor::DType::kU8, .shape = {2}}, .bytes = bytes_of("BB")},
      {.spec = {.name = "a", .dtype = tensor::DType::kU8, .shape = {1}}, .bytes = bytes_of("A")}};
  ASSERT_TRUE(write_safetensors(path, tensors, TensorOrder::kByName));
  const std::string file = read_file(path);
  const auto header = parse_header(bytes_of(file), "f");
  ASSERT_TRUE(header) << header.error().to_string();
  EXPECT_EQ(header->tensors[0].name, "a");
  EXPECT_EQ(header->data_begin % 8, 0U);
  EXPECT_EQ(file.substr(header->data_begin), "ABB");
}

TEST(SafetensorsWriter, AppendsDataInAnyPieces) {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "pieces.safetensors";
  const std::vector<TensorSpec> specs = {{.name = "a", .dtype = tensor::DType::kBf16, .shape = {2}},
                                         {.name = "b", .dtype = tensor::DType::kF32, .shape = {}}};
  auto writer = SafetensorsWriter::create(path, specs);
  ASSERT_TRUE(writer) << writer.error().to_string();
  ASSERT_TRUE(writer->append(bytes_of("0")));
  ASSERT_TRUE(writer->append(bytes_of("12345")));
  EXPECT_FALSE(std::filesystem::exists(path)) << "visible before it is complete";
  EXPECT_EQ(writer->append(bytes_of("678")).error().rule, "size_mismatch");
  ASSERT_TRUE(writer->append(bytes_of("67")));
  ASSERT_TRUE(writer->finish());
  const std::string file = read_file(path);
  EXPECT_EQ(file.substr(file.size() - 8), "01234567");
}

TEST(SafetensorsWriter, AnUnfinishedFileLeavesNothing) {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "half.safetensors";
  const std::vector<TensorSpec> specs = {{.name = "a", .dtype = tensor::DType::kU8, .shape = {4}}};
  {
    auto writer = SafetensorsWriter::create(path, specs);
    ASSERT_TRUE(writer);
    ASSERT_TRUE(writer->append(bytes_of("12")));
    EXPECT_EQ(writer->finish().error().rule, "size_mismatch");
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(SafetensorsWriter, RefusesWhatItCouldNotReadBack) {
  const TemporaryDirectory directory;
  using Shape = std::vector<std::uint64_t>;
  const struct {
    const char* what;
    std::vector<TensorSpec> tensors;
    const char* rule;
  } cases[] = {
      {"duplicate name",
       {{.name = "a", .shape = {1}}, {.name = "a", .shape = {1}}},
       "duplicate_tensor"},
      {"the name of the metadata", {{.name = "__metadata__", .shape = {1}}}, "duplicate_tensor"},
      {"empty dimension", {{.name = "a", .shape = {2, 0}}}, "shape"},
      {"nine dimensions", {{.name = "a", .shape = Shape(9, 1)}}, "shape"},
      {"half a byte", {{.name = "a", .dtype = tensor::DType::kF4, .shape = {3}}}, "shape_overflow"},
      {"2^64 bytes", {{.name = "a", .shape = {1ULL << 32, 1ULL << 32}}}, "shape_overflow"},
  };
  for (const auto& c : cases) {
    const auto writer = SafetensorsWriter::create(directory.path() / "x.safetensors", c.tensors);
    ASSERT_FALSE(writer) << c.what;
    EXPECT_EQ(writer.error().rule, c.rule) << c.what;
  }
  const auto missing = SafetensorsWriter::create(directory.path() / "no" / "x", {});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().rule, "file_io");
}

}  // namespace
}  // namespace pellucid::checkpoint
