#include "checkpoint/safetensors_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <unordered_set>

#include "base/checked.h"
#include "base/json.h"
#include "base/utf8.h"
#include "checkpoint/safetensors.h"

namespace pellucid::checkpoint {
namespace {

std::string shown(const std::filesystem::path& path) {
  return utf8::escape_for_display(path.string());
}

std::unexpected<Error> io_error(std::string action, const std::filesystem::path& path) {
  return fail({.kind = ErrorKind::kIo,
               .rule = "file_io",
               .object = std::move(action),
               .found = std::strerror(errno),
               .source = shown(path)});
}

std::unexpected<Error> refuse(std::string rule, const TensorSpec& tensor, std::string found,
                              std::string expected) {
  return fail({.rule = std::move(rule),
               .object = "tensor " + utf8::escape_for_display(tensor.name),
               .found = std::move(found),
               .expected = std::move(expected)});
}

Expected<std::uint64_t> checked_bytes(const TensorSpec& tensor) {
  const bool has_empty_dim =
      std::find(tensor.shape.begin(), tensor.shape.end(), 0U) != tensor.shape.end();
  if (has_empty_dim || tensor.shape.size() > kTensorRankMax) {
    return refuse("shape", tensor, shape_text(tensor.shape), "at most 8 dimensions, all above 0");
  }
  const auto bytes = tensor_bytes(tensor.dtype, tensor.shape);
  if (!bytes) {
    return refuse("shape_overflow", tensor, shape_text(tensor.shape), "a whole number of bytes");
  }
  return *bytes;
}

struct HeaderText {
  std::string text;  ///< length, JSON and padding
  std::uint64_t data_bytes = 0;
};

Expected<HeaderText> make_header(std::span<const TensorSpec> tensors, const Metadata& metadata) {
  json::Object header;
  if (!metadata.empty()) {
    json::Object entries;
    for (const auto& [key, value] : metadata) entries.emplace_back(key, value);
    header.emplace_back("__metadata__", std::move(entries));
  }
  std::unordered_set<std::string_view> names = {"__metadata__"};
  std::uint64_t offset = 0;
  for (const TensorSpec& tensor : tensors) {
    if (!names.insert(tensor.name).second) {
      return refuse("duplicate_tensor", tensor, "a name used twice", "one tensor of each name");
    }
    PELLUCID_TRY(const std::uint64_t bytes, checked_bytes(tensor));
    const auto end = checked_add(offset, bytes);
    if (!end) return refuse("shape_overflow", tensor, "a file beyond 2^64 bytes", "a smaller one");
    json::Array shape;
    for (const std::uint64_t dim : tensor.shape) shape.emplace_back(dim);
    header.emplace_back(tensor.name,
                        json::Object{{"dtype", std::string(tensor::name(tensor.dtype))},
                                     {"shape", std::move(shape)},
                                     {"data_offsets", json::Array{offset, *end}}});
    offset = *end;
  }
  // Non-ASCII names as escapes, which is what the json module of Python writes.
  std::string text = json::dump(header, {.ensure_ascii = true});
  text.append((8 - text.size() % 8) % 8, ' ');
  const std::uint64_t length = text.size();
  std::string prefix(sizeof(length), '\0');
  std::memcpy(prefix.data(), &length, sizeof(length));
  return HeaderText{.text = prefix + text, .data_bytes = offset};
}

Expected<void> write_all(int fd, const void* data, std::size_t size,
                         const std::filesystem::path& path) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t done = ::write(fd, at, size);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return io_error("write", path);
    at += done;
    size -= static_cast<std::size_t>(done);
  }
  return {};
}

/// So that the rename itself survives a power failure.
void sync_directory(const std::filesystem::path& path) {
  const auto parent = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  const int fd = ::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

}  // namespace

Expected<SafetensorsWriter> SafetensorsWriter::create(std::filesystem::path path,
                                                      std::span<const TensorSpec> tensors,
                                                      const WriteOptions& options) {
  PELLUCID_TRY(const HeaderText header, make_header(tensors, options.metadata));
  SafetensorsWriter out;
  out.sync_ = options.sync;
  out.path_ = std::move(path);
  out.temporary_ = out.path_.string() + ".partial";
  out.fd_ = ::open(out.temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (out.fd_ < 0) return io_error("create", out.temporary_);
  out.expected_bytes_ = header.data_bytes;
  PELLUCID_TRY_VOID(write_all(out.fd_, header.text.data(), header.text.size(), out.temporary_));
  return out;
}

SafetensorsWriter::SafetensorsWriter(SafetensorsWriter&& other) noexcept {
  *this = std::move(other);
}

SafetensorsWriter& SafetensorsWriter::operator=(SafetensorsWriter&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(temporary_, other.temporary_);
  std::swap(fd_, other.fd_);
  std::swap(sync_, other.sync_);
  std::swap(expected_bytes_, other.expected_bytes_);
  std::swap(written_bytes_, other.written_bytes_);
  return *this;
}

SafetensorsWriter::~SafetensorsWriter() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(temporary_.c_str());
}

Expected<void> SafetensorsWriter::append(std::span<const std::byte> bytes) {
  if (bytes.size() > expected_bytes_ - written_bytes_) {
    return fail({.rule = "size_mismatch",
                 .object = "data",
                 .found = std::to_string(bytes.size()) + " bytes more",
                 .expected = "at most " + std::to_string(expected_bytes_ - written_bytes_),
                 .source = shown(path_)});
  }
  PELLUCID_TRY_VOID(write_all(fd_, bytes.data(), bytes.size(), temporary_));
  written_bytes_ += bytes.size();
  return {};
}

Expected<void> SafetensorsWriter::finish() {
  if (written_bytes_ != expected_bytes_) {
    return fail({.rule = "size_mismatch",
                 .object = "data",
                 .found = std::to_string(written_bytes_) + " bytes",
                 .expected = std::to_string(expected_bytes_) + " for the tensors of the header",
                 .source = shown(path_)});
  }
  if (sync_ && ::fsync(fd_) != 0) return io_error("sync", temporary_);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return io_error("rename", path_);
  const int fd = std::exchange(fd_, -1);
  if (::close(fd) != 0) return io_error("close", path_);
  if (sync_) sync_directory(path_);
  return {};
}

Expected<void> write_safetensors(const std::filesystem::path& path,
                                 std::span<const TensorData> tensors, TensorOrder order,
                                 const WriteOptions& options) {
  std::vector<const TensorData*> sorted;
  for (const TensorData& tensor : tensors) sorted.push_back(&tensor);
  if (order == TensorOrder::kByName) {
    std::stable_sort(sorted.begin(), sorted.end(), [](const TensorData* a, const TensorData* b) {
      return a->spec.name < b->spec.name;
    });
  }
  std::vector<TensorSpec> specs;
  for (const TensorData* tensor : sorted) {
    PELLUCID_TRY(const std::uint64_t bytes, checked_bytes(tensor->spec));
    if (bytes != tensor->bytes.size()) {
      return refuse("size_mismatch", tensor->spec, std::to_string(tensor->bytes.size()) + " bytes",
                    std::to_string(bytes) + " for " +
                        std::string(tensor::name(tensor->spec.dtype)) + " " +
                        shape_text(tensor->spec.shape));
    }
    specs.push_back(tensor->spec);
  }
  PELLUCID_TRY(SafetensorsWriter writer, SafetensorsWriter::create(path, specs, options));
  for (const TensorData* tensor : sorted) PELLUCID_TRY_VOID(writer.append(tensor->bytes));
  return writer.finish();
}

}  // namespace pellucid::checkpoint
