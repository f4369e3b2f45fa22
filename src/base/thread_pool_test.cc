#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace pellucid {
namespace {

TEST(ThreadPool, RunsEveryTaskExactlyOnce) {
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const std::int64_t count : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> hits(static_cast<std::size_t>(count));
      pool.parallel_for(count, [&](std::int64_t i) { ++hits[static_cast<std::size_t>(i)]; });
      for (const auto& hit : hits) EXPECT_EQ(hit.load(), 1);
    }
  }
}

TEST(ThreadPool, WorkerIndexIsExclusiveWhileATaskRuns) {
  ThreadPool pool(4);
  std::vector<std::atomic<int>> busy(4);
  std::atomic<bool> shared{false};
  pool.parallel_for(2000, [&](std::int64_t, int worker) {
    auto& mine = busy[static_cast<std::size_t>(worker)];
    if (mine.fetch_add(1) != 0) shared = true;
    mine.fetch_sub(1);
  });
  EXPECT_FALSE(shared.load());
}

TEST(ThreadPool, ManyShortSectionsWithParkedWorkersBetween) {
  ThreadPool pool(3);
  std::atomic<std::int64_t> sum{0};
  for (int section = 0; section < 300; ++section) {
    if (section % 100 == 99) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    pool.parallel_for(10, [&](std::int64_t i) { sum += i; });
  }
  EXPECT_EQ(sum.load(), 300 * 45);
}

}  // namespace
}  // namespace pellucid
