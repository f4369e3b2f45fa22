#pragma once
// A persistent pool for short parallel sections (microseconds): workers spin for a while between
// sections, then park. It is always passed as an argument, never global.
//
// Not re-entrant: one section at a time, from one calling thread; a task must not start another.

#include <cstdint>
#include <memory>
#include <type_traits>

#include "base/error.h"

namespace pellucid {

class ThreadPool {
 public:
  /// `threads` >= 1 counts the caller. `pin` binds thread i to the i-th CPU this process may use.
  explicit ThreadPool(int threads, bool pin = false);
  /// The same where `threads` comes from a user: the system may refuse that many ("threads").
  [[nodiscard]] static Expected<std::unique_ptr<ThreadPool>> create(int threads, bool pin = false);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] int threads() const;

  /// Runs task(i), or task(i, worker) with worker in [0, threads()), for each i in [0, count),
  /// taken one by one from a shared counter; returns when all are done. Which thread runs which i
  /// is not defined: results must not depend on it; `worker` is for scratch memory only.
  template <class Task>
  void parallel_for(std::int64_t count, Task&& task) {
    using T = std::remove_reference_t<Task>;
    run(
        count,
        [](void* context, std::int64_t i, int worker) {
          T& body = *static_cast<T*>(context);
          if constexpr (std::is_invocable_v<T&, std::int64_t, int>) {
            body(i, worker);
          } else {
            body(i);
          }
        },
        const_cast<void*>(static_cast<const void*>(&task)));
  }

 private:
  using TaskFn = void (*)(void* context, std::int64_t index, int worker);
  void run(std::int64_t count, TaskFn fn, void* context);

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace pellucid
