#include "base/machine.h"

#include <gtest/gtest.h>

namespace pellucid {
namespace {

TEST(Machine, IsPlausible) {
  const MachineInfo machine = read_machine();
  EXPECT_GE(machine.cpus_allowed, 1);
  EXPECT_GE(machine.cpus_online, machine.cpus_allowed);
  EXPECT_GT(machine.memory_total, 0);
  EXPECT_GE(machine.memory_available, 0);
  EXPECT_LE(machine.memory_available, machine.memory_total);
  EXPECT_GE(machine.l2_bytes, 0);
}

TEST(Machine, BandwidthIsPositiveForOneThreadAndTwo) {
  for (const int threads : {1, 2}) {
    const double bytes_per_second = measure_read_bandwidth(threads, 8 << 20);
    EXPECT_GT(bytes_per_second, 1e8);
    EXPECT_LT(bytes_per_second, 1e13);
  }
}

}  // namespace
}  // namespace pellucid
