#include "tokenizer/added_tokens.h"

#include "base/utf8.h"

namespace pellucid::tokenizer {

void AddedTokens::Trie::add(std::string_view content, TokenId id) {
  starts_[static_cast<unsigned char>(content.front())] = true;
  std::uint32_t node = 0;
  for (const char c : content) {
    const std::uint64_t edge = std::uint64_t{node} << 8 | static_cast<unsigned char>(c);
    const auto [found, is_new] = edges_.try_emplace(edge, static_cast<std::uint32_t>(ids_.size()));
    if (is_new) ids_.push_back(kNone);
    node = found->second;
  }
  ids_[node] = id;
}

AddedTokens::Trie::Match AddedTokens::Trie::longest_at(std::string_view text,
                                                       std::size_t begin) const {
  Match longest;
  std::uint32_t node = 0;
  for (std::size_t i = begin; i < text.size(); ++i) {
    const auto edge = edges_.find(std::uint64_t{node} << 8 | static_cast<unsigned char>(text[i]));
    if (edge == edges_.end()) break;
    node = edge->second;
    if (ids_[node] != kNone) longest = {.length = i + 1 - begin, .id = ids_[node]};
  }
  return longest;
}

void AddedTokens::Trie::split(std::string_view text, std::vector<Part>& parts) const {
  std::size_t rest = 0;
  for (std::size_t i = 0; i < text.size();) {
    const Match match =
        starts_[static_cast<unsigned char>(text[i])] ? longest_at(text, i) : Match{};
    if (match.length == 0) {
      ++i;
      continue;
    }
    if (i > rest) parts.push_back({.text = text.substr(rest, i - rest), .id = {}});
    parts.push_back({.text = text.substr(i, match.length), .id = match.id});
    i += match.length;
    rest = i;
  }
  if (rest < text.size()) parts.push_back({.text = text.substr(rest), .id = {}});
}

Expected<void> AddedTokens::add(const AddedToken& token, std::string_view source) {
  const auto refuse = [&](std::string found, std::string expected) {
    return fail({.kind = ErrorKind::kInvalid,
                 .rule = "tokenizer_added",
                 .object = "added token '" + utf8::escape_for_display(token.content.substr(0, 64)) +
                           "' (id " + std::to_string(token.id) + ")",
                 .found = std::move(found),
                 .expected = std::move(expected),
                 .source = std::string(source),
                 .fix = {}});
  };
  if (token.content.empty()) return refuse("empty content", "content of at least one byte");
  if (token.content.size() > kAddedBytesMax) {
    return refuse(std::to_string(token.content.size()) + " bytes of content",
                  "at most " + std::to_string(kAddedBytesMax));
  }
  if (ids_.size() == kAddedCountMax) {
    return refuse("more than " + std::to_string(kAddedCountMax) + " added tokens",
                  "at most that many");
  }
  const auto id = static_cast<TokenId>(token.id);
  if (!ids_.try_emplace(token.content, id).second) {
    return refuse("the content a second time", "each content once");
  }
  (token.normalized ? normalized_ : exact_).add(token.content, id);
  return {};
}

std::optional<TokenId> AddedTokens::id_of(std::string_view content) const {
  const auto found = ids_.find(std::string(content));
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

std::vector<AddedTokens::Part> AddedTokens::split(std::string_view text) const {
  std::vector<Part> first;
  exact_.split(text, first);
  std::vector<Part> parts;
  for (const Part& part : first) {
    if (part.id) {
      parts.push_back(part);
      continue;
    }
    normalized_.split(part.text, parts);
  }
  return parts;
}

}  // namespace pellucid::tokenizer
