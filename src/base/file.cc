#include "base/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/utf8.h"

namespace pellucid {
namespace {

std::string place(const std::filesystem::path& directory, std::string_view name) {
  return utf8::escape_for_display((directory / name).string());
}

Error io_error(std::string_view action, const std::string& where, int error) {
  return {.kind = ErrorKind::kIo,
          .rule = "file_io",
          .object = std::string(action),
          .found = std::strerror(error),
          .source = where};
}

/// Whether a link leads to a regular file outside the directory: the layout of the Hugging Face
/// cache, whose snapshot folders hold links into ../../blobs.
bool is_hub_blob_link(int directory_fd, const std::string& name) {
  std::string target(4096, '\0');
  const ssize_t length = readlinkat(directory_fd, name.c_str(), target.data(), target.size());
  if (length <= 0) return false;
  target.resize(static_cast<std::size_t>(length));
  return target.starts_with("../../blobs/") &&
         target.find('/', std::strlen("../../blobs/")) == std::string::npos;
}

int open_beneath(int directory_fd, const std::string& name) {
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  const long fd = syscall(SYS_openat2, directory_fd, name.c_str(), &how, sizeof(how));
  if (fd >= 0 || errno != EXDEV) return static_cast<int>(fd);
  if (!is_hub_blob_link(directory_fd, name)) {
    errno = EXDEV;
    return -1;
  }
  return openat(directory_fd, name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

Error open_error(const std::string& where, int error) {
  if (error == ENOENT) {
    return {.kind = ErrorKind::kNotFound,
            .rule = "file_missing",
            .object = "file",
            .found = "no such file",
            .source = where};
  }
  if (error == EXDEV || error == ELOOP) {
    return {.rule = "shard_path",
            .object = "file path",
            .found = "a path that leaves the directory",
            .expected = "a regular file inside it",
            .source = where};
  }
  return io_error("open", where, error);
}

}  // namespace

Expected<Directory> Directory::open(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0) return Directory(fd, path);
  const std::string where = utf8::escape_for_display(path.string());
  if (errno == ENOENT || errno == ENOTDIR) {
    return fail({.kind = ErrorKind::kNotFound,
                 .rule = "directory_missing",
                 .object = "model directory",
                 .found = errno == ENOENT ? "nothing at that path" : "a file",
                 .expected = "a directory with config.json and safetensors",
                 .source = where});
  }
  return fail(io_error("open directory", where, errno));
}

Directory::Directory(Directory&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)) {}

Directory& Directory::operator=(Directory&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(path_, other.path_);
  return *this;
}

Directory::~Directory() {
  if (fd_ >= 0) close(fd_);
}

bool Directory::contains(std::string_view name) const {
  struct stat status{};
  return fstatat(fd_, std::string(name).c_str(), &status, 0) == 0;
}

Expected<std::vector<std::string>> Directory::list() const {
  const int copy = openat(fd_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* stream = copy < 0 ? nullptr : fdopendir(copy);
  if (stream == nullptr) {
    const int error = errno;
    if (copy >= 0) close(copy);
    return fail(io_error("list directory", path_.string(), error));
  }
  std::vector<std::string> names;
  while (const dirent* entry = readdir(stream)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  closedir(stream);
  std::sort(names.begin(), names.end());
  return names;
}

Expected<int> Directory::open_regular(std::string_view name) const {
  const std::string where = place(path_, name);
  if (name.empty() || name.find('\0') != std::string_view::npos || name.front() == '/') {
    return fail({.rule = "shard_path",
                 .object = "file path",
                 .found = "\"" + utf8::escape_for_display(name) + "\"",
                 .expected = "a relative path inside the directory",
                 .source = utf8::escape_for_display(path_.string())});
  }
  const int fd = open_beneath(fd_, std::string(name));
  if (fd < 0) return fail(open_error(where, errno));
  struct stat status{};
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(fd);
    return fail({.rule = "file_kind",
                 .object = "file",
                 .found = "a directory, device, FIFO or socket",
                 .expected = "a regular file",
                 .source = where});
  }
  return fd;
}

Expected<std::string> Directory::read(std::string_view name, std::uint64_t bytes_max) const {
  PELLUCID_TRY(const int fd, open_regular(name));
  const std::string where = place(path_, name);
  struct stat status{};
  fstat(fd, &status);
  if (static_cast<std::uint64_t>(status.st_size) > bytes_max) {
    close(fd);
    return fail({.kind = ErrorKind::kLimit,
                 .rule = "file_size",
                 .object = "file",
                 .found = std::to_string(status.st_size) + " bytes",
                 .expected = "at most " + std::to_string(bytes_max),
                 .source = where});
  }
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t got = ::read(fd, text.data() + done, text.size() - done);
    if (got > 0) {
      done += static_cast<std::size_t>(got);
      continue;
    }
    if (got < 0 && errno == EINTR) continue;
    const int error = got == 0 ? EIO : errno;
    close(fd);
    return fail(io_error("read", where, error));
  }
  close(fd);
  return text;
}

Expected<MappedFile> MappedFile::open(const Directory& directory, std::string_view name) {
  PELLUCID_TRY(const int fd, directory.open_regular(name));
  MappedFile file;
  file.fd_ = fd;
  file.name_ = std::string(name);
  struct stat status{};
  fstat(fd, &status);
  file.size_ = static_cast<std::size_t>(status.st_size);
  file.inode_ = status.st_ino;
  file.mtime_ns_ = status.st_mtim.tv_sec * 1'000'000'000LL + status.st_mtim.tv_nsec;
  if (file.size_ == 0) return file;
  void* data = mmap(nullptr, file.size_, PROT_READ, MAP_SHARED, fd, 0);
  if (data == MAP_FAILED) return fail(io_error("map", place(directory.path(), name), errno));
  file.data_ = static_cast<const std::byte*>(data);
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept {
  *this = std::move(other);
}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(fd_, other.fd_);
  std::swap(inode_, other.inode_);
  std::swap(mtime_ns_, other.mtime_ns_);
  std::swap(name_, other.name_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), size_);
  if (fd_ >= 0) close(fd_);
}

bool MappedFile::still_intact() const {
  struct stat status{};
  return fstat(fd_, &status) == 0 && static_cast<std::size_t>(status.st_size) == size_ &&
         status.st_ino == inode_ &&
         status.st_mtim.tv_sec * 1'000'000'000LL + status.st_mtim.tv_nsec == mtime_ns_;
}

}  // namespace pellucid
