#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <natten_sim/io/temporary_file.hpp>

#include "cli/output.hpp"
#include "serve/client.hpp"
#include "serve/http_client.hpp"
#include "serve/worker_pool.hpp"

namespace natten_sim::cli {

struct SupervisorRules {
  WorkerRules worker;
  std::size_t workers = 1;
  AnswerOrder order = AnswerOrder::kAsAsked;
  HttpRules http;
};

/// Takes requests from several clients, hands them to worker processes and the answers back. It computes nothing
/// itself: whatever a request does to its worker, the others are answered. One thread, one loop over poll().
class Supervisor {
 public:
  static constexpr std::size_t kMostClients = 64;

  explicit Supervisor(const SupervisorRules& rules);
  ~Supervisor();

  /// Of standard input ("-") or of a file, to their end.
  void take_requests(const std::string& path, OutputSink& sink);
  /// A local socket, which only this user may open. What a dead process left there is replaced.
  /// @throws InvalidParameter naming `socket`
  void listen_at(const std::string& path);
  /// HTTP on the loopback interface. @param port  0: any that is free. @return the port
  /// @throws InvalidParameter naming `http`
  std::uint16_t listen_http(std::uint16_t port);

  /// Until all clients are done and nobody listens.
  void run();

 private:
  class Listener;

  void wait(const std::vector<Watched*>& watched);
  void deliver(std::uint64_t request, std::string answer);

  SupervisorRules rules_;
  WorkerPool pool_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::uint64_t last_client_ = 0;
};

}  // namespace natten_sim::cli
