#pragma once
// The safetensors container: parse_header() reads the header of an untrusted file that lies in
// memory; nothing else is touched, and nothing is believed before it is checked against the size of
// the file. The writer is in safetensors_writer.h.
//
// A file is: u64 little-endian length N, N bytes of JSON, then the data. The JSON maps each tensor
// name to {"dtype", "shape", "data_offsets": [begin, end)} relative to the data; "__metadata__"
// maps strings to strings. Tensors must cover the data exactly: no overlap, no gap, no tail. Starts
// need not be aligned.
//
// Rules: "too_short", "header_len", "header_json", "json_depth", "json_limit", "name_utf8",
// "duplicate_tensor", "dtype", "shape", "shape_overflow", "offset", "size_mismatch", "overlap",
// "gap", "trailing", "metadata".

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "checkpoint/shape.h"
#include "tensor/dtype.h"

namespace pellucid::checkpoint {

/// Limits of a header; the reference implementation has the same first one.
inline constexpr std::uint64_t kHeaderBytesMax = 100'000'000;
inline constexpr std::size_t kTensorNameBytesMax = 1024;
inline constexpr std::size_t kMetadataEntriesMax = 10'000;

struct HeaderTensor {
  std::string_view name;  ///< into the file, or into Header::decoded_names
  tensor::DType dtype = tensor::DType::kU8;
  Shape shape;
  std::uint64_t begin = 0;  ///< byte offsets in the data, checked: begin <= end <= size
  std::uint64_t end = 0;
};

struct Header {
  std::vector<HeaderTensor> tensors;  ///< in the order of their data
  std::vector<std::pair<std::string, std::string>> metadata;
  std::vector<std::unique_ptr<std::string>> decoded_names;  ///< those that were escaped
  std::uint64_t data_begin = 0;                             ///< offset of the data in the file
};

/// Parses and checks the header of a whole file in memory. `source` (the file name) goes into
/// errors. Pure: no I/O, no allocation beyond a small multiple of the header. The file must outlive
/// the names in the result.
[[nodiscard]] Expected<Header> parse_header(std::span<const std::byte> file,
                                            std::string_view source);

/// Bytes of a tensor of that type and shape: nullopt when the product overflows 64 bits, or when a
/// sub-byte type does not fill its last byte.
[[nodiscard]] std::optional<std::uint64_t> tensor_bytes(tensor::DType dtype,
                                                        std::span<const std::uint64_t> shape);

/// "[2048, 6144]"; "[]" for a scalar.
[[nodiscard]] std::string shape_text(std::span<const std::uint64_t> shape);

}  // namespace pellucid::checkpoint
