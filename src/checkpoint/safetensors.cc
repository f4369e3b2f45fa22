#include "checkpoint/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstring>
#include <functional>

#include "base/checked.h"
#include "base/json.h"
#include "base/utf8.h"
#include "checkpoint/plain_json.h"

namespace pellucid::checkpoint {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors data is little-endian");

constexpr std::string_view kMetadata = "__metadata__";

/// Everything that a rule of one header needs to name the place.
struct Place {
  std::string_view source;

  [[nodiscard]] std::unexpected<Error> refuse(std::string rule, std::string object,
                                              std::string found, std::string expected,
                                              ErrorKind kind = ErrorKind::kInvalid) const {
    return fail({.kind = kind,
                 .rule = std::move(rule),
                 .object = std::move(object),
                 .found = std::move(found),
                 .expected = std::move(expected),
                 .source = std::string(source)});
  }
};

std::string quoted(std::string_view name) {
  constexpr std::size_t kShown = 200;
  if (name.size() <= kShown) return "tensor " + utf8::escape_for_display(name);
  return "tensor " + utf8::escape_for_display(name.substr(0, kShown)) + "...";
}

/// The rules of the JSON parser in the words of this format.
Error header_error(Error error) {
  if (error.rule == "json_syntax") error.rule = "header_json";
  if (error.rule == "json_utf8") error.rule = "name_utf8";
  if (error.rule == "duplicate_key") error.rule = "duplicate_tensor";
  error.object = "header " + error.object;
  return error;
}

Expected<std::string_view> header_text(std::span<const std::byte> file, const Place& place) {
  const std::string size_text = std::to_string(file.size()) + " bytes";
  if (file.size() < 10) {
    return place.refuse("too_short", "safetensors file", size_text,
                        "8 bytes of header length and a header of at least {}");
  }
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof(length));
  if (length > kHeaderBytesMax || length > file.size() - sizeof(length)) {
    return place.refuse(
        "header_len", "header length", std::to_string(length),
        "at most " +
            std::to_string(std::min<std::uint64_t>(kHeaderBytesMax, file.size() - sizeof(length))) +
            " in a file of " + size_text);
  }
  const std::string_view text(reinterpret_cast<const char*>(file.data()) + sizeof(length),
                              static_cast<std::size_t>(length));
  if (text.empty() || text.front() != '{') {
    return place.refuse(
        "header_json", "header",
        text.empty() ? "nothing"
                     : "first byte " + std::to_string(static_cast<unsigned char>(text.front())),
        "a JSON object that starts with {");
  }
  return text;
}

Expected<void> check_name(std::string_view name, const Place& place) {
  if (name.size() > kTensorNameBytesMax) {
    return place.refuse("json_limit", quoted(name), std::to_string(name.size()) + " bytes of name",
                        "at most " + std::to_string(kTensorNameBytesMax), ErrorKind::kLimit);
  }
  if (name.empty() || name.find('\0') != std::string_view::npos) {
    return place.refuse("name_utf8", quoted(name), name.empty() ? "an empty name" : "a NUL byte",
                        "text");
  }
  return {};
}

Expected<tensor::DType> read_dtype(const json::Value& value, std::string_view name,
                                   const Place& place) {
  if (value.is_string()) {
    if (const auto dtype = tensor::dtype_from_name(value.string())) return *dtype;
  }
  return place.refuse(
      "dtype", quoted(name) + " dtype",
      value.is_string() ? utf8::escape_for_display(value.string()) : std::string("not a string"),
      "one of F64 F32 F16 BF16 F8_E4M3 F8_E5M2 F8_E8M0 F4 I64 I32 I16 I8 U64 U32 U16 U8 BOOL",
      ErrorKind::kUnsupported);
}

Expected<Shape> read_shape(const json::Value& value, std::string_view name, const Place& place) {
  if (!value.is_array()) {
    return place.refuse("shape", quoted(name), "no array", "an array of dimensions");
  }
  const json::Array& dims = value.array();
  if (dims.size() > kTensorRankMax) {
    return place.refuse("shape", quoted(name), std::to_string(dims.size()) + " dimensions",
                        "at most " + std::to_string(kTensorRankMax));
  }
  Shape shape;
  for (const json::Value& dim : dims) {
    const bool whole = dim.is_integer() && dim.number() > 0;
    if (!whole) return place.refuse("shape", quoted(name), json::dump(dim), "dimensions above 0");
    shape.push_back(dim.uinteger());
  }
  return shape;
}

