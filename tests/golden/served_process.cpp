#include "places.hpp"
#include "served_process.hpp"

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

namespace natten_sim::test {
namespace {

/// Byte by byte: what comes later is not taken.
std::string line_from(int file) {
  std::string line;
  for (char byte = 0; ::read(file, &byte, 1) == 1;) {
    line += byte;
    if (byte == '\n') break;
  }
  return line;
}

}  // namespace

ServedProcess::ServedProcess(const std::string& options) : process_(0), messages_(-1) {
  std::vector<std::string> words = {natten_sim::test::kProgram, "serve"};
  std::istringstream stream(options);
  for (std::string word; stream >> word;) words.push_back(word);
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  int ends[2] = {};
  if (::pipe(ends) != 0) throw std::runtime_error("pipe");
  process_ = ::fork();
  if (process_ == 0) {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGSEGV, SIGABRT}) std::signal(signal, SIG_DFL);
    (void)::dup2(ends[1], STDERR_FILENO);
    (void)::close(ends[0]);
    (void)::close(ends[1]);
    ::execv(pointers.front(), pointers.data());
    ::_exit(127);
  }
  (void)::close(ends[1]);
  messages_ = ends[0];
}

ServedProcess::~ServedProcess() {
  (void)end();
  (void)::close(messages_);
}

std::string ServedProcess::place() const {
  const std::string line = line_from(messages_), before = "answering at ";
  const std::size_t at = line.find(before);
  if (at == std::string::npos) throw std::runtime_error("serve said: " + line);
  return line.substr(at + before.size(), line.size() - at - before.size() - 1);
}

bool ServedProcess::end() {
  if (process_ <= 0) return false;
  int status = 0;
  (void)::kill(process_, SIGTERM);
  (void)::waitpid(process_, &status, 0);
  process_ = 0;
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM;
}

Connection::Connection(const std::string& socket_path) : socket_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, socket_path.c_str(), sizeof address.sun_path - 1);
  if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    throw std::runtime_error("connect to " + socket_path);
}

Connection::Connection(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    throw std::runtime_error("connect to port " + std::to_string(port));
}

Connection::~Connection() { (void)::close(socket_); }

void Connection::write(const std::string& text) const {
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t now = ::send(socket_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (now <= 0) throw std::runtime_error("send");
    sent += static_cast<std::size_t>(now);
  }
}

void Connection::end_writing() const { (void)::shutdown(socket_, SHUT_WR); }

std::string Connection::line() const { return line_from(socket_); }

std::string Connection::bytes(std::size_t count) const {
  std::string text(count, '\0');
  std::size_t got = 0;
  while (got < count) {
    const ssize_t now = ::read(socket_, text.data() + got, count - got);
    if (now <= 0) break;
    got += static_cast<std::size_t>(now);
  }
  text.resize(got);
  return text;
}

}  // namespace natten_sim::test
