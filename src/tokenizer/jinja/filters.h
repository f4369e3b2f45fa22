#pragma once
// The filters of the language: the names after `|`.

#include <string>
#include <string_view>

#include "tokenizer/jinja/ast.h"
#include "tokenizer/jinja/runtime.h"

namespace pellucid::tokenizer::jinja {

/// Null when there is no such filter.
[[nodiscard]] const Filter* find_filter(std::string_view name);
/// The names of all filters, for error messages.
[[nodiscard]] std::string filter_names();

// filters_text.cc
[[nodiscard]] Result<Value> filter_capitalize(Runtime&, const Value&, const Arguments&);
[[nodiscard]] Result<Value> filter_indent(Runtime&, const Value&, const Arguments&);
[[nodiscard]] Result<Value> filter_join(Runtime&, const Value&, const Arguments&);
[[nodiscard]] Result<Value> filter_lower(Runtime&, const Value&, const Arguments&);
[[nodiscard]] Result<Value> filter_replace(Runtime&, const Value&, const Arguments&);
[[nodiscard]] Result<Value> filter_safe(Runtime&, const Value&, const Arguments&);
[[nodiscard]] Result<Value> filter_string(Runtime&, const Value&, const Arguments&);
[[nodiscard]] Result<Value> filter_title(Runtime&, const Value&, const Arguments&);
[[nodiscard]] Result<Value> filter_trim(Runtime&, const Value&, const Arguments&);
[[nodiscard]] Result<Value> filter_upper(Runtime&, const Value&, const Arguments&);

// filters_number.cc
[[nodiscard]] Result<Value> filter_abs(Runtime&, const Value&, const Arguments&);
[[nodiscard]] Result<Value> filter_float(Runtime&, const Value&, const Arguments&);
[[nodiscard]] Result<Value> filter_int(Runtime&, const Value&, const Arguments&);
[[nodiscard]] Result<Value> filter_round(Runtime&, const Value&, const Arguments&);
[[nodiscard]] Result<Value> filter_sum(Runtime&, const Value&, const Arguments&);

// filters_sequence.cc
[[nodiscard]] Result<Value> filter_default(Runtime&, const Value&, const Arguments&);
[[nodiscard]] Result<Value> filter_first(Runtime&, const Value&, const Arguments&);
[[nodiscard]] Result<Value> filter_items(Runtime&, const Value&, const Arguments&);
[[nodiscard]] Result<Value> filter_last(Runtime&, const Value&, const Arguments&);
[[nodiscard]] Result<Value> filter_length(Runtime&, const Value&, const Arguments&);
[[nodiscard]] Result<Value> filter_list(Runtime&, const Value&, const Arguments&);
[[nodiscard]] Result<Value> filter_map(Runtime&, const Value&, const Arguments&);
[[nodiscard]] Result<Value> filter_reject(Runtime&, const Value&, const Arguments&);
[[nodiscard]] Result<Value> filter_rejectattr(Runtime&, const Value&, const Arguments&);
[[nodiscard]] Result<Value> filter_reverse(Runtime&, const Value&, const Arguments&);
[[nodiscard]] Result<Value> filter_select(Runtime&, const Value&, const Arguments&);
[[nodiscard]] Result<Value> filter_selectattr(Runtime&, const Value&, const Arguments&);

// filters_sort.cc
[[nodiscard]] Result<Value> filter_dictsort(Runtime&, const Value&, const Arguments&);
[[nodiscard]] Result<Value> filter_max(Runtime&, const Value&, const Arguments&);
[[nodiscard]] Result<Value> filter_min(Runtime&, const Value&, const Arguments&);
[[nodiscard]] Result<Value> filter_sort(Runtime&, const Value&, const Arguments&);
[[nodiscard]] Result<Value> filter_unique(Runtime&, const Value&, const Arguments&);

}  // namespace pellucid::tokenizer::jinja