Expected<std::uint64_t> read_offset(const json::Value& value, std::string_view name,
                                    const Place& place) {
  constexpr double kExact = 9007199254740992.0;  // 2^53: what every JSON reader agrees on
  if (!value.is_integer() || value.number() < 0 || value.number() > kExact) {
    return place.refuse("offset", quoted(name), json::dump(value), "a whole number in [0, 2^53]");
  }
  return value.uinteger();
}

/// begin and end in the data; checked against its size.
Expected<void> read_offsets(const json::Value& value, std::uint64_t data_size, HeaderTensor& out,
                            const Place& place) {
  if (!value.is_array() || value.array().size() != 2) {
    return place.refuse("offset", quoted(out.name), "no pair of numbers", "[begin, end]");
  }
  PELLUCID_TRY(out.begin, read_offset(value.array()[0], out.name, place));
  PELLUCID_TRY(out.end, read_offset(value.array()[1], out.name, place));
  if (out.begin > out.end || out.end > data_size) {
    return place.refuse(
        "offset", quoted(out.name),
        "bytes [" + std::to_string(out.begin) + ", " + std::to_string(out.end) + ")",
        "an ascending range within the " + std::to_string(data_size) + " data bytes of the file");
  }
  return {};
}

Expected<void> check_size(const HeaderTensor& t, const Place& place) {
  const auto elements = checked_product(t.shape);
  const auto bit_count =
      elements ? checked_mul(*elements, static_cast<std::uint64_t>(tensor::bits(t.dtype)))
               : std::nullopt;
  if (!bit_count) {
    return place.refuse("shape_overflow", quoted(t.name), shape_text(t.shape),
                        "a shape whose bits fit 64 bits");
  }
  if (*bit_count % 8 != 0) {
    return place.refuse("size_mismatch", quoted(t.name),
                        std::to_string(*elements) + " elements of 4 bits", "an even number");
  }
  if (*bit_count / 8 != t.end - t.begin) {
    return place.refuse("size_mismatch", quoted(t.name),
                        std::to_string(t.end - t.begin) + " bytes of data",
                        std::to_string(*bit_count / 8) + " for " +
                            std::string(tensor::name(t.dtype)) + " " + shape_text(t.shape));
  }
  return {};
}

Expected<HeaderTensor> read_tensor(const json::Member& member, std::uint64_t data_size,
                                   const Place& place) {
  PELLUCID_TRY_VOID(check_name(member.first, place));
  HeaderTensor out;
  out.name = member.first;
  if (!member.second.is_object()) {
    return place.refuse("header_json", quoted(out.name), "no object",
                        "an object with dtype, shape, data_offsets");
  }
  const json::Value* dtype = nullptr;
  const json::Value* shape = nullptr;
  const json::Value* offsets = nullptr;
  for (const auto& [key, value] : member.second.object()) {
    if (key == "dtype") {
      dtype = &value;
    } else if (key == "shape") {
      shape = &value;
    } else if (key == "data_offsets") {
      offsets = &value;
    } else {
      return place.refuse("header_json", quoted(out.name), "key " + utf8::escape_for_display(key),
                          "dtype, shape, data_offsets");
    }
  }
  if (dtype == nullptr || shape == nullptr || offsets == nullptr) {
    return place.refuse("header_json", quoted(out.name), "a missing key",
                        "dtype, shape, data_offsets");
  }
  PELLUCID_TRY(out.dtype, read_dtype(*dtype, out.name, place));
  PELLUCID_TRY(out.shape, read_shape(*shape, out.name, place));
  PELLUCID_TRY_VOID(read_offsets(*offsets, data_size, out, place));
  PELLUCID_TRY_VOID(check_size(out, place));
  return out;
}

std::unexpected<Error> too_much_metadata(const Place& place) {
  return place.refuse("metadata", std::string(kMetadata),
                      "more than " + std::to_string(kMetadataEntriesMax) + " entries",
                      "at most that many", ErrorKind::kLimit);
}

Expected<void> read_metadata(json::Value& value, Header& header, const Place& place) {
  if (!value.is_object()) {
    return place.refuse("metadata", "__metadata__", "no object", "an object of strings");
  }
  if (value.object().size() > kMetadataEntriesMax) return too_much_metadata(place);
  for (auto& [key, text] : value.object()) {
    if (!text.is_string()) {
      return place.refuse("metadata", "__metadata__ " + utf8::escape_for_display(key),
                          std::string(json::type_name(text.type())), "a string");
    }
    header.metadata.emplace_back(std::move(key), text.string());
  }
  return {};
}

