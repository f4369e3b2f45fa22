#pragma once
// The model families as data: how each is recognised and what its config may leave out (model.md
// section 1).

#include <optional>
#include <span>
#include <string_view>

#include "checkpoint/model_config.h"

namespace pellucid::checkpoint {

struct FamilyTraits {
  Family family;
  std::string_view model_type;
  std::string_view architecture;  ///< the one of official releases
  ScoringFunc scoring_func;       ///< of the family, where the config does not repeat it
  TopkMethod topk_method;
  bool sparse_attention;         ///< has a lightning indexer
  bool indexer_rope_interleave;  ///< where the config does not say (model.md section 3.4)
  std::string_view tensor_prefix;
};

[[nodiscard]] std::span<const FamilyTraits> families();
[[nodiscard]] const FamilyTraits& traits(Family family);
[[nodiscard]] const FamilyTraits* find_family(std::string_view model_type);

/// Keys of config.json that change nothing in a forward pass; each with the reason.
struct IrrelevantKey {
  std::string_view key;
  std::string_view reason;
};
[[nodiscard]] std::span<const IrrelevantKey> irrelevant_keys();

}  // namespace pellucid::checkpoint
