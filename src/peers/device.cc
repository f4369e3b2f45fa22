#include <fmt/format.h>

#include "base/checked.h"
#include "base/utf8.h"
#include "peers/condition.h"
#include "peers/peers.h"

namespace pellucid::peers {
namespace {

std::unexpected<Error> bad(std::string_view text) {
  return fail({.kind = ErrorKind::kInvalid,
               .rule = "peer_device",
               .object = "device",
               .found = utf8::escape_for_display(text.substr(0, 100)),
               .expected = "sm_NNN, then :MEMORY with GB or GiB, then xCOUNT: sm_120:96GB x8"});
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::optional<std::uint64_t> parse_memory(std::string_view text) {
  std::uint64_t unit = 0;
  if (text.ends_with("GiB")) unit = 1ULL << 30;
  if (text.ends_with("GB")) unit = 1'000'000'000ULL;
  if (unit == 0) return std::nullopt;
  std::int64_t amount = 0;
  if (!parse_integer(text.substr(0, text.find('G')), amount) || amount <= 0) return std::nullopt;
  return checked_mul(static_cast<std::uint64_t>(amount), unit);
}

}  // namespace

Expected<Device> parse_device(std::string_view whole) {
  std::string_view text = trim(whole);
  Device out;
  if (const std::size_t x = text.rfind('x'); x != std::string_view::npos) {
    std::int64_t count = 0;
    if (!parse_integer(trim(text.substr(x + 1)), count) || count < 1 || count > 1'000'000) {
      return bad(whole);
    }
    out.count = static_cast<std::int32_t>(count);
    text = trim(text.substr(0, x));
  }
  if (const std::size_t colon = text.find(':'); colon != std::string_view::npos) {
    out.memory_bytes = parse_memory(trim(text.substr(colon + 1)));
    if (!out.memory_bytes) return bad(whole);
    text = text.substr(0, colon);
  }
  std::int64_t capability = 0;
  if (!text.starts_with("sm_") || !parse_integer(text.substr(3), capability) || capability < 10 ||
      capability > 9999) {
    return bad(whole);
  }
  out.compute_capability = static_cast<std::int32_t>(capability);
  return out;
}

std::string to_string(const Device& device) {
  std::string out = fmt::format("sm_{}", device.compute_capability);
  constexpr std::uint64_t kGb = 1'000'000'000;
  if (device.memory_bytes && *device.memory_bytes % kGb == 0) {
    out += fmt::format(":{}GB", *device.memory_bytes / kGb);
  } else if (device.memory_bytes) {
    out += fmt::format(":{}GiB", *device.memory_bytes >> 30);
  }
  if (device.count != 1) out += fmt::format(" x{}", device.count);
  return out;
}

}  // namespace pellucid::peers