/// The tensors, sorted by their data, must follow each other without hole and end at the end.
Expected<void> check_cover(const std::vector<HeaderTensor>& tensors, std::uint64_t data_size,
                           const Place& place) {
  std::uint64_t covered = 0;
  const HeaderTensor* last = nullptr;
  for (const HeaderTensor& t : tensors) {
    if (t.begin < covered) {
      return place.refuse(
          "overlap", quoted(t.name),
          "bytes [" + std::to_string(t.begin) + ", " + std::to_string(t.end) + ")",
          "a start at or after " + std::to_string(covered) + ", the end of " + quoted(last->name));
    }
    if (t.begin > covered) {
      return place.refuse("gap", quoted(t.name), "a start at byte " + std::to_string(t.begin),
                          std::to_string(covered) + ", where the tensors before it end");
    }
    covered = t.end;
    last = &t;
  }
  if (covered < data_size) {
    return place.refuse("trailing", "data of the file",
                        std::to_string(data_size - covered) + " bytes after the last tensor",
                        "none");
  }
  return {};
}

/// The tensors of a header, with all rules but those between tensors.
Expected<void> read_strict(std::string_view text, std::uint64_t data_size, Header& header,
                           const Place& place) {
  // The values of a real header: 9 for each tensor, 1.9 million for Kimi-K2 in INT4.
  auto parsed = json::parse(
      text, place.source, {.bytes_max = kHeaderBytesMax, .depth_max = 8, .values_max = 2'500'000});
  if (!parsed) return fail(header_error(std::move(parsed).error()));
  json::Object& members = parsed->object();
  header.tensors.reserve(members.size());
  for (json::Member& member : members) {
    if (member.first == kMetadata) {
      PELLUCID_TRY_VOID(read_metadata(member.second, header, place));
      continue;
    }
    PELLUCID_TRY(HeaderTensor tensor, read_tensor(member, data_size, place));
    auto& name =
        header.decoded_names.emplace_back(std::make_unique<std::string>(std::move(member.first)));
    tensor.name = *name;
    header.tensors.push_back(tensor);
  }
  return {};
}

/// An array of at most kTensorRankMax numbers.
bool read_plain_shape(PlainJson& json, Shape& out) {
  if (!json.accept('[')) return false;
  if (json.accept(']')) return true;
  do {
    const auto number = json.number();
    if (!number || out.size() == kTensorRankMax) return false;
    out.push_back(*number);
  } while (json.accept(','));
  return json.accept(']');
}

bool read_plain_offsets(PlainJson& json, HeaderTensor& out) {
  if (!json.accept('[')) return false;
  const auto begin = json.number();
  if (!begin || !json.accept(',')) return false;
  const auto end = json.number();
  if (!end || !json.accept(']')) return false;
  out.begin = *begin;
  out.end = *end;
  return true;
}

bool read_plain_dtype(PlainJson& json, HeaderTensor& out) {
  const auto name = json.string();
  const auto dtype = name ? tensor::dtype_from_name(*name) : std::nullopt;
  if (dtype) out.dtype = *dtype;
  return dtype.has_value();
}

/// One tensor of the plain subset: dtype, shape, data_offsets in any order, each once.
bool read_plain_tensor(PlainJson& json, HeaderTensor& out) {
  bool has_dtype = false;
  bool has_shape = false;
  bool has_offsets = false;
  if (!json.accept('{')) return false;
  do {
    if (!has_dtype && json.accept_string("dtype")) {
      has_dtype = json.accept(':') && read_plain_dtype(json, out);
      if (!has_dtype) return false;
    } else if (!has_shape && json.accept_string("shape")) {
      has_shape = json.accept(':') && read_plain_shape(json, out.shape);
      if (!has_shape) return false;
    } else if (!has_offsets && json.accept_string("data_offsets")) {
      has_offsets = json.accept(':') && read_plain_offsets(json, out);
      if (!has_offsets) return false;
    } else {
      return false;
    }
  } while (json.accept(','));
  return has_dtype && has_shape && has_offsets && json.accept('}');
}

