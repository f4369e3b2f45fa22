#pragma once
// The effective settings, one plain struct per topic. Filled by resolution and not changed after
// it; the command line hands each room what it needs of them. A field belongs to the row of the
// settings table (settings_table.cc) that names it.
//
// An optional that is empty is a setting that stays open until the moment of use.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pellucid::config {

/// A size of memory, in bytes.
struct Bytes {
  std::int64_t count = 0;
  friend bool operator==(const Bytes&, const Bytes&) = default;
};

/// The names of an enumeration's values, in order: what the user types.
template <class E>
struct Names;

enum class AttentionScope { kSparse, kDense };
template <>
struct Names<AttentionScope> {
  static constexpr std::array<std::string_view, 2> kAll = {"sparse", "dense"};
};

enum class AttentionForm { kAbsorbed, kExpanded };
template <>
struct Names<AttentionForm> {
  static constexpr std::array<std::string_view, 2> kAll = {"absorbed", "expanded"};
};

enum class KvDtype { kBf16, kF32 };
template <>
struct Names<KvDtype> {
  static constexpr std::array<std::string_view, 2> kAll = {"bf16", "f32"};
};

struct EngineSettings {
  std::string kernels = {};  ///< an operator table by name
  std::int64_t threads = 0;
  bool pin_threads = false;
  std::int64_t context = 0;  ///< tokens of one sequence
  std::int64_t chunk = 0;    ///< tokens of one prefill step
  std::int64_t sequences = 0;
  friend bool operator==(const EngineSettings&, const EngineSettings&) = default;
};

struct AttentionSettings {
  AttentionScope scope = AttentionScope::kSparse;
  AttentionForm form = AttentionForm::kAbsorbed;
  friend bool operator==(const AttentionSettings&, const AttentionSettings&) = default;
};

struct KvSettings {
  KvDtype dtype = KvDtype::kBf16;
  std::int64_t tokens = 0;  ///< of all sequences together
  friend bool operator==(const KvSettings&, const KvSettings&) = default;
};

struct MemorySettings {
  std::optional<Bytes> budget = {};  ///< empty: the memory of the machine is not known
  friend bool operator==(const MemorySettings&, const MemorySettings&) = default;
};

struct SamplingSettings {
  double temperature = 1;
  std::int64_t top_k = 0;
  double top_p = 1;
  double min_p = 0;
  double repetition_penalty = 1;
  double presence_penalty = 0;
  double frequency_penalty = 0;
  std::vector<std::string> logit_bias = {};  ///< "ID=BIAS", checked
  std::optional<std::int64_t> seed = {};     ///< empty: drawn when the answer starts
  std::int64_t top_logprobs = 0;
  std::optional<std::int64_t> max_tokens = {};  ///< empty: what is left of the context
  friend bool operator==(const SamplingSettings&, const SamplingSettings&) = default;
};

struct ChatSettings {
  bool thinking = true;
  std::optional<std::string> reasoning_effort = {};
  std::optional<std::string> system = {};
  friend bool operator==(const ChatSettings&, const ChatSettings&) = default;
};

struct Settings {
  EngineSettings engine = {};
  AttentionSettings attention = {};
  KvSettings kv = {};
  MemorySettings memory = {};
  SamplingSettings sampling = {};
  ChatSettings chat = {};
  friend bool operator==(const Settings&, const Settings&) = default;
};

}  // namespace pellucid::config
