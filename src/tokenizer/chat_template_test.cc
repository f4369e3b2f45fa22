#include "tokenizer/chat_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "base/json.h"

namespace pellucid::tokenizer {
namespace {

using ::testing::HasSubstr;

const std::filesystem::path kSource = PELLUCID_SOURCE_DIR;
const std::filesystem::path kGolden = kSource / "tests/golden/templates";
constexpr std::int64_t kGoldenTime = 1'700'000'000;

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

json::Value read_rows(const char* name) {
  auto document = json::parse(read_file(kGolden / name), name);
  EXPECT_TRUE(document.has_value()) << document.error().to_string();
  const json::Value* rows = document ? document->find("rows") : nullptr;
  EXPECT_NE(rows, nullptr);
  return rows == nullptr ? json::Value(json::Array{}) : *rows;
}

Expected<std::string> render(std::string_view text, const json::Value& variables) {
  PELLUCID_TRY(const auto parsed, ChatTemplate::parse(text, "t"));
  return parsed.render(variables, kGoldenTime);
}

Expected<std::string> render(std::string_view text) {
  return render(text, json::Value(json::Object{}));
}

/// Compares with a golden outcome: the same text, or an error where Python raised one.
void expect_outcome(const Expected<std::string>& actual, const json::Value& golden,
                    const std::string& what) {
  const json::Value* text = golden.find("text");
  if (text == nullptr) {
    EXPECT_FALSE(actual.has_value()) << what << "\nPython raised " << golden.find("error")->string()
                                     << "\nrendered: " << actual.value_or("");
    return;
  }
  ASSERT_TRUE(actual.has_value()) << what << "\n" << actual.error().to_string();
  EXPECT_EQ(*actual, text->string()) << what;
}

TEST(ChatTemplateGolden, ConversationsEqualJinja2) {
  std::map<std::string, std::size_t> compared;
  std::map<std::string, ChatTemplate> templates;
  const json::Value rows = read_rows("conversations.json");
  for (const json::Value& row : rows.array()) {
    for (const auto& [name, golden] : row.find("rendered")->object()) {
      if (!templates.contains(name)) {
        const auto path = name.starts_with("models/") ? kSource / name : kGolden / name;
        auto parsed = ChatTemplate::parse(read_file(path), name);
        ASSERT_TRUE(parsed.has_value()) << parsed.error().to_string();
        templates.emplace(name, *std::move(parsed));
      }
      const auto actual = templates.at(name).render(*row.find("variables"), kGoldenTime);
      expect_outcome(actual, golden, name + " " + json::dump(*row.find("variables")));
      if (golden.find("text") != nullptr) ++compared[name];
    }
  }
  EXPECT_EQ(compared.size(), 5U);
  for (const auto& [name, count] : compared) EXPECT_GE(count, 200U) << name;
}

TEST(ChatTemplateGolden, FeaturesEqualJinja2) {
  std::size_t compared = 0;
  const json::Value rows = read_rows("features.json");
  for (const json::Value& row : rows.array()) {
    const std::string& text = row.find("template")->string();
    expect_outcome(render(text, *row.find("variables")), row, text);
    ++compared;
  }
  EXPECT_GE(compared, 600U);
}

struct ErrorCase {
  std::string text;
  std::string rule;
  std::string part;  ///< of the message
};

TEST(ChatTemplate, ErrorsNameRuleAndLine) {
  const std::vector<ErrorCase> cases = {
      {"a\n{% nope %}", "template_syntax", "t line 2: template: found 'nope'"},
      {"\n\n{{ 1 | nofilter }}", "template_syntax", "line 3: filter: found 'nofilter'"},
      {"{{ 1 is notest }}", "template_syntax", "test: found 'notest'"},
      {"{{ 'a", "template_syntax", "string: found no end"},
      {"{{ '\\ud800' }}", "template_syntax", "this code point"},
      {"{{ '\\N{BULLET}' }}", "template_syntax", "this escape"},
      {"{{ 9223372036854775808 }}", "template_syntax", "64-bit signed integer"},
      {"\xff", "template_syntax", "invalid UTF-8"},
      {"{% for i in [1] recursive %}{% endfor %}", "template_syntax", "not recursive"},
      {"{% for i in x %}{% macro m() %}{% endmacro %}{% endfor %}", "template_syntax", "top level"},
      {"{% macro m() %}{{ varargs }}{% endmacro %}", "template_syntax", "varargs"},
      {"{{ f(*x) }}", "template_syntax", "unpacking is not supported"},
      {"x\n{{ a.b }}", "template_error", "t line 2: attribute 'b': found an undefined value ('a')"},
      {"{{ a() }}", "template_error", "call of 'a'"},
      {"{{ [1].append(2) }}", "template_error", "call of 'append'"},
      {"{{ ''.__class__.__mro__ }}", "template_error", "'__class__'"},
      {"{{ cycler.__init__.__globals__ }}", "template_error", "'cycler'"},
      {"{{ lipsum() }}", "template_error", "'lipsum'"},
      {"{{ self._TemplateReference__context }}", "template_error", "'self'"},
      {"{{ 1 / 0 }}", "template_error", "zero"},
      {"{{ 1 // 0 }}", "template_error", "zero"},
      {"{{ 10 ** 10 ** 6 }}", "template_error", "64 bits"},
      {"{{ 9223372036854775807 + 1 }}", "template_error", "64 bits"},
      {"{{ -9223372036854775807 - 2 }}", "template_error", "64 bits"},
      {"{{ (-9223372036854775807 - 1) // -1 }}", "template_error", "64 bits"},
      {"{{ [1][::0] }}", "template_error", "step 0"},
      {"{{ '%1000000000d' % 1 }}", "template_error", "operator %"},
      {"{{ [1] | map('abs') }}", "template_error", "generator"},
      {"{{ strftime_now('%Q') }}", "template_error", "%Q"},
      {"{{ raise_exception('the message') }}", "template_rejected", "the message"},
      {"{{ range(10 ** 9) }}", "template_budget", "range"},
  };
  for (const ErrorCase& c : cases) {
    const auto result = render(c.text);
    ASSERT_FALSE(result.has_value()) << c.text << " gave " << *result;
    EXPECT_EQ(result.error().rule, c.rule) << c.text << "\n" << result.error().to_string();
    EXPECT_THAT(result.error().to_string(), HasSubstr(c.part)) << c.text;
  }
}

std::string repeated(std::string_view text, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += text;
  return out;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double kBombMs = 10'000;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr double kBombMs = 10'000;
#else
constexpr double kBombMs = 250;
#endif
#else
constexpr double kBombMs = 250;
#endif

TEST(ChatTemplate, BombsEndInTime) {
  const std::string double_s = "{% set s = s + s %}";
  const std::vector<ErrorCase> bombs = {
      {"{% for i in range(10 ** 9) %}x{% endfor %}", "template_budget", ""},
      {"{% for i in range(10000) %}{% for j in range(10000) %}{% endfor %}{% endfor %}",
       "template_budget", "template steps"},
      {"{% for i in range(10000) %}{% for j in range(10000) if j < 0 %}{% endfor %}{% endfor %}",
       "template_budget", "template steps"},
      {"{% for i in range(10000) %}{% for j in range(10000) %}{{ 'xxxxxxxxxxxxxxxx' }}{% endfor %}"
       "{% endfor %}",
       "template_budget", ""},
      {"{% set s = 'xx' %}" + repeated(double_s, 60) + "{{ s }}", "template_budget", "bytes"},
      {"{% set s = [1] %}" + repeated(double_s, 60), "template_budget", "bytes"},
      {"{% set ns = namespace(s='x') %}{% for i in range(60) %}{% set ns.s = ns.s ~ ns.s %}"
       "{% endfor %}",
       "template_budget", "bytes"},
      {"{{ 'a' * 10 ** 9 }}", "template_budget", "bytes"},
      {"{{ [0] * 10 ** 9 }}", "template_budget", "bytes"},
      {"{{ 'a' * 9223372036854775807 }}", "template_budget", "bytes"},
      {"{{ range(100000) | join('x' * 10000) }}", "template_budget", "bytes"},
      {"{{ ('x' * 1000000) | replace('', 'y' * 1000000) }}", "template_budget", ""},
      {"{{ ('x\n' * 1000000) | indent('y' * 100000) }}", "template_budget", ""},
      {"{% set x = 'a' * 1000000 %}{% set l = [x, x, x, x] %}{% set l = [l, l, l, l, l] %}"
       "{% set l = [l, l, l, l, l] %}{{ l | tojson }}",
       "template_budget", ""},
      {"{% set ns = namespace(l=[1]) %}{% for i in range(60) %}{% set ns.l = [ns.l, ns.l] %}"
       "{% endfor %}{{ ns.l | string }}",
       "template_budget", ""},
      {"{% set ns = namespace(l=[1]) %}{% for i in range(60) %}{% set ns.l = [ns.l, ns.l] %}"
       "{% endfor %}{{ ns.l == ns.l[:] }}",
       "template_budget", "template steps"},
      {"{% set ns = namespace(l=[]) %}{% for i in range(100000) %}{% set ns.l = [ns.l] %}"
       "{% endfor %}",
       "template_depth", "value"},
      {"{% set a = 'a' * 4000000 %}{% for i in range(100000) %}{{ (a ~ 'b') in a }}{% endfor %}",
       "template_budget", ""},
      {"{% set a = 'a' * 1000000 %}{% set b = 'b' ~ ('a' * 500000) %}{{ a.rfind(b) }}"
       "{{ a.rsplit(b) }}",
       "template_budget", "template steps"},
      {"{% set a = 'a' * 4000000 %}{% for i in range(100000) %}{{ a.upper() | length }}"
       "{% endfor %}",
       "template_budget", ""},
      {"{% set a = 'a ' * 4000000 %}{{ a.split() | length }}", "template_budget", ""},
      {"{% set a = ('a' * 1000000) | list %}{{ a | unique | list | length }}", "template_budget",
       ""},
      {"{% macro m(n) %}{{ m(n + 1) }}{% endmacro %}{{ m(0) }}", "template_depth", "evaluation"},
      {"{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{% endmacro %}{{ a() }}",
       "template_depth", "evaluation"},
      {"{% macro m(n) %}{% if n > 0 %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}"
       "{{ m(40) }}",
       "template_budget", "template steps"},
      {"{% macro m() %}{% for i in range(1000) %}{{ m() }}{% endfor %}{% endmacro %}{{ m() }}",
       "template_depth", ""},
      {"{% set ns = namespace() %}{% set ns.a = ns %}{% set ns.b = [ns] %}{{ ns.b }}",
       "template_error", "namespace"},
      {"{{ strftime_now('%n' * 1000000) }}", "template_budget", ""},
      {"{{ strftime_now('%c' * 1000000) }}", "template_budget", ""},
      {"{{ " + repeated("(", 20'000) + "1" + repeated(")", 20'000) + " }}", "template_depth", ""},
      {"{{ " + repeated("[", 20'000) + repeated("]", 20'000) + " }}", "template_depth", ""},
      {"{{ " + repeated("-", 20'000) + "1 }}", "template_depth", ""},
      {"{{ " + repeated("not ", 20'000) + "1 }}", "template_depth", ""},
      {"{{ 1" + repeated(" + 1", 20'000) + " }}", "template_depth", ""},
      {"{{ x" + repeated(".x", 20'000) + " }}", "template_depth", ""},
      {"{{ 1" + repeated(" if 1 else 1", 20'000) + " }}", "template_depth", ""},
      {"{{ x" + repeated(" | abs", 20'000) + " }}", "template_depth", ""},
      {repeated("{% if 1 %}", 20'000), "template_depth", ""},
      {repeated("{% for x in y %}", 20'000), "template_depth", ""},
      {"{% for " + repeated("(", 20'000) + "x", "template_depth", ""},
      {std::string(50 << 20, 'x'), "template_size", ""},
  };
  for (const ErrorCase& c : bombs) {
    const std::clock_t start = std::clock();  // processor time: other programs do not count
    const auto result = render(c.text);
    const double took_ms = 1000.0 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    const std::string what = c.text.substr(0, 200);
    EXPECT_LT(took_ms, kBombMs) << what;
    ASSERT_FALSE(result.has_value()) << what;
    EXPECT_EQ(result.error().rule, c.rule) << what << "\n" << result.error().to_string();
    EXPECT_THAT(result.error().to_string(), HasSubstr(c.part)) << what;
  }
}

TEST(ChatTemplate, LongInputFitsTheBudget) {
  const std::string long_text = repeated("a line of text, naïve\n", 100'000);
  json::Array messages;
  messages.push_back(json::Object{{"role", "user"}, {"content", long_text}});
  const json::Value variables(json::Object{{"messages", std::move(messages)}});
  const auto parsed =
      ChatTemplate::parse(read_file(kSource / "models/tiny/chat_template.jinja"), "t");
  ASSERT_TRUE(parsed.has_value());
  const auto text = parsed->render(variables);
  ASSERT_TRUE(text.has_value()) << text.error().to_string();
  EXPECT_THAT(*text, HasSubstr(long_text));
}

class ChatTemplateLoad : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::path(::testing::TempDir()) /
                 ("chat_template_" +
                  std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  void write(const char* name, std::string_view text) {
    std::ofstream(directory_ / name, std::ios::binary) << text;
  }
  Expected<std::string> load_and_render() {
    PELLUCID_TRY(const auto loaded, ChatTemplate::load(directory_));
    return loaded.render(json::Value(json::Object{}));
  }

  std::filesystem::path directory_;
};

TEST_F(ChatTemplateLoad, FileComesFirstAndTokensFromTheConfig) {
  write("chat_template.jinja", "{{ bos_token }}|{{ eos_token }}|{{ pad_token is defined }}\n");
  write("tokenizer_config.json",
        R"({"chat_template": "no", "bos_token": "<s>", "eos_token": {"content": "</s>"},)"
        R"( "pad_token": null})");
  EXPECT_EQ(load_and_render().value(), "<s>|</s>|False");
}

TEST_F(ChatTemplateLoad, ConfigAsText) {
  write("tokenizer_config.json", R"({"chat_template": "from {{ 'config' }}"})");
  EXPECT_EQ(load_and_render().value(), "from config");
}

TEST_F(ChatTemplateLoad, ConfigAsList) {
  write("tokenizer_config.json", R"({"chat_template": [{"name": "rag", "template": "r"},)"
                                 R"( {"name": "default", "template": "d"}]})");
  EXPECT_EQ(load_and_render().value(), "d");
}

TEST_F(ChatTemplateLoad, Absent) {
  write("tokenizer_config.json", "{}");
  const auto text = load_and_render();
  ASSERT_FALSE(text.has_value());
  EXPECT_EQ(text.error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(text.error().rule, "template_missing");
}

TEST_F(ChatTemplateLoad, WrongTypesAreErrors) {
  for (const char* config : {R"({"chat_template": 5})", R"({"chat_template": [{"name": "x"}]})",
                             R"({"chat_template": [{"name": "x", "template": "t"}]})",
                             R"({"chat_template": "x", "bos_token": 5})", "[]"}) {
    write("tokenizer_config.json", config);
    const auto text = load_and_render();
    ASSERT_FALSE(text.has_value()) << config;
    EXPECT_EQ(text.error().rule, "tokenizer_config") << config;
  }
}

TEST(ChatTemplate, VariablesMustBeAnObjectOfValidText) {
  EXPECT_EQ(render("x", json::Value(json::Array{})).error().rule, "template_error");
  const json::Value invalid(json::Object{{"x", "\xff"}});
  EXPECT_EQ(render("{{ x }}", invalid).error().rule, "template_error");
}

}  // namespace
}  // namespace pellucid::tokenizer
