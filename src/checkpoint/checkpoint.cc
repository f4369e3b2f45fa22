#include "checkpoint/checkpoint.h"

#include <algorithm>
#include <cstring>

#include "base/utf8.h"
#include "checkpoint/deep_scan.h"
#include "checkpoint/loaded.h"
#include "checkpoint/safetensors.h"
#include "numerics/numbers.h"

namespace pellucid::checkpoint {
namespace {

/// Elements of a bf16, f16 or f32 tensor as f32; the start may be unaligned.
std::vector<float> widen(const TensorInfo& tensor, std::size_t count) {
  std::vector<float> out(count);
  if (tensor.dtype == tensor::DType::kF32) {
    std::memcpy(out.data(), tensor.bytes.data(), count * sizeof(float));
    return out;
  }
  std::vector<std::uint16_t> halves(count);
  std::memcpy(halves.data(), tensor.bytes.data(), count * sizeof(std::uint16_t));
  const bool is_bf16 = tensor.dtype == tensor::DType::kBf16;
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = is_bf16 ? numerics::bf16_to_f32(halves[i]) : numerics::f16_to_f32(halves[i]);
  }
  return out;
}

Error not_found(std::string_view name, const std::filesystem::path& path) {
  return {.kind = ErrorKind::kNotFound,
          .rule = "tensor_missing",
          .object = "tensor " + utf8::escape_for_display(name),
          .found = "nothing",
          .source = utf8::escape_for_display(path.string())};
}

}  // namespace

struct Checkpoint::State {
  Loaded loaded;
  bool allow_nonfinite_weights;
};

Checkpoint::Checkpoint(std::unique_ptr<State> state) : state_(std::move(state)) {}
Checkpoint::Checkpoint(Checkpoint&&) noexcept = default;
Checkpoint& Checkpoint::operator=(Checkpoint&&) noexcept = default;
Checkpoint::~Checkpoint() = default;

Expected<Checkpoint> Checkpoint::open(const std::filesystem::path& directory,
                                      const OpenOptions& options) {
  PELLUCID_TRY(Loaded loaded, load(directory, options.allow_nonfinite_weights));
  if (const Problem* problem = loaded.log.first_error()) return fail(problem->error);
  return Checkpoint(std::make_unique<State>(std::move(loaded), options.allow_nonfinite_weights));
}

const std::filesystem::path& Checkpoint::path() const {
  return state_->loaded.directory.path();
}

const ModelConfig& Checkpoint::config() const {
  return *state_->loaded.config;
}

const GenerationConfig& Checkpoint::generation_config() const {
  return state_->loaded.generation;
}

Expected<void> Checkpoint::check_block_scales(
    const std::function<void(std::uint64_t done, std::uint64_t total)>& progress) {
  deep_scan(state_->loaded, ScanScope::kBlockScales, progress);
  if (const Problem* problem = state_->loaded.log.first_error()) return fail(problem->error);
  return {};
}

const std::vector<Problem>& Checkpoint::problems() const {
  return state_->loaded.log.problems();
}

const TensorInfo* Checkpoint::find(std::string_view name) const {
  return state_->loaded.shards.find(name);
}

bool Checkpoint::has_linear(std::string_view module) const {
  return state_->loaded.shards.table.find_module(module) != nullptr;
}

Expected<tensor::WeightView> Checkpoint::linear(std::string_view module, std::int64_t rows,
                                                std::int64_t cols) const {
  const Loaded& loaded = state_->loaded;
  const Module* parts = loaded.shards.table.find_module(module);
  if (parts == nullptr) return fail(not_found(std::string(module) + ".weight", path()));
  PELLUCID_TRY(const ResolvedWeight resolved,
               resolve_weight(loaded.shards, *parts, module, rows, cols));
  return resolved.view;
}

Expected<std::vector<float>> Checkpoint::vector(std::string_view name, std::int64_t count) const {
  const TensorInfo* tensor = find(name);
  if (tensor == nullptr) return fail(not_found(name, path()));
  const std::string object = "tensor " + utf8::escape_for_display(name);
  const std::string& file = state_->loaded.shards.files[tensor->shard].name();
  if (tensor->shape != Shape{static_cast<std::uint64_t>(count)}) {
    return fail({.rule = "tensor_shape",
                 .object = object,
                 .found = shape_text(tensor->shape),
                 .expected = "[" + std::to_string(count) + "]",
                 .source = file});
  }
  if (tensor->dtype != tensor::DType::kF32 && tensor->dtype != tensor::DType::kBf16 &&
      tensor->dtype != tensor::DType::kF16) {
    return fail({.rule = "dtype",
                 .object = object,
                 .found = std::string(tensor::name(tensor->dtype)),
                 .expected = "BF16, F32 or F16",
                 .source = file});
  }
  std::vector<float> out = widen(*tensor, static_cast<std::size_t>(count));
  if (state_->allow_nonfinite_weights) return out;
  const auto bad = std::find_if_not(out.begin(), out.end(), numerics::is_finite);
  if (bad == out.end()) return out;
  return fail({.kind = ErrorKind::kNumeric,
               .rule = "nonfinite_weight",
               .object = object + " [" + std::to_string(bad - out.begin()) + "]",
               .found = numerics::is_nan(*bad) ? "NaN" : "infinity",
               .expected = "finite numbers",
               .source = file});
}

bool Checkpoint::still_intact() const {
  const auto& files = state_->loaded.shards.files;
  return std::all_of(files.begin(), files.end(),
                     [](const MappedFile& file) { return file.still_intact(); });
}

}  // namespace pellucid::checkpoint
