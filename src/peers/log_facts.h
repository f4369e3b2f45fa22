#pragma once
// From what a log shows to what it means: the rows of the KV pool, and the contracts. Private to
// the log reader.

#include <optional>
#include <string>
#include <string_view>

#include "peers/log_reader.h"
#include "peers/peers.h"

namespace pellucid::peers {

/// Bytes, tokens and line of "KV Cache is allocated. ..." or of vLLM's two memory lines.
[[nodiscard]] std::optional<ObservedPool> parse_sglang_pool(std::string_view message);

/// The longest well-known model whose name is in `path`, not followed by more of a version.
[[nodiscard]] const ModelFacts* model_in_path(std::string_view path);

/// Layers of one pipeline rank, bytes per token and layer, and the layout that explains them.
void infer_pool_layout(ObservedPool& pool, const LogReport& report, const LogOptions& options);

/// Fills contradictions and unknowns of the report.
void check_log(LogReport& report, const LogOptions& options);

}  // namespace pellucid::peers
