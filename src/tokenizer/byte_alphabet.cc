#include "tokenizer/byte_alphabet.h"

#include <array>

#include "base/utf8.h"

namespace pellucid::tokenizer {
namespace {

constexpr char32_t kShiftedFirst = 0x100;
constexpr int kShiftedCount = 68;

constexpr bool stands_for_itself(int byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr std::array<unsigned char, kShiftedCount> shifted_bytes() {
  std::array<unsigned char, kShiftedCount> bytes{};
  std::size_t count = 0;
  for (int byte = 0; byte < 256; ++byte) {
    if (!stands_for_itself(byte)) bytes[count++] = static_cast<unsigned char>(byte);
  }
  return bytes;
}

constexpr auto kShifted = shifted_bytes();

std::optional<char> byte_of(char32_t c) {
  if (c < 0x100) {
    if (!stands_for_itself(static_cast<int>(c))) return std::nullopt;
    return static_cast<char>(c);
  }
  if (c >= kShiftedFirst + kShiftedCount) return std::nullopt;
  return static_cast<char>(kShifted[c - kShiftedFirst]);
}

}  // namespace

std::optional<std::string> bytes_of_alphabet(std::string_view token) {
  std::string bytes;
  bytes.reserve(token.size());
  for (std::size_t i = 0; i < token.size();) {
    const utf8::Decoded c = utf8::decode(token, i);
    const std::optional<char> byte = c.valid ? byte_of(c.code_point) : std::nullopt;
    if (!byte) return std::nullopt;
    bytes.push_back(*byte);
    i += c.length;
  }
  return bytes;
}

}  // namespace pellucid::tokenizer
