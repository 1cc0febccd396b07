// Worker processes that end, for whatever reason, do not end what was asked of them.
#include <chrono>
#include <csignal>
#include <map>
#include <string>
#include <vector>

#include <poll.h>

#include <natten_sim/io/json.hpp>

#include "catch.hpp"
#include "commands.hpp"
#include "serve/worker_pool.hpp"

namespace worker_pool_test {

using namespace natten_sim;
using namespace natten_sim::cli;

const std::string kCount = R"({"command": "count", "options": {"input": 64, "window": 16}, "id": "c"})";
const std::string kLong = R"({"command": "atomics", "options": {"updates": 4294967295}, "id": 1})";

struct Pool {
  std::map<std::uint64_t, std::vector<Json>> answers;
  WorkerPool pool;
  explicit Pool(std::size_t workers)
      : pool({.commands = &commands(), .answer_s = {}, .files = {}}, workers,
             [this](std::uint64_t request, const std::string& answer) { answers[request].push_back(Json::parse(answer)); }) {}

  /// One round of the loop that a supervisor runs.
  void turn() {
    pool.step();
    std::vector<Watched*> watched = pool.watched();
    std::vector<pollfd> polled;
    for (const Watched* each : watched) polled.push_back({each->descriptor(), static_cast<short>(each->wanted()), 0});
    if (::poll(polled.data(), polled.size(), 1000) <= 0) return;
    for (std::size_t i = 0; i < polled.size(); ++i) {
      if (polled[i].revents != 0) watched[i]->ready(polled[i].revents);
    }
    pool.step();
  }
  void kill_workers() {
    for (const pid_t process : pool.processes()) (void)::kill(process, SIGKILL);
  }
};

TEST_CASE("a request whose worker is killed is asked again, and has one answer") {
  Pool pool(2);
  for (std::uint64_t request = 1; request <= 20; ++request) pool.pool.ask(request, 1, kCount);
  pool.pool.step();
  REQUIRE(pool.pool.processes().size() == 2);
  pool.kill_workers();
  while (pool.answers.size() < 20) pool.turn();
  for (const auto& [request, answers] : pool.answers) {
    INFO(request << ": " << answers.front().dump());
    REQUIRE(answers.size() == 1);
    CHECK(answers.front().contains("result"));
  }
}

TEST_CASE("a request that ends worker after worker is refused, and the next is answered") {
  Pool pool(1);
  pool.pool.ask(1, 1, kLong);
  pool.pool.ask(2, 1, kCount);
  int ends = 0;
  for (; !pool.answers.contains(1); ++ends) {
    pool.pool.step();
    REQUIRE(pool.pool.processes().size() == 1);
    pool.kill_workers();
    pool.turn();
  }
  CHECK(ends == 3);
  CHECK(pool.answers.at(1).front().at("id") == 1);
  CHECK(pool.answers.at(1).front().at("error").at("value") == "ended 3 processes, the last by signal 9,");
  while (!pool.answers.contains(2)) pool.turn();
  CHECK(pool.answers.at(2).front().contains("result"));
}

TEST_CASE("a client with many requests does not keep another one waiting") {
  Pool pool(2);
  pool.pool.ask(1, 1, kLong);
  pool.pool.ask(2, 1, kLong);
  pool.pool.ask(3, 1, kLong);
  pool.pool.ask(4, 2, kCount);
  pool.pool.step();  // one of each client
  while (!pool.answers.contains(4)) pool.turn();
  CHECK(pool.answers.at(4).front().contains("result"));
  pool.pool.forget(1);
  CHECK(pool.pool.waiting(1) == nullptr);
  CHECK(pool.answers.size() == 1);
}

}  // namespace worker_pool_test
