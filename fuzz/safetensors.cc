// A safetensors file of a stranger: whatever the header says, accepted tensors tile the data.

#include "checkpoint/safetensors.h"

#include <span>

#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto header = pellucid::checkpoint::parse_header(bytes, "fuzz.safetensors");
  if (!header) {
    PELLUCID_CHECK(!header.error().rule.empty());
    return 0;
  }
  std::uint64_t at = 0;
  for (const auto& tensor : header->tensors) {
    PELLUCID_CHECK(tensor.begin == at && tensor.begin <= tensor.end);
    PELLUCID_CHECK(tensor.end - tensor.begin ==
                   pellucid::checkpoint::tensor_bytes(tensor.dtype, tensor.shape));
    at = tensor.end;
  }
  PELLUCID_CHECK(header->data_begin + at == size);
  return 0;
}
