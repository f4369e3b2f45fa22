// `logs FILE|-`: another engine's log, read to its end or followed while it grows.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "cli/cli.h"
#include "cli/terminal.h"
#include "peers/log_reader.h"

namespace pellucid::cli {
namespace {

/// A descriptor that closes itself; standard input is not ours to close.
class Input {
 public:
  explicit Input(int fd) : fd_(fd) {}
  ~Input() {
    if (fd_ > STDERR_FILENO) ::close(fd_);
  }
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
};

Error file_error(const std::string& file, std::string found) {
  return {.kind = ErrorKind::kIo,
          .rule = "file_io",
          .object = "log",
          .found = std::move(found),
          .expected = "a file that can be read, or - for standard input",
          .source = file};
}

Expected<int> open_log(const std::string& file) {
  if (file == "-") return STDIN_FILENO;
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fail(file_error(file, std::strerror(errno)));
  return fd;
}

/// Reads to the end; with --follow past it, until the expectations are settled or Ctrl-C.
Expected<void> read_log(const LogsFlags& flags, int fd, peers::LogReader& reader,
                        InterruptGuard& interrupt) {
  constexpr std::size_t kPiece = 64 << 10;
  constexpr auto kPause = std::chrono::milliseconds(50);
  std::string piece(kPiece, '\0');
  while (!interrupt.flag().load()) {
    const ssize_t got = ::read(fd, piece.data(), piece.size());
    if (got < 0 && errno != EINTR) return fail(file_error(flags.file, std::strerror(errno)));
    if (got > 0) {
      reader.push_bytes(std::string_view(piece).substr(0, static_cast<std::size_t>(got)));
      if (flags.follow && reader.settled()) return {};
      continue;
    }
    if (got == 0 && (!flags.follow || flags.file == "-")) break;
    std::this_thread::sleep_for(kPause);
  }
  reader.finish();
  return {};
}

int status_of(const peers::LogReport& report) {
  if (report.engine == peers::LogEngine::kUnknown) return kProblems;
  for (const peers::Expectation& expectation : report.expectations) {
    if (expectation.outcome != peers::Outcome::kMet) return kProblems;
  }
  return report.contradictions.empty() && report.crashes.empty() ? kOk : kProblems;
}

}  // namespace

Expected<int> logs_command(const LogsFlags& flags) {
  peers::LogOptions options;
  for (const std::string& text : flags.expect) {
    PELLUCID_TRY(peers::Expectation expectation, peers::parse_expectation(text));
    options.expectations.push_back(std::move(expectation));
  }
  PELLUCID_TRY(const int fd, open_log(flags.file));
  const Input input(fd);
  InterruptGuard interrupt;
  peers::LogReader reader(std::move(options));
  PELLUCID_TRY_VOID(read_log(flags, input.fd(), reader, interrupt));
  const peers::LogReport report = reader.report();
  if (flags.json) {
    write_out(json::dump(peers::to_json(report), {.indent = 2, .key_separator = ": "}) + "\n");
  } else {
    write_out(terminal_safe(peers::to_text(report)));
  }
  return status_of(report);
}

}  // namespace pellucid::cli
