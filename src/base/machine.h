#pragma once
// What the operating system says of the machine and of what this process may use of it.

#include <cstdint>
#include <string>
#include <vector>

namespace pellucid {

/// 0 or empty: the system does not say.
struct MachineInfo {
  std::string cpu_model = {};
  std::vector<std::string> cpu_flags = {};  ///< spelled as in /proc/cpuinfo: "avx2", "fma"
  std::int64_t cpus_online = 0;
  std::int64_t cpus_allowed = 0;  ///< by the affinity mask of this process
  std::int64_t numa_nodes = 0;
  std::int64_t l1d_bytes = 0;  ///< of the first CPU
  std::int64_t l2_bytes = 0;
  std::int64_t l3_bytes = 0;
  std::int64_t memory_total = 0;      ///< bytes; the control group's limit where it is lower
  std::int64_t memory_available = 0;  ///< bytes that can be taken without swapping
};

/// Reads /proc and /sys. Takes less than a millisecond.
[[nodiscard]] MachineInfo read_machine();

/// Bytes per second that `threads` threads read from memory together: the best of three passes over
/// buffers of `bytes_per_thread`, which must exceed the caches to say anything.
[[nodiscard]] double measure_read_bandwidth(int threads, std::int64_t bytes_per_thread);

}  // namespace pellucid
