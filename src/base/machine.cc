#include "base/machine.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/thread_pool.h"

namespace pellucid {
namespace {

/// The first `bytes_max` bytes of a file of the kernel, whose reported size is 0; empty when
/// absent. /proc/cpuinfo is made as it is read: one CPU's block is enough, 256 of them cost
/// milliseconds.
std::string read_head(const char* path, std::size_t bytes_max) {
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  std::string text(bytes_max, '\0');
  std::size_t filled = 0;
  while (filled < bytes_max) {
    const ssize_t got = ::read(fd, text.data() + filled, bytes_max - filled);
    if (got <= 0) break;
    filled += static_cast<std::size_t>(got);
  }
  ::close(fd);
  text.resize(filled);
  return text;
}

std::optional<std::int64_t> leading_number(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

/// What follows "name ... :" on its line.
std::string_view field(std::string_view text, std::string_view name) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    const std::size_t colon = line.find(':');
    if (line.starts_with(name) && colon != std::string_view::npos) {
      std::string_view value = line.substr(colon + 1);
      while (!value.empty() && (value.front() == ' ' || value.front() == '\t')) {
        value.remove_prefix(1);
      }
      return value;
    }
    at = end + 1;
  }
  return {};
}

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (end > at) out.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

/// Entries of a kernel list such as "0-3,8,10-11".
std::int64_t count_in_list(std::string_view list) {
  std::int64_t count = 0;
  while (!list.empty() && list.front() >= '0' && list.front() <= '9') {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string_view item = list.substr(0, comma);
    const std::size_t dash = item.find('-');
    const std::int64_t first = leading_number(item).value_or(0);
    const std::int64_t last = dash == std::string_view::npos
                                  ? first
                                  : leading_number(item.substr(dash + 1)).value_or(first);
    count += last - first + 1;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return count;
}

std::int64_t cache_bytes(int index) {
  const std::string path = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index);
  const std::string text = read_head((path + "/size").c_str(), 64);
  const std::int64_t number = leading_number(text).value_or(0);
  if (text.find('M') != std::string::npos) return number << 20;
  return text.find('K') != std::string::npos ? number << 10 : number;
}

void read_caches(MachineInfo& info) {
  for (int index = 0; index < 8; ++index) {
    const std::string path = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index);
    const std::int64_t level = leading_number(read_head((path + "/level").c_str(), 16)).value_or(0);
    const std::string type = read_head((path + "/type").c_str(), 32);
    if (level == 1 && type.starts_with("Data")) info.l1d_bytes = cache_bytes(index);
    if (level == 2) info.l2_bytes = cache_bytes(index);
    if (level == 3) info.l3_bytes = cache_bytes(index);
  }
}

void read_memory(MachineInfo& info) {
  const std::string meminfo = read_head("/proc/meminfo", 4096);
  info.memory_total = leading_number(field(meminfo, "MemTotal")).value_or(0) << 10;
  info.memory_available = leading_number(field(meminfo, "MemAvailable")).value_or(0) << 10;
  // A container's limit: "max" when there is none, and then no number is read.
  const auto limit = leading_number(read_head("/sys/fs/cgroup/memory.max", 64));
  const auto used = leading_number(read_head("/sys/fs/cgroup/memory.current", 64));
  if (!limit || *limit >= info.memory_total) return;
  info.memory_total = *limit;
  info.memory_available =
      std::min(info.memory_available, std::max<std::int64_t>(0, *limit - used.value_or(0)));
}

std::int64_t cpus_allowed() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
  return std::max(1, CPU_COUNT(&allowed));
}

/// The sum keeps the reads alive; wrapping is harmless.
std::uint64_t sum_words(const std::vector<std::uint64_t>& buffer) {
  std::uint64_t sums[8] = {};
  for (std::size_t i = 0; i + 8 <= buffer.size(); i += 8) {
    for (std::size_t lane = 0; lane < 8; ++lane) sums[lane] += buffer[i + lane];
  }
  std::uint64_t total = 0;
  for (const std::uint64_t sum : sums) total += sum;
  return total;
}

}  // namespace

MachineInfo read_machine() {
  MachineInfo info;
  const std::string cpuinfo = read_head("/proc/cpuinfo", 16 << 10);
  info.cpu_model = std::string(field(cpuinfo, "model name"));
  info.cpu_flags = words(field(cpuinfo, "flags"));
  info.cpus_online = count_in_list(read_head("/sys/devices/system/cpu/online", 1024));
  info.cpus_allowed = cpus_allowed();
  info.numa_nodes = count_in_list(read_head("/sys/devices/system/node/online", 1024));
  read_caches(info);
  read_memory(info);
  return info;
}

double measure_read_bandwidth(int threads, std::int64_t bytes_per_thread) {
  constexpr int kPasses = 3;
  const auto words_per_thread = static_cast<std::size_t>(bytes_per_thread) / sizeof(std::uint64_t);
  std::vector<std::vector<std::uint64_t>> buffers(static_cast<std::size_t>(threads));
  ThreadPool pool(threads);
  // Each thread touches its buffer first, so that its pages lie near it.
  pool.parallel_for(threads, [&](std::int64_t i) {
    buffers[static_cast<std::size_t>(i)].assign(words_per_thread,
                                                static_cast<std::uint64_t>(i) + 1);
  });
  std::atomic<std::uint64_t> sink = 0;
  double best = 0;
  for (int pass = 0; pass < kPasses; ++pass) {
    const auto start = std::chrono::steady_clock::now();
    pool.parallel_for(
        threads, [&](std::int64_t i) { sink += sum_words(buffers[static_cast<std::size_t>(i)]); });
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    const double bytes = static_cast<double>(words_per_thread) * sizeof(std::uint64_t) * threads;
    best = std::max(best, bytes / seconds.count());
  }
  return sink.load() == 0 ? 0 : best;
}

}  // namespace pellucid
