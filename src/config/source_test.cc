// The three sources: exact origins, and one error per malformed input that names both sides and the
// nearest known name.

#include "config/source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/device_catalog.h"
#include "config/logit_bias.h"
#include "config/nearest.h"

namespace pellucid::config {
namespace {

using testing::HasSubstr;

TEST(Sources, EveryFlagVariableAndTomlKeyOfTheTableIsReadWithItsOrigin) {
  for (const Setting& setting : settings_table()) {
    const std::string typed = setting.type == Type::kBool     ? "true"
                              : setting.type == Type::kSize   ? "1GB"
                              : setting.check_item != nullptr ? "3=1"
                              : !setting.choices.empty()      ? std::string(setting.choices[0])
                                                              : "1";
    for (const Flag& flag : setting.flags) {
      const std::string text = flag.implied ? std::string(*flag.implied) : typed;
      const std::vector<FlagUse> uses = {
          {.name = std::string(flag.name), .text = text, .position = 7}};
      const auto read = read_flags(uses);
      ASSERT_TRUE(read.has_value()) << read.error().to_string();
      EXPECT_EQ(read->front().origin, "argv[7] " + std::string(flag.name));
      EXPECT_EQ(read->front().setting, &setting);
    }
    const std::vector<EnvVariable> variables = {{"HOME", "/root"}, {setting.variable(), typed}};
    const auto environment = read_variables(variables);
    ASSERT_TRUE(environment.has_value()) << environment.error().to_string();
    ASSERT_EQ(environment->size(), 1U);
    EXPECT_EQ(environment->front().origin, setting.variable());

    const std::string key(setting.key.substr(setting.key.find('.') + 1));
    const std::string section(setting.key.substr(0, setting.key.find('.')));
    const bool bare =
        setting.type == Type::kBool || setting.type == Type::kInt || setting.type == Type::kReal;
    std::string value = bare ? typed : "\"" + typed + "\"";
    if (setting.type == Type::kTextList) value = "[" + value + "]";
    const auto toml =
        read_toml("# a comment\n[" + section + "]\n" + key + " = " + value + "\n", "run.toml");
    ASSERT_TRUE(toml.has_value()) << toml.error().to_string();
    ASSERT_EQ(toml->size(), 1U);
    EXPECT_THAT(toml->front().origin, HasSubstr("run.toml:3:"));
    EXPECT_EQ(toml->front().value, environment->front().value) << setting.key;
  }
}

TEST(Sources, DottedKeysAndIntegersForSizesAreRead) {
  const auto read = read_toml("memory.budget = 1000\nengine.threads = \"auto\"\n", "a.toml");
  ASSERT_TRUE(read.has_value()) << read.error().to_string();
  EXPECT_EQ((*read)[0].origin, "a.toml:2:18");
  EXPECT_TRUE(is_auto((*read)[0].value));
  EXPECT_EQ((*read)[1].value, Value(Bytes{1000}));
}

struct BadToml {
  std::string_view text;
  std::string_view rule;
  std::string_view source;
  std::string_view says;
};

TEST(Sources, MalformedFilesNameTheLineAndTheFix) {
  const BadToml cases[] = {
      {"[engine]\nthreds = 2\n", "unknown_setting", "f.toml:2:1", "did you mean engine.threads"},
      {"[engin]\nthreads = 2\n", "unknown_setting", "f.toml:1:", "engin"},
      {"[engine]\nthreads = \"two\"\n", "setting_value", "f.toml:2:11", "a whole number"},
      {"[engine]\nthreads = 2.5\n", "setting_value", "f.toml:2:11", "a float 2.5"},
      {"[engine]\nthreads = 4096\n", "setting_value", "f.toml:2:11", "from 1 to 1024"},
      {"[kv]\ndtype = \"bf61\"\n", "setting_value", "f.toml:2:9", "did you mean bf16"},
      {"[kv]\ndtype = [\"bf16\"]\n", "setting_value", "f.toml:2:9", "an array"},
      {"[chat]\nthinking = \"yes\"\n", "setting_value", "f.toml:2:12", "true or false"},
      {"[chat]\nthinking = 1979-05-27\n", "setting_value", "f.toml:2:12", "a date or time"},
      {"[sampling]\ntop_p = nan\n", "setting_value", "f.toml:2:9", "above 0, at most 1"},
      {"[sampling]\nlogit_bias = [\"x\"]\n", "setting_value", "f.toml:2:15", "ID=BIAS"},
      {"[sampling]\nlogit_bias = \"1=2\"\n", "setting_value", "f.toml:2:14", "repeatable"},
      {"[engine]\nthreads = \n", "toml_syntax", "f.toml:2:", "TOML 1.0"},
      {"[engine]\nthreads = 1\nthreads = 2\n", "toml_syntax", "f.toml:3:", "TOML 1.0"},
      {"[`ng[", "toml_syntax", "f.toml:1:", "TOML 1.0"},  // an assertion of toml++ 3.3
      {"[engine]\nthreads = 1 é\n", "toml_syntax", "f.toml:2:", "TOML 1.0"},
      {"engine = 3\n", "unknown_setting", "f.toml:1:1", "engine"},
      {"\xff\xfe", "toml_syntax", "f.toml:1:", "TOML 1.0"},
  };
  for (const BadToml& c : cases) {
    const auto read = read_toml(c.text, "f.toml");
    ASSERT_FALSE(read.has_value()) << c.text;
    EXPECT_EQ(read.error().rule, c.rule) << c.text;
    EXPECT_THAT(read.error().source, HasSubstr(std::string(c.source))) << c.text;
    EXPECT_THAT(read.error().to_string(), HasSubstr(std::string(c.says))) << c.text;
  }
}

struct BadFlag {
  std::string_view name;
  std::string_view text;
  std::string_view says;
};

TEST(Sources, MalformedFlagsNameThePositionAndWhatIsAccepted) {
  const BadFlag cases[] = {
      {"--threads", "-3", "from 1 to 1024, or auto"},
      {"--threads", "2x", "a whole number"},
      {"--threads", "", "a whole number"},
      {"--threads", "99999999999999999999", "a whole number"},
      {"--kernels", "quantum", "one of reference, generic, avx2"},
      {"--kernels", "avx", "did you mean avx2"},
      {"--temperature", "-1", "from 0 to 100"},
      {"--temperature", "nan", "from 0 to 100"},
      {"--temperature", "inf", "from 0 to 100"},
      {"--temperature", "hot", "a number"},
      {"--top-p", "0", "above 0, at most 1"},
      {"--top-logprobs", "21", "from 0 to 20"},
      {"--max-tokens", "0", "a whole number"},
      {"--memory-budget", "96GX", "a size of memory"},
      {"--memory-budget", "-1", "a size of memory"},
      {"--logit-bias", "abc", "ID=BIAS"},
      {"--logit-bias", "1=101", "ID=BIAS"},
      {"--kv-dtype", "BF16", "one of bf16, f32"},
  };
  for (const BadFlag& c : cases) {
    const std::vector<FlagUse> uses = {
        {.name = std::string(c.name), .text = std::string(c.text), .position = 5}};
    const auto read = read_flags(uses);
    ASSERT_FALSE(read.has_value()) << c.name << " " << c.text;
    EXPECT_EQ(read.error().rule, "setting_value");
    EXPECT_EQ(read.error().source, "argv[5] " + std::string(c.name));
    EXPECT_THAT(read.error().to_string(), HasSubstr(std::string(c.says))) << c.name;
    EXPECT_THAT(read.error().found, HasSubstr(std::string(c.text)));
  }
}

TEST(Sources, UnknownNamesSuggestTheNearest) {
  const std::vector<FlagUse> uses = {{.name = "--treads", .text = "2", .position = 2}};
  const auto flags = read_flags(uses);
  ASSERT_FALSE(flags.has_value());
  EXPECT_THAT(flags.error().to_string(), HasSubstr("did you mean --threads"));

  const std::vector<EnvVariable> variables = {{"PELLUCID_ENGINE_THREAD", "2"}};
  const auto environment = read_variables(variables);
  ASSERT_FALSE(environment.has_value());
  EXPECT_EQ(environment.error().rule, "unknown_variable");
  EXPECT_THAT(environment.error().to_string(), HasSubstr("did you mean PELLUCID_ENGINE_THREADS"));

  const std::vector<EnvVariable> bad = {{"PELLUCID_KV_DTYPE", "f16"}};
  const auto value = read_variables(bad);
  ASSERT_FALSE(value.has_value());
  EXPECT_EQ(value.error().source, "PELLUCID_KV_DTYPE");
  EXPECT_THAT(value.error().to_string(), HasSubstr("one of bf16, f32"));
}

TEST(Sources, ChangesAreReadByKeyOrFlag) {
  for (const char* text : {"engine.threads=3", "threads=3", "--threads=3"}) {
    const auto change = read_change(text);
    ASSERT_TRUE(change.has_value()) << text;
    EXPECT_EQ(change->setting->key, "engine.threads");
    EXPECT_EQ(change->value, Value(std::int64_t{3}));
  }
  EXPECT_EQ(read_change("greedy")->value, Value(0.0));
  EXPECT_EQ(read_change("threads").error().rule, "what_if");
  EXPECT_THAT(read_change("thread=3").error().to_string(), HasSubstr("did you mean"));
  EXPECT_EQ(read_change("").error().rule, "unknown_setting");
  EXPECT_EQ(read_change("=3").error().rule, "unknown_setting");
}

TEST(Devices, NamesMemoryAndCount) {
  const auto device = parse_device("sm_120:96GB x8", "test");
  ASSERT_TRUE(device.has_value());
  EXPECT_EQ(device->count, 8);
  EXPECT_EQ(device->memory_total, 96'000'000'000);
  EXPECT_EQ(device->capability_major, 12);
  for (const std::string_view name : device_names()) {
    EXPECT_TRUE(parse_device(name, "test").has_value()) << name;
  }
  for (const char* bad : {"sm_120:", "sm_120:x8", "sm_120 x0", "sm_120 x", "sm_120:0GB", "", ":1GB",
                          "sm_120 x99999"}) {
    EXPECT_FALSE(parse_device(bad, "test").has_value()) << bad;
  }
  const auto unknown = parse_device("sm_12", "test");
  ASSERT_FALSE(unknown.has_value());
  EXPECT_THAT(unknown.error().fix, HasSubstr("did you mean sm_120"));
}

TEST(Values, SizesParseAndPrint) {
  EXPECT_EQ(parse_size("96GB")->count, 96'000'000'000);
  EXPECT_EQ(parse_size("1.5 GiB")->count, 1'610'612'736);
  EXPECT_EQ(parse_size("4096")->count, 4096);
  for (const char* bad : {"", "GB", "-1", "1e3", "1 gb", "nan", "inf", "99999999999TB", "1GBx"}) {
    EXPECT_FALSE(parse_size(bad).has_value()) << bad;
  }
  EXPECT_EQ(format_size(999), "999 B");
  EXPECT_EQ(format_size(1000), "1 KB");
  EXPECT_EQ(format_size(999'600), "1 MB");
  EXPECT_EQ(format_size(123'456'789), "123 MB");
  EXPECT_EQ(format_size(1'250'000'000), "1.25 GB");
}

TEST(Values, LogitBiasItems) {
  EXPECT_EQ(parse_logit_bias("12=-1.5")->token, 12);
  EXPECT_EQ(parse_logit_bias("12=-1.5")->bias, -1.5);
  for (const char* bad : {"", "12", "=1", "12=", "-1=1", "1=nan", "1=inf", "1=1x", "1 =1"}) {
    EXPECT_FALSE(parse_logit_bias(bad).has_value()) << bad;
  }
}

TEST(Nearest, DistanceAndSuggestion) {
  EXPECT_EQ(edit_distance("threads", "treads"), 1U);
  EXPECT_EQ(edit_distance("bf61", "bf16"), 1U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  const std::string_view names[] = {"threads", "chunk"};
  EXPECT_EQ(nearest("thraeds", names), "threads");
  EXPECT_EQ(nearest("zzzzzz", names), "");
}

}  // namespace
}  // namespace pellucid::config
