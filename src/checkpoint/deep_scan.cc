#include "checkpoint/deep_scan.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "base/utf8.h"
#include "checkpoint/scan.h"

namespace pellucid::checkpoint {
namespace {

using tensor::DType;

/// A test with what a hit means.
struct Finding {
  ScanTest test;
  Severity severity;
  const char* rule;
  const char* what;
};

constexpr Finding kBf16Weight{ScanTest::kBf16NonFinite, Severity::kError, "nonfinite_weight",
                              "NaN or infinite weights"};
constexpr Finding kF16Weight{ScanTest::kF16NonFinite, Severity::kError, "nonfinite_weight",
                             "NaN or infinite weights"};
constexpr Finding kF32Weight{ScanTest::kF32NonFinite, Severity::kError, "nonfinite_weight",
                             "NaN or infinite weights"};
constexpr Finding kE4M3Weight{ScanTest::kE4M3Nan, Severity::kError, "nonfinite_weight",
                              "NaN weights (code 0x7F or 0xFF)"};
constexpr Finding kE4M3ScaleNan{ScanTest::kE4M3Nan, Severity::kError, "nonfinite_scale",
                                "NaN scales (byte 0x7F or 0xFF)"};
constexpr Finding kE4M3ScaleZero{ScanTest::kE4M3Zero, Severity::kWarning, "zero_scale",
                                 "zero scales: their blocks decode to 0"};
constexpr Finding kE4M3ScaleNegative{ScanTest::kE4M3Negative, Severity::kError, "negative_scale",
                                     "negative scales"};
constexpr Finding kUe8m0ScaleNan{ScanTest::kUe8m0Nan, Severity::kError, "nonfinite_scale",
                                 "NaN scales (byte 0xFF)"};
constexpr Finding kF32ScaleNonFinite{ScanTest::kF32NonFinite, Severity::kError, "nonfinite_scale",
                                     "NaN or infinite scales"};
constexpr Finding kF32ScaleNotPositive{ScanTest::kF32NotPositive, Severity::kError, "zero_scale",
                                       "zero or negative scales"};
constexpr Finding kF32ScaleFmt{ScanTest::kF32NotPowerOfTwo, Severity::kError, "scale_fmt",
                               "scales that are no power of two, against scale_fmt ue8m0"};
constexpr Finding kBf16ScaleNonFinite{ScanTest::kBf16NonFinite, Severity::kError, "nonfinite_scale",
                                      "NaN or infinite scales"};
constexpr Finding kBf16ScaleZero{ScanTest::kBf16Zero, Severity::kWarning, "zero_scale",
                                 "zero scales: their groups decode to 0"};

std::vector<Finding> weight_tests(DType dtype) {
  if (dtype == DType::kBf16) return {kBf16Weight};
  if (dtype == DType::kF16) return {kF16Weight};
  if (dtype == DType::kF32) return {kF32Weight};
  if (dtype == DType::kF8E4M3) return {kE4M3Weight};
  return {};  // 4-bit codes and integers have no value that is not a number
}

std::vector<Finding> scale_tests(DType dtype, bool claims_power_of_two) {
  if (dtype == DType::kF8E4M3) return {kE4M3ScaleNan, kE4M3ScaleZero, kE4M3ScaleNegative};
  if (dtype == DType::kU8 || dtype == DType::kF8E8M0) return {kUe8m0ScaleNan};
  if (dtype == DType::kBf16) return {kBf16ScaleNonFinite, kBf16ScaleZero};
  std::vector<Finding> out = {kF32ScaleNonFinite, kF32ScaleNotPositive};
  if (claims_power_of_two) out.push_back(kF32ScaleFmt);
  return out;
}

class Scanner {
 public:
  Scanner(Loaded& loaded, ScanScope scope, const ScanProgress& progress)
      : loaded_(loaded), scope_(scope), progress_(progress) {
    for (const QuantClaim& claim : loaded.claims) {
      claims_power_of_two_ = claims_power_of_two_ || claim.power_of_two_scales;
    }
    for (const CheckedWeight& weight : loaded.weights) note_parts(weight);
    for (const TensorInfo& tensor : loaded.shards.tensors) {
      if (in_scope(tensor)) total_ += tensor.bytes.size();
    }
  }

