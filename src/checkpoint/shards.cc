#include "checkpoint/shards.h"

#include <algorithm>
#include <unordered_set>

#include "base/utf8.h"
#include "checkpoint/index.h"
#include "checkpoint/safetensors.h"

namespace pellucid::checkpoint {
namespace {

constexpr std::string_view kSingle = "model.safetensors";
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

/// One reading of a directory: list, choose the files, map them, compare with the index.
class ShardReader {
 public:
  ShardReader(const Directory& directory, ProblemLog& log) : directory_(directory), log_(log) {}

  Shards read() {
    list_directory();
    if (!choose_files()) {
      out_.incomplete = true;
      return std::move(out_);
    }
    for (const std::string& name : index_.shards) read_shard(name);
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

  bool choose_files() {
    has_index_ = directory_.contains(kIndexName);
    const bool has_single = directory_.contains(kSingle);
    if (has_index_) return read_index(has_single);
    if (has_single) {
      index_.shards = {std::string(kSingle)};
      return true;
    }
    add_error(log_, no_weights());
    return false;
  }

  bool read_index(bool has_single) {
    auto text = directory_.read(kIndexName, kIndexBytesMax);
    if (!text) {
      add_error(log_, std::move(text).error());
      return false;
    }
    auto index = parse_index(*text);
    if (!index) {
      add_error(log_, std::move(index).error());
      return false;
    }
    index_ = *std::move(index);
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

  void read_shard(const std::string& name) {
    auto file = MappedFile::open(directory_, name);
    if (!file) {
      out_.incomplete = true;
      if (file.error().rule == "file_missing") {
        missing_.push_back(name);
        return;
      }
      Error error = std::move(file).error();
      if (error.rule == "file_kind") error.rule = "shard_path";
      add_error(log_, std::move(error));
      return;
    }
    auto header = parse_header(file->bytes(), name);
    if (!header) {
      out_.incomplete = true;
      Error error = std::move(header).error();
      std::string tensor = error.object.starts_with("tensor ") ? error.object.substr(7) : "";
      add_error(log_, std::move(error), std::move(tensor));
      return;
    }
    const auto shard = static_cast<std::uint32_t>(out_.files.size());
    const auto data = file->bytes().subspan(static_cast<std::size_t>(header->data_begin));
    for (HeaderTensor& t : header->tensors) {
      out_.tensors.push_back({.name = std::move(t.name),
                              .dtype = t.dtype,
                              .shape = std::move(t.shape),
                              .bytes = data.subspan(static_cast<std::size_t>(t.begin),
                                                    static_cast<std::size_t>(t.end - t.begin)),
                              .shard = shard});
    }
    read_names_.insert(name);
    out_.files.push_back(*std::move(file));
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
    out_.by_name.reserve(out_.tensors.size());
    for (std::uint32_t i = 0; i < out_.tensors.size(); ++i) {
      const TensorInfo& tensor = out_.tensors[i];
      const auto [it, is_new] = out_.by_name.try_emplace(tensor.name, i);
      if (is_new) continue;
      const TensorInfo& other = out_.tensors[it->second];
      add_error(log_,
                {.rule = "duplicate_tensor",
                 .object = "tensor " + utf8::escape_for_display(tensor.name),
                 .found = "in " + out_.files[other.shard].name() + " and in " +
                          out_.files[tensor.shard].name(),
                 .expected = "one shard",
                 .source = out_.files[tensor.shard].name()},
                tensor.name);
    }
  }

  void compare_with_index() {
    std::size_t indexed_and_found = 0;
    for (const auto& [name, shard_id] : index_.tensors) {
      const std::string& shard = index_.shards[shard_id];
      const TensorInfo* tensor = out_.find(name);
      if (tensor == nullptr) {
        if (!read_names_.contains(shard)) continue;
        add_error(log_,
                  {.kind = ErrorKind::kNotFound,
                   .rule = "tensor_absent",
                   .object = "tensor " + utf8::escape_for_display(name),
                   .found = "not in its shard",
                   .expected = "in " + shard + " as the index says",
                   .source = shard},
                  name);
        continue;
      }
      ++indexed_and_found;
      const std::string& actual = out_.files[tensor->shard].name();
      if (actual == shard) continue;
      add_error(log_,
                {.rule = "tensor_shard",
                 .object = "tensor " + utf8::escape_for_display(name),
                 .found = "in " + actual,
                 .expected = "in " + shard + " as the index says",
                 .source = std::string(kIndexName)},
                name);
    }
    if (indexed_and_found < out_.by_name.size()) report_unindexed();
  }

  void report_unindexed() {
    std::unordered_map<std::string_view, std::uint32_t> indexed;
    indexed.reserve(index_.tensors.size());
    for (const auto& [name, shard] : index_.tensors) indexed.emplace(name, shard);
    for (const TensorInfo& tensor : out_.tensors) {
      if (indexed.contains(tensor.name)) continue;
      log_.add({.severity = Severity::kWarning,
                .tensor = tensor.name,
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
  std::unordered_set<std::string> read_names_;
};

}  // namespace

const TensorInfo* Shards::find(std::string_view name) const {
  const auto it = by_name.find(name);
  return it == by_name.end() ? nullptr : &tensors[it->second];
}

Shards read_shards(const Directory& directory, ProblemLog& log) {
  return ShardReader(directory, log).read();
}

}  // namespace pellucid::checkpoint