/// False outside the subset.
Expected<bool> read_plain_metadata(PlainJson& json, Header& header, const Place& place) {
  if (!json.accept('{')) return false;
  if (json.accept('}')) return true;
  do {
    const auto key = json.string();
    if (!key || !json.accept(':')) return false;
    const auto value = json.string();
    if (!value) return false;
    if (header.metadata.size() == kMetadataEntriesMax) return too_much_metadata(place);
    header.metadata.emplace_back(*key, *value);
  } while (json.accept(','));
  return json.accept('}');
}

bool is_plain_tensor_valid(const HeaderTensor& t, std::uint64_t data_size) {
  constexpr std::uint64_t kExact = 1ULL << 53;
  const bool has_empty_dim = std::find(t.shape.begin(), t.shape.end(), 0U) != t.shape.end();
  if (t.name.empty() || t.name.size() > kTensorNameBytesMax || has_empty_dim) return false;
  return t.begin <= t.end && t.end <= data_size && data_size <= kExact &&
         tensor_bytes(t.dtype, t.shape) == t.end - t.begin;
}

/// Hashes of names. Equal ones of different names are possible: the strict parser finds that out.
class NameHashes {
 public:
  /// False when that hash is there already.
  bool add(std::string_view name) {
    return hashes_.insert(std::hash<std::string_view>()(name)).second;
  }

 private:
  boost::unordered_flat_set<std::uint64_t> hashes_;
};

/// Reads a header that is plain and breaks no rule; false for any other, which read_strict judges.
Expected<bool> read_plain(std::string_view text, std::uint64_t data_size, Header& header,
                          const Place& place) {
  PlainJson json(text);
  NameHashes names;
  // An entry has 130 bytes. Growing by doubling costs twice the page faults, 3 us each in a VM.
  header.tensors.reserve(text.size() / 96);
  bool has_metadata = false;
  if (!json.accept('{')) return false;
  if (json.accept('}')) return json.at_end();
  do {
    const auto name = json.string();
    if (!name || !json.accept(':')) return false;
    if (*name == kMetadata) {
      if (has_metadata) return false;
      PELLUCID_TRY(has_metadata, read_plain_metadata(json, header, place));
      if (!has_metadata) return false;
      continue;
    }
    HeaderTensor& tensor = header.tensors.emplace_back();
    tensor.name = *name;
    if (!names.add(*name) || !read_plain_tensor(json, tensor)) return false;
    if (!is_plain_tensor_valid(tensor, data_size)) return false;
  } while (json.accept(','));
  if (!json.accept('}') || !json.at_end()) return false;
  NameHashes keys;
  return std::ranges::all_of(header.metadata,
                             [&keys](const auto& entry) { return keys.add(entry.first); });
}

}  // namespace

Expected<Header> parse_header(std::span<const std::byte> file, std::string_view source) {
  const Place place{source};
  PELLUCID_TRY(const std::string_view text, header_text(file, place));
  Header header;
  const std::uint64_t data_begin = sizeof(std::uint64_t) + text.size();
  const std::uint64_t data_size = file.size() - data_begin;
  PELLUCID_TRY(const bool is_plain, read_plain(text, data_size, header, place));
  if (!is_plain) {
    header = Header();
    PELLUCID_TRY_VOID(read_strict(text, data_size, header, place));
  }
  header.data_begin = data_begin;
  const auto by_data = [](const HeaderTensor& a, const HeaderTensor& b) {
    return a.begin < b.begin;
  };
  if (!std::is_sorted(header.tensors.begin(), header.tensors.end(), by_data)) {
    std::stable_sort(header.tensors.begin(), header.tensors.end(), by_data);
  }
  PELLUCID_TRY_VOID(check_cover(header.tensors, data_size, place));
  return header;
}

std::optional<std::uint64_t> tensor_bytes(tensor::DType dtype,
                                          std::span<const std::uint64_t> shape) {
  const auto elements = checked_product(shape);
  if (!elements) return std::nullopt;
  const auto bit_count = checked_mul(*elements, static_cast<std::uint64_t>(tensor::bits(dtype)));
  if (!bit_count || *bit_count % 8 != 0) return std::nullopt;
  return *bit_count / 8;
}

std::string shape_text(std::span<const std::uint64_t> shape) {
  std::string out = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) out += ", ";
    out += std::to_string(shape[i]);
  }
  return out + "]";
}

}  // namespace pellucid::checkpoint
