#include "checkpoint/formats.h"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>

namespace pellucid::checkpoint {
namespace {

using tensor::DType;
using tensor::Element;
using tensor::Scale;

/// The tensors of one module "m", with bytes of their own.
class Parts {
 public:
  Parts& add(Part part, DType dtype, std::vector<std::uint64_t> shape) {
    std::uint64_t bits = static_cast<std::uint64_t>(tensor::bits(dtype));
    for (const std::uint64_t dim : shape) bits *= dim;
    std::vector<std::byte>& bytes = bytes_.emplace_back(bits / 8);
    const std::string& name = names_.emplace_back("m." + std::string(part_name(part)));
    tensors_.push_back(
        {.name = name, .dtype = dtype, .shape = Shape(shape), .bytes = bytes, .shard = 0});
    module_.parts[static_cast<std::size_t>(part)] = &tensors_.back();
    return *this;
  }
  Parts& scalar(Part part, float value, std::vector<std::uint64_t> shape = {}) {
    add(part, DType::kF32, std::move(shape));
    std::memcpy(bytes_.back().data(), &value, sizeof(value));
    return *this;
  }
  Parts& weight_shape(std::int64_t rows, std::int64_t cols) {
    add(Part::kWeightShape, DType::kI64, {2});
    const std::int64_t stored[] = {rows, cols};
    std::memcpy(bytes_.back().data(), stored, sizeof(stored));
    return *this;
  }

  [[nodiscard]] Expected<ResolvedWeight> resolve(std::int64_t rows, std::int64_t cols) const {
    return resolve_weight(shards(), module_, "m", rows, cols);
  }
  [[nodiscard]] std::string rule(std::int64_t rows, std::int64_t cols) const {
    const auto resolved = resolve(rows, cols);
    return resolved ? "accepted" : resolved.error().rule;
  }
  [[nodiscard]] std::string scalar_rules(Format format) const {
    ProblemLog log;
    check_scalars(shards(), module_, format, log);
    std::string out;
    for (const Problem& problem : log.problems()) {
      out += (out.empty() ? "" : " ") + problem.error.rule + ":" + problem.tensor;
    }
    return out;
  }
  [[nodiscard]] const std::byte* bytes(Part part) const { return module_.part(part)->bytes.data(); }

 private:
  /// Errors name the file of a tensor; any regular file will do.
  static const Shards& shards() {
    static const Shards& out = []() -> const Shards& {
      static Shards shards;
      auto directory = Directory::open(PELLUCID_SOURCE_DIR "/models/tiny");
      shards.files.push_back(*MappedFile::open(*directory, "config.json"));
      return shards;
    }();
    return out;
  }

