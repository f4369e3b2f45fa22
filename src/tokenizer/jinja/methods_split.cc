// Methods of strings that take text apart or put it together.
#include <algorithm>
#include <optional>

#include "base/utf8.h"
#include "tokenizer/jinja/methods.h"
#include "tokenizer/jinja/operators.h"
#include "tokenizer/jinja/text.h"

namespace pellucid::tokenizer::jinja {
namespace {

using Pieces = std::vector<std::string_view>;

struct SplitArguments {
  std::optional<std::string_view> separator;  ///< nullopt: runs of white space
  std::uint64_t splits_max = 0;
};

Result<SplitArguments> split_arguments(std::string_view callee, const Arguments& arguments) {
  PELLUCID_TRY(const auto bound, bind(callee, arguments, {"sep", "maxsplit"}));
  SplitArguments split;
  if (bound[0] != nullptr && !bound[0]->is(Kind::kNone)) {
    PELLUCID_TRY(const std::string_view separator, text_argument(callee, *bound[0]));
    if (separator.empty()) return wrong(callee, "an empty separator", "a separator");
    split.separator = separator;
  }
  if (bound[1] != nullptr && !bound[1]->is_integral()) {
    return wrong(callee, bound[1]->type_name(), "an int as maxsplit");
  }
  // A negative maximum means no maximum.
  split.splits_max = static_cast<std::uint64_t>(bound[1] == nullptr ? -1 : bound[1]->integer());
  return split;
}

Result<void> add_piece(Runtime& runtime, Pieces& pieces, std::string_view piece) {
  PELLUCID_TRY_VOID(runtime.steps(1));
  PELLUCID_TRY_VOID(runtime.memory(sizeof(piece)));
  pieces.push_back(piece);
  return {};
}

Result<Value> list_of(Runtime& runtime, const Pieces& pieces) {
  std::vector<Value> items;
  items.reserve(pieces.size());
  for (const std::string_view piece : pieces) {
    PELLUCID_TRY(auto item, runtime.string(piece));
    items.push_back(std::move(item));
  }
  return runtime.list(std::move(items));
}

std::size_t word_end(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size()) {
    const utf8::Decoded d = utf8::decode(text, end);
    if (is_space(d.code_point)) break;
    end += d.length;
  }
  return end;
}

Result<Pieces> split_words(Runtime& runtime, std::string_view text, std::uint64_t splits_max) {
  Pieces pieces;
  for (text = strip_left(text); !text.empty(); text = strip_left(text)) {
    if (pieces.size() == splits_max) {
      PELLUCID_TRY_VOID(add_piece(runtime, pieces, text));
      break;
    }
    const std::size_t end = word_end(text);
    PELLUCID_TRY_VOID(add_piece(runtime, pieces, text.substr(0, end)));
    text.remove_prefix(end);
  }
  return pieces;
}

std::size_t word_start(std::string_view text) {
  std::size_t start = text.size();
  while (start > 0) {
    std::size_t at = start - 1;
    while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U) --at;
    if (is_space(utf8::decode(text, at).code_point)) break;
    start = at;
  }
  return start;
}

Result<Pieces> split_words_from_right(Runtime& runtime, std::string_view text,
                                      std::uint64_t splits_max) {
  Pieces pieces;
  for (text = strip_right(text); !text.empty(); text = strip_right(text)) {
    if (pieces.size() == splits_max) {
      PELLUCID_TRY_VOID(add_piece(runtime, pieces, text));
      break;
    }
    const std::size_t start = word_start(text);
    PELLUCID_TRY_VOID(add_piece(runtime, pieces, text.substr(start)));
    text = text.substr(0, start);
  }
  std::ranges::reverse(pieces);
  return pieces;
}

/// Splitting reads character by character: four times the cost of a plain scan.
Result<void> pay_for_reading(Runtime& runtime, const Value& self) {
  return runtime.scan(self.text().size() * 4);
}

}  // namespace

