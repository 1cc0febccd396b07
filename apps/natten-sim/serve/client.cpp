#include "serve/client.hpp"

#include <cerrno>

#include <sys/socket.h>
#include <unistd.h>

namespace natten_sim::cli {

SocketEnd::~SocketEnd() { (void)::close(socket_); }

void SocketEnd::write(std::string_view text) {
  if (broken_ || text.empty()) return;
  out_ += text;
  send();
}

void SocketEnd::send() {
  while (sent_ < out_.size()) {
    const ssize_t sent = ::send(socket_, out_.data() + sent_, out_.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) return;
    broken_ = sent < 0;
    if (broken_) break;
    sent_ += static_cast<std::size_t>(sent);
  }
  out_.clear();
  if (out_.capacity() > (std::size_t{1} << 20)) std::string().swap(out_);
  sent_ = 0;
}

std::optional<std::size_t> SocketEnd::read(char* to, std::size_t most) {
  const ssize_t got = ::recv(socket_, to, most, MSG_DONTWAIT);
  if (got >= 0) return static_cast<std::size_t>(got);
  broken_ = errno != EAGAIN && errno != EINTR;
  return std::nullopt;
}

}  // namespace natten_sim::cli
