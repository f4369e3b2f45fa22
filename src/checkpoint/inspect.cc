#include "checkpoint/inspect.h"

#include <algorithm>
#include <array>

#include "base/utf8.h"
#include "checkpoint/deep_scan.h"
#include "checkpoint/loaded.h"

namespace pellucid::checkpoint {
namespace {

std::vector<FormatUse> count_formats(const Loaded& loaded) {
  std::array<FormatUse, kFormatCount> matrices;
  for (const CheckedWeight& weight : loaded.weights) {
    FormatUse& use = matrices[static_cast<std::size_t>(weight.format)];
    ++use.weights;
    for (const TensorInfo* part : weight.module->parts) {
      if (part == nullptr) continue;
      ++use.tensors;
      use.bytes += part->bytes.size();
    }
  }
  FormatUse vectors{.format = "vector"};
  for (const ExpectedTensor& expected : loaded.expected) {
    const TensorInfo* tensor = expected.is_linear ? nullptr : loaded.shards.find(expected.name);
    if (tensor == nullptr) continue;
    ++vectors.weights;
    ++vectors.tensors;
    vectors.bytes += tensor->bytes.size();
  }
  std::vector<FormatUse> out;
  for (std::size_t i = 0; i < kFormatCount; ++i) {
    if (matrices[i].weights == 0) continue;
    matrices[i].format = format_name(static_cast<Format>(i));
    out.push_back(std::move(matrices[i]));
  }
  if (vectors.weights > 0) out.push_back(std::move(vectors));
  return out;
}

void describe_model(const Loaded& loaded, Inspection& out) {
  if (!loaded.config) return;
  const auto parameters = count_parameters(*loaded.config, loaded.expected);
  out.parameters = parameters.main;
  out.parameters_active = parameters.active;
  out.parameters_mtp = parameters.mtp;
  out.mtp_layers = loaded.facts.mtp_layers;
  for (std::int64_t i = 0; i < loaded.config->num_hidden_layers; ++i) {
    const auto& has_indexer = loaded.facts.has_indexer;
    const bool there = std::ssize(has_indexer) > i && has_indexer[static_cast<std::size_t>(i)];
    if (there) out.indexer_layers.push_back(i);
  }
}

void describe_files(const Loaded& loaded, Inspection& out) {
  out.shards = loaded.shards.files.size();
  out.tensors = loaded.shards.tensors.size();
  for (const MappedFile& file : loaded.shards.files) out.file_bytes += file.bytes().size();
  out.ignored_files = loaded.shards.ignored_files;
  out.formats = count_formats(loaded);
  for (const QuantClaim& claim : loaded.claims) {
    if (!out.quantization_claim.empty()) out.quantization_claim += "; ";
    out.quantization_claim += claim.text + " (" + claim.source + ")";
    if (!claim.kv_cache.empty()) out.kv_cache_claim = claim.kv_cache;
  }
}

}  // namespace

int Inspection::exit_status() const {
  if (!loadable) return 2;
  const bool clean = std::all_of(problems.begin(), problems.end(), [](const Problem& problem) {
    return problem.severity == Severity::kNote;
  });
  return clean ? 0 : 1;
}

Expected<Inspection> inspect(const std::filesystem::path& path, const InspectOptions& options) {
  PELLUCID_TRY(Loaded loaded, load(path, false));
  Inspection out;
  out.path = utf8::escape_for_display(path.string());
  out.loadable = loaded.log.first_error() == nullptr;
  out.deep = options.deep;
  describe_model(loaded, out);
  describe_files(loaded, out);
  if (options.deep) {
    const DeepScan scan = deep_scan(loaded, ScanScope::kAll, options.progress);
    out.scanned_bytes = scan.bytes;
    out.power_of_two_scales = scan.power_of_two_scales;
  }
  out.problems = loaded.log.problems();
  out.problem_counts = loaded.log.counts();
  out.config = std::move(loaded.config);
  return out;
}

}  // namespace pellucid::checkpoint
