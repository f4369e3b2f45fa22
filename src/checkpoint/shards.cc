#include "checkpoint/shards.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <iterator>
#include <limits>
#include <optional>
#include <thread>
#include <unordered_set>

#include "base/utf8.h"
#include "checkpoint/index.h"
#include "checkpoint/safetensors.h"

namespace pellucid::checkpoint {
namespace {

constexpr std::string_view kSingle = "model.safetensors";
constexpr std::uint32_t kUnread = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t kThreadsMax = 8;
constexpr std::size_t kListed = 10;  ///< names listed in one error

void add_error(ProblemLog& log, Error error, std::string tensor = {}) {
  log.add({.tensor = std::move(tensor), .error = std::move(error)});
}

/// Weight files of other formats and code, which this program never opens.
bool is_ignored_file(std::string_view name) {
  for (const std::string_view suffix : {".py", ".bin", ".pt", ".pth", ".gguf", ".h5", ".msgpack",
                                        ".onnx", ".pkl", ".bin.index.json"}) {
    if (name.ends_with(suffix)) return true;
  }
  return false;
}

std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < std::min(names.size(), kListed); ++i) {
    if (i > 0) out += ", ";
    out += utf8::escape_for_display(names[i]);
  }
  if (names.size() > kListed) out += " and " + std::to_string(names.size() - kListed) + " more";
  return out;
}

struct IndexFile {
  MappedFile file;
  Index index;
};

