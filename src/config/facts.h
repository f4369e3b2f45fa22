#pragma once
// What resolution knows of the checkpoint and of the device. Plain data, filled in by the command
// line from the headers of the checkpoint and from the machine (or from a named device that is not
// here), so that a decision can be repeated and tested without either.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pellucid::config {

// ---- Checkpoint.

/// Sizes in the checkpoint's own words (model.md section 2).
struct ModelDims {
  std::int64_t hidden_size = 0;
  std::int64_t num_hidden_layers = 0;
  std::int64_t vocab_size = 0;
  std::int64_t max_position_embeddings = 0;
  std::int64_t num_attention_heads = 0;
  std::int64_t q_lora_rank = 0;
  std::int64_t kv_lora_rank = 0;
  std::int64_t qk_nope_head_dim = 0;
  std::int64_t qk_rope_head_dim = 0;
  std::int64_t v_head_dim = 0;
  std::int64_t intermediate_size = 0;
  std::int64_t moe_intermediate_size = 0;
  std::int64_t n_routed_experts = 0;
  std::int64_t num_experts_per_tok = 0;
  std::int64_t n_shared_experts = 0;
  std::int64_t index_n_heads = 0;  ///< 0: no indexer
  std::int64_t index_head_dim = 0;
  std::int64_t index_topk = 0;
  friend bool operator==(const ModelDims&, const ModelDims&) = default;
};

/// The tensors of one part of the model in one format.
struct WeightGroup {
  std::string part = {};    ///< "routed experts", "attention", "embeddings", ...
  std::string format = {};  ///< id of the checkpoint room: "nvfp4_modelopt"
  std::int64_t matrices = 0;
  std::int64_t bytes = 0;  ///< codes and scales as they lie in the files
  bool used = true;        ///< false: the engine does not read it (next-token-prediction layers)
  friend bool operator==(const WeightGroup&, const WeightGroup&) = default;
};

struct RopeFacts {
  double theta = 0;  ///< 0: absent
  std::string type = {};
  double factor = 1;
  std::string source = {};       ///< the keys of config.json it came from
  bool main_interleaved = true;  ///< pairs (2i, 2i+1)
  bool indexer_interleaved = false;
  friend bool operator==(const RopeFacts&, const RopeFacts&) = default;
};

/// generation_config.json; the values that it leaves out are neutral.
struct GenerationFacts {
  bool do_sample = true;
  double temperature = 1;
  std::int64_t top_k = 0;
  double top_p = 1;
  double min_p = 0;
  double repetition_penalty = 1;
  friend bool operator==(const GenerationFacts&, const GenerationFacts&) = default;
};

/// Something that the checkpoint room found wrong.
struct CheckpointProblem {
  bool refuses = false;  ///< the checkpoint cannot be loaded
  std::string rule = {};
  std::string text = {};
  friend bool operator==(const CheckpointProblem&, const CheckpointProblem&) = default;
};

struct CheckpointFacts {
  std::string source = {};  ///< the directory
  std::string family = {};
  std::string architecture = {};
  ModelDims dims = {};
  std::vector<bool> layer_has_indexer = {};          ///< by the schedule of config.json
  std::vector<bool> layer_has_indexer_tensors = {};  ///< by the tensors in the files
  std::int64_t mtp_layers = 0;                       ///< in the files
  RopeFacts rope = {};
  std::vector<WeightGroup> weights = {};
  std::int64_t tensors = 0;
  std::int64_t vector_elements = 0;  ///< norms and biases, which the engine copies as f32
  GenerationFacts generation = {};
  std::vector<std::int64_t> eos_token_ids = {};
  std::vector<std::string> unread_keys = {};
  std::vector<CheckpointProblem> problems = {};
  bool kv_scales = false;           ///< calibrated scales of a quantised KV cache are in the files
  std::string kv_cache_claim = {};  ///< what config.json asks for the cache: "FP8", or empty

  [[nodiscard]] bool has_indexer() const { return dims.index_n_heads > 0; }
  [[nodiscard]] std::int64_t indexer_layers() const;
  friend bool operator==(const CheckpointFacts&, const CheckpointFacts&) = default;
};

// ---- Device.

enum class DeviceKind { kCpu, kCuda };

enum class CpuFeature {
  kAvx2,
  kFma,
  kF16c,
  kAvx512f,
  kAvx512bw,
  kAvx512vl,
  kAvx512Vbmi,
  kAvx512Vnni,
  kAvx512Bf16,
  kAmxTile,
  kAmxBf16
};

/// As /proc/cpuinfo spells it: "avx512_bf16".
[[nodiscard]] std::string_view feature_name(CpuFeature feature);
[[nodiscard]] std::optional<CpuFeature> feature_from_name(std::string_view name);

struct DeviceFacts {
  std::string name = {};   ///< "host", "sm_120"
  std::string model = {};  ///< "AMD EPYC"
  bool assumed = false;    ///< described, not here
  DeviceKind kind = DeviceKind::kCpu;
  std::int64_t count = 1;
  std::int64_t memory_total = 0;      ///< bytes of one device
  std::int64_t memory_available = 0;  ///< bytes of one device; of an assumed one its total
  double bandwidth = 0;               ///< bytes per second of one device; 0: not known
  bool bandwidth_measured = false;

  std::int64_t cpus_online = 0;
  std::int64_t cpus_allowed = 0;
  std::int64_t numa_nodes = 0;
  std::int64_t l1d_bytes = 0, l2_bytes = 0, l3_bytes = 0;
  std::vector<CpuFeature> features = {};

  std::int64_t capability_major = 0, capability_minor = 0;  ///< CUDA compute capability

  [[nodiscard]] bool has(CpuFeature feature) const;
  friend bool operator==(const DeviceFacts&, const DeviceFacts&) = default;
};

struct Facts {
  CheckpointFacts checkpoint = {};
  DeviceFacts device = {};
  friend bool operator==(const Facts&, const Facts&) = default;
};

}  // namespace pellucid::config
