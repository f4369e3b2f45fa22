// The names that rules may ask for: settings, and facts of the model, the device and the
// environment.

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "peers/evaluation.h"

namespace pellucid::peers {
namespace {

Term known(std::string value) {
  return {.known = true, .set = true, .value = std::move(value)};
}
Term known(bool value) {
  return known(std::string(value ? "true" : "false"));
}

Term known_if(const std::string& value) {
  return value.empty() ? Term{} : known(value);
}

template <class T>
Term known_if(const std::optional<T>& value) {
  return value ? known(fmt::format("{}", *value)) : Term{};
}

}  // namespace

Term Evaluation::term(std::string_view name) const {
  const Cell* c = cell(name);
  if (c == nullptr) return fact(name);
  return {.known = c->setting.covered,
          .by_user = c->by_user,
          .set = c->setting.source != Source::kDefault,
          .value = c->setting.value};
}

Term Evaluation::fact(std::string_view name) const {
  if (name.starts_with("model.")) return model_fact(name.substr(6));
  if (name.starts_with("device.")) return device_fact(name.substr(7));
  for (const Variable& v : variables_) {
    if (name.starts_with("env.") && v.name == name.substr(4)) return known(v.value);
  }
  return known(std::string());
}

Term Evaluation::model_fact(std::string_view name) const {
  const ModelFacts& m = query_.model;
  if (name == "architecture") return architecture_ == nullptr ? Term{} : known(m.architecture);
  if (name == "dtype") return known_if(m.dtype);
  if (name == "index_topk") return known_if(m.index_topk);
  if (name == "attention_heads") return known_if(m.attention_heads);
  if (name == "quantization") return known_if(m.quantization);
  if (name == "kv_scales") return m.kv_scales ? known(*m.kv_scales) : Term{};
  if (name == "kv_cache_quant") return known_if(m.kv_cache_quant);
  if (architecture_ == nullptr) return {};
  if (name == "mla") return known(architecture_->mla);
  if (name == "deepseek") return known(architecture_->deepseek);
  if (name == "dsa" && !architecture_->dsa) return known(false);
  if (name == "dsa" && m.index_topk) return known(*m.index_topk > 0);
  return {};
}

Term Evaluation::device_fact(std::string_view name) const {
  if (device_ == nullptr) return {};
  const std::int32_t capability = device_->compute_capability;
  if (name == "sm") return known(fmt::format("{}", capability));
  if (name == "major") return known(fmt::format("{}", capability / 10));
  if (name == "capability") return known(fmt::format("{}.{}", capability / 10, capability % 10));
  if (name == "count") return known(fmt::format("{}", device_->count));
  if (name == "memory_gib" && device_->memory_bytes) {
    return known(fmt::format("{}", *device_->memory_bytes >> 30));
  }
  return {};
}

std::string Evaluation::why_unknown(std::string_view name) const {
  if (name.starts_with("device.") && query_.device && device_ == nullptr) {
    return fmt::format("sm_{} is not a device that this pack knows",
                       query_.device->compute_capability);
  }
  if (name.starts_with("device.")) {
    return query_.device ? fmt::format("depends on {}, which is not given", name)
                         : std::string("depends on the device, which is not given");
  }
  const bool by_architecture = name == "model.architecture" || name == "model.mla" ||
                               name == "model.dsa" || name == "model.deepseek";
  if (by_architecture && architecture_ == nullptr && !query_.model.architecture.empty()) {
    return fmt::format("{} is not an architecture that this pack knows on {}",
                       utf8::escape_for_display(query_.model.architecture), to_string(*date_));
  }
  if (const Cell* c = cell(name); c != nullptr) {
    return fmt::format("depends on {}, which is not covered ({})", name, c->setting.reason);
  }
  return fmt::format("depends on {}, which is not given", name);
}

}  // namespace pellucid::peers
