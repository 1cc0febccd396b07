#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "serve/conversation.hpp"
#include "serve/watched.hpp"

namespace natten_sim::cli {

/// Someone who asks over a descriptor.
class Client : public Watched {
 public:
  /// Whether the answer is one of its own.
  virtual bool answered(std::uint64_t request, std::string& answer) = 0;
  /// Nothing will be asked or written any more.
  [[nodiscard]] virtual bool is_done() const = 0;
};

/// This process's end of a socket, which may not take all at once that is written to it.
class SocketEnd {
 public:
  explicit SocketEnd(int socket) : socket_(socket) {}
  ~SocketEnd();
  SocketEnd(const SocketEnd&) = delete;
  SocketEnd& operator=(const SocketEnd&) = delete;

  [[nodiscard]] int descriptor() const { return socket_; }
  void write(std::string_view text);
  /// Goes on with what is left.
  void send();
  [[nodiscard]] std::size_t left() const { return out_.size() - sent_; }
  /// Bytes that were read; 0: the other end writes no more; none: nothing now.
  [[nodiscard]] std::optional<std::size_t> read(char* to, std::size_t most);
  /// The other end is gone.
  [[nodiscard]] bool is_broken() const { return broken_; }

 private:
  int socket_;
  std::string out_;
  std::size_t sent_ = 0;
  bool broken_ = false;
};

}  // namespace natten_sim::cli
