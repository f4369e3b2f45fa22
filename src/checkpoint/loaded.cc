#include "checkpoint/loaded.h"

#include "base/json.h"
#include "base/utf8.h"
#include "checkpoint/token_ids.h"
#include "checkpoint/verify.h"

namespace pellucid::checkpoint {
namespace {

constexpr std::uint64_t kConfigBytesMax = 16ULL << 20;
constexpr std::string_view kConfig = "config.json";
constexpr std::string_view kGeneration = "generation_config.json";
constexpr std::string_view kHfQuant = "hf_quant_config.json";

void add_error(Loaded& loaded, Error error) {
  loaded.log.add({.error = std::move(error)});
}

Expected<json::Value> read_json(const Directory& directory, std::string_view name) {
  PELLUCID_TRY(const std::string text, directory.read(name, kConfigBytesMax));
  return json::parse(text, name, {.bytes_max = kConfigBytesMax, .values_max = 1'000'000});
}

/// quantization_config, at the top or in text_config; null when there is none.
const json::Object* find_quantization(const json::Value& config, std::string& prefix) {
  for (const std::string_view outer : {"", "text_config"}) {
    const json::Value* holder = outer.empty() ? &config : config.find(outer);
    if (holder == nullptr || !holder->is_object()) continue;
    const json::Value* found = holder->find("quantization_config");
    if (found == nullptr || !found->is_object()) continue;
    prefix = (outer.empty() ? "" : std::string(outer) + ".") + "quantization_config.";
    return &found->object();
  }
  return nullptr;
}

void add_claim(Loaded& loaded, Expected<QuantClaim> claim) {
  if (!claim) {
    add_error(loaded, std::move(claim).error());
    return;
  }
  loaded.claims.push_back(*std::move(claim));
}

void read_config(Loaded& loaded) {
  auto json = read_json(loaded.directory, kConfig);
  if (!json) {
    add_error(loaded, std::move(json).error());
    return;
  }
  auto config = read_model_config(*json, kConfig);
  if (config) {
    loaded.config = *std::move(config);
  } else {
    add_error(loaded, std::move(config).error());
  }
  std::string prefix;
  const json::Object* quantization = json->is_object() ? find_quantization(*json, prefix) : nullptr;
  if (quantization == nullptr) return;
  add_claim(loaded, read_quantization_config(*quantization, prefix, kConfig));
}

void read_hf_quant(Loaded& loaded) {
  if (!loaded.directory.contains(kHfQuant)) return;
  const auto json = read_json(loaded.directory, kHfQuant);
  if (!json) {
    add_error(loaded, json.error());
    return;
  }
  add_claim(loaded, read_hf_quant_config(*json, kHfQuant));
}

void read_generation(Loaded& loaded) {
  if (!loaded.config || !loaded.directory.contains(kGeneration)) return;
  const auto json = read_json(loaded.directory, kGeneration);
  if (!json) {
    add_error(loaded, json.error());
    return;
  }
  auto generation = read_generation_config(*json, kGeneration, *loaded.config);
  if (!generation) {
    add_error(loaded, std::move(generation).error());
    return;
  }
  loaded.generation = *std::move(generation);
}

void report_config(Loaded& loaded) {
  if (!loaded.config) return;
  ModelConfig& config = *loaded.config;
  for (const QuantClaim& claim : loaded.claims) {
    config.unread_keys.insert(config.unread_keys.end(), claim.unread_keys.begin(),
                              claim.unread_keys.end());
  }
  for (const std::string& key : config.unread_keys) {
    loaded.log.add({.severity = Severity::kWarning,
                    .error = {.kind = ErrorKind::kUnsupported,
                              .rule = "config.unread",
                              .object = "key " + utf8::escape_for_display(key),
                              .found = "a key that nothing reads",
                              .source = std::string(kConfig)}});
  }
  for (const std::string& warning : config.warnings) {
    loaded.log.add(
        {.severity = Severity::kWarning,
         .error = {.rule = "config.warning", .object = warning, .source = std::string(kConfig)}});
  }
}

}  // namespace

Loaded::Loaded(Directory directory_in, bool allow_nonfinite)
    : directory(std::move(directory_in)),
      log(allow_nonfinite),
      shards(read_shards(directory, log)) {}

Expected<Loaded> load(const std::filesystem::path& path, bool allow_nonfinite) {
  PELLUCID_TRY(Directory directory, Directory::open(path));
  Loaded loaded(std::move(directory), allow_nonfinite);
  read_config(loaded);
  read_hf_quant(loaded);
  read_generation(loaded);
  report_config(loaded);
  verify(loaded);
  return loaded;
}

}  // namespace pellucid::checkpoint
