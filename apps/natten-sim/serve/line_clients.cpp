#include "serve/line_clients.hpp"

#include <cerrno>
#include <span>

#include <unistd.h>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/file_access.hpp>

#include "cli/server.hpp"

namespace natten_sim::cli {
namespace {

constexpr double kMostPassedOver = 1 << 30;
/// Answers that a client has not read: it is read no further meanwhile.
constexpr std::size_t kMostUnread = std::size_t{1} << 26;

InvalidParameter too_long(const std::string& source) {
  return {"requests", source, "lines of at most " + std::to_string(kLongestLine) + " bytes"};
}

}  // namespace

void LineClient::take_lines() {
  lines_left_ = true;
  for (std::string_view line; conversation_.may_take();) {
    if (!buffer_.next(line)) {
      lines_left_ = false;
      break;
    }
    if (buffer_.was_too_long()) {
      conversation_.put(Server::refusal(too_long("-")));
    } else {
      conversation_.take(line);
    }
  }
  write(conversation_.ready());
}

bool LineClient::answered(std::uint64_t request, std::string& answer) {
  if (!conversation_.answered(request, answer)) return false;
  write(conversation_.ready());
  if (lines_left_) take_lines();
  return true;
}

InputClient::InputClient(WorkerPool& pool, AnswerOrder order, const std::string& requests, OutputSink& sink)
    : LineClient(pool, 0, order), path_(requests), file_(STDIN_FILENO), sink_(sink) {
  if (requests == "-") return;
  file_ = open_to_read("requests", requests);
  if (file_ < 0) throw InvalidParameter("requests", requests, "a readable file, or - for standard input");
}

InputClient::~InputClient() {
  if (file_ != STDIN_FILENO) (void)::close(file_);
}

void InputClient::ready(short) {
  const std::span<char> room = buffer().room();
  if (buffer().passed_over() > kMostPassedOver) throw too_long(path_);
  const ssize_t got = ::read(file_, room.data(), room.size());
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (got < 0) throw InvalidParameter("requests", path_, "a file that can be read to its end");
  if (got == 0) {
    buffer().end();
  } else {
    buffer().added(static_cast<std::size_t>(got));
  }
  take_lines();
}

void InputClient::write(std::string_view text) {
  if (text.empty()) return;
  sink_.write(text);
  sink_.flush();
}

int SocketClient::wanted() const {
  return (wants_more() && end_.left() < kMostUnread ? POLLIN : 0) | (end_.left() > 0 ? POLLOUT : 0);
}

void SocketClient::ready(short events) {
  gone_ = gone_ || (events & (POLLHUP | POLLERR)) != 0;
  if ((events & POLLOUT) != 0) end_.send();
  if ((events & POLLIN) == 0) return;
  const std::span<char> room = buffer().room();
  const std::optional<std::size_t> got = end_.read(room.data(), room.size());
  if (!got) return;
  if (*got == 0 || buffer().passed_over() > kMostPassedOver) {
    buffer().end();
  } else {
    buffer().added(*got);
  }
  take_lines();
}

}  // namespace natten_sim::cli
