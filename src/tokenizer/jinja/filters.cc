#include "tokenizer/jinja/filters.h"

#include <algorithm>
#include <array>

#include "tokenizer/jinja/json_text.h"

namespace pellucid::tokenizer::jinja {
namespace {

constexpr auto kFilters = std::to_array<Filter>({
    {"abs", filter_abs},
    {"capitalize", filter_capitalize},
    {"count", filter_length},
    {"d", filter_default},
    {"default", filter_default},
    {"dictsort", filter_dictsort},
    {"first", filter_first},
    {"float", filter_float},
    {"indent", filter_indent},
    {"int", filter_int},
    {"items", filter_items},
    {"join", filter_join},
    {"last", filter_last},
    {"length", filter_length},
    {"list", filter_list},
    {"lower", filter_lower},
    {"map", filter_map},
    {"max", filter_max},
    {"min", filter_min},
    {"reject", filter_reject},
    {"rejectattr", filter_rejectattr},
    {"replace", filter_replace},
    {"reverse", filter_reverse},
    {"round", filter_round},
    {"safe", filter_safe},
    {"select", filter_select},
    {"selectattr", filter_selectattr},
    {"sort", filter_sort},
    {"string", filter_string},
    {"sum", filter_sum},
    {"title", filter_title},
    {"tojson", filter_tojson},
    {"trim", filter_trim},
    {"unique", filter_unique},
    {"upper", filter_upper},
});
static_assert(std::ranges::is_sorted(kFilters, {}, &Filter::name));

}  // namespace

const Filter* find_filter(std::string_view name) {
  const auto* at = std::ranges::lower_bound(kFilters, name, {}, &Filter::name);
  return at != kFilters.end() && at->name == name ? at : nullptr;
}

std::string filter_names() {
  std::string names = "one of";
  for (const Filter& filter : kFilters) names += " " + std::string(filter.name);
  return names;
}

}  // namespace pellucid::tokenizer::jinja
