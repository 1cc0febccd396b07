#include <atomic>
#include <stdexcept>
#include <vector>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/parallel.hpp>

#include "catch.hpp"

namespace cancellation_test {

using namespace natten_sim;

struct Ended : std::runtime_error {
  Ended() : std::runtime_error("ended") {}
};

/// Ends work at a check.
class AtCheck final : public Cancellation {
 public:
  explicit AtCheck(int number) : left_(number) {}
  void check() override {
    ++checks;
    if (--left_ <= 0) throw Ended();
  }
  std::atomic<int> checks{0};

 private:
  std::atomic<int> left_;
};

TEST_CASE("without a token polls do nothing") {
  CHECK(current_cancellation() == nullptr);
  for (int i = 0; i < 1000; ++i) poll();
  poll_now();
}

TEST_CASE("the first poll looks at the token, and then every 64th") {
  AtCheck token(1'000'000);
  const CancellationScope scope(token);
  poll();
  CHECK(token.checks == 1);
  for (int i = 0; i < 63; ++i) poll();
  CHECK(token.checks == 1);
  poll();
  CHECK(token.checks == 2);
  poll_now();
  CHECK(token.checks == 3);
}

TEST_CASE("a scope ends with its block, and the token before it comes back") {
  AtCheck outer(1'000), inner(1);
  const CancellationScope scope(outer);
  {
    const CancellationScope within(inner);
    CHECK_THROWS_AS(poll(), Ended);
    {
      const CancellationScope none(nullptr);
      poll_now();
    }
    CHECK_THROWS_AS(poll_now(), Ended);
  }
  poll_now();
  CHECK(outer.checks == 1);
}

TEST_CASE("tasks on any number of threads poll the token of their caller, and it ends all of them") {
  for (const unsigned threads : {1u, 2u, 5u}) {
    AtCheck token(50);
    const CancellationScope scope(token);
    std::atomic<int> steps{0};
    CHECK_THROWS_AS(run_tasks(1'000, {.threads = threads},
                              [&](std::size_t, std::size_t) {
                                for (int i = 0; i < 1'000; ++i) {
                                  poll_now();
                                  ++steps;
                                }
                              }),
                    Ended);
    CHECK(steps < 60);  // each thread is at most at one more step
  }
}

}  // namespace cancellation_test
