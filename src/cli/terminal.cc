#include "cli/terminal.h"

#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/utf8.h"

namespace pellucid::cli {
namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "the signal handler stores to it");

bool lost = false;  ///< output_lost()

void on_interrupt(int) {
  interrupted.store(true);
}

void install(void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  action.sa_flags = 0;  // no SA_RESTART: a read of the prompt must return
  sigaction(SIGINT, &action, nullptr);
}

}  // namespace

bool stdout_is_terminal() {
  return isatty(STDOUT_FILENO) == 1;
}
bool stderr_is_terminal() {
  return isatty(STDERR_FILENO) == 1;
}
bool stdin_is_terminal() {
  return isatty(STDIN_FILENO) == 1;
}

std::size_t terminal_width() {
  constexpr std::size_t kNoTerminal = 100;
  constexpr std::size_t kNarrowest = 60;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kNoTerminal;
  return std::max<std::size_t>(kNarrowest, size.ws_col);
}

std::string terminal_safe(std::string_view text) {
  std::string out;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = text.find_first_of("\n\t", begin);
    out += utf8::escape_for_display(text.substr(begin, end - begin));
    if (end == std::string_view::npos) break;
    out += text[end];
    begin = end + 1;
  }
  return out;
}

void write_out(std::string_view text) {
  const bool whole = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (std::fflush(stdout) != 0 || !whole) lost = true;
}

bool output_lost() {
  return lost;
}

void write_err(std::string_view text) {
  (void)std::fwrite(text.data(), 1, text.size(), stderr);
}

InterruptGuard::InterruptGuard() {
  interrupted.store(false);
  install(on_interrupt);
}

InterruptGuard::~InterruptGuard() {
  install(SIG_DFL);
}

const std::atomic<bool>& InterruptGuard::flag() const {
  return interrupted;
}

bool InterruptGuard::take() {
  return interrupted.exchange(false);
}

}  // namespace pellucid::cli
