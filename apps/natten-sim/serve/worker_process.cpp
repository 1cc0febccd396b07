#include "serve/worker_process.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "cli/server.hpp"

namespace natten_sim::cli {
namespace {

// A message is its length, 8 bytes of this machine, and its text.
using Length = std::uint64_t;
constexpr int kChannel = 3;  // of a worker, after standard error

std::string message_of(std::string_view text) {
  const Length length = text.size();
  std::string message(sizeof length, '\0');
  std::memcpy(message.data(), &length, sizeof length);
  return message.append(text);
}

bool read_whole(char* to, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t got = ::read(kChannel, to, bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

bool write_whole(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::send(kChannel, text.data(), text.size(), MSG_NOSIGNAL);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

void set_limit(decltype(RLIMIT_DATA) kind, std::int64_t most) {
  rlimit limit = {};
  if (::getrlimit(kind, &limit) != 0) return;
  limit.rlim_cur = std::min(limit.rlim_cur, static_cast<rlim_t>(most));  // none is the largest number
  (void)::setrlimit(kind, &limit);
}

/// Clients, their sockets and what this process writes are not the worker's.
void leave_all_but(int socket) {
  const int nowhere = ::open("/dev/null", O_RDWR);
  (void)::dup2(nowhere, STDIN_FILENO);
  (void)::dup2(nowhere, STDOUT_FILENO);
  if (socket != kChannel) (void)::dup2(socket, kChannel);
  if (::close_range(kChannel + 1, ~0U, 0) == 0) return;
  const auto most = static_cast<int>(::sysconf(_SC_OPEN_MAX));
  for (int file = kChannel + 1; file < most; ++file) (void)::close(file);
}

/// Files of this process are removed by its own handlers; the terminal's Ctrl-C is for it alone.
void reset_signals() {
  for (const int signal : {SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGALRM}) std::signal(signal, SIG_DFL);
  std::signal(SIGINT, SIG_IGN);
}

[[noreturn]] void work(const WorkerRules& rules) {
  set_limit(RLIMIT_FSIZE, 0);
  if (rules.memory_bytes > 0) set_limit(RLIMIT_DATA, rules.memory_bytes);
  const FileAccess::Scope access(rules.files);
  // Paths of requests are looked up in the folder that they may read.
  if (rules.files.files == FileAccess::Files::kBelow && ::chdir(rules.files.root.c_str()) != 0) ::_exit(1);
  Server server(*rules.commands, rules.answer_s);
  std::string request;
  for (Length length = 0; read_whole(reinterpret_cast<char*>(&length), sizeof length);) {
    request.resize(length);
    if (!read_whole(request.data(), request.size()) || !write_whole(message_of(server.respond(request)))) break;
    if (request.capacity() > (1 << 20)) std::string().swap(request);
  }
  ::_exit(0);
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) return fmt::format("signal {}", WTERMSIG(status));
  return fmt::format("exit code {}", WEXITSTATUS(status));
}

}  // namespace

std::unique_ptr<WorkerProcess> WorkerProcess::start(const WorkerRules& rules) {
  int ends[2] = {};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return nullptr;
  const pid_t parent = ::getpid();
  const pid_t process = ::fork();
  if (process == 0) {
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    reset_signals();
    leave_all_but(ends[1]);
    try {
      work(rules);
    } catch (...) {
      ::_exit(1);
    }
  }
  (void)::close(ends[1]);
  if (process < 0) {
    (void)::close(ends[0]);
    return nullptr;
  }
  (void)::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return std::unique_ptr<WorkerProcess>(new WorkerProcess(process, ends[0]));
}

WorkerProcess::~WorkerProcess() {
  (void)::close(socket_);
  (void)kill_and_wait();
}

void WorkerProcess::drop() {
  answered_ = {};
  ended_ = {};
  (void)kill_and_wait();
}

int WorkerProcess::kill_and_wait() {
  if (process_ <= 0) return 0;
  int status = 0;
  (void)::kill(process_, SIGKILL);  // one that closed its end does not live on either
  while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = 0;
  return status;
}

void WorkerProcess::ask(std::string_view request, Answered answered, Ended ended) {
  answered_ = std::move(answered);
  ended_ = std::move(ended);
  out_ = message_of(request);
  sent_ = 0;
  in_.clear();
  send();
}

int WorkerProcess::wanted() const { return POLLIN | (out_.empty() ? 0 : POLLOUT); }

void WorkerProcess::ready(short events) {
  if ((events & POLLOUT) != 0) send();
  if ((events & (POLLIN | POLLHUP | POLLERR)) != 0) receive();
}

/// That a worker is gone is seen where its answer is read.
void WorkerProcess::send() {
  while (sent_ < out_.size()) {
    const ssize_t sent = ::send(socket_, out_.data() + sent_, out_.size() - sent_, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) return;
    if (sent < 0) break;
    sent_ += static_cast<std::size_t>(sent);
  }
  std::string().swap(out_);
  sent_ = 0;
}

void WorkerProcess::receive() {
  char piece[1 << 16];
  const ssize_t got = ::recv(socket_, piece, sizeof piece, 0);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (got <= 0) return end();
  in_.append(piece, static_cast<std::size_t>(got));
  Length length = 0;
  if (in_.size() < sizeof length) return;
  std::memcpy(&length, in_.data(), sizeof length);
  if (in_.size() - sizeof length < length) return;
  std::string answer = std::exchange(in_, {}).substr(sizeof length);
  ended_ = {};
  if (Answered answered = std::exchange(answered_, {})) answered(std::move(answer));
}

void WorkerProcess::end() {
  const int status = kill_and_wait();
  answered_ = {};
  if (Ended ended = std::exchange(ended_, {})) ended(how_it_ended(status));
}

}  // namespace natten_sim::cli
