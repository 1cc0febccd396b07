// SMs that run several CTAs at once, each as fast as the others beside it let it be.
#include <algorithm>
#include <cmath>
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

/// The definition, from event to event: what each CTA has left shrinks at the pace that its SM's CTAs have.
double stepped(const std::vector<double>& costs, std::int64_t repeats, const SharedSms& sms) {
  std::vector<std::vector<double>> left(static_cast<std::size_t>(sms.sms));
  const auto all = static_cast<double>(sms.ctas_per_sm);
  const auto pace = [&](std::size_t resident) {
    const auto count = static_cast<double>(resident);
    if (sms.ctas_per_sm <= 2) {  // rates of the SM: the lone share, or an even one, and 1
      const double rate = resident == 1 && all > 1 ? std::max(sms.lone_share, 0.5) : 1;
      return rate * all / count;
    }
    const double a_b = std::pow(1 / std::max(1.0, all * sms.lone_share), 2.5);  // a + b, and a + b all^2.5 = 1
    const double b = (1 - a_b) / (std::pow(all, 2.5) - 1);
    return 1 / std::pow(a_b - b + b * std::pow(count, 2.5), 0.4);
  };
  double now = 0;
  const auto step = [&] {
    double next = 1e300;
    for (const std::vector<double>& on : left) {
      for (const double one : on) next = std::min(next, one / pace(on.size()));
    }
    now += next;
    for (std::vector<double>& on : left) {
      const double done = on.empty() ? 0 : next * pace(on.size());
      for (double& one : on) one -= done;
      std::erase_if(on, [](double one) { return one < 1e-9; });
    }
  };
  const auto fewest = [&] {
    return std::min_element(left.begin(), left.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
  };
  for (std::int64_t repeat = 0; repeat < repeats; ++repeat) {
    for (const double cost : costs) {
      while (static_cast<std::int64_t>(fewest()->size()) == sms.ctas_per_sm) step();
      fewest()->push_back(cost);
    }
  }
  while (std::any_of(left.begin(), left.end(), [](const auto& on) { return !on.empty(); })) step();
  return now;
}

TEST_CASE("launches end when those end that are run step by step") {
  std::mt19937 random(41);
  for (int sample = 0; sample < 200; ++sample) {
    CAPTURE(sample);
    std::vector<double> costs(1 + random() % 40);
    for (double& cost : costs) cost = static_cast<double>(1 + random() % 100'000) / 7;
    const std::int64_t repeats = 1 + random() % 3;
    const SharedSms sms{1 + static_cast<std::int64_t>(random() % 5), 1 + static_cast<std::int64_t>(random() % 5),
                        static_cast<double>(1 + random() % 100) / 100};
    CHECK(run_shared(costs, repeats, sms) == Approx(stepped(costs, repeats, sms)).epsilon(1e-9));
  }
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
