#pragma once
// The budget of one render and the only way to make heap values: everything that a template builds
// is paid for here before it is allocated, so a bomb ends in an error and not in swap.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/chat_template.h"
#include "tokenizer/jinja/callable.h"
#include "tokenizer/jinja/failure.h"
#include "tokenizer/jinja/value.h"

namespace pellucid::tokenizer::jinja {

class Runtime {
 public:
  Runtime(const TemplateLimits& limits, std::int64_t unix_time)
      : limits_(limits), unix_time_(unix_time) {}
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
  /// Empties the namespaces, which may refer to each other in a circle.
  ~Runtime();

  [[nodiscard]] const TemplateLimits& limits() const { return limits_; }
  [[nodiscard]] std::int64_t unix_time() const { return unix_time_; }

  /// `count` items or nodes are about to be visited.
  [[nodiscard]] Result<void> steps(std::uint64_t count) {
    steps_ += count;
    if (steps_ > limits_.steps_max || count > limits_.steps_max) return out_of_steps();
    return {};
  }
  /// `bytes` of text are about to be read: 32 bytes cost about as much as one node.
  [[nodiscard]] Result<void> scan(std::size_t bytes) { return steps(bytes / 32 + 1); }
  /// `bytes` are about to be allocated.
  [[nodiscard]] Result<void> memory(std::uint64_t bytes) {
    memory_ += bytes;
    if (memory_ > limits_.memory_bytes_max || bytes > limits_.memory_bytes_max) {
      return out_of_memory();
    }
    return {};
  }
  /// As memory(), for `count` pieces of `bytes_each`.
  [[nodiscard]] Result<void> memory(std::uint64_t count, std::uint64_t bytes_each);

  /// A copy of `text`, which is valid UTF-8.
  [[nodiscard]] Result<Value> string(std::string_view text);
  [[nodiscard]] Result<Value> sequence(Flavor flavor, std::vector<Value> items);
  [[nodiscard]] Result<Value> list(std::vector<Value> items) {
    return sequence(Flavor::kList, std::move(items));
  }
  [[nodiscard]] Result<Value> dict(std::vector<Entry> entries);
  [[nodiscard]] Result<Value> range(std::int64_t start, std::int64_t stop, std::int64_t step,
                                    std::int64_t length);
  [[nodiscard]] Result<Value> make_namespace();
  [[nodiscard]] Result<Value> method(const Value& self, Callable callable);

 private:
  friend class TextBuilder;
  [[nodiscard]] Result<Value> adopt(std::string text);
  [[nodiscard]] std::unexpected<Error> out_of_steps() const;
  [[nodiscard]] std::unexpected<Error> out_of_memory() const;
  [[nodiscard]] Result<std::uint32_t> level_above(std::uint32_t depth) const;

  const TemplateLimits limits_;
  const std::int64_t unix_time_;
  std::uint64_t steps_ = 0;
  std::uint64_t memory_ = 0;
  std::vector<Value> namespaces_;
};

/// Text under construction. An append that the budget does not allow is dropped and remembered;
/// finish() then reports it, so that loops need no check of their own.
class TextBuilder {
 public:
  explicit TextBuilder(Runtime& runtime) : runtime_(runtime) {}

  void append(std::string_view text);
  void append(char c) { append(std::string_view(&c, 1)); }
  /// Appends `text` `count` times.
  void repeat(std::string_view text, std::uint64_t count);
  [[nodiscard]] bool full() const { return full_; }
  [[nodiscard]] Result<Value> finish();

 private:
  Runtime& runtime_;
  std::string text_;
  bool full_ = false;
};

}  // namespace pellucid::tokenizer::jinja
