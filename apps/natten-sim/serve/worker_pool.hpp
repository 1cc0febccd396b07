#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "serve/worker_process.hpp"

namespace natten_sim::cli {

/// Requests over worker processes. Each gets one answer: of a worker; or an error, where it took longer than its time
/// and a second, where it was cancelled, or where it ended worker after worker. A worker that ends, for whatever
/// reason, is replaced, and its request is asked again. Of clients that wait, the one with the fewest requests at work
/// comes first.
class WorkerPool {
 public:
  using Answered = std::function<void(std::uint64_t request, std::string answer)>;

  WorkerPool(WorkerRules rules, std::size_t workers, Answered answered);

  void ask(std::uint64_t request, std::uint64_t client, std::string text);
  /// The text of a request that has no answer yet; null: it has.
  [[nodiscard]] const std::string* waiting(std::uint64_t request) const;
  /// It is answered by an error with the next step(); a worker that works on it is killed.
  void cancel(std::uint64_t request);
  /// The client is gone: its requests are dropped without an answer.
  void forget(std::uint64_t client);

  /// Of the workers that live.
  [[nodiscard]] std::vector<pid_t> processes() const;
  /// Those to poll, until the next call of anything else.
  [[nodiscard]] std::vector<Watched*> watched() const;
  /// When step() is due though nothing is ready; none: never.
  [[nodiscard]] std::optional<std::chrono::steady_clock::time_point> deadline() const;
  /// Kills what is overdue, replaces what has ended, hands out requests, delivers answers.
  void step();

 private:
  using Clock = std::chrono::steady_clock;
  struct Request {
    std::uint64_t number = 0, client = 0;
    std::string text;
    int ended_workers = 0;
  };
  struct Worker {
    std::unique_ptr<WorkerProcess> process;
    std::optional<Request> request;  ///< that it works on
    Clock::time_point end{};         ///< of its time, where there is any
  };

  /// Kills the process of a worker that has a request.
  Request end(Worker& worker);
  void give(Worker& worker);
  void start(Worker& worker, Request request);
  void take_end(Worker& worker, const std::string& how);
  void refuse(const Request& request, const Error& error);
  [[nodiscard]] std::size_t at_work(std::uint64_t client) const;

  WorkerRules rules_;
  Answered answered_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::deque<Request> waiting_;
  /// Delivered by step() alone, never from within what a client asks.
  std::vector<std::pair<std::uint64_t, std::string>> refusals_;
  std::vector<std::unique_ptr<WorkerProcess>> ended_;  ///< that may be watched until step()
};

}  // namespace natten_sim::cli
