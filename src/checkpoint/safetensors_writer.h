#pragma once
// Writes safetensors files: the header first, then the data in any number of pieces, so that a
// tensor never has to be in memory whole. The file appears under its name only when it is complete
// (written beside it, synced, renamed); an unfinished one is removed.
//
// Bytes are those of the common Python writers: compact JSON with __metadata__ first, padded with
// spaces to a multiple of 8.
//
// Rules: "file_io", "duplicate_tensor", "shape", "shape_overflow", "size_mismatch".

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "tensor/dtype.h"

namespace pellucid::checkpoint {

struct TensorSpec {
  std::string name;
  tensor::DType dtype = tensor::DType::kU8;
  std::vector<std::uint64_t> shape = {};
};

using Metadata = std::vector<std::pair<std::string, std::string>>;

struct WriteOptions {
  Metadata metadata = {};
  /// Wait until the data is on the disk before the file gets its name. Without it a power failure
  /// can leave a complete name on incomplete data.
  bool sync = true;
};

class SafetensorsWriter {
 public:
  /// Creates the file and writes the header; the data must follow in the order of `tensors`.
  [[nodiscard]] static Expected<SafetensorsWriter> create(std::filesystem::path path,
                                                          std::span<const TensorSpec> tensors,
                                                          const WriteOptions& options = {});
  SafetensorsWriter(SafetensorsWriter&& other) noexcept;
  SafetensorsWriter& operator=(SafetensorsWriter&& other) noexcept;
  ~SafetensorsWriter();

  /// The next bytes of the data; tensors may be cut anywhere.
  [[nodiscard]] Expected<void> append(std::span<const std::byte> bytes);
  /// Checks that all the data came, syncs and renames.
  [[nodiscard]] Expected<void> finish();

 private:
  SafetensorsWriter() = default;
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int fd_ = -1;
  bool sync_ = true;
  std::uint64_t expected_bytes_ = 0;
  std::uint64_t written_bytes_ = 0;
};

struct TensorData {
  TensorSpec spec;
  std::span<const std::byte> bytes;
};

enum class TensorOrder { kGiven, kByName };

/// Writes tensors that are in memory.
[[nodiscard]] Expected<void> write_safetensors(const std::filesystem::path& path,
                                               std::span<const TensorData> tensors,
                                               TensorOrder order = TensorOrder::kGiven,
                                               const WriteOptions& options = {});

}  // namespace pellucid::checkpoint
