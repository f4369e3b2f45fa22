// Once a sequence exists, steps and samples allocate nothing: counted by the operators below, which
// replace those of the whole program.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "golden.h"
#include "recorder.h"

namespace {
std::atomic<std::int64_t> allocations = 0;

void* counted(std::size_t bytes) {
  ++allocations;
  if (void* out = std::malloc(bytes == 0 ? 1 : bytes)) return out;
  throw std::bad_alloc();
}
}  // namespace

void* operator new(std::size_t bytes) {
  return counted(bytes);
}
void* operator new[](std::size_t bytes) {
  return counted(bytes);
}
void operator delete(void* pointer) noexcept {
  std::free(pointer);
}
void operator delete[](void* pointer) noexcept {
  std::free(pointer);
}
void operator delete(void* pointer, std::size_t) noexcept {
  std::free(pointer);
}
void operator delete[](void* pointer, std::size_t) noexcept {
  std::free(pointer);
}

namespace pellucid::golden {
namespace {

TEST(Allocation, CounterCounts) {
  const std::int64_t before = allocations;
  delete new int(1);
  EXPECT_GT(allocations, before);
}

TEST(Allocation, StepsAndSamplesAllocateNothing) {
  std::vector<std::int32_t> prompt(80);  // beyond index_topk
  for (std::size_t i = 0; i < prompt.size(); ++i) prompt[i] = static_cast<std::int32_t>(i * 7);
  for (const kernels::OpTable* table : kernels::available_ops()) {
    for (const auto form : {model::AttentionForm::kAbsorbed, model::AttentionForm::kExpanded}) {
      engine::EngineOptions options;
      options.ops = table->name;
      options.threads = 1;
      options.attention_form = form;
      options.context_max = 256;
      options.chunk_tokens = 32;
      auto engine = load(source_path("models/tiny"), options);
      ASSERT_TRUE(engine);
      auto sequence = engine->new_sequence();
      ASSERT_TRUE(sequence);
      sampler::SamplingParams params;
      params.top_p = 0.9;
      params.min_p = 0.01;
      params.top_logprobs = 20;
      auto sampler = sampler::Sampler::create(params, kRealVocab);
      ASSERT_TRUE(sampler);

      const std::int64_t before = allocations;
      auto logits = engine->prefill(*sequence, prompt);
      bool ok = logits.has_value();
      for (int step = 0; ok && step < 3; ++step) {
        const auto sample = sampler->sample(*logits);
        ok = sample.has_value();
        if (ok) logits = engine->decode(*sequence, sample->token);
        ok = ok && logits.has_value();
      }
      EXPECT_EQ(allocations - before, 0) << table->name;
      EXPECT_TRUE(ok);
    }
  }
}

}  // namespace
}  // namespace pellucid::golden
