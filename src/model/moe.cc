#include "model/moe.h"

namespace pellucid::model {
namespace {

void swiglu_block(const StepContext& step, const MlpWeights& weights, float* out) {
  Scratch& scratch = step.scratch;
  linear(step, weights.gate_proj, scratch.normed.data(), scratch.gate.data());
  linear(step, weights.up_proj, scratch.normed.data(), scratch.up.data());
  step.ops.swiglu({.gate = scratch.gate.data(),
                   .up = scratch.up.data(),
                   .y = scratch.gate.data(),
                   .count = step.tokens * weights.gate_proj.rows},
                  step.pool);
  linear(step, weights.down_proj, scratch.gate.data(), out);
}

kernels::GroupScore group_score(const checkpoint::ModelConfig& config) {
  if (config.n_group <= 1) return kernels::GroupScore::kNone;
  switch (config.topk_method) {
    case checkpoint::TopkMethod::kNoauxTc:
      return kernels::GroupScore::kTop2Sum;
    case checkpoint::TopkMethod::kGroupLimitedGreedy:
      return kernels::GroupScore::kMax;
    case checkpoint::TopkMethod::kGreedy:
      return kernels::GroupScore::kNone;
  }
  return kernels::GroupScore::kNone;
}

kernels::ScoringFunc scoring_func(const checkpoint::ModelConfig& config) {
  switch (config.scoring_func) {
    case checkpoint::ScoringFunc::kSigmoid:
      return kernels::ScoringFunc::kSigmoid;
    case checkpoint::ScoringFunc::kSoftmax:
      return kernels::ScoringFunc::kSoftmax;
  }
  return kernels::ScoringFunc::kSigmoid;
}

void route(const StepContext& step, const MoeWeights& weights) {
  const auto& config = step.config;
  Scratch& scratch = step.scratch;
  linear(step, weights.gate, scratch.normed.data(), scratch.router_logits.data());
  const auto& bias = weights.e_score_correction_bias;
  step.ops.route({.logits = scratch.router_logits.data(),
                  .tokens = step.tokens,
                  .experts = config.n_routed_experts,
                  .bias = bias.empty() ? nullptr : bias.data(),
                  .scoring = scoring_func(config),
                  .group_score = group_score(config),
                  .n_group = config.n_group,
                  .topk_group = config.topk_group,
                  .top_k = config.num_experts_per_tok,
                  .norm_topk_prob = config.norm_topk_prob,
                  .routed_scaling_factor = static_cast<float>(config.routed_scaling_factor),
                  .expert_ids = scratch.expert_ids.data(),
                  .weights = scratch.expert_weights.data()},
                 step.pool);
}

}  // namespace

void dense_ffn(const StepContext& step, const MlpWeights& weights) {
  swiglu_block(step, weights, step.scratch.block_out.data());
}

void moe_ffn(const StepContext& step, std::int64_t layer, const MoeWeights& weights) {
  const auto& config = step.config;
  Scratch& scratch = step.scratch;
  route(step, weights);
  if (step.tap != nullptr) {
    step.tap->experts(
        layer, step.first_position,
        std::span(scratch.expert_ids)
            .first(static_cast<std::size_t>(step.tokens * config.num_experts_per_tok)));
  }
  step.ops.moe({.x = scratch.normed.data(),
                .tokens = step.tokens,
                .gate = weights.gate_proj,
                .up = weights.up_proj,
                .down = weights.down_proj,
                .expert_ids = scratch.expert_ids.data(),
                .weights = scratch.expert_weights.data(),
                .top_k = config.num_experts_per_tok,
                .out = scratch.block_out.data(),
                .scratch = scratch.moe_floats.data(),
                .int_scratch = scratch.moe_ints.data()},
               step.pool);
  if (!weights.shared_experts) return;
  // Shared experts join unscaled: routed_scaling_factor is part of the routed weights only.
  swiglu_block(step, *weights.shared_experts, scratch.shared_out.data());
  step.ops.add({.acc = scratch.block_out.data(),
                .x = scratch.shared_out.data(),
                .count = step.tokens * config.hidden_size},
               step.pool);
}

}  // namespace pellucid::model
