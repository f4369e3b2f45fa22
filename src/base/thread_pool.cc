#include "base/thread_pool.h"

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
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

void pin_to_allowed_cpu(pthread_t thread, int index) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  const int count = CPU_COUNT(&allowed);
  if (count == 0) return;
  int wanted = index % count;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || wanted-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    pthread_setaffinity_np(thread, sizeof(one), &one);
    return;
  }
}

}  // namespace

// One section at a time. `generation` announces a section; `running` counts the workers that have
// not finished it; `next` hands out task indices.
struct ThreadPool::State {
  std::vector<std::thread> workers;
  std::atomic<std::uint64_t> generation{0};
  std::atomic<int> running{0};
  std::atomic<std::int64_t> next{0};
  std::atomic<bool> stop{false};
  std::int64_t count = 0;
  TaskFn fn = nullptr;
  void* context = nullptr;
  std::mutex mutex;
  std::condition_variable wake;
  std::atomic<int> parked{0};

  void drain(int worker) {
    for (std::int64_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) {
      fn(context, i, worker);
    }
  }

  std::uint64_t wait_for_section(std::uint64_t seen) {
    for (int round = 0; round < kSpinRounds; ++round) {
      const std::uint64_t now = generation.load(std::memory_order_acquire);
      if (now != seen) return now;
      relax();
    }
    std::unique_lock lock(mutex);
    parked.fetch_add(1);
    wake.wait(lock, [&] { return generation.load() != seen; });
    parked.fetch_sub(1);
    return generation.load();
  }

  void work(int worker) {
    std::uint64_t seen = 0;
    while (true) {
      seen = wait_for_section(seen);
      if (stop.load()) return;
      drain(worker);
      running.fetch_sub(1, std::memory_order_release);
    }
  }

  void announce() {
    generation.fetch_add(1);
    if (parked.load() == 0) return;
    const std::lock_guard lock(mutex);
    wake.notify_all();
  }
};

ThreadPool::ThreadPool(int threads, bool pin) : state_(std::make_unique<State>()) {
  PELLUCID_CHECK(threads >= 1);
  for (int i = 1; i < threads; ++i) {
    state_->workers.emplace_back([s = state_.get(), i] { s->work(i); });
    if (pin) pin_to_allowed_cpu(state_->workers.back().native_handle(), i);
  }
  if (pin) pin_to_allowed_cpu(pthread_self(), 0);
}

ThreadPool::~ThreadPool() {
  state_->stop.store(true);
  {
    const std::lock_guard lock(state_->mutex);
    state_->generation.fetch_add(1);
    state_->wake.notify_all();
  }
  for (std::thread& worker : state_->workers) worker.join();
}

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
  s.running.store(static_cast<int>(s.workers.size()));
  s.announce();
  s.drain(0);
  while (s.running.load(std::memory_order_acquire) != 0) relax();
}

}  // namespace pellucid
