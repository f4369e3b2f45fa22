#pragma once
// Compares the tensors that are there with those that the config asks for.

#include <string_view>

#include "checkpoint/loaded.h"

namespace pellucid::checkpoint {

/// Fills facts, expected and weights of `loaded`, and logs every difference. Without a config there
/// is nothing to compare.
void verify(Loaded& loaded);

/// Tensors that a checkpoint may hold and a text model does not need: rotary tables, the vision
/// part of a wrapper, scales of a quantised KV cache.
[[nodiscard]] bool is_ignorable(std::string_view tensor_name);

}  // namespace pellucid::checkpoint
