#include "checkpoint/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>

namespace pellucid::checkpoint {
namespace {

/// A file with that header text and so many data bytes.
std::string file_of(const std::string& header, std::size_t data_bytes) {
  const std::uint64_t length = header.size();
  std::string out(sizeof(length), '\0');
  std::memcpy(out.data(), &length, sizeof(length));
  return out + header + std::string(data_bytes, '\1');
}

Expected<Header> parse(std::string_view file) {
  return parse_header(std::as_bytes(std::span(file.data(), file.size())), "m.safetensors");
}

std::string rule_of(std::string_view file) {
  const auto header = parse(file);
  return header ? "accepted" : header.error().rule;
}

std::string entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}

TEST(SafetensorsHeader, ReadsTensorsInTheOrderOfTheirData) {
  const std::string header = R"({"__metadata__":{"format":"pt"},"b":)" +
                             entry("F32", "[]", "[6,10]") + R"(,"a":)" +
                             entry("BF16", "[1,3]", "[0,6]") + "}  ";
  const std::string file = file_of(header, 10);
  const auto parsed = parse(file);
  ASSERT_TRUE(parsed) << parsed.error().to_string();
  ASSERT_EQ(parsed->tensors.size(), 2U);
  EXPECT_EQ(parsed->tensors[0].name, "a");
  EXPECT_EQ(parsed->tensors[0].dtype, tensor::DType::kBf16);
  EXPECT_EQ(parsed->tensors[0].shape, (Shape{1, 3}));
  EXPECT_EQ(parsed->tensors[1].name, "b");
  EXPECT_TRUE(parsed->tensors[1].shape.empty());
  EXPECT_EQ(parsed->tensors[1].begin, 6U);
  EXPECT_EQ(parsed->tensors[1].end, 10U);
  EXPECT_EQ(parsed->data_begin, 8 + header.size());
  EXPECT_EQ(parsed->metadata, (std::vector<std::pair<std::string, std::string>>{{"format", "pt"}}));
}

TEST(SafetensorsHeader, TheStrictPathReadsWhatThePlainPathReads) {
  const std::string tensors = R"("a":)" + entry("BF16", "[2,3]", "[1,13]") + R"( , "c":)" +
                              entry("U8", "[1]", "[0,1]") + R"(,"d":)" +
                              entry("I64", "[1]", "[13,21]");
  const std::string plain_file = file_of("{" + tensors + "}", 21);
  const auto plain = parse(plain_file);
  // An escape anywhere sends the whole header to the strict parser.
  const std::string strict_file = file_of(R"({"__metadata__":{"\u0061":"b"},)" + tensors + "}", 21);
  const auto strict = parse(strict_file);
  ASSERT_TRUE(plain) << plain.error().to_string();
  ASSERT_TRUE(strict) << strict.error().to_string();
  ASSERT_EQ(plain->tensors.size(), strict->tensors.size());
  for (std::size_t i = 0; i < plain->tensors.size(); ++i) {
    EXPECT_EQ(plain->tensors[i].name, strict->tensors[i].name);
    EXPECT_EQ(plain->tensors[i].dtype, strict->tensors[i].dtype);
    EXPECT_EQ(plain->tensors[i].shape, strict->tensors[i].shape);
    EXPECT_EQ(plain->tensors[i].begin, strict->tensors[i].begin);
    EXPECT_EQ(plain->tensors[i].end, strict->tensors[i].end);
  }
  EXPECT_EQ(strict->metadata[0].first, "a");
}

TEST(SafetensorsHeader, AcceptsWhatIsUnusualAndValid) {
  const struct {
    const char* what;
    std::string header;
    std::size_t data;
  } cases[] = {
      {"no tensors", "{}", 0},
      {"metadata only", R"({"__metadata__":{}})", 0},
      {"keys in another order", R"({"a":{"data_offsets":[0,4],"shape":[4],"dtype":"U8"}})", 4},
      {"a misaligned f32 (M12)",
       R"({"a":)" + entry("U8", "[1]", "[0,1]") + R"(,"b":)" + entry("F32", "[2]", "[1,9]") + "}",
       9},
      {"rank 8", R"({"a":)" + entry("U8", "[1,1,1,1,1,1,1,2]", "[0,2]") + "}", 2},
      {"f4 with an even count", R"({"a":)" + entry("F4", "[3,2]", "[0,3]") + "}", 3},
      {"a name outside ASCII", R"({"größe":)" + entry("U8", "[1]", "[0,1]") + "}", 1},
      {"line feeds after the object", "{}\n\n", 0},
  };
  for (const auto& c : cases) {
    const auto parsed = parse(file_of(c.header, c.data));
    EXPECT_TRUE(parsed) << c.what << ": " << parsed.error().to_string();
  }
}

struct HostileCase {
  const char* what;
  std::string file;
  const char* rule;
};

std::string one(const std::string& dtype, const std::string& shape, const std::string& offsets,
                std::size_t data) {
  return file_of(R"({"a":)" + entry(dtype, shape, offsets) + "}", data);
}

std::string two(const std::string& first, const std::string& second, std::size_t data,
                const std::string& second_name = "b") {
  return file_of(R"({"a":)" + first + R"(,")" + second_name + R"(":)" + second + "}", data);
}

std::string with_length(std::uint64_t length, std::string file) {
  std::memcpy(file.data(), &length, sizeof(length));
  return file;
}

std::vector<HostileCase> length_cases() {
  const std::string valid = file_of("{}        ", 0);
  return {
      {"M1 empty file", "", "too_short"},
      {"M1 one byte", "x", "too_short"},
      {"M1 seven bytes", "1234567", "too_short"},
      {"M1 eight bytes", std::string(8, '\0'), "too_short"},
      {"M2 length 2^63", with_length(1ULL << 63, valid), "header_len"},
      {"M2 length 2^64-1", with_length(~0ULL, valid), "header_len"},
      {"M2 length 2^64-8", with_length(~0ULL - 7, valid), "header_len"},
      {"M2 one beyond the file", with_length(11, valid), "header_len"},
      {"M2 above the limit", with_length(100'000'001, valid), "header_len"},
      {"M3 length 0", with_length(0, valid), "header_json"},
      {"M3 an array", file_of("[]        ", 0), "header_json"},
      {"M3 a space first", file_of(" {}", 0), "header_json"},
      {"M3 a byte order mark", file_of("\xEF\xBB\xBF{}", 0), "header_json"},
      {"M3 garbage after the object", file_of("{}xxxxxx", 0), "header_json"},
      {"M3 a NUL after the object", file_of(std::string("{}\0", 3), 0), "header_json"},
      {"M3 two objects", file_of("{}{}", 0), "header_json"},
      {"M3 truncated", file_of(R"({"a":{"dtype":"U8")", 0), "header_json"},
  };
}

std::vector<HostileCase> text_cases() {
  const std::string u8 = entry("U8", "[1]", "[0,1]");
  const std::string huge(1 << 20, 'k');
  return {
      {"M4 depth 100,000", file_of(R"({"a":)" + std::string(100'000, '['), 0), "json_depth"},
      {"M4 depth of objects",
       file_of(
           [] {
             std::string text;
             for (int i = 0; i < 100'000; ++i) text += R"({"a":)";
             return text;
           }(),
           0),
       "json_depth"},
      {"M4 a name of 1 MiB", file_of("{\"" + huge + "\":" + u8 + "}", 1), "json_limit"},
      {"M4 6 million values",
       file_of(
           R"({"a":[)" +
               [] {
                 std::string text;
                 for (int i = 0; i < 6'000'000; ++i) text += "1,";
                 return text;
               }() +
               "1]}",
           0),
       "json_limit"},
      {"M5 invalid UTF-8", file_of("{\"\xC3\x28\":" + u8 + "}", 1), "name_utf8"},
      {"M5 overlong", file_of("{\"\xC0\x80\":" + u8 + "}", 1), "name_utf8"},
      {"M5 lone surrogate", file_of(R"({"\ud800":)" + u8 + "}", 1), "name_utf8"},
      {"M5 NUL", file_of(R"({"a\u0000b":)" + u8 + "}", 1), "name_utf8"},
      {"M5 empty name", file_of("{\"\":" + u8 + "}", 1), "name_utf8"},
      {"M6 duplicate, same offsets", two(u8, u8, 1, "a"), "duplicate_tensor"},
      {"M6 duplicate, other offsets", two(u8, entry("U8", "[1]", "[1,2]"), 2, "a"),
       "duplicate_tensor"},
      {"M6 duplicate by escape", two(u8, entry("U8", "[1]", "[1,2]"), 2, "\\u0061"),
       "duplicate_tensor"},
      {"M13 metadata is no object", file_of(R"({"__metadata__":[]})", 0), "metadata"},
      {"M13 metadata value is a number", file_of(R"({"__metadata__":{"a":1}})", 0), "metadata"},
      {"M13 metadata of 10^6 entries",
       file_of(
           [] {
             std::string text = R"({"__metadata__":{)";
             for (int i = 0; i < 1'000'000; ++i) {
               text += (i > 0 ? ",\"" : "\"") + std::to_string(i) + R"(":"")";
             }
             return text + "}}";
           }(),
           0),
       "metadata"},
      {"M13 metadata twice", file_of(R"({"__metadata__":{},"__metadata__":{}})", 0),
       "duplicate_tensor"},
  };
}

std::vector<HostileCase> tensor_cases() {
  const std::string u8 = entry("U8", "[1]", "[0,1]");
  return {
      {"M7 begin above end", one("U8", "[1]", "[1,0]", 1), "offset"},
      {"M7 negative", one("U8", "[1]", "[-1,0]", 1), "offset"},
      {"M7 fractional", one("U8", "[1]", "[0,1.0]", 1), "offset"},
      {"M7 exponent", one("U8", "[1]", "[0,1e0]", 1), "offset"},
      {"M7 above 2^53", one("U8", "[1]", "[0,9007199254740993]", 1), "offset"},
      {"M7 2^64", one("U8", "[1]", "[0,18446744073709551616]", 1), "offset"},
      {"M7 beyond the file", one("U8", "[2]", "[0,2]", 1), "offset"},
      {"M7 three numbers", one("U8", "[1]", "[0,1,1]", 1), "offset"},
      {"M7 strings", one("U8", "[1]", R"(["0","1"])", 1), "offset"},
      {"M8 overlap", two(entry("U8", "[2]", "[0,2]"), entry("U8", "[2]", "[1,3]"), 3), "overlap"},
      {"M8 the same bytes twice", two(u8, u8, 1), "overlap"},
      {"M8 gap", two(u8, entry("U8", "[1]", "[2,3]"), 3), "gap"},
      {"M8 gap at the start", one("U8", "[1]", "[1,2]", 2), "gap"},
      {"M8 tail", one("U8", "[1]", "[0,1]", 2), "trailing"},
      {"M8 tail without tensors", file_of("{}", 1), "trailing"},
      {"M9 product overflows", one("U8", "[4294967296,4294967296,4294967296]", "[0,1]", 1),
       "shape_overflow"},
      {"M9 bits wrap around to 8", one("F32", "[4611686018427387905]", "[0,4]", 4),
       "shape_overflow"},
      {"M9 bits wrap around to 0", one("F64", "[288230376151711744]", "[0,0]", 0),
       "shape_overflow"},
      {"M10 zero dimension", one("U8", "[0]", "[0,0]", 0), "shape"},
      {"M10 zero dimension with data", one("U8", "[0]", "[0,1]", 1), "shape"},
      {"M10 negative dimension", one("U8", "[-1]", "[0,1]", 1), "shape"},
      {"M10 fractional dimension", one("U8", "[1.0]", "[0,1]", 1), "shape"},
      {"M10 nine dimensions", one("U8", "[1,1,1,1,1,1,1,1,1]", "[0,1]", 1), "shape"},
      {"M10 shape is a number", one("U8", "1", "[0,1]", 1), "shape"},
      {"M10 too few bytes", one("F32", "[2]", "[0,4]", 4), "size_mismatch"},
      {"M10 too many bytes", one("F32", "[1]", "[0,8]", 8), "size_mismatch"},
      {"M10 scalar of no bytes", one("F32", "[]", "[0,0]", 0), "size_mismatch"},
      {"M10 f4 of an odd count", one("F4", "[3]", "[0,2]", 2), "size_mismatch"},
      {"M11 unknown dtype", one("F3", "[1]", "[0,1]", 1), "dtype"},
      {"M11 dtype in lower case", one("u8", "[1]", "[0,1]", 1), "dtype"},
      {"a tensor that is a number", file_of(R"({"a":1})", 0), "header_json"},
      {"an unknown key",
       file_of(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":1}})", 1), "header_json"},
      {"no shape", file_of(R"({"a":{"dtype":"U8","data_offsets":[0,1]}})", 1), "header_json"},
      {"dtype five times, no shape",
       file_of(R"({"a":{"dtype":"U8","dtype":"U8","dtype":"U8","dtype":"U8","dtype":"U8",)"
               R"("data_offsets":[0,1]}})",
               1),
       "duplicate_tensor"},
  };
}

TEST(SafetensorsHeader, RefusesHostileHeadersByRule) {
  for (const auto& cases : {length_cases(), text_cases(), tensor_cases()}) {
    for (const HostileCase& c : cases) {
      const std::clock_t start = std::clock();  // CPU time: other processes do not count
      EXPECT_EQ(rule_of(c.file), c.rule) << c.what;
      EXPECT_LT(std::clock() - start, 2 * CLOCKS_PER_SEC) << c.what;
    }
  }
}

TEST(SafetensorsHeader, ErrorsNameTensorFileAndNumbers) {
  const auto parsed = parse(one("F32", "[2]", "[0,4]", 4));
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().object, "tensor a");
  EXPECT_EQ(parsed.error().source, "m.safetensors");
  EXPECT_EQ(parsed.error().found, "4 bytes of data");
  EXPECT_EQ(parsed.error().expected, "8 for F32 [2]");
}

TEST(SafetensorsHeader, EveryTruncationOfAValidFileIsRefused) {
  const std::string file = two(entry("F32", "[2]", "[0,8]"), entry("BF16", "[2]", "[8,12]"), 12);
  ASSERT_EQ(rule_of(file), "accepted");
  for (std::size_t size = 0; size < file.size(); ++size) {
    EXPECT_NE(rule_of(file.substr(0, size)), "accepted") << size;
  }
}

TEST(SafetensorsHeader, ReadsAFileOfTheReferenceWriter) {
  std::ifstream in(PELLUCID_SOURCE_DIR "/tests/golden/checkpoint/official.safetensors",
                   std::ios::binary);
  const std::string file{std::istreambuf_iterator<char>(in), {}};
  const auto parsed = parse(file);
  ASSERT_TRUE(parsed) << parsed.error().to_string();
  EXPECT_EQ(parsed->tensors.size(), 9U);
  EXPECT_EQ(parsed->tensors.front().name, "codes.weight_shape");
  EXPECT_EQ(parsed->tensors.back().dtype, tensor::DType::kBool);
}

}  // namespace
}  // namespace pellucid::checkpoint