Expected<IndexFile> read_index_file(const Directory& directory) {
  PELLUCID_TRY(MappedFile file, MappedFile::open(directory, kIndexName));
  const auto bytes = file.bytes();
  if (bytes.size() > kIndexBytesMax) {
    return fail({.kind = ErrorKind::kLimit,
                 .rule = "file_size",
                 .object = "file",
                 .found = std::to_string(bytes.size()) + " bytes",
                 .expected = "at most " + std::to_string(kIndexBytesMax),
                 .source = std::string(kIndexName)});
  }
  PELLUCID_TRY(Index index,
               parse_index({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
  return IndexFile{std::move(file), std::move(index)};
}

struct WeightFile {
  MappedFile file;
  Header header;
};

Expected<WeightFile> read_weight_file(const Directory& directory, const std::string& name) {
  PELLUCID_TRY(MappedFile file, MappedFile::open(directory, name));
  PELLUCID_TRY(Header header, parse_header(file.bytes(), name));
  return WeightFile{std::move(file), std::move(header)};
}

/// One reading of a directory: list, choose the files, map them, compare with the index.
class ShardReader {
 public:
  ShardReader(const Directory& directory, ProblemLog& log) : directory_(directory), log_(log) {}

  Shards read() {
    list_directory();
    has_index_ = directory_.contains(kIndexName);
    if (has_index_) read_listed_files();
    if (!choose_files()) {
      out_.incomplete = true;
      return std::move(out_);
    }
    out_.tensors.reserve(index_.tensors.size());
    for (std::uint32_t id = 0; id < index_.shards.size(); ++id) read_shard(id);
    report_missing();
    build_lookup();
    if (has_index_) compare_with_index();
    return std::move(out_);
  }

 private:
  void list_directory() {
    auto names = directory_.list();
    if (!names) {
      add_error(log_, std::move(names).error());
      return;
    }
    for (std::string& name : *names) {
      if (name.ends_with(".safetensors")) safetensors_.push_back(name);
      if (is_ignored_file(name)) out_.ignored_files.push_back(std::move(name));
    }
  }

  /// The index and all the listed weight files at once: most often the index names just these, and
  /// its 22 MB take as long to parse as 40 MB of headers.
  void read_listed_files() {
    const std::size_t count = 1 + safetensors_.size();
    listed_.resize(safetensors_.size());
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
      for (std::size_t i = next++; i < count; i = next++) {
        if (i == 0) {
          index_file_ = read_index_file(directory_);
        } else {
          listed_[i - 1] = read_weight_file(directory_, safetensors_[i - 1]);
        }
      }
    };
    // Without a launch policy: where the system grants no thread, get() finds nothing left to do.
    std::vector<std::future<void>> helpers;
    const std::size_t cpus = std::thread::hardware_concurrency();
    for (std::size_t i = 1; i < std::min({cpus, kThreadsMax, count}); ++i) {
      helpers.push_back(std::async(work));
    }
    work();
    for (std::future<void>& helper : helpers) helper.get();
  }

  bool choose_files() {
    const bool has_single = directory_.contains(kSingle);
    if (has_index_) return use_index(has_single);
    if (has_single) {
      index_.shards = {std::string(kSingle)};
      return true;
    }
    add_error(log_, no_weights());
    return false;
  }

  bool use_index(bool has_single) {
    if (!*index_file_) {
      add_error(log_, std::move(*index_file_).error());
      return false;
    }
    index_ = std::move((*index_file_)->index);
    const auto& shards = index_.shards;
    if (has_single && std::find(shards.begin(), shards.end(), kSingle) == shards.end()) {
      add_error(log_, {.rule = "two_weight_sets",
                       .object = "weights",
                       .found = "model.safetensors beside an index that does not name it",
                       .expected = "one set of weights",
                       .source = std::string(kIndexName),
                       .fix = "remove model.safetensors or the index"});
    }
    return true;
  }

  [[nodiscard]] Error no_weights() const {
    const bool other_format = !out_.ignored_files.empty();
    Error error{.kind = ErrorKind::kNotFound,
                .rule = other_format && safetensors_.empty() ? "bin_only" : "no_weights",
                .object = "weights",
                .found = "neither model.safetensors nor " + std::string(kIndexName),
                .expected = "one of them",
                .source = utf8::escape_for_display(directory_.path().string())};
    if (!safetensors_.empty()) {
      error.found += ", only " + listed(safetensors_);
      return error;
    }
    if (!other_format) return error;
    error.kind = ErrorKind::kUnsupported;
    error.found = "only " + listed(out_.ignored_files);
    error.expected = "safetensors";
    error.fix = "convert the weights to safetensors; other formats can run code when read";
    return error;
  }

  /// The file of that name: read already, or now (one in a folder of its own is not listed).
  Expected<WeightFile> take(const std::string& name) {
    const auto at = std::lower_bound(safetensors_.begin(), safetensors_.end(), name);
    if (at == safetensors_.end() || *at != name || listed_.empty()) {
      return read_weight_file(directory_, name);
    }
    return *std::move(listed_[static_cast<std::size_t>(at - safetensors_.begin())]);
  }

  void read_shard(std::uint32_t id) {
    const std::string& name = index_.shards[id];
    file_of_.push_back(kUnread);
    auto read = take(name);
    if (!read) {
      out_.incomplete = true;
      if (read.error().rule == "file_missing") {
        missing_.push_back(name);
        return;
      }
      Error error = std::move(read).error();
      if (error.rule == "file_kind") error.rule = "shard_path";
      std::string tensor = error.object.starts_with("tensor ") ? error.object.substr(7) : "";
      add_error(log_, std::move(error), std::move(tensor));
      return;
    }
    auto& [file, header] = *read;
    const auto shard = static_cast<std::uint32_t>(out_.files.size());
    const auto data = file.bytes().subspan(static_cast<std::size_t>(header.data_begin));
    for (const HeaderTensor& t : header.tensors) {
      out_.tensors.push_back({.name = t.name,
                              .dtype = t.dtype,
                              .shape = t.shape,
                              .bytes = data.subspan(static_cast<std::size_t>(t.begin),
                                                    static_cast<std::size_t>(t.end - t.begin)),
                              .shard = shard});
    }
    std::ranges::move(header.decoded_names, std::back_inserter(out_.decoded_names));
    file_of_[id] = shard;
    out_.files.push_back(std::move(file));
  }

  void report_missing() {
    if (missing_.empty()) return;
    add_error(log_, {.kind = ErrorKind::kNotFound,
                     .rule = "shard_missing",
                     .object = missing_.size() == 1 ? "shard" : "shards",
                     .found = "no file " + listed(missing_),
                     .expected = "all " + std::to_string(index_.shards.size()) + " of the index",
                     .source = has_index_ ? std::string(kIndexName) : std::string(kSingle),
                     .fix = "download them again"});
  }

  void build_lookup() {
    std::vector<const TensorInfo*> repeated;
    out_.table = TensorTable(out_.tensors, repeated);
    for (const TensorInfo* tensor : repeated) {
      const TensorInfo& other = *out_.find(tensor->name);
      add_error(log_,
                {.rule = "duplicate_tensor",
                 .object = "tensor " + utf8::escape_for_display(tensor->name),
                 .found = "in " + out_.files[other.shard].name() + " and in " +
                          out_.files[tensor->shard].name(),
                 .expected = "one shard",
                 .source = out_.files[tensor->shard].name()},
                std::string(tensor->name));
    }
  }

  void compare_with_index() {
    std::size_t indexed_and_found = 0;
    TensorTable::Reader reader(out_.table);
    for (const auto& [name, shard_id] : index_.tensors) {
      const std::string& shard = index_.shards[shard_id];
      const TensorInfo* tensor = reader.find(name);
      if (tensor == nullptr) {
        if (file_of_[shard_id] == kUnread) continue;
        add_error(log_,
                  {.kind = ErrorKind::kNotFound,
                   .rule = "tensor_absent",
                   .object = "tensor " + utf8::escape_for_display(name),
                   .found = "not in its shard",
                   .expected = "in " + shard + " as the index says",
                   .source = shard},
                  std::string(name));
        continue;
      }
      ++indexed_and_found;
      if (tensor->shard == file_of_[shard_id]) continue;
      const std::string& actual = out_.files[tensor->shard].name();
      add_error(log_,
                {.rule = "tensor_shard",
                 .object = "tensor " + utf8::escape_for_display(name),
                 .found = "in " + actual,
                 .expected = "in " + shard + " as the index says",
                 .source = std::string(kIndexName)},
                std::string(name));
    }
    if (indexed_and_found < out_.table.size()) report_unindexed();
  }

  void report_unindexed() {
    std::unordered_set<std::string_view> indexed;
    for (const auto& [name, shard] : index_.tensors) indexed.insert(name);
    for (const TensorInfo& tensor : out_.tensors) {
      if (indexed.contains(tensor.name)) continue;
      log_.add({.severity = Severity::kWarning,
                .tensor = std::string(tensor.name),
                .error = {.rule = "tensor_unindexed",
                          .object = "tensor " + utf8::escape_for_display(tensor.name),
                          .found = "in the shard, not in the index",
                          .expected = "both the same",
                          .source = out_.files[tensor.shard].name()}});
    }
  }

  const Directory& directory_;
  ProblemLog& log_;
  Shards out_;
  Index index_;
  bool has_index_ = false;
  std::vector<std::string> safetensors_;
  std::vector<std::string> missing_;
  std::vector<std::uint32_t> file_of_;  ///< of each shard of the index: index into out_.files
  std::optional<Expected<IndexFile>> index_file_;            ///< holds the names of index_
  std::vector<std::optional<Expected<WeightFile>>> listed_;  ///< those of safetensors_
};

}  // namespace

Shards read_shards(const Directory& directory, ProblemLog& log) {
  return ShardReader(directory, log).read();
}

}  // namespace pellucid::checkpoint
