#include "base/thread_pool.h"

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/check.h"

namespace pellucid {
namespace {

// A worker spins this many rounds before it parks. One round is one pause instruction, about
// 40-140 cycles: 2000 rounds are 50 us or so, longer than the serial gaps inside a decode step.
constexpr int kSpinRounds = 2000;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

[[noreturn]] void pin_failed(int error) {
  throw std::system_error(error, std::generic_category(), "pinning");
}

/// Throws std::system_error when the system refuses: a wish to pin is not dropped.
void pin_to_allowed_cpu(pthread_t thread, int index) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) pin_failed(errno);
  const int count = CPU_COUNT(&allowed);
  int wanted = index % count;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || wanted-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    const int error = pthread_setaffinity_np(thread, sizeof(one), &one);
    if (error != 0) pin_failed(error);
    return;
  }
}

}  // namespace

// One section at a time, behind a gate: one word that holds the number of the section, whether it
// is open, and how many workers are inside. A worker enters only while the gate is open, so a
// worker that the system has put aside is not waited for: the others, and the caller, do its tasks.
struct ThreadPool::State {
  static constexpr std::uint64_t kInsideMask = 0xFFFF;
  static constexpr std::uint64_t kOpen = 1U << 16;
  static constexpr int kSectionShift = 32;

  std::vector<std::thread> workers;
  std::atomic<std::uint64_t> gate{0};
  std::atomic<std::int64_t> next{0};
  std::atomic<bool> stop{false};
  std::int64_t count = 0;  // count, fn, context: written before the gate opens
  TaskFn fn = nullptr;
  void* context = nullptr;
  std::mutex mutex;
  std::condition_variable wake;
  std::atomic<int> parked{0};

  /// Also runs when a thread could not be started: those that were end before the error leaves.
  ~State() {
    {
      const std::lock_guard lock(mutex);
      stop.store(true);
      wake.notify_all();
    }
    for (std::thread& worker : workers) worker.join();
  }

  static std::uint64_t section(std::uint64_t gate_value) { return gate_value >> kSectionShift; }

  [[nodiscard]] bool is_news(std::uint64_t gate_value, std::uint64_t last) const {
    return stop.load() || ((gate_value & kOpen) != 0 && section(gate_value) != last);
  }

  void drain(int worker) {
    for (std::int64_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) {
      fn(context, i, worker);
    }
  }

  /// Waits for an open section other than `last`, or for the end. First spinning, then parked.
  std::uint64_t wait_for_news(std::uint64_t last) {
    for (int round = 0; round < kSpinRounds; ++round) {
      const std::uint64_t now = gate.load();
      if (is_news(now, last)) return now;
      relax();
    }
    std::unique_lock lock(mutex);
    parked.fetch_add(1);
    wake.wait(lock, [&] { return is_news(gate.load(), last); });
    parked.fetch_sub(1);
    return gate.load();
  }

  bool enter(std::uint64_t seen) {
    while ((seen & kOpen) != 0) {
      if (gate.compare_exchange_weak(seen, seen + 1)) return true;
    }
    return false;
  }

  void work(int worker) {
    std::uint64_t last = 0;
    while (true) {
      const std::uint64_t seen = wait_for_news(last);
      if (stop.load()) return;
      if (!enter(seen)) continue;
      // Inside, the gate cannot move on to another section.
      last = section(gate.load());
      drain(worker);
      gate.fetch_sub(1);
    }
  }

  void open() {
    gate.store(((section(gate.load()) + 1) << kSectionShift) | kOpen);
    if (parked.load() == 0) return;
    const std::lock_guard lock(mutex);
    wake.notify_all();
  }

  void close_and_wait() {
    gate.fetch_and(~kOpen);
    for (int round = 0; (gate.load() & kInsideMask) != 0; ++round) {
      if (round < kSpinRounds) {
        relax();
      } else {
        sched_yield();  // a worker was put aside in the middle of a task: give it this CPU
      }
    }
  }
};

ThreadPool::ThreadPool(int threads, bool pin) : state_(std::make_unique<State>()) {
  PELLUCID_CHECK(threads >= 1 && static_cast<std::uint64_t>(threads) < State::kInsideMask);
  for (int i = 1; i < threads; ++i) {
    state_->workers.emplace_back([s = state_.get(), i] { s->work(i); });
    if (pin) pin_to_allowed_cpu(state_->workers.back().native_handle(), i);
  }
  if (pin) pin_to_allowed_cpu(pthread_self(), 0);
}

Expected<std::unique_ptr<ThreadPool>> ThreadPool::create(int threads, bool pin) {
  try {
    return std::make_unique<ThreadPool>(threads, pin);
  } catch (const std::system_error& error) {
    return fail({.kind = ErrorKind::kLimit,
                 .rule = "threads",
                 .object = std::to_string(threads) + (pin ? " pinned threads" : " threads"),
                 .found = error.code().message(),
                 .expected = "threads that the system grants",
                 .source = "engine.threads",
                 .fix = "lower --threads, or raise the limits of processes and memory"});
  }
}

ThreadPool::~ThreadPool() = default;

int ThreadPool::threads() const {
  return static_cast<int>(state_->workers.size()) + 1;
}

void ThreadPool::run(std::int64_t count, TaskFn fn, void* context) {
  State& s = *state_;
  if (count <= 1 || s.workers.empty()) {
    for (std::int64_t i = 0; i < count; ++i) fn(context, i, 0);
    return;
  }
  s.fn = fn;
  s.context = context;
  s.count = count;
  s.next.store(0);
  s.open();
  s.drain(0);
  s.close_and_wait();
}

}  // namespace pellucid
