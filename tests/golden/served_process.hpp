#pragma once

#include <string>

#include <sys/types.h>

namespace natten_sim::test {

/// `natten-sim serve` in a process of its own, which a signal ends with the object.
class ServedProcess {
 public:
  /// @param options  words separated by spaces
  explicit ServedProcess(const std::string& options);
  ~ServedProcess();
  ServedProcess(const ServedProcess&) = delete;
  ServedProcess& operator=(const ServedProcess&) = delete;

  /// What stands after "answering at " on the next line of its standard error.
  [[nodiscard]] std::string place() const;
  [[nodiscard]] pid_t process() const { return process_; }
  /// Sends SIGTERM and waits. @return whether the signal ended it
  bool end();

 private:
  pid_t process_;
  int messages_;
};

/// A connection to a local socket, or to a port of this machine.
class Connection {
 public:
  explicit Connection(const std::string& socket_path);
  explicit Connection(int port);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void write(const std::string& text) const;
  /// Nothing more will be written.
  void end_writing() const;
  /// With its end; empty: the other end closed.
  [[nodiscard]] std::string line() const;
  /// So many bytes, or what came before the other end closed.
  [[nodiscard]] std::string bytes(std::size_t count) const;

 private:
  int socket_;
};

}  // namespace natten_sim::test
