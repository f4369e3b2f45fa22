#pragma once
// What every fuzz target shares: the input as text, and a property that must hold.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/check.h"

inline std::string_view as_text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}
