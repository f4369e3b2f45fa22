#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "kernels/decode_element.h"
#include "kernels/reference/reference.h"
#include "numerics/numbers.h"

namespace pellucid::kernels::reference {
namespace {

// Elementwise ops are split into tasks of this many elements: 64 KiB of f32, a few microseconds.
constexpr std::int64_t kElementsPerTask = 16384;

template <class Body>
void for_each_range(std::int64_t count, ThreadPool& pool, const Body& body) {
  const std::int64_t tasks = (count + kElementsPerTask - 1) / kElementsPerTask;
  pool.parallel_for(tasks, [&](std::int64_t task) {
    const std::int64_t begin = task * kElementsPerTask;
    body(begin, std::min(begin + kElementsPerTask, count));
  });
}

}  // namespace

double silu(double x) {
  return x / (1.0 + std::exp(-x));
}

void swiglu(const SwigluArgs& args, ThreadPool& pool) {
  for_each_range(args.count, pool, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      args.y[i] = static_cast<float>(silu(args.gate[i]) * args.up[i]);
    }
  });
}

void add(const AddArgs& args, ThreadPool& pool) {
  for_each_range(args.count, pool, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) args.acc[i] += args.x[i];
  });
}

void store_rows(const StoreRowsArgs& args, ThreadPool& pool) {
  const tensor::MutablePagedRows& rows = args.rows;
  PELLUCID_CHECK(rows.element == tensor::Element::kF32 || rows.element == tensor::Element::kBf16);
  pool.parallel_for(static_cast<std::int64_t>(args.positions.size()), [&](std::int64_t t) {
    const float* x = args.x + t * args.x_stride;
    std::byte* row = rows.row(args.positions[static_cast<std::size_t>(t)]);
    if (rows.element == tensor::Element::kF32) {
      std::memcpy(row, x, static_cast<std::size_t>(rows.width) * sizeof(float));
      return;
    }
    for (std::int64_t i = 0; i < rows.width; ++i) {
      const std::uint16_t code = numerics::f32_to_bf16(x[i]);
      std::memcpy(row + i * 2, &code, sizeof(code));
    }
  });
}

void load_rows(const LoadRowsArgs& args, ThreadPool& pool) {
  const std::int64_t width = args.rows.width;
  pool.parallel_for(args.count, [&](std::int64_t r) {
    const std::byte* row = args.rows.row(args.begin + r);
    float* out = args.out + r * width;
    for (std::int64_t i = 0; i < width; ++i) {
      out[i] = decode_row_element(args.rows.element, row, i);
    }
  });
}

}  // namespace pellucid::kernels::reference
