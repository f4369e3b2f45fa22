#pragma once
// For tests only: small checkpoints of any family and format, built in memory, changed at will, and
// written to a temporary directory.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "checkpoint/formats.h"
#include "checkpoint/safetensors_writer.h"

namespace pellucid::checkpoint::testing {

/// A fresh directory, removed with everything in it at the end.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  void write(std::string_view name, std::string_view text) const;

 private:
  std::filesystem::path path_;
};

struct OwnedTensor {
  TensorSpec spec;
  std::vector<std::byte> bytes;
};

struct SmallModel {
  json::Value config;
  std::vector<OwnedTensor> tensors;

  /// The tensor of that name; CHECKs that it is there.
  [[nodiscard]] OwnedTensor& at(std::string_view name);
  void remove(std::string_view name);
  void add(std::string name, tensor::DType dtype, std::vector<std::uint64_t> shape);
  /// Overwrites bytes of a tensor.
  void put(std::string_view name, std::size_t offset, const void* data, std::size_t size);
  void put_f32(std::string_view name, float value) { put(name, 0, &value, sizeof(value)); }
  /// Replaces the bf16 matrix of a module by one in that format, with random codes and good scales.
  void quantize(const std::string& module, Format format);
  /// quantize() for every module whose name contains `part`.
  void quantize_all(std::string_view part, Format format);

  /// config.json and model.safetensors, or an index and so many shards.
  void write(const TemporaryDirectory& directory, std::size_t shards = 1) const;
};

/// Sets or replaces a key of an object.
void set(json::Value& object, std::string_view key, json::Value value);
void erase(json::Value& object, std::string_view key);

/// config.json of a small model of that model_type, complete and valid.
[[nodiscard]] json::Value small_config(std::string_view model_type);

/// All tensors that the config asks for, in bf16 (router bias in f32).
[[nodiscard]] SmallModel small_model(std::string_view model_type = "glm_moe_dsa");

/// quantization_config of a release in that format.
[[nodiscard]] json::Value claim_of(Format format);

}  // namespace pellucid::checkpoint::testing