  DeepScan run() {
    for (const TensorInfo& tensor : loaded_.shards.tensors) {
      if (in_scope(tensor)) scan_tensor(tensor);
    }
    out_.bytes = done_;
    for (const MappedFile& file : loaded_.shards.files) {
      if (file.still_intact()) continue;
      loaded_.log.add({.error = {.kind = ErrorKind::kIo,
                                 .rule = "file_changed",
                                 .object = "shard",
                                 .found = "another size or time than when it was opened",
                                 .expected = "a file that nothing writes to",
                                 .source = file.name()}});
    }
    return out_;
  }

 private:
  [[nodiscard]] bool in_scope(const TensorInfo& tensor) const {
    return scope_ == ScanScope::kAll || scales_.contains(&tensor);
  }

  void note_parts(const CheckedWeight& weight) {
    const Module& module = *weight.module;
    const bool is_scalar = weight.format == Format::kFp8Tensor;
    for (const Part part : {Part::kWeightScale, Part::kWeightScaleInv}) {
      if (module.part(part) != nullptr && !is_scalar) scales_.insert(module.part(part));
    }
    for (const Part part : {Part::kWeightScale2, Part::kWeightGlobalScale, Part::kInputScale,
                            Part::kInputGlobalScale}) {
      if (module.part(part) != nullptr) scalars_.insert(module.part(part));
    }
    if (is_scalar) scalars_.insert(module.part(Part::kWeightScale));
  }

  void scan_tensor(const TensorInfo& tensor) {
    if (scalars_.contains(&tensor)) return advance(tensor.bytes.size());
    const bool is_scale = scales_.contains(&tensor);
    const auto tests =
        is_scale ? scale_tests(tensor.dtype, claims_power_of_two_) : weight_tests(tensor.dtype);
    std::vector<ScanResult> results(tests.size());
    const bool measures_powers = is_scale && tensor.dtype == DType::kF32;
    std::uint64_t not_powers = 0;
    // By chunks that stay in cache from one test to the next; a multiple of every element size.
    constexpr std::size_t kChunk = 256 << 10;
    for (std::size_t begin = 0; begin < tensor.bytes.size(); begin += kChunk) {
      const auto chunk = tensor.bytes.subspan(begin, std::min(kChunk, tensor.bytes.size() - begin));
      const std::uint64_t base = begin * 8 / static_cast<std::uint64_t>(bits(tensor.dtype));
      for (std::size_t i = 0; i < tests.size(); ++i)
        add(results[i], scan(chunk, tests[i].test), base);
      if (measures_powers) not_powers += scan(chunk, ScanTest::kF32NotPowerOfTwo).count;
      advance(chunk.size());
    }
    for (std::size_t i = 0; i < tests.size(); ++i) report(tensor, tests[i], results[i]);
    if (measures_powers) {
      out_.power_of_two_scales = out_.power_of_two_scales.value_or(true) && not_powers == 0;
    }
  }

  static void add(ScanResult& sum, const ScanResult& chunk, std::uint64_t base) {
    if (chunk.count == 0) return;
    if (sum.count == 0) sum.first = base + chunk.first;
    sum.count += chunk.count;
  }

  void advance(std::size_t bytes) {
    constexpr std::uint64_t kStep = 64ULL << 20;
    const std::uint64_t before = done_ / kStep;
    done_ += bytes;
    if (progress_ && (done_ / kStep != before || done_ == total_)) progress_(done_, total_);
  }

  void report(const TensorInfo& tensor, const Finding& finding, const ScanResult& result) {
    if (result.count == 0) return;
    const std::string place = coordinates(tensor, result.first);
    loaded_.log.add({.severity = finding.severity,
                     .tensor = std::string(tensor.name),
                     .place = place,
                     .error = {.kind = ErrorKind::kNumeric,
                               .rule = finding.rule,
                               .object = "tensor " + utf8::escape_for_display(tensor.name),
                               .found = std::to_string(result.count) + " " + finding.what +
                                        ", the first at " + place,
                               .expected = "none",
                               .source = loaded_.shards.files[tensor.shard].name()}});
  }

  Loaded& loaded_;
  ScanScope scope_;
  const ScanProgress& progress_;
  std::unordered_set<const TensorInfo*> scales_;
  std::unordered_set<const TensorInfo*> scalars_;  ///< checked by check_scalars() already
  bool claims_power_of_two_ = false;
  std::uint64_t total_ = 0;
  std::uint64_t done_ = 0;
  DeepScan out_;
};

}  // namespace

DeepScan deep_scan(Loaded& loaded, ScanScope scope, const ScanProgress& progress) {
  return Scanner(loaded, scope, progress).run();
}

}  // namespace pellucid::checkpoint
