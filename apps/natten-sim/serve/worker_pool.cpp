#include "serve/worker_pool.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <natten_sim/core/error.hpp>

#include "cli/server.hpp"

namespace natten_sim::cli {
namespace {

/// A request that ended so many workers is not asked again: once may be somebody's kill.
constexpr int kMostEnded = 3;
/// Beyond its time, for what does not look at the time.
constexpr std::chrono::seconds kGrace{1};

LimitReached cancelled() { return {"request", "cancelled", "one that is left to end"}; }

}  // namespace

WorkerPool::WorkerPool(WorkerRules rules, std::size_t workers, Answered answered)
    : rules_(std::move(rules)), answered_(std::move(answered)) {
  for (std::size_t i = 0; i < workers; ++i) workers_.push_back(std::make_unique<Worker>());
}

void WorkerPool::ask(std::uint64_t request, std::uint64_t client, std::string text) {
  waiting_.push_back({.number = request, .client = client, .text = std::move(text)});
}

const std::string* WorkerPool::waiting(std::uint64_t request) const {
  for (const auto& worker : workers_) {
    if (worker->request && worker->request->number == request) return &worker->request->text;
  }
  for (const Request& each : waiting_) {
    if (each.number == request) return &each.text;
  }
  return nullptr;
}

void WorkerPool::cancel(std::uint64_t request) {
  for (const auto& worker : workers_) {
    if (!worker->request || worker->request->number != request) continue;
    return refuse(end(*worker), cancelled());
  }
  const auto found =
      std::find_if(waiting_.begin(), waiting_.end(), [&](const Request& each) { return each.number == request; });
  if (found == waiting_.end()) return;
  const Request ended = std::move(*found);
  waiting_.erase(found);
  refuse(ended, cancelled());
}

void WorkerPool::forget(std::uint64_t client) {
  std::erase_if(waiting_, [&](const Request& request) { return request.client == client; });
  for (const auto& worker : workers_) {
    if (worker->request && worker->request->client == client) (void)end(*worker);
  }
}

std::vector<pid_t> WorkerPool::processes() const {
  std::vector<pid_t> all;
  for (const auto& worker : workers_) {
    if (worker->process) all.push_back(worker->process->process());
  }
  return all;
}

std::vector<Watched*> WorkerPool::watched() const {
  std::vector<Watched*> all;
  for (const auto& worker : workers_) {
    if (worker->process) all.push_back(worker->process.get());
  }
  return all;
}

std::optional<std::chrono::steady_clock::time_point> WorkerPool::deadline() const {
  if (!refusals_.empty()) return Clock::now();
  std::optional<Clock::time_point> first;
  for (const auto& worker : workers_) {
    if (rules_.answer_s && worker->request) first = std::min(first.value_or(worker->end), worker->end);
  }
  return first;
}

WorkerPool::Request WorkerPool::end(Worker& worker) {
  worker.process->drop();
  ended_.push_back(std::move(worker.process));
  return *std::exchange(worker.request, std::nullopt);
}

void WorkerPool::step() {
  ended_.clear();
  for (auto& [request, refusal] : std::exchange(refusals_, {})) answered_(request, std::move(refusal));
  const Clock::time_point now = Clock::now();
  for (const auto& worker : workers_) {
    if (rules_.answer_s && worker->request && now >= worker->end) {
      refuse(end(*worker), LimitReached("request-time", fmt::format("{:g} s are over", *rules_.answer_s),
                                        "a longer time, or a smaller question"));
    }
    if (worker->process && worker->process->has_ended()) worker->process.reset();
    if (!worker->request) give(*worker);
  }
}

std::size_t WorkerPool::at_work(std::uint64_t client) const {
  return static_cast<std::size_t>(std::count_if(workers_.begin(), workers_.end(), [&](const auto& worker) {
    return worker->request && worker->request->client == client;
  }));
}

void WorkerPool::give(Worker& worker) {
  const auto next = std::min_element(waiting_.begin(), waiting_.end(), [&](const Request& a, const Request& b) {
    return at_work(a.client) < at_work(b.client);
  });
  if (next == waiting_.end()) return;
  Request request = std::move(*next);
  waiting_.erase(next);
  start(worker, std::move(request));
}

void WorkerPool::start(Worker& worker, Request request) {
  if (!worker.process) worker.process = WorkerProcess::start(rules_);
  if (!worker.process) {
    const auto lives = [](const auto& each) { return each->process != nullptr; };
    if (std::any_of(workers_.begin(), workers_.end(), lives)) return waiting_.push_front(std::move(request));
    return refuse(request, InvalidParameter("workers", std::to_string(workers_.size()),
                                            "processes that the system can start"));
  }
  worker.request = std::move(request);
  if (rules_.answer_s)
    worker.end = Clock::now() + kGrace +
                 std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(*rules_.answer_s));
  worker.process->ask(
      worker.request->text,
      [this, &worker](std::string answer) {
        const Request done = *std::exchange(worker.request, std::nullopt);
        answered_(done.number, std::move(answer));
      },
      [this, &worker](const std::string& how) { take_end(worker, how); });
}

void WorkerPool::take_end(Worker& worker, const std::string& how) {
  Request request = *std::exchange(worker.request, std::nullopt);
  if (++request.ended_workers < kMostEnded) return waiting_.push_front(std::move(request));
  refuse(request, InvalidParameter("request", fmt::format("ended {} processes, the last by {},", kMostEnded, how),
                                   "another question, or more memory"));
}

void WorkerPool::refuse(const Request& request, const Error& error) {
  refusals_.emplace_back(request.number, Server::refusal(error, Server::id_of(request.text)));
}

}  // namespace natten_sim::cli
