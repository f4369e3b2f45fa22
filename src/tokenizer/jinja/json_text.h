#pragma once
// The tojson filter as Hugging Face defines it: json.dumps(value, ensure_ascii=False, ...), without
// the HTML escapes of Jinja's own filter.

#include "tokenizer/jinja/callable.h"
#include "tokenizer/jinja/runtime.h"

namespace pellucid::tokenizer::jinja {

/// Parameters: ensure_ascii, indent, separators, sort_keys.
[[nodiscard]] Result<Value> filter_tojson(Runtime& runtime, const Value& subject,
                                          const Arguments& arguments);

}  // namespace pellucid::tokenizer::jinja
