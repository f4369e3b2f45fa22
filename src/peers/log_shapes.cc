#include "peers/log_shapes.h"

#include <algorithm>
#include <utility>

namespace pellucid::peers {
namespace {

using enum LogEngine;
using enum Evidence;

constexpr SettingShape kSettings[] = {
    // SGLang.
    {kSglang,
     "Setting KV cache dtype to %w for DeepSeek DSA on SM%d device",
     kDecided,
     {"kv_cache_dtype", "", ""}},
    {kSglang,
     "Set NSA backends for %w KV Cache: prefill=%w, decode=%w",
     kDecided,
     {"kv_cache_dtype", "nsa_prefill_backend", "nsa_decode_backend"}},
    {kSglang,
     "Set DSA backends for GLM FP8 KV Cache on SM120/SM121: prefill=%w, decode=%w",
     kDecided,
     {"nsa_prefill_backend", "nsa_decode_backend", ""},
     "",
     "this line prints the default even when the user's own backend won"},
    {kSglang,
     "Set DSA backends for %w KV Cache: prefill=%w, decode=%w",
     kDecided,
     {"kv_cache_dtype", "nsa_prefill_backend", "nsa_decode_backend"}},
    {kSglang, "Setting page size to %d for DeepSeek DSA", kDecided, {"page_size", "", ""}},
    {kSglang, "changing page_size from %w to %d", kDecided, {"", "page_size", ""}},
    {kSglang, "change page_size to %d", kDecided, {"page_size", "", ""}},
    {kSglang,
     "Attention backend not specified. Use %w backend by default",
     kDecided,
     {"attention_backend", "", ""}},
    {kSglang,
     "Attention backend not explicitly specified. Use %w backend by default",
     kDecided,
     {"attention_backend", "", ""}},
    {kSglang, "Use %w as attention backend on %w for", kDecided, {"attention_backend", "", ""}},
    {kSglang,
     "Use %w attention backend for DeepSeek with DSA",
     kDecided,
     {"attention_backend", "", ""}},
    {kSglang, "Use %w as MoE runner backend on", kDecided, {"moe_runner_backend", "", ""}},
    {kSglang,
     "--disable-shared-experts-fusion is automatically set",
     kDecided,
     {"disable_shared_experts_fusion", "", ""},
     "True"},
    {kSglang, "auto-selecting fp4-gemm-backend=%w", kDecided, {"fp4_gemm_runner_backend", "", ""}},
    {kSglang, "Force NSA prefill to use MLA", kDecided, {"nsa_force_mla", "", ""}, "true"},
    {kSglang, "Using KV cache dtype: torch.%w", kRunning, {"kv_cache_dtype", "", ""}},
    {kSglang, "KV Cache is allocated. dtype: torch.%w", kRunning, {"kv_cache_dtype", "", ""}},
    {kSglang,
     "Using FP8 KV cache but no scaling factors provided",
     kRunning,
     {"kv_scale", "", ""},
     "1.0"},
    {kSglang,
     "DeepGemm is enabled but the scale_fmt of checkpoint is not ue8m0",
     kRunning,
     {"deep_gemm_scale_format", "", ""},
     "ue8m0"},
    {kSglang, " type=%w,", kRunning, {"architecture", "", ""}},
    {kSglang,
     "chunked_prefill_size=%w, max_prefill_tokens=%d, max_running_requests=%d",
     kRunning,
     {"chunked_prefill_size", "max_prefill_tokens", "max_running_requests"}},
    {kSglang, "max_running_requests=%d, context_len=%d", kRunning, {"", "context_length", ""}},
    // vLLM.
    {kVllm, "Resolved architecture: %w", kDecided, {"architecture", "", ""}},
    {kVllm, "Using max model len %d", kDecided, {"max_model_len", "", ""}},
    {kVllm,
     "Chunked prefill is enabled with max_num_batched_tokens=%d",
     kDecided,
     {"max_num_batched_tokens", "", ""}},
    {kVllm, "Using AttentionBackendEnum.%w backend", kDecided, {"attention_backend", "", ""}},
    {kVllm,
     "Using %w attention backend out of potential backends",
     kDecided,
     {"attention_backend", "", ""}},
    {kVllm, "Using %w KV cache format for %w backend", kRunning, {"kv_cache_dtype", "", ""}},
    {kVllm, "Using standard fp8 KV cache format", kRunning, {"kv_cache_dtype", "", ""}, "fp8"},
    {kVllm, "Setting attention block size to %d tokens", kDecided, {"block_size", "", ""}},
    {kVllm,
     "Using '%w' NvFp4 MoE backend out of potential backends",
     kDecided,
     {"moe_backend", "", ""}},
    {kVllm, "Using %w Fp8 MoE backend out of", kDecided, {"moe_backend", "", ""}},
};

constexpr NoiseShape kNoise[] = {
    {"rope_transformers", "If you experience issues related to RoPE",
     "printed for any model type that is not on a list when transformers >= 5; the model code "
     "reads "
     "rope_parameters itself, and the line says nothing about this run"},
    {"deep_gemm_scale_fmt", "DeepGemm is enabled but the scale_fmt of checkpoint is not ue8m0",
     "printed for every such checkpoint, whether or not DeepGEMM is called; it speaks of accuracy, "
     "while a real mismatch of scales gives NaN or garbage: see scale_format under contradictions"},
    {"nsa_flags_advice", "you should also explicitly set --kv-cache-dtype",
     "advice printed whenever an NSA backend flag is given; it does not say that anything is "
     "wrong"},
};

constexpr CrashShape kCrashes[] = {
    {"sampler_assert", "probability tensor contains either",
     "the logits were already bad at this point: the fault is before the sampler, in the forward "
     "pass or in what it read"},
    {"nan_logits", "NaN in the logits",
     "the logits were already bad at this point; the NaN detection replaces them and hides where "
     "they came from"},
    {"nan_logits", "NaNs detected in logits",
     "the logits were already bad at this point: the fault is before the sampler"},
    {"scale_not_power_of_two", "(values[j] & 0x807fffffu) == 0",
     "DeepGEMM was given scales that are not powers of two: the checkpoint's scale format is not "
     "ue8m0"},
    {"unsupported_architecture", "Unsupported architecture",
     "a kernel has no code for this GPU: another backend must be chosen"},
    {"unsupported_architecture", "Unsupported arch",
     "a kernel has no code for this GPU: another backend must be chosen"},
    {"no_kernel_image", "no kernel image is available for execution on the device",
     "a kernel was not built for this GPU"},
    {"illegal_address", "an illegal memory access was encountered",
     "a kernel read or wrote outside its buffers; the traceback shows where it was noticed, not "
     "where it happened"},
    {"launch_failed", "CUDA_ERROR_LAUNCH_FAILED",
     "a kernel died; the traceback shows where it was noticed, not where it happened"},
    {"invalid_launch", "CUDA_ERROR_INVALID_VALUE",
     "a launch was refused; what follows may run on garbage if the status was not checked"},
    {"out_of_memory", "CUDA out of memory", "GPU memory is exhausted"},
    {"no_backend", "No valid attention backend found",
     "vLLM refuses: no attention backend fits; its Reasons list says what each lacks"},
    {"backend_refused", "is not valid for this configuration. Reason",
     "vLLM refuses the backend that was asked for, with its reason"},
    {"ggml_assert", "GGML_ASSERT(", "a check of llama.cpp failed"},
    {"nan_in_op", "found nan",
     "an op of ik_llama.cpp found a NaN in its input: the fault is earlier"},
    {"failed_to_sample", "Failed to sample token",
     "the logits were already bad at this point: the fault is before the sampler"},
    {"device_assert", "device-side assert triggered",
     "sticky: every later CUDA call reports it; the traceback shows where it was noticed, not "
     "where "
     "it happened",
     true},
    {"scheduler_exception", "Scheduler hit an exception", "the scheduler process ended", true},
    {"sigquit", "Received sigquit from a child process", "a child process failed before", true},
    {"engine_core", "EngineCore encountered a fatal error", "the engine process ended", true},
    {"worker", "WorkerProc hit an exception", "a worker process ended", true},
};

// Words of the lines by which SGLang says that it changed something.
constexpr std::string_view kOverrides[] = {
    "automatically set", "is disabled because", "is adjusted to", "Falling back",
    "Fallback",          "fall back",           "forced",         "Force ",
    "reset to",          "Overriding",          "changing ",      "is set to",
};

constexpr std::pair<std::string_view, std::string_view> kSettingNames[] = {
    {"dsa_prefill_backend", "nsa_prefill_backend"},
    {"dsa_decode_backend", "nsa_decode_backend"},
    {"tensor_parallel_size", "tp_size"},
    {"pipeline_parallel_size", "pp_size"},
};

constexpr std::pair<std::string_view, std::string_view> kValueNames[] = {
    {"bf16", "bfloat16"},
    {"torch.bfloat16", "bfloat16"},
    {"float8_e4m3fn", "fp8_e4m3"},
    {"torch.float8_e4m3fn", "fp8_e4m3"},
    {"float8_e5m2", "fp8_e5m2"},
    {"True", "true"},
    {"False", "false"},
};

}  // namespace

std::span<const SettingShape> setting_shapes() {
  return kSettings;
}
std::span<const NoiseShape> noise_shapes() {
  return kNoise;
}
std::span<const CrashShape> crash_shapes() {
  return kCrashes;
}

bool says_override(std::string_view text) {
  return std::ranges::any_of(kOverrides, [&](std::string_view words) {
    return text.find(words) != std::string_view::npos;
  });
}

std::string canonical_setting(std::string_view name) {
  std::string out(name);
  std::ranges::replace(out, '-', '_');
  for (const auto& [alias, canonical] : kSettingNames) {
    if (out == alias) return std::string(canonical);
  }
  return out;
}

std::string canonical_value(std::string_view value) {
  for (const auto& [alias, canonical] : kValueNames) {
    if (value == alias) return std::string(canonical);
  }
  return std::string(value);
}

}  // namespace pellucid::peers
