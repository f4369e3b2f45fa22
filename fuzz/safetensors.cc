// A safetensors file of a stranger: whatever the header says, accepted tensors tile the data, and
// they are those that a strict JSON parser reads from the header.

#include "checkpoint/safetensors.h"

#include <span>

#include "base/json.h"
#include "fuzz.h"

using pellucid::checkpoint::Header;
using pellucid::json::Value;

namespace {

void check_tiling(const Header& header, std::uint64_t size) {
  std::uint64_t at = 0;
  for (const auto& tensor : header.tensors) {
    PELLUCID_CHECK(tensor.begin == at && tensor.begin <= tensor.end);
    PELLUCID_CHECK(tensor.end - tensor.begin ==
                   pellucid::checkpoint::tensor_bytes(tensor.dtype, tensor.shape));
    at = tensor.end;
  }
  PELLUCID_CHECK(header.data_begin + at == size);
}

void check_against_json(const Header& header, std::string_view text) {
  const auto value = pellucid::json::parse(text, "header");
  PELLUCID_CHECK(value.has_value());
  const Value* metadata = value->find("__metadata__");
  PELLUCID_CHECK(value->object().size() == header.tensors.size() + (metadata != nullptr ? 1 : 0));
  if (metadata != nullptr) {
    PELLUCID_CHECK(metadata->object().size() == header.metadata.size());
  }
  for (const auto& [key, text_of_key] : header.metadata) {
    PELLUCID_CHECK(metadata->find(key)->string() == text_of_key);
  }
  for (const auto& tensor : header.tensors) {
    const Value* entry = value->find(tensor.name);
    PELLUCID_CHECK(entry != nullptr);
    const auto& offsets = entry->find("data_offsets")->array();
    PELLUCID_CHECK(offsets.size() == 2 && offsets[0].uinteger() == tensor.begin &&
                   offsets[1].uinteger() == tensor.end);
    const auto& shape = entry->find("shape")->array();
    PELLUCID_CHECK(shape.size() == tensor.shape.size());
    for (std::size_t i = 0; i < shape.size(); ++i) {
      PELLUCID_CHECK(shape[i].uinteger() == tensor.shape[i]);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto header = pellucid::checkpoint::parse_header(bytes, "fuzz.safetensors");
  if (!header) {
    PELLUCID_CHECK(!header.error().rule.empty());
    return 0;
  }
  check_tiling(*header, size);
  check_against_json(*header, as_text(data, size).substr(8, header->data_begin - 8));
  return 0;
}
