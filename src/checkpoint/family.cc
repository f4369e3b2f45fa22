#include "checkpoint/family.h"

#include <array>

#include "base/check.h"

namespace pellucid::checkpoint {
namespace {

constexpr std::array kFamilies = {
    FamilyTraits{Family::kGlmMoeDsa, "glm_moe_dsa", "GlmMoeDsaForCausalLM", ScoringFunc::kSigmoid,
                 TopkMethod::kNoauxTc, true, true, ""},
    FamilyTraits{Family::kDeepseekV32, "deepseek_v32", "DeepseekV32ForCausalLM",
                 ScoringFunc::kSigmoid, TopkMethod::kNoauxTc, true, false, ""},
    FamilyTraits{Family::kDeepseekV3, "deepseek_v3", "DeepseekV3ForCausalLM", ScoringFunc::kSigmoid,
                 TopkMethod::kNoauxTc, false, false, ""},
    FamilyTraits{Family::kDeepseekV2, "deepseek_v2", "DeepseekV2ForCausalLM", ScoringFunc::kSoftmax,
                 TopkMethod::kGreedy, false, false, ""},
    FamilyTraits{Family::kKimiK2, "kimi_k2", "DeepseekV3ForCausalLM", ScoringFunc::kSigmoid,
                 TopkMethod::kNoauxTc, false, false, ""},
    FamilyTraits{Family::kKimiK25, "kimi_k25", "KimiK25ForConditionalGeneration",
                 ScoringFunc::kSigmoid, TopkMethod::kNoauxTc, false, false, "language_model."},
};

constexpr std::string_view kTraining = "matters in training only";
constexpr std::string_view kUnused = "the forward pass has no use for it";
constexpr std::string_view kBaseClass =
    "default of the base class of Hugging Face configs; sampling defaults come from "
    "generation_config.json";

constexpr std::array kIrrelevant = {
    IrrelevantKey{"attention_dropout", kTraining},
    IrrelevantKey{"aux_loss_alpha", kTraining},
    IrrelevantKey{"initializer_range", kTraining},
    IrrelevantKey{"router_aux_loss_coef", kTraining},
    IrrelevantKey{"seq_aux", kTraining},
    IrrelevantKey{"pretraining_tp", kTraining},
    IrrelevantKey{"ep_size", "parallel layout of the training run"},
    IrrelevantKey{"use_cache", "there is always a cache"},
    IrrelevantKey{"dtype", "the type is that of each tensor"},
    IrrelevantKey{"torch_dtype", "the type is that of each tensor"},
    IrrelevantKey{"transformers_version", "provenance"},
    IrrelevantKey{"_name_or_path", "provenance"},
    IrrelevantKey{"auto_map", "code of a repository is never run"},
    IrrelevantKey{"trust_remote_code", "code of a repository is never run"},
    IrrelevantKey{"num_key_value_heads", "MLA has one latent for all heads"},
    IrrelevantKey{"head_dim", "wrong or absent in released files; MLA has three head sizes"},
    IrrelevantKey{"index_share_for_mtp_iteration", "affects drafting only"},
    IrrelevantKey{"quantization_config", "read with the tensors, see quant_claim.h"},
    IrrelevantKey{"output_router_logits", kUnused},
    // Everything below is written into text_config by old versions of Hugging Face transformers.
    IrrelevantKey{"add_cross_attention", kBaseClass},
    IrrelevantKey{"bad_words_ids", kBaseClass},
    IrrelevantKey{"begin_suppress_tokens", kBaseClass},
    IrrelevantKey{"chunk_size_feed_forward", kBaseClass},
    IrrelevantKey{"cross_attention_hidden_size", kBaseClass},
    IrrelevantKey{"decoder_start_token_id", kBaseClass},
    IrrelevantKey{"diversity_penalty", kBaseClass},
    IrrelevantKey{"do_sample", kBaseClass},
    IrrelevantKey{"early_stopping", kBaseClass},
    IrrelevantKey{"encoder_no_repeat_ngram_size", kBaseClass},
    IrrelevantKey{"exponential_decay_length_penalty", kBaseClass},
    IrrelevantKey{"finetuning_task", kBaseClass},
    IrrelevantKey{"forced_bos_token_id", kBaseClass},
    IrrelevantKey{"forced_eos_token_id", kBaseClass},
    IrrelevantKey{"id2label", kBaseClass},
    IrrelevantKey{"is_decoder", kBaseClass},
    IrrelevantKey{"is_encoder_decoder", kBaseClass},
    IrrelevantKey{"label2id", kBaseClass},
    IrrelevantKey{"length_penalty", kBaseClass},
    IrrelevantKey{"max_length", kBaseClass},
    IrrelevantKey{"min_length", kBaseClass},
    IrrelevantKey{"no_repeat_ngram_size", kBaseClass},
    IrrelevantKey{"num_beam_groups", kBaseClass},
    IrrelevantKey{"num_beams", kBaseClass},
    IrrelevantKey{"num_return_sequences", kBaseClass},
    IrrelevantKey{"output_attentions", kBaseClass},
    IrrelevantKey{"output_hidden_states", kBaseClass},
    IrrelevantKey{"output_scores", kBaseClass},
    IrrelevantKey{"prefix", kBaseClass},
    IrrelevantKey{"problem_type", kBaseClass},
    IrrelevantKey{"pruned_heads", kBaseClass},
    IrrelevantKey{"remove_invalid_values", kBaseClass},
    IrrelevantKey{"repetition_penalty", kBaseClass},
    IrrelevantKey{"return_dict", kBaseClass},
    IrrelevantKey{"return_dict_in_generate", kBaseClass},
    IrrelevantKey{"sep_token_id", kBaseClass},
    IrrelevantKey{"suppress_tokens", kBaseClass},
    IrrelevantKey{"task_specific_params", kBaseClass},
    IrrelevantKey{"temperature", kBaseClass},
    IrrelevantKey{"tf_legacy_loss", kBaseClass},
    IrrelevantKey{"tie_encoder_decoder", kBaseClass},
    IrrelevantKey{"tokenizer_class", kBaseClass},
    IrrelevantKey{"top_k", kBaseClass},
    IrrelevantKey{"top_p", kBaseClass},
    IrrelevantKey{"torchscript", kBaseClass},
    IrrelevantKey{"typical_p", kBaseClass},
    IrrelevantKey{"use_bfloat16", kBaseClass},
};

}  // namespace

std::span<const FamilyTraits> families() {
  return kFamilies;
}

const FamilyTraits& traits(Family family) {
  for (const FamilyTraits& row : kFamilies) {
    if (row.family == family) return row;
  }
  PELLUCID_CHECK(false && "family without traits");
  __builtin_unreachable();
}

const FamilyTraits* find_family(std::string_view model_type) {
  for (const FamilyTraits& row : kFamilies) {
    if (row.model_type == model_type) return &row;
  }
  return nullptr;
}

std::string_view family_name(Family family) {
  return traits(family).model_type;
}

std::span<const IrrelevantKey> irrelevant_keys() {
  return kIrrelevant;
}

}  // namespace pellucid::checkpoint
