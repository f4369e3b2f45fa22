#include <stdio.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "cli/answer.h"

namespace pellucid::cli {
namespace {

constexpr std::string_view kHelp =
    "/help     this list\n"
    "/clear    forget the conversation\n"
    "/exit     leave (or Ctrl-D)\n"
    "Ctrl-C    stop the answer\n";

enum class Read { kLine, kInterrupted, kEnd };

Read read_line(std::string& line) {
  if (stdin_is_terminal()) write_out("> ");
  char* buffer = nullptr;
  size_t capacity = 0;
  errno = 0;
  const ssize_t length = getline(&buffer, &capacity, stdin);
  const bool interrupted = length < 0 && errno == EINTR;
  if (length > 0) line.assign(buffer, static_cast<std::size_t>(length));
  std::free(buffer);
  if (length > 0) {
    if (line.back() == '\n') line.pop_back();
    return Read::kLine;
  }
  clearerr(stdin);
  return interrupted ? Read::kInterrupted : Read::kEnd;
}

/// The model's turn as the template wants it back: what stands before </think> apart.
json::Value assistant_message(const std::string& text) {
  constexpr std::string_view kEnd = "</think>";
  json::Object message = {{"role", "assistant"}};
  const std::size_t end = text.find(kEnd);
  if (end == std::string::npos) {
    message.emplace_back("content", text);
    return message;
  }
  message.emplace_back("reasoning_content", text.substr(0, end));
  message.emplace_back("content", text.substr(end + kEnd.size()));
  return message;
}

class Conversation {
 public:
  Conversation(const config::Settings& settings, const TextSide& text, engine::Engine& engine,
               const sampler::SamplingParams& sampling, engine::Sequence sequence,
               bool show_timings)
      : settings_(settings),
        text_(text),
        engine_(engine),
        sampling_(sampling),
        sequence_(std::move(sequence)),
        show_timings_(show_timings) {
    clear();
  }

  void clear() {
    messages_.clear();
    const auto& system = settings_.chat.system;
    if (system) {
      messages_.push_back(json::Object{{"role", "system"}, {"content", *system}});
    }
  }

  /// One turn. On error the conversation is as before it.
  Expected<void> turn(const std::string& line, InterruptGuard& interrupt) {
    json::Array messages = messages_;
    messages.push_back(json::Object{{"role", "user"}, {"content", line}});
    PELLUCID_TRY(const auto ids,
                 encode_conversation(text_, template_variables(settings_.chat, messages)));
    const std::int64_t kept = keep_common_prefix(ids);
    const AnswerRequest request{.prompt = std::span(ids).subspan(static_cast<std::size_t>(kept)),
                                .sampling = sampling_,
                                .max_tokens = settings_.sampling.max_tokens};
    PELLUCID_TRY(const Answer result, answer(engine_, sequence_, text_, request, interrupt));
    if (show_timings_) print_timings(result, engine_);
    messages.push_back(assistant_message(result.text));
    messages_ = std::move(messages);
    return {};
  }

 private:
  /// Cuts the sequence to what it shares with `ids`, leaving at least one id to compute.
  std::int64_t keep_common_prefix(std::span<const std::int32_t> ids) {
    const std::span<const std::int32_t> cached = sequence_.tokens();
    const auto [mismatch, unused] = std::ranges::mismatch(cached, ids);
    const std::int64_t common =
        std::min(mismatch - cached.begin(), static_cast<std::ptrdiff_t>(ids.size()) - 1);
    engine_.truncate(sequence_, common);
    return common;
  }

  const config::Settings& settings_;
  const TextSide& text_;
  engine::Engine& engine_;
  const sampler::SamplingParams& sampling_;
  engine::Sequence sequence_;
  bool show_timings_;
  json::Array messages_;
};

}  // namespace

Expected<int> chat(const config::Settings& settings, const TextSide& text, engine::Engine& engine,
                   const sampler::SamplingParams& sampling, bool show_timings) {
  PELLUCID_TRY(engine::Sequence sequence, engine.new_sequence());
  Conversation conversation(settings, text, engine, sampling, std::move(sequence), show_timings);
  InterruptGuard interrupt;
  if (stdin_is_terminal()) write_out("/help lists the commands\n");
  std::string line;
  while (true) {
    const Read read = read_line(line);
    if (read == Read::kEnd) break;
    (void)interrupt.take();
    if (read == Read::kInterrupted) {
      write_out("\n(Ctrl-D or /exit to leave)\n");
      continue;
    }
    if (line.empty()) continue;
    if (line == "/exit") break;
    if (line == "/help") {
      write_out(kHelp);
    } else if (line == "/clear") {
      conversation.clear();
    } else if (line.starts_with('/')) {
      write_out("unknown command " + terminal_safe(line) + "; /help lists them\n");
    } else if (auto done = conversation.turn(line, interrupt); !done) {
      if (done.error().kind == ErrorKind::kNumeric) return fail(std::move(done).error());
      write_err("pellucid: error: " + terminal_safe(done.error().to_string()) + "\n");
    }
    (void)interrupt.take();
  }
  return kOk;
}

}  // namespace pellucid::cli