Result<Value> string_split(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PELLUCID_TRY(const SplitArguments split, split_arguments("split", arguments));
  PELLUCID_TRY_VOID(pay_for_reading(runtime, self));
  std::string_view text = self.text();
  if (!split.separator) {
    PELLUCID_TRY(const Pieces words, split_words(runtime, text, split.splits_max));
    return list_of(runtime, words);
  }
  Pieces pieces;
  while (pieces.size() < split.splits_max) {
    const std::size_t at = find(text, *split.separator);
    if (at == std::string_view::npos) break;
    PELLUCID_TRY_VOID(add_piece(runtime, pieces, text.substr(0, at)));
    text.remove_prefix(at + split.separator->size());
  }
  PELLUCID_TRY_VOID(add_piece(runtime, pieces, text));
  return list_of(runtime, pieces);
}

Result<Value> string_rsplit(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PELLUCID_TRY(const SplitArguments split, split_arguments("rsplit", arguments));
  PELLUCID_TRY_VOID(pay_for_reading(runtime, self));
  std::string_view text = self.text();
  if (!split.separator) {
    PELLUCID_TRY(const Pieces words, split_words_from_right(runtime, text, split.splits_max));
    return list_of(runtime, words);
  }
  // find_last pays for the whole text; later searches only continue to the left.
  Pieces pieces;
  PELLUCID_TRY(std::size_t at, find_last(runtime, text, *split.separator));
  while (at != std::string_view::npos && pieces.size() < split.splits_max) {
    PELLUCID_TRY_VOID(add_piece(runtime, pieces, text.substr(at + split.separator->size())));
    text = text.substr(0, at);
    at = text.rfind(*split.separator);
  }
  PELLUCID_TRY_VOID(add_piece(runtime, pieces, text));
  std::ranges::reverse(pieces);
  return list_of(runtime, pieces);
}

Result<Value> string_splitlines(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PELLUCID_TRY_VOID(bind("splitlines", arguments, {}));
  PELLUCID_TRY_VOID(pay_for_reading(runtime, self));
  PELLUCID_TRY_VOID(runtime.memory(self.text().size()));
  return list_of(runtime, split_lines(self.text()));
}

namespace {

Result<Value> tuple_of(Runtime& runtime, std::string_view a, std::string_view b,
                       std::string_view c) {
  PELLUCID_TRY(auto list, list_of(runtime, {a, b, c}));
  return runtime.sequence(Flavor::kTuple, list.sequence().items);
}

Result<std::string_view> separator_argument(std::string_view callee, const Arguments& arguments) {
  PELLUCID_TRY(const auto bound, bind(callee, arguments, {"sep"}, 1));
  PELLUCID_TRY(const std::string_view separator, text_argument(callee, *bound[0]));
  if (separator.empty()) return wrong(callee, "an empty separator", "a separator");
  return separator;
}

}  // namespace

Result<Value> string_partition(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PELLUCID_TRY(const std::string_view separator, separator_argument("partition", arguments));
  const std::string_view text = self.text();
  PELLUCID_TRY_VOID(runtime.scan(text.size() + separator.size()));
  const std::size_t at = find(text, separator);
  if (at == std::string_view::npos) return tuple_of(runtime, text, "", "");
  return tuple_of(runtime, text.substr(0, at), separator, text.substr(at + separator.size()));
}

Result<Value> string_rpartition(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PELLUCID_TRY(const std::string_view separator, separator_argument("rpartition", arguments));
  const std::string_view text = self.text();
  PELLUCID_TRY(const std::size_t at, find_last(runtime, text, separator));
  if (at == std::string_view::npos) return tuple_of(runtime, "", "", text);
  return tuple_of(runtime, text.substr(0, at), separator, text.substr(at + separator.size()));
}

Result<Value> string_join(Runtime& runtime, const Value& self, const Arguments& arguments) {
  PELLUCID_TRY(const auto bound, bind("join", arguments, {"iterable"}, 1));
  PELLUCID_TRY(const Items items, iterate(runtime, *bound[0]));
  PELLUCID_TRY_VOID(runtime.steps(items.count));
  TextBuilder out(runtime);
  for (std::size_t i = 0; i < items.count; ++i) {
    const Value item = items.at(i);
    PELLUCID_TRY(const std::string_view text, text_argument("join", item));
    if (i > 0) out.append(self.text());
    out.append(text);
  }
  return out.finish();
}

}  // namespace pellucid::tokenizer::jinja
