#include "checkpoint/modules.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pellucid::checkpoint {
namespace {

std::vector<TensorInfo> tensors_named(const std::vector<std::string_view>& names) {
  std::vector<TensorInfo> out;
  for (const std::string_view name : names) {
    out.push_back(
        {.name = name, .dtype = tensor::DType::kU8, .shape = {}, .bytes = {}, .shard = 0});
  }
  return out;
}

TEST(TensorTable, FindsEveryTensorInAnyOrderAndNoOther) {
  const auto tensors = tensors_named({"a.weight", "b.weight", "a.weight_scale", "a.b.weight",
                                      "gate.bias", "weight", "a.b", ".weight"});
  std::vector<const TensorInfo*> repeated;
  const TensorTable table(tensors, repeated);
  EXPECT_TRUE(repeated.empty());
  EXPECT_EQ(table.size(), tensors.size());
  TensorTable::Reader reader(table);
  for (const TensorInfo& first : tensors) {
    for (const TensorInfo& second : tensors) {
      EXPECT_EQ(reader.find(first.name), &first) << first.name;
      EXPECT_EQ(reader.find(second.name), &second) << first.name << " then " << second.name;
    }
    for (const char* absent : {"", ".", "a", "b.weight_scale", "c.weight", "a.weights", "bias"}) {
      EXPECT_EQ(reader.find(absent), nullptr) << absent;
      EXPECT_EQ(table.find(absent), nullptr) << absent;
    }
  }
  EXPECT_EQ(table.find_module("a")->part(Part::kWeightScale), &tensors[2]);
  EXPECT_EQ(table.find_module("gate"), nullptr);
}

TEST(TensorTable, KeepsTheFirstOfOneNameAndListsTheOthers) {
  const auto tensors = tensors_named({"a.weight", "x", "a.weight_scale", "a.weight", "x", "x"});
  std::vector<const TensorInfo*> repeated;
  const TensorTable table(tensors, repeated);
  EXPECT_EQ(repeated, (std::vector<const TensorInfo*>{&tensors[3], &tensors[4], &tensors[5]}));
  EXPECT_EQ(table.size(), 3U);
  EXPECT_EQ(table.find("a.weight"), &tensors[0]);
  EXPECT_EQ(table.find("x"), &tensors[1]);
}

}  // namespace
}  // namespace pellucid::checkpoint
