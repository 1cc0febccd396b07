#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <tuple>
#include <vector>

#include <natten_sim/core/random_bits.hpp>
#include <natten_sim/sim/scatter/contention_queue.hpp>

#include "catch.hpp"
#include "random_values.hpp"
#include "refused.hpp"
#include "random.hpp"

namespace contention_queue_test {

using namespace natten_sim;

constexpr std::array<std::int64_t, 3> kOneAddress = {0, 0, 0};

/// Two warps, three updates of one address: 5 ns a request, 10 ns from a warp to the address and back.
ContentionRun three_updates(QueuedUpdate kind, std::int64_t listed) {
  return run_contention(
      kOneAddress, 1,
      {.kind = kind, .warps = 2, .service_ns = 5, .round_trip_ns = 10, .listed_requests = listed});
}

void check_request(const ServedRequest& request, std::int64_t warp, std::array<double, 3> times, bool done) {
  CHECK(request.warp == warp);
  CHECK(request.address == 0);
  CHECK(request.arrives_ns == times[0]);
  CHECK(request.starts_ns == times[1]);
  CHECK(request.ends_ns == times[2]);
  CHECK(request.done == done);
}

TEST_CASE("of two reductions that arrive together the second waits for the first") {
  const ContentionRun run = three_updates(QueuedUpdate::kReduction, 10);
  REQUIRE(run.first_requests.size() == 3);
  check_request(run.first_requests[0], 0, {5, 5, 10}, true);
  check_request(run.first_requests[1], 1, {5, 10, 15}, true);
  check_request(run.first_requests[2], 0, {20, 20, 25}, true);  // the answer is back at 15, and 5 there again
  CHECK(run.time_ns == 30);
}

TEST_CASE("a compare-and-swap that finds the word changed is served, and comes again after a round trip") {
  const ContentionRun run = three_updates(QueuedUpdate::kCompareAndSwap, 10);
  REQUIRE(run.first_requests.size() == 5);
  check_request(run.first_requests[0], 0, {15, 15, 20}, true);   // loaded at 5, a round trip before
  check_request(run.first_requests[1], 1, {15, 20, 25}, false);  // the word is no longer what was loaded
  check_request(run.first_requests[2], 1, {35, 35, 40}, true);
  check_request(run.first_requests[3], 0, {40, 40, 45}, false);  // loaded at 30, changed at 35
  check_request(run.first_requests[4], 0, {55, 55, 60}, true);
  CHECK(run.retries == 2);
  CHECK(run.time_ns == 65);
}

TEST_CASE("listing requests changes nothing else, and stops at the number asked for") {
  const ContentionRun silent = three_updates(QueuedUpdate::kCompareAndSwap, 0);
  const ContentionRun listed = three_updates(QueuedUpdate::kCompareAndSwap, 2);
  CHECK(silent.first_requests.empty());
  CHECK(listed.first_requests.size() == 2);
  CHECK(silent.time_ns == listed.time_ns);
  CHECK(silent.requests == listed.requests);
  CHECK(silent.retries == listed.retries);
}

/// The same once more: what is to happen, in order of time and then of who asked first.
ContentionRun run_plainly(const std::vector<std::int64_t>& addresses, const ContentionQueue& queue) {
  enum class Step { kTake, kLook, kAsk };
  struct Worker {
    std::int64_t address = 0, seen = 0, lanes = 0;
  };
  std::map<std::pair<double, int>, std::pair<std::size_t, Step>> agenda;
  std::map<std::int64_t, double> address_free, slice_free;
  std::map<std::int64_t, std::int64_t> changes, waiting;
  const bool cas = queue.kind == QueuedUpdate::kCompareAndSwap;
  const double there = queue.round_trip_ns / 2;  // or back
  double issued = 0, dram = 0;
  std::size_t next = 0;
  int made = 0;
  std::uint64_t successes = 0;
  ContentionRun run;
  std::vector<Worker> workers(static_cast<std::size_t>(queue.warps));
  const auto plan = [&](double time, std::size_t worker, Step step) {
    agenda[{time, made++}] = {worker, step};
  };
  for (std::size_t i = 0; i < workers.size(); ++i) plan(0, i, Step::kTake);
  while (!agenda.empty()) {
    const double now = agenda.begin()->first.first;
    const auto [index, step] = agenda.begin()->second;
    agenda.erase(agenda.begin());
    Worker& worker = workers[index];
    if (step == Step::kTake && next < addresses.size()) {
      worker = {addresses[next++], 0, cas ? queue.lanes_per_word : 1};
      run.most_waiting = std::max(run.most_waiting, ++waiting[worker.address]);
      issued = std::max(issued, now) + queue.issue_ns;
      dram = std::max(dram, now) + queue.dram_ns;
      plan(std::max(issued, dram) + there, index, cas ? Step::kLook : Step::kAsk);
    } else if (step == Step::kLook) {  // answered behind what is served, back and there again
      worker.seen = changes[worker.address];
      plan(std::max(now, address_free[worker.address]) + 2 * there, index, Step::kAsk);
    } else if (step == Step::kAsk) {
      double& slice = slice_free[worker.address % queue.slices];
      slice = std::max(slice, now) + queue.slice_ns;
      const double starts = std::max(slice, address_free[worker.address]), ends = starts + queue.service_ns;
      address_free[worker.address] = ends;
      ++run.requests;
      bool done = !cas;
      if (cas) {
        bool any = false;
        for (; worker.lanes > 0 && worker.seen == changes[worker.address]; --worker.lanes) {
          any = true;
          if (random_unit(random_bits(queue.seed, successes++)) < queue.changing_share)
            ++changes[worker.address];
        }
        if (!any) ++run.retries;
        worker.seen = changes[worker.address];
        done = worker.lanes == 0;
      }
      if (run.requests <= queue.listed_requests)
        run.first_requests.push_back(
            {static_cast<std::int64_t>(index), worker.address, now, starts, ends, done});
      if (done) {
        --waiting[worker.address];
        run.time_ns = std::max(run.time_ns, ends + there);
      }
      plan(ends + (done ? there : 2 * there), index, done ? Step::kTake : Step::kAsk);
    }
  }
  run.time_ns = std::max(run.time_ns, dram);
  return run;
}

auto as_tuple(const ServedRequest& request) {
  return std::tuple{request.warp,      request.address, request.arrives_ns,
                    request.starts_ns, request.ends_ns, request.done};
}

TEST_CASE("a queue runs as events that are handled one by one, with any number of slices, lanes and warps") {
  const std::uint64_t seed = test::stored_seed();
  INFO("NATTEN_SIM_SEED=" << seed);
  test::RandomValues random(seed);
  for (int n = 0; n < 400; ++n) {
    CAPTURE(n);
    const std::int64_t count = random.whole(1, 5);
    std::vector<std::int64_t> addresses(static_cast<std::size_t>(random.whole(0, 60)));
    for (std::int64_t& address : addresses) address = random.whole(0, count - 1);
    const auto time = [&] { return static_cast<double>(random.whole(0, 6)); };  // many coincide
    const ContentionQueue queue{.kind = random.of({QueuedUpdate::kReduction, QueuedUpdate::kCompareAndSwap}),
                                .warps = random.whole(1, 12),
                                .issue_ns = time(),
                                .service_ns = time(),
                                .round_trip_ns = 2 * time() + 1,
                                .lanes_per_word = random.whole(1, 2),
                                .changing_share = random.of({0.0, 0.5, 1.0}),
                                .slices = random.whole(1, 4),
                                .slice_ns = time(),
                                .dram_ns = time(),
                                .seed = static_cast<std::uint64_t>(n),
                                .listed_requests = random.whole(0, 80)};
    const ContentionRun run = run_contention(addresses, count, queue),
                        expected = run_plainly(addresses, queue);
    REQUIRE(run.time_ns == expected.time_ns);
    REQUIRE(run.requests == expected.requests);
    REQUIRE(run.retries == expected.retries);
    REQUIRE(run.most_waiting == expected.most_waiting);
    REQUIRE(run.first_requests.size() == expected.first_requests.size());
    for (std::size_t i = 0; i < run.first_requests.size(); ++i)
      REQUIRE(as_tuple(run.first_requests[i]) == as_tuple(expected.first_requests[i]));
  }
}

TEST_CASE("what a queue cannot be is refused by its name") {
  const auto refused = [](void (*change)(ContentionQueue&), std::int64_t count = 1) {
    ContentionQueue queue;
    change(queue);
    return test::refused([&] { (void)run_contention(kOneAddress, count, queue); });
  };
  CHECK(refused([](ContentionQueue& q) { q.warps = 1 << 24; }).empty());
  CHECK(refused([](ContentionQueue& q) { q.warps = (1 << 24) + 1; }) == "warps");
  CHECK(refused([](ContentionQueue& q) { q.warps = 0; }) == "warps");
  CHECK(refused([](ContentionQueue& q) { q.slices = 1 << 24; }).empty());
  CHECK(refused([](ContentionQueue& q) { q.slices = (1 << 24) + 1; }) == "slices");
  CHECK(refused([](ContentionQueue& q) { q.slices = 0; }) == "slices");
  CHECK(refused([](ContentionQueue& q) { q.lanes_per_word = 0; }) == "lanes_per_word");
  CHECK(refused([](ContentionQueue& q) { q.lanes_per_word = 3; }) == "lanes_per_word");
  CHECK(refused([](ContentionQueue& q) { q.changing_share = 0; }).empty());
  CHECK(refused([](ContentionQueue& q) { q.changing_share = -0.01; }) == "changing_share");
  CHECK(refused([](ContentionQueue& q) { q.changing_share = 1.01; }) == "changing_share");
  CHECK(refused([](ContentionQueue& q) { q.issue_ns = -1; }) == "issue_ns");
  CHECK(refused([](ContentionQueue& q) { q.service_ns = -1; }) == "service_ns");
  CHECK(refused([](ContentionQueue& q) { q.round_trip_ns = -1; }) == "round_trip_ns");
  CHECK(refused([](ContentionQueue& q) { q.slice_ns = std::numeric_limits<double>::infinity(); }) ==
        "slice_ns");
  CHECK(refused([](ContentionQueue& q) { q.dram_ns = std::numeric_limits<double>::quiet_NaN(); }) ==
        "dram_ns");
  const auto nothing = [](ContentionQueue&) {};
  CHECK(refused(nothing, 0) == "address");
  CHECK(refused(nothing, -1) == "count");
  constexpr std::array<std::int64_t, 1> kBefore = {-1}, kLast = {3}, kBehind = {4};
  CHECK(test::refused([&] { (void)run_contention(kBefore, 4, {}); }) == "address");
  CHECK(test::refused([&] { (void)run_contention(kLast, 4, {}); }).empty());
  CHECK(test::refused([&] { (void)run_contention(kBehind, 4, {}); }) == "address");
  CHECK(run_contention({}, 0, {.warps = 3}).time_ns == 0);
}

}  // namespace contention_queue_test
