#include "config/device_catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "config/nearest.h"
#include "config/text.h"
#include "config/value.h"

namespace pellucid::config {
namespace {

using enum CpuFeature;

constexpr std::array kAvx2Set = {kAvx2, kFma, kF16c};
constexpr std::array kAvx512Set = {kAvx2, kFma, kF16c, kAvx512f, kAvx512bw, kAvx512vl};
constexpr std::array kZenSet = {kAvx2,     kFma,        kF16c,       kAvx512f,   kAvx512bw,
                                kAvx512vl, kAvx512Vbmi, kAvx512Vnni, kAvx512Bf16};
constexpr std::array kSprSet = {kAvx2,       kFma,      kF16c,       kAvx512f,
                                kAvx512bw,   kAvx512vl, kAvx512Vbmi, kAvx512Vnni,
                                kAvx512Bf16, kAmxTile,  kAmxBf16};

constexpr double kGiga = 1e9;
constexpr std::int64_t kMemoryMax = std::int64_t{1} << 53;  // as saturating_product() has it

struct CatalogEntry {
  std::string_view name;
  std::string_view model;
  DeviceKind kind;
  std::int64_t memory_gb;
  double bandwidth_gb_s;  ///< published peak of the memory; 0: depends on the machine
  std::int64_t cores;
  std::span<const CpuFeature> features;
  std::int64_t major, minor;
};

// GPUs: memory and bandwidth of the data-centre or workstation part most used for these models,
// from the vendor's data sheets. CPUs: cores and channels of a common server part of the kind
// (DDR4-3200 25.6 GB/s, DDR5-4800 38.4 GB/s, DDR5-6000 48 GB/s per channel).
constexpr std::array kCatalog = {
    CatalogEntry{"cpu-x86-64", "x86-64 baseline", DeviceKind::kCpu, 64, 0, 8, {}, 0, 0},
    CatalogEntry{"cpu-avx2", "AVX2 server, 8 channels DDR4-3200", DeviceKind::kCpu, 256, 204.8, 32,
                 kAvx2Set, 0, 0},
    CatalogEntry{"cpu-avx512", "AVX-512 server, 8 channels DDR4-3200", DeviceKind::kCpu, 256, 204.8,
                 32, kAvx512Set, 0, 0},
    CatalogEntry{"cpu-zen4", "EPYC 9004, 12 channels DDR5-4800", DeviceKind::kCpu, 768, 460.8, 96,
                 kZenSet, 0, 0},
    CatalogEntry{"cpu-zen5", "EPYC 9005, 12 channels DDR5-6000", DeviceKind::kCpu, 768, 576, 128,
                 kZenSet, 0, 0},
    CatalogEntry{"cpu-spr", "Xeon 4th generation, 8 channels DDR5-4800", DeviceKind::kCpu, 512,
                 307.2, 56, kSprSet, 0, 0},
    CatalogEntry{"sm_80", "A100", DeviceKind::kCuda, 80, 2039, 0, {}, 8, 0},
    CatalogEntry{"sm_89", "L40S", DeviceKind::kCuda, 48, 864, 0, {}, 8, 9},
    CatalogEntry{"sm_90", "H100", DeviceKind::kCuda, 80, 3350, 0, {}, 9, 0},
    CatalogEntry{"sm_100", "B200", DeviceKind::kCuda, 180, 8000, 0, {}, 10, 0},
    CatalogEntry{"sm_103", "B300", DeviceKind::kCuda, 288, 8000, 0, {}, 10, 3},
    CatalogEntry{"sm_120", "RTX PRO 6000", DeviceKind::kCuda, 96, 1792, 0, {}, 12, 0},
    CatalogEntry{"sm_121", "GB10", DeviceKind::kCuda, 128, 273, 0, {}, 12, 1},
};

struct FeatureName {
  CpuFeature feature;
  std::string_view name;
};

constexpr std::array<FeatureName, 11> kFeatureNames = {{{kAvx2, "avx2"},
                                                        {kFma, "fma"},
                                                        {kF16c, "f16c"},
                                                        {kAvx512f, "avx512f"},
                                                        {kAvx512bw, "avx512bw"},
                                                        {kAvx512vl, "avx512vl"},
                                                        {kAvx512Vbmi, "avx512vbmi"},
                                                        {kAvx512Vnni, "avx512_vnni"},
                                                        {kAvx512Bf16, "avx512_bf16"},
                                                        {kAmxTile, "amx_tile"},
                                                        {kAmxBf16, "amx_bf16"}}};

Error spec_error(std::string_view found, std::string expected, std::string_view source) {
  return {.rule = "device_spec",
          .object = "--device",
          .found = fmt::format("\"{}\"", found),
          .expected = std::move(expected),
          .source = std::string(source)};
}

DeviceFacts from_entry(const CatalogEntry& entry) {
  DeviceFacts device{
      .name = std::string(entry.name),
      .model = std::string(entry.model),
      .assumed = true,
      .kind = entry.kind,
      .memory_total = static_cast<std::int64_t>(static_cast<double>(entry.memory_gb) * kGiga),
      .bandwidth = entry.bandwidth_gb_s * kGiga,
      .cpus_online = entry.cores,
      .cpus_allowed = entry.cores,
      .features = {entry.features.begin(), entry.features.end()},
      .capability_major = entry.major,
      .capability_minor = entry.minor};
  device.memory_available = device.memory_total;
  device.numa_nodes = entry.kind == DeviceKind::kCpu ? 1 : 0;
  return device;
}

/// The count of "x8"; empty when it is not one.
std::optional<std::int64_t> parse_count(std::string_view text) {
  constexpr std::int64_t kCountMax = 1024;
  std::int64_t count = 0;
  if (!text.starts_with('x')) return std::nullopt;
  const char* const end = text.data() + text.size();
  const auto [next, error] = std::from_chars(text.data() + 1, end, count);
  if (error != std::errc() || next != end || count < 1 || count > kCountMax) return std::nullopt;
  return count;
}

/// Cuts " x8" off the end of `text`.
std::optional<std::int64_t> take_count(std::string_view& text) {
  const std::size_t space = text.rfind(' ');
  if (space == std::string_view::npos || !text.substr(space + 1).starts_with('x')) return 1;
  const auto count = parse_count(text.substr(space + 1));
  text = text.substr(0, space);
  return count;
}

}  // namespace

std::string_view feature_name(CpuFeature feature) {
  return std::ranges::find(kFeatureNames, feature, &FeatureName::feature)->name;
}

std::optional<CpuFeature> feature_from_name(std::string_view name) {
  const auto found = std::ranges::find(kFeatureNames, name, &FeatureName::name);
  if (found == kFeatureNames.end()) return std::nullopt;
  return found->feature;
}

bool DeviceFacts::has(CpuFeature feature) const {
  return std::ranges::find(features, feature) != features.end();
}

std::int64_t CheckpointFacts::indexer_layers() const {
  return std::ranges::count(layer_has_indexer, true);
}

std::vector<std::string_view> device_names() {
  std::vector<std::string_view> names;
  for (const CatalogEntry& entry : kCatalog) names.push_back(entry.name);
  return names;
}

Expected<DeviceFacts> parse_device(std::string_view text, std::string_view source) {
  std::string_view rest = text;
  const auto count = take_count(rest);
  if (!count) return fail(spec_error(text, "a count from x1 to x1024 at the end", source));
  const std::size_t colon = rest.find(':');
  const std::string_view name = rest.substr(0, colon);
  const auto entry = std::ranges::find(kCatalog, name, &CatalogEntry::name);
  if (entry == kCatalog.end()) {
    const auto names = device_names();
    return fail({.kind = ErrorKind::kNotFound,
                 .rule = "device_name",
                 .object = "--device",
                 .found = fmt::format("\"{}\"", name),
                 .expected = fmt::format("host or one of {}", join(names, ", ")),
                 .source = std::string(source),
                 .fix = did_you_mean(name, names)});
  }
  DeviceFacts device = from_entry(*entry);
  device.count = *count;
  if (colon == std::string_view::npos) return device;
  const auto memory = parse_size(rest.substr(colon + 1));
  if (!memory || memory->count == 0) {
    return fail(spec_error(text, "NAME:MEMORY such as sm_120:96GB", source));
  }
  if (memory->count > kMemoryMax / *count) {
    return fail(spec_error(text, "at most 9 PB of memory (2^53 bytes) over all devices", source));
  }
  device.memory_total = memory->count;
  device.memory_available = memory->count;
  return device;
}

DeviceFacts host_device(const MachineInfo& machine) {
  DeviceFacts device{.name = "host",
                     .model = machine.cpu_model,
                     .memory_total = machine.memory_total,
                     .memory_available = machine.memory_available,
                     .cpus_online = machine.cpus_online,
                     .cpus_allowed = machine.cpus_allowed,
                     .numa_nodes = machine.numa_nodes,
                     .l1d_bytes = machine.l1d_bytes,
                     .l2_bytes = machine.l2_bytes,
                     .l3_bytes = machine.l3_bytes};
  for (const std::string& flag : machine.cpu_flags) {
    if (const auto feature = feature_from_name(flag)) device.features.push_back(*feature);
  }
  return device;
}

}  // namespace pellucid::config
