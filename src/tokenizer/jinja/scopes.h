#pragma once
// Variables of one render. Scope 0 is the template; loops, macros, set and generation blocks open
// further ones. Look-up and assignment take constant time: each name has one slot for its innermost
// binding, and closing a scope restores what it hid.

#include <cstdint>
#include <utility>
#include <vector>

#include "tokenizer/jinja/ast.h"
#include "tokenizer/jinja/value.h"

namespace pellucid::tokenizer::jinja {

class Scopes {
 public:
  explicit Scopes(std::vector<Value> globals)
      : globals_(std::move(globals)), locals_(globals_.size()) {}

  [[nodiscard]] const Value& get(NameId name) const {
    const Binding& local = locals_[name];
    return local.scope > base_ ? local.value : globals_[name];
  }

  void set(NameId name, Value value) {
    if (depth() == 0) {
      globals_[name] = std::move(value);
      return;
    }
    Binding& local = locals_[name];
    if (local.scope != depth()) hidden_.emplace_back(name, std::exchange(local, {}));
    local.scope = depth();
    local.value = std::move(value);
  }

  /// Opens a scope for as long as it lives. kClosed hides the local variables of the scopes around
  /// it: a macro sees only its own and the template's.
  class Guard {
   public:
    enum class Kind : std::uint8_t { kOpen, kClosed };
    Guard(Scopes& scopes, Kind kind) : scopes_(scopes), base_(scopes.base_) {
      if (kind == Kind::kClosed) scopes.base_ = scopes.depth();
      scopes.marks_.push_back(scopes.hidden_.size());
    }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    ~Guard() {
      scopes_.close();
      scopes_.base_ = base_;
    }

   private:
    Scopes& scopes_;
    const std::uint32_t base_;
  };

 private:
  struct Binding {
    Value value;
    std::uint32_t scope = 0;  ///< 0: not bound
  };

  [[nodiscard]] std::uint32_t depth() const { return static_cast<std::uint32_t>(marks_.size()); }

  void close() {
    for (; hidden_.size() > marks_.back(); hidden_.pop_back()) {
      locals_[hidden_.back().first] = std::move(hidden_.back().second);
    }
    marks_.pop_back();
  }

  std::vector<Value> globals_;
  std::vector<Binding> locals_;
  std::vector<std::pair<NameId, Binding>> hidden_;
  std::vector<std::size_t> marks_;
  std::uint32_t base_ = 0;  ///< scopes up to this one are hidden
};

}  // namespace pellucid::tokenizer::jinja
