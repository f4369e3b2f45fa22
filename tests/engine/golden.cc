#include "golden.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <ostream>

#include "base/file.h"
#include "base/json.h"
#include "checkpoint/safetensors.h"
#include "numerics/error_measures.h"

namespace pellucid::golden {
namespace {

Tensor read_tensor(const checkpoint::HeaderTensor& info, std::span<const std::byte> data) {
  Tensor out;
  for (const std::uint64_t dim : info.shape) out.shape.push_back(static_cast<std::int64_t>(dim));
  const std::size_t count = (info.end - info.begin) / 4;
  const std::byte* from = data.data() + info.begin;
  if (info.dtype == tensor::DType::kF32) {
    out.f32.resize(count);
    std::memcpy(out.f32.data(), from, count * 4);
  } else {
    EXPECT_EQ(info.dtype, tensor::DType::kI32) << info.name;
    out.i32.resize(count);
    std::memcpy(out.i32.data(), from, count * 4);
  }
  return out;
}

json::Array read_json_array(const std::filesystem::path& file) {
  const auto directory = Directory::open(file.parent_path());
  if (!directory) {
    ADD_FAILURE() << directory.error().to_string();
    return {};
  }
  const auto text = directory->read(file.filename().string(), 1 << 24);
  if (!text) {
    ADD_FAILURE() << text.error().to_string();
    return {};
  }
  auto value = json::parse(*text, file.string());
  if (!value) {
    ADD_FAILURE() << value.error().to_string();
    return {};
  }
  return value->array();
}

std::vector<std::int32_t> id_array(const json::Value& value) {
  std::vector<std::int32_t> out;
  for (const json::Value& id : value.array()) {
    out.push_back(static_cast<std::int32_t>(id.integer()));
  }
  return out;
}

std::size_t row_width(const Tensor& tensor) {
  return static_cast<std::size_t>(tensor.shape.back());
}

}  // namespace

std::span<const float> Tensor::row(std::int64_t row) const {
  return std::span(f32).subspan(static_cast<std::size_t>(row) * row_width(*this), row_width(*this));
}

std::span<const std::int32_t> Tensor::ids(std::int64_t row) const {
  return std::span(i32).subspan(static_cast<std::size_t>(row) * row_width(*this), row_width(*this));
}

Tensors read_tensors(const std::filesystem::path& file) {
  const auto directory = Directory::open(file.parent_path());
  if (!directory) {
    ADD_FAILURE() << directory.error().to_string();
    return {};
  }
  const auto mapped = MappedFile::open(*directory, file.filename().string());
  if (!mapped) {
    ADD_FAILURE() << mapped.error().to_string();
    return {};
  }
  const auto header = checkpoint::parse_header(mapped->bytes(), file.string());
  if (!header) {
    ADD_FAILURE() << header.error().to_string();
    return {};
  }
  Tensors out;
  for (const checkpoint::HeaderTensor& info : header->tensors) {
    out.emplace(info.name, read_tensor(info, mapped->bytes().subspan(header->data_begin)));
  }
  return out;
}

std::filesystem::path source_path(std::string_view relative) {
  return std::filesystem::path(PELLUCID_SOURCE_DIR) / relative;
}

std::vector<Format> formats() {
  const std::filesystem::path made = std::filesystem::path(PELLUCID_BINARY_DIR) / "formats";
  const auto shared = source_path("tests/golden/reference");
  const auto second = source_path("tests/golden/oracle/formats");
  return {
      {"bf16", source_path("models/tiny-bf16"), shared},
      {"nvfp4", source_path("models/tiny"), shared},
      {"nvfp4-ct", made / "tiny-nvfp4-ct", shared},
      {"fp8", made / "tiny-fp8", shared},
      {"int4", made / "tiny-int4", shared},
      {"fp8-ue8m0", made / "tiny-fp8-ue8m0", second},
      {"fp8-tensor", made / "tiny-fp8-tensor", second},
      {"mxfp4", made / "tiny-mxfp4", second},
  };
}

void PrintTo(const Format& format, std::ostream* out) {
  *out << format.name;
}

std::string format_test_name(const testing::TestParamInfo<Format>& format) {
  std::string name = format.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

std::vector<Prompt> read_prompts(const Format& format) {
  std::map<std::string, std::vector<std::int32_t>> ids;
  for (const json::Value& prompt :
       read_json_array(source_path("tests/golden/reference/prompts.json"))) {
    ids[prompt.find("name")->string()] = id_array(*prompt.find("ids"));
  }
  std::vector<Prompt> out;
  for (const json::Value& answer : read_json_array(format.references / (format.name + ".json"))) {
    Prompt prompt;
    prompt.name = answer.find("name")->string();
    prompt.ids = ids.at(prompt.name);
    prompt.greedy_ids = id_array(*answer.find("greedy_ids"));
    prompt.min_margin = answer.find("min_margin")->number();
    if (const json::Value* logprobs = answer.find("logprobs")) {
      for (const json::Value& logprob : logprobs->array()) {
        prompt.logprobs.push_back(logprob.number());
      }
    }
    out.push_back(std::move(prompt));
  }
  EXPECT_EQ(out.size(), ids.size()) << format.name;
  return out;
}

std::vector<std::string> recorded_prompts(const Tensors& tensors) {
  constexpr std::string_view kSuffix = ".ids";
  std::vector<std::string> out;
  for (const auto& [name, tensor] : tensors) {
    if (name.ends_with(kSuffix)) out.push_back(name.substr(0, name.size() - kSuffix.size()));
  }
  return out;
}

std::optional<std::int64_t> layer_of(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  std::int64_t layer = 0;
  const char* end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data() + prefix.size(), end, layer);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return layer;
}

testing::AssertionResult rows_near(std::span<const float> found, std::span<const float> expected,
                                   double tolerance) {
  const numerics::Comparison comparison =
      numerics::compare(found, expected, static_cast<std::int64_t>(expected.size()),
                        {.absolute = 1e30, .relative_l2 = tolerance});
  if (comparison.ok()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << numerics::describe(comparison).data();
}

}  // namespace pellucid::golden