  std::deque<std::vector<std::byte>> bytes_;
  std::deque<std::string> names_;
  std::deque<TensorInfo> tensors_;
  Module module_;
};

Parts nvfp4() {
  Parts parts;
  parts.add(Part::kWeight, DType::kU8, {4, 16}).add(Part::kWeightScale, DType::kF8E4M3, {4, 2});
  parts.scalar(Part::kWeightScale2, 1e-4F).scalar(Part::kInputScale, 2e-3F);
  return parts;
}

Parts nvfp4_packed(float global) {
  Parts parts;
  parts.add(Part::kWeightPacked, DType::kU8, {4, 16});
  parts.add(Part::kWeightScale, DType::kF8E4M3, {4, 2});
  parts.scalar(Part::kWeightGlobalScale, global, {1});
  return parts;
}

Parts int4(std::uint64_t groups) {
  Parts parts;
  parts.add(Part::kWeightPacked, DType::kI32, {4, 16});
  parts.add(Part::kWeightScale, DType::kBf16, {4, groups}).weight_shape(4, 128);
  return parts;
}

TEST(Formats, EachFormBecomesItsView) {
  const Parts modelopt = nvfp4();
  auto resolved = modelopt.resolve(4, 32);
  ASSERT_TRUE(resolved) << resolved.error().to_string();
  EXPECT_EQ(resolved->format, Format::kNvfp4ModelOpt);
  EXPECT_EQ(resolved->view.element, Element::kE2M1);
  EXPECT_EQ(resolved->view.scale, Scale::kE4M3);
  EXPECT_EQ(resolved->view.block_cols, 16);
  EXPECT_EQ(resolved->view.global_scale, 1e-4F);
  EXPECT_FALSE(resolved->view.global_divides);
  EXPECT_EQ(resolved->view.codes, modelopt.bytes(Part::kWeight));
  EXPECT_EQ(resolved->view.scales, modelopt.bytes(Part::kWeightScale));

  const Parts packed = nvfp4_packed(1e4F);
  resolved = packed.resolve(4, 32);
  ASSERT_TRUE(resolved) << resolved.error().to_string();
  EXPECT_EQ(resolved->format, Format::kNvfp4Packed);
  EXPECT_EQ(resolved->view.global_scale, 1e4F);
  EXPECT_TRUE(resolved->view.global_divides);

  for (const std::uint64_t groups : {4U, 2U}) {
    resolved = int4(groups).resolve(4, 128);
    ASSERT_TRUE(resolved) << resolved.error().to_string();
    EXPECT_EQ(resolved->format, Format::kInt4);
    EXPECT_EQ(resolved->view.element, Element::kInt4);
    EXPECT_EQ(resolved->view.scale, Scale::kBf16);
    EXPECT_EQ(resolved->view.block_cols, 128 / static_cast<std::int64_t>(groups));
  }

  Parts block;
  block.add(Part::kWeight, DType::kF8E4M3, {576, 200});
  block.add(Part::kWeightScaleInv, DType::kF32, {5, 2});
  resolved = block.resolve(576, 200);
  ASSERT_TRUE(resolved) << resolved.error().to_string();
  EXPECT_EQ(resolved->format, Format::kFp8Block);
  EXPECT_EQ(resolved->view.block_rows, 128);
  EXPECT_EQ(resolved->view.scale, Scale::kF32);

  Parts tensor_wide;
  tensor_wide.add(Part::kWeight, DType::kF8E4M3, {3, 5}).scalar(Part::kWeightScale, 0.5F, {1});
  resolved = tensor_wide.resolve(3, 5);
  ASSERT_TRUE(resolved) << resolved.error().to_string();
  EXPECT_EQ(resolved->format, Format::kFp8Tensor);
  EXPECT_EQ(resolved->view.scale, Scale::kNone);
  EXPECT_EQ(resolved->view.global_scale, 0.5F);
}

TEST(Formats, ScalesInPowersOfTwoHaveTwoSpellings) {
  for (const DType dtype : {DType::kF8E8M0, DType::kU8}) {
    Parts block;
    block.add(Part::kWeight, DType::kF8E4M3, {8, 8}).add(Part::kWeightScaleInv, dtype, {1, 1});
    const auto resolved = block.resolve(8, 8);
    ASSERT_TRUE(resolved) << resolved.error().to_string();
    EXPECT_EQ(resolved->format, Format::kFp8BlockUe8m0);
    EXPECT_EQ(resolved->view.scale, Scale::kUe8m0);
    Parts mx;
    mx.add(Part::kWeightPacked, DType::kU8, {2, 32}).add(Part::kWeightScale, dtype, {2, 2});
    const auto mxfp4 = mx.resolve(2, 64);
    ASSERT_TRUE(mxfp4) << mxfp4.error().to_string();
    EXPECT_EQ(mxfp4->format, Format::kMxfp4);
    EXPECT_EQ(mxfp4->view.block_cols, 32);
  }
}

TEST(Formats, RefusesByRule) {
  const auto parts = [](auto build) {
    Parts out;
    build(out);
    return out;
  };
  const struct {
    const char* what;
    Parts module;
    std::int64_t rows, cols;
    const char* rule;
  } cases[] = {
      {"nothing but a scale", parts([](Parts& p) { p.scalar(Part::kWeightScale, 1); }), 4, 32,
       "format"},
      {"u8 without scales", parts([](Parts& p) { p.add(Part::kWeight, DType::kU8, {4, 16}); }), 4,
       32, "format"},
      {"fp8 without a scale",
       parts([](Parts& p) { p.add(Part::kWeight, DType::kF8E4M3, {4, 32}); }), 4, 32, "format"},
      {"e5m2", parts([](Parts& p) { p.add(Part::kWeight, DType::kF8E5M2, {4, 32}); }), 4, 32,
       "format"},
      {"bf16 with a scale", parts([](Parts& p) {
         p.add(Part::kWeight, DType::kBf16, {4, 32}).scalar(Part::kWeightScale, 1);
       }),
       4, 32, "format"},
      {"zero points",
       [] {
         Parts p = int4(4);
         p.add(Part::kWeightZeroPoint, DType::kI32, {4, 1});
         return p;
       }(),
       4, 128, "format"},
      {"two global scales",
       [] {
         Parts p = nvfp4();
         p.scalar(Part::kWeightGlobalScale, 1e4F);
         return p;
       }(),
       4, 32, "format"},
      {"another shape", parts([](Parts& p) { p.add(Part::kWeight, DType::kBf16, {4, 31}); }), 4, 32,
       "tensor_shape"},
      {"transposed", parts([](Parts& p) { p.add(Part::kWeight, DType::kBf16, {32, 4}); }), 4, 32,
       "tensor_shape"},
      {"three dimensions", parts([](Parts& p) { p.add(Part::kWeight, DType::kBf16, {1, 4, 32}); }),
       4, 32, "tensor_shape"},
      {"unpacked u8", nvfp4(), 4, 16, "tensor_shape"},
      {"columns that do not fill a block", nvfp4(), 4, 24, "tensor_shape"},
      {"int8 codes", int4(4), 4, 64, "tensor_shape"},
      {"group of 5 columns", int4(3), 4, 128, "scale_shape"},
      {"group of 8 columns", int4(16), 4, 128, "scale_shape"},
      {"one block row too few", parts([](Parts& p) {
         p.add(Part::kWeight, DType::kF8E4M3, {129, 128});
         p.add(Part::kWeightScaleInv, DType::kF32, {1, 1});
       }),
       129, 128, "scale_shape"},
      {"per-channel fp8", parts([](Parts& p) {
         p.add(Part::kWeight, DType::kF8E4M3, {4, 32}).add(Part::kWeightScale, DType::kF32, {4, 1});
       }),
       4, 32, "scale_shape"},
      {"a bf16 tensor scale", parts([](Parts& p) {
         p.add(Part::kWeight, DType::kF8E4M3, {4, 32}).add(Part::kWeightScale, DType::kBf16, {});
       }),
       4, 32, "dtype"},
  };
  for (const auto& c : cases) EXPECT_EQ(c.module.rule(c.rows, c.cols), c.rule) << c.what;

  Parts shape;
  shape.add(Part::kWeightPacked, DType::kI32, {4, 16});
  shape.add(Part::kWeightScale, DType::kBf16, {4, 4}).weight_shape(4, 127);
  EXPECT_EQ(shape.rule(4, 128), "weight_shape");
}

TEST(Formats, ErrorsSayWhatIsThereAndWhatWouldDo) {
  Parts parts;
  parts.add(Part::kWeight, DType::kU8, {4, 16}).scalar(Part::kWeightScale2, 1);
  const Error error = parts.resolve(4, 32).error();
  EXPECT_EQ(error.object, "tensor m.weight");
  EXPECT_EQ(error.found, "weight U8 [4, 16], weight_scale_2 F32 []");
  EXPECT_EQ(error.expected, "weight + weight_scale + weight_scale_2 (nvfp4_modelopt)");
}

TEST(Formats, ScalarsMustBeUsable) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const float bad : {kNan, -kNan, kInf, -kInf, 0.0F, -0.0F, -1e-4F, 1e-40F}) {
    Parts parts;
    parts.add(Part::kWeight, DType::kU8, {4, 16}).add(Part::kWeightScale, DType::kF8E4M3, {4, 2});
    parts.scalar(Part::kWeightScale2, bad);
    EXPECT_EQ(parts.scalar_rules(Format::kNvfp4ModelOpt).substr(0, 28),
              "scale_value:m.weight_scale_2")
        << bad;
  }
  EXPECT_EQ(nvfp4().scalar_rules(Format::kNvfp4ModelOpt), "");
  EXPECT_EQ(nvfp4_packed(1e4F).scalar_rules(Format::kNvfp4Packed), "");
  EXPECT_EQ(nvfp4_packed(1e-4F).scalar_rules(Format::kNvfp4Packed),
            "scale_reciprocal:m.weight_global_scale");
  EXPECT_EQ(nvfp4_packed(0).scalar_rules(Format::kNvfp4Packed),
            "scale_value:m.weight_global_scale");
  Parts wide;
  wide.add(Part::kWeight, DType::kF8E4M3, {3, 5}).scalar(Part::kWeightScale, 3.0F);
  EXPECT_EQ(wide.scalar_rules(Format::kFp8Tensor), "");
}

}  // namespace
}  // namespace pellucid::checkpoint
