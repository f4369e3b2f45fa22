#pragma once
// Files of untrusted directories. Only regular files are opened, never through a path that leaves
// the directory, and never in a way that can block (FIFO, device).
//
// A MappedFile keeps its size from open(): a file that shrinks later would fault on access, so
// still_intact() lets a caller check size and modification time again before trusting what it read.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace pellucid {

/// An open directory; paths are resolved beneath it (openat2 RESOLVE_BENEATH): a link that leaves
/// it is refused, except "../../blobs/NAME", by which the Hugging Face cache links its snapshots.
class Directory {
 public:
  static Expected<Directory> open(const std::filesystem::path& path);
  Directory(Directory&& other) noexcept;
  Directory& operator=(Directory&& other) noexcept;
  ~Directory();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] bool contains(std::string_view name) const;
  /// Names of the entries, sorted.
  [[nodiscard]] Expected<std::vector<std::string>> list() const;
  /// Whole file as a string. Rules: "file_missing", "file_kind", "file_size", "file_io".
  [[nodiscard]] Expected<std::string> read(std::string_view name, std::uint64_t bytes_max) const;

 private:
  friend class MappedFile;
  Directory(int fd, std::filesystem::path path) : fd_(fd), path_(std::move(path)) {}
  [[nodiscard]] Expected<int> open_regular(std::string_view name) const;
  int fd_ = -1;
  std::filesystem::path path_;
};

/// A read-only mapping of a whole regular file. Move-only; unmapped on destruction.
class MappedFile {
 public:
  static Expected<MappedFile> open(const Directory& directory, std::string_view name);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_, size_}; }
  [[nodiscard]] const std::string& name() const { return name_; }
  /// False when size, inode or modification time differ from those at open().
  [[nodiscard]] bool still_intact() const;

 private:
  MappedFile() = default;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  int fd_ = -1;
  std::uint64_t inode_ = 0;
  std::int64_t mtime_ns_ = 0;
  std::string name_;
};

}  // namespace pellucid
