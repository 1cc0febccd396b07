// SMs that run several CTAs at once, each as fast as the others beside it let it be.
#include <random>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/sim/tiles/kernel_grid.hpp>
#include <natten_sim/sim/tiles/shared_sm.hpp>

#include "catch.hpp"

namespace shared_sm_test {

using namespace natten_sim;

TEST_CASE("a CTA alone gets the lone share of its SM, two get all of it") {
  const SharedSms one{1, 2, 0.8};
  // Beside another it has half of the SM; alone 0.8 of it: 10 units take 10 * 0.5 / 0.8.
  CHECK(run_shared(std::vector<double>{10}, 1, one) == Approx(6.25));
  CHECK(run_shared(std::vector<double>{10, 10}, 1, one) == Approx(10));
  // Both run for 4 until the short one ends; the long one does its other 6 alone.
  CHECK(run_shared(std::vector<double>{4, 10}, 1, one) == Approx(4 + 6 * 0.5 / 0.8));
  // A third begins when the short one ends: 6 beside the long one, then 2 alone.
  CHECK(run_shared(std::vector<double>{4, 10, 8}, 1, one) == Approx(4 + 6 + 2 * 0.5 / 0.8));
}

TEST_CASE("CTAs go to the SM with the fewest") {
  CHECK(run_shared(std::vector<double>{10}, 3, {3, 2, 0.8}) == Approx(6.25));
  CHECK(run_shared(std::vector<double>{10}, 4, {3, 2, 0.8}) == Approx(10));
}

TEST_CASE("with one CTA an SM, or lone CTAs that get their usual share, it is a list schedule") {
  std::mt19937 random(39);
  for (int sample = 0; sample < 50; ++sample) {
    CAPTURE(sample);
    std::vector<double> costs(1 + random() % 60);
    for (double& cost : costs) cost = static_cast<double>(1 + random() % 1000);
    const std::int64_t repeats = 1 + random() % 4, workers = 1 + random() % 9;
    const double listed = run_grid(costs, repeats, workers, CtaSchedule::kGrid).makespan;
    CHECK(run_shared(costs, repeats, {workers, 1, 1}) == Approx(listed));
    if (workers % 2 == 0) CHECK(run_shared(costs, repeats, {workers / 2, 2, 0.5}) == Approx(listed));
    // A larger lone share is never slower than half of the SM, and never faster than all SMs busy.
    const double shared = run_shared(costs, repeats, {workers, 2, 0.7});
    double sum = 0;
    for (const double cost : costs) sum += cost * static_cast<double>(repeats);
    CHECK(shared >= sum / 2 / static_cast<double>(workers) * (1 - 1e-9));
  }
}

TEST_CASE("numbers that are not positive are refused") {
  CHECK_THROWS_AS(run_shared(std::vector<double>{}, 1, {1, 1, 1}), InvalidParameter);
  CHECK_THROWS_AS(run_shared(std::vector<double>{1}, 1, {0, 1, 1}), InvalidParameter);
  CHECK_THROWS_AS(run_shared(std::vector<double>{1}, 1, {1, 2, 0}), InvalidParameter);
}

}  // namespace shared_sm_test
