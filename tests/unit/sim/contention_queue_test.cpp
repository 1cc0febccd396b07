#include <array>
#include <vector>

#include <natten_sim/sim/scatter/contention_queue.hpp>

#include "catch.hpp"

namespace {

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

}  // namespace

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
