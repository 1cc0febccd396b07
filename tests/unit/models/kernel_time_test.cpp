#include <cmath>
#include <random>

#include <natten_sim/core/error.hpp>
#include <natten_sim/models/tiles/kernel_fit.hpp>
#include <natten_sim/models/tiles/kernel_time.hpp>

#include "catch.hpp"

namespace kernel_time_test {

using namespace natten_sim;

/// 2 us an unmasked tile, 2.5 with bounds, 3 masked; 4 us a CTA, 6 a launch; 10% slower when long.
PassCosts costs() {
  PassCosts costs;
  costs.unmasked_tile_us = 2;
  costs.bounds_masked_tile_us = 2.5;
  costs.masked_tile_us = {2.8, 3.0, 3.2};
  costs.cta_us = 4;
  costs.launch_us = 6;
  costs.slowdown = 0.1;
  costs.slowdown_ms = 30;
  return costs;
}

TEST_CASE("a launch takes waves times a CTA") {
  // 20 CTAs of 10 unmasked tiles on 8 workers: ceil(20 / 8) = 3 waves of 10 * 2 + 4 = 24 us, and the launch.
  LaunchWork work = launch_work({.launched_tiles = 10, .visited_tiles = 100, .unmasked_tiles = 100}, 1, 2, 8);
  work.waves = even_waves(work.ctas, work.workers);
  PassCosts even = costs();
  even.slowdown = 0;
  const LaunchTime time = launch_time(work, even);
  CHECK(time.total_ms == Approx(1e-3 * (3 * 24 + 6)));
  CHECK(time.tiles_ms == Approx(1e-3 * 200 * 2 / 8));
  CHECK(time.prologue_ms == Approx(1e-3 * 20 * 4 / 8));
  CHECK(time.tail_ms == Approx(1e-3 * (3 - 2.5) * 24));
  CHECK(time.masking_ms == 0);
}

TEST_CASE("a masked tile costs more on more axes, and the parts add up") {
  for (const std::size_t axes : {1, 2, 3}) {
    LaunchWork work = launch_work({.launched_tiles = 8, .visited_tiles = 80, .masked_tiles = 80}, axes, 1, 8);
    work.waves = 1;
    const LaunchTime time = launch_time(work, costs());
    CHECK(time.masking_ms == Approx(1e-3 * 10 * (0.6 + 0.2 * static_cast<double>(axes))));
    CHECK(time.total_ms == Approx(time.tiles_ms + time.masking_ms + time.prologue_ms + time.tail_ms +
                                  time.launch_ms + time.slowdown_ms));
  }
}

TEST_CASE("long runs slow down, by half of the limit at the stated length") {
  CHECK(slowed_ms(30, costs()) == Approx(30 * 1.05));
  CHECK(slowed_ms(3e5, costs()) == Approx(3e5 * 1.1).epsilon(1e-4));
  CHECK(slowed_ms(0, costs()) == 0);
}

TEST_CASE("of launches that follow each other after a rest, the share that is no rest slows down") {
  // 10 ms and 5 ms of rest: two thirds of the limit. The limit remembers 30 ms, so longer rests are as 30.
  CHECK(slowed_ms(10, with_rest(costs(), 5)) == Approx(10 * (1 + 0.1 * 10 / 15)));
  CHECK(slowed_ms(10, with_rest(costs(), 0)) == Approx(10 * 1.1));
  CHECK(slowed_ms(10, with_rest(costs(), 1000)) == slowed_ms(10, costs()));
  CHECK(slowed_ms(10, with_rest(costs(), std::nullopt)) == slowed_ms(10, costs()));
}

TEST_CASE("uneven waves lie between Graham's bounds") {
  const WaveBounds bounds = uneven_waves(1000, 100, 1.5);
  CHECK(bounds.least == 10);
  CHECK(bounds.estimate == 10.5);
  CHECK(bounds.most == Approx(10 + 0.99 * 1.5));
  const WaveBounds one = uneven_waves(4, 100, 2);  // fewer CTAs than workers: the longest
  CHECK(one.least == 2);
  CHECK(one.estimate >= one.least);
}

TEST_CASE("a launch without axes, heads or workers is refused") {
  CHECK_THROWS_AS(launch_work({}, 0, 1, 1), InvalidParameter);
  CHECK_THROWS_AS(launch_work({}, 4, 1, 1), InvalidParameter);
  CHECK_THROWS_AS(launch_work({}, 1, 0, 1), InvalidParameter);
  CHECK_THROWS_AS(launch_work({}, 1, 1, 0), InvalidParameter);
}

const std::vector<CostPrior> kPriors = {{"bounds_masked", 1.2, 0.1, ""}, {"masked", 1.5, 0.1, ""},
                                        {"axis", 1.1, 0.15, ""},         {"cta_tiles", 2, 0.4, ""},
                                        {"launch_us", 4, 0.5, ""},       {"slowdown", 0.1, 0.35, ""},
                                        {"slowdown_ms", 30, 0.5, ""}};

MeasuredLaunch run(double ctas, double unmasked, double bounds, double masked, std::size_t axes) {
  MeasuredLaunch launch;
  launch.work = {.ctas = ctas,
                 .unmasked_tiles = unmasked,
                 .bounds_masked_tiles = bounds,
                 .masked_tiles = masked,
                 .axes = axes,
                 .workers = 132};
  launch.work.waves = ctas / 132 + 0.5;
  launch.ms = launch_time(launch.work, costs()).total_ms;
  return launch;
}

std::vector<MeasuredLaunch> runs_of_known_costs() {
  std::vector<MeasuredLaunch> runs;
  for (const double tiles : {12.0, 60.0, 400.0}) {
    const double ctas = 12000;
    runs.push_back(run(ctas, tiles * ctas, 0, 0, 2));
    runs.push_back(run(ctas, 0, tiles * ctas, 0, 2));
    runs.push_back(run(ctas, 0, 0, tiles * ctas, 2));
    runs.push_back(run(ctas, 0, 0, tiles * ctas, 3));
  }
  return runs;
}

TEST_CASE("masked pairs are spared their share of what power adds") {
  PassCosts spared = costs();
  spared.spared_slowdown = 0.75;
  const auto slowdown = [](const LaunchWork& work, const PassCosts& of) { return launch_time(work, of).slowdown_ms; };
  const LaunchWork unmasked = run(12000, 60.0 * 12000, 0, 0, 2).work, masked = run(12000, 0, 0, 60.0 * 12000, 2).work;
  const LaunchWork half = run(12000, 30.0 * 12000, 0, 30.0 * 12000, 2).work;
  CHECK(slowdown(unmasked, spared) == slowdown(unmasked, costs()));
  CHECK(slowdown(masked, spared) == Approx(0.25 * slowdown(masked, costs())));
  CHECK(slowdown(half, spared) == Approx((1 - 0.75 / 2) * slowdown(half, costs())));
  CHECK(launch_time(masked, spared).total_ms ==
        Approx(launch_time(masked, costs()).total_ms - 0.75 * slowdown(masked, costs())));
}

TEST_CASE("launches without rest and with a long one tell how far power slows a kernel down") {
  // Short launches alone cannot: 4 ms of 30 show an eighth of the limit.
  PassCosts truth = costs();
  truth.slowdown = 0.2;  // twice the prior
  std::vector<MeasuredLaunch> paused, both;
  for (const double tiles : {20.0, 40.0, 60.0}) {
    MeasuredLaunch launch = run(2640, tiles * 2640, 0, 0, 2);
    launch.ms = launch_time(launch.work, truth).total_ms;
    paused.push_back(launch);
    both.push_back(launch);
    launch.rest_ms = 0.05;
    launch.ms = launch_time(launch.work, with_rest(truth, 0.05)).total_ms;
    both.push_back(launch);
  }
  const auto off = [&](const std::vector<MeasuredLaunch>& runs) {
    return std::abs(fit_costs(runs, kPriors).costs.slowdown / truth.slowdown - 1);
  };
  CHECK(off(both) < 0.1);
  CHECK(off(paused) > 0.3);
}

TEST_CASE("a launch on two axes of which one is causal takes what its own program takes") {
  PassCosts causal = costs();
  causal.slowdown = 0;
  causal.axes_tile_us = {0, 0.5, 0.7};
  causal.ctas_per_sm = 2, causal.lone_share = 0.7;
  causal.causal_ctas_per_sm = 3, causal.causal_two_axes = 1.2;
  for (const std::size_t axes : {1, 2, 3}) {
    LaunchWork work = run(12000, 20.0 * 12000, 5.0 * 12000, 30.0 * 12000, axes).work;
    const double launch_ms = 1e-3 * causal.launch_us, without = launch_time(work, causal).total_ms - launch_ms;
    CHECK(launch_time(work, on_axes(causal, axes, false)).total_ms == Approx(without + launch_ms));
    CHECK(on_axes(causal, axes, false).ctas_per_sm == 2);
    work.causal = true;
    const double with = launch_time(work, causal).total_ms - launch_ms;
    const PassCosts own = on_axes(causal, axes, true);
    CHECK(with == Approx(axes == 2 ? 1.2 * without : without));
    CHECK(launch_time(work, own).total_ms == Approx(with + launch_ms));
    CHECK(own.ctas_per_sm == (axes == 2 ? 3 : 2));
    // A CTA alone on its SM: 1 / (2 * 0.7) of what it takes beside another, in both programs.
    const double alone_us = own.cta_us * shared_pace(1, own.ctas_per_sm, own.lone_share);
    CHECK(alone_us == Approx(on_axes(causal, axes, false).cta_us / 1.4));
  }
}

TEST_CASE("the pace of causal launches on two axes is fitted where a prior says that there is one") {
  PassCosts truth = costs();
  truth.causal_two_axes = 0.8;
  std::vector<MeasuredLaunch> runs = runs_of_known_costs();
  for (const double tiles : {60.0, 400.0}) {
    runs.push_back(run(12000, 0, 0, tiles * 12000, 2));
    runs.back().work.causal = true;
  }
  for (MeasuredLaunch& each : runs) each.ms = launch_time(each.work, truth).total_ms;
  std::vector<CostPrior> priors = kPriors;
  CHECK(fit_costs(runs, priors).costs.causal_two_axes == 1);
  priors.push_back({"causal_two_axes", 0.9, 0.3, ""});
  const CostFit fit = fit_costs(runs, priors);
  CHECK(fit.costs.causal_two_axes == Approx(0.8).epsilon(0.01));
  CHECK(fit.costs.evidence.left_out->worst < 0.02);
}

TEST_CASE("what masked pairs are spared is fitted where a prior says that they are") {
  PassCosts truth = costs();
  truth.slowdown = 0.12, truth.spared_slowdown = 0.6;
  std::vector<MeasuredLaunch> runs = runs_of_known_costs();
  for (const double tiles : {60.0, 400.0, 2500.0}) {
    runs.push_back(run(12000, tiles * 12000, 0, 0, 2));
    runs.push_back(run(12000, 0, 0, tiles * 12000, 2));
  }
  for (MeasuredLaunch& each : runs) each.ms = launch_time(each.work, truth).total_ms;
  std::vector<CostPrior> priors = kPriors;
  CHECK(fit_costs(runs, priors).costs.spared_slowdown == 0);
  priors.push_back({"spared_slowdown", 0.8, 3, ""});
  const CostFit fit = fit_costs(runs, priors);
  CHECK(fit.costs.spared_slowdown == Approx(0.6).epsilon(0.1));
  CHECK(fit.costs.slowdown == Approx(0.12).epsilon(0.1));
  CHECK(fit.costs.evidence.left_out->worst < 0.02);
}

TEST_CASE("without a prior for how long the limit takes to bite, it bites within a millisecond") {
  const std::vector<CostPrior> six(kPriors.begin(), kPriors.begin() + 6);
  CHECK(fit_costs(runs_of_known_costs(), six).costs.slowdown_ms == 1);
}

TEST_CASE("what a mask adds on one axis is fitted by itself where a prior says so") {
  // Of 2 us unmasked tiles a mask on two axes adds 1 us; on one axis it adds .2 us here, 1 / 1.2 us by
  // `axis`.
  std::vector<MeasuredLaunch> runs = runs_of_known_costs();
  PassCosts truth = costs();
  truth.masked_tile_us[0] = 2.2;
  for (const double tiles : {12.0, 60.0, 400.0}) {
    MeasuredLaunch line = run(12000, 0, 0, tiles * 12000, 1);
    line.ms = launch_time(line.work, truth).total_ms;
    runs.push_back(line);
  }
  std::vector<CostPrior> priors = kPriors;
  priors.push_back({"one_axis", 0.3, 0.7, ""});
  const CostFit fit = fit_costs(runs, priors);
  CHECK(fit.costs.masked_tile_us[0] == Approx(2.2).epsilon(0.03));
  CHECK(fit.costs.masked_tile_us[1] == Approx(3.0).epsilon(0.03));
  CHECK(fit.costs.masked_tile_us[2] == Approx(3.2).epsilon(0.03));
}

TEST_CASE("runs of one problem are left out together") {
  // Run 4, half as slow again, and its repetition: alone each would be told by the other.
  std::vector<MeasuredLaunch> runs = runs_of_known_costs();
  runs[4].ms *= 1.5;
  runs[4].problem = "slow";
  const double alone = *fit_costs(runs, kPriors).left_out_ms[4];
  runs.push_back(runs[4]);
  const CostFit twice = fit_costs(runs, kPriors);
  CHECK(*twice.left_out_ms[4] == Approx(alone));
  CHECK(*twice.left_out_ms.back() == Approx(alone));
  runs.back().problem.clear();
  CHECK(*fit_costs(runs, kPriors).left_out_ms[4] > alone);
}

TEST_CASE("costs that made the times are found again") {
  const CostFit fit = fit_costs(runs_of_known_costs(), kPriors);
  // The priors still pull: within 3% of what made the times, far nearer than the priors are.
  CHECK(fit.costs.unmasked_tile_us == Approx(2).epsilon(0.03));
  CHECK(fit.costs.bounds_masked_tile_us == Approx(2.5).epsilon(0.03));
  CHECK(fit.costs.masked_tile_us[1] == Approx(3.0).epsilon(0.03));
  CHECK(fit.costs.masked_tile_us[2] == Approx(3.2).epsilon(0.03));
  REQUIRE(fit.costs.evidence.left_out);
  CHECK(fit.costs.evidence.left_out->worst < 0.02);
}

TEST_CASE("one run of three that is half as slow again moves its class by less than a twentieth") {
  // Least squares would move it by a third of the error, 14%.
  std::vector<MeasuredLaunch> runs = runs_of_known_costs();
  const CostFit clean = fit_costs(runs, kPriors);
  runs[4].ms *= 1.5;
  const CostFit bent = fit_costs(runs, kPriors);
  CHECK(std::abs(bent.costs.unmasked_tile_us / clean.costs.unmasked_tile_us - 1) < 0.05);
  CHECK(std::abs(bent.costs.masked_tile_us[1] / clean.costs.masked_tile_us[1] - 1) < 0.05);
  // Its own prediction by the others says that it is off.
  CHECK(*bent.left_out_ms[4] / runs[4].ms == Approx(1 / 1.5).epsilon(0.03));
}

TEST_CASE("the run that would sharpen most is of the class that was not measured") {
  std::vector<MeasuredLaunch> runs;
  for (const double tiles : {12.0, 60.0, 400.0}) runs.push_back(run(12000, tiles * 12000, 0, 0, 2));
  const CostFit fit = fit_costs(runs, kPriors);
  const std::vector<LaunchWork> candidates = {runs[1].work, run(12000, 0, 0, 60 * 12000, 3).work};
  const std::vector<SharpeningRun> chosen = sharpening_runs(fit, kPriors, candidates, 2);
  REQUIRE(chosen.size() == 2);
  CHECK(chosen[0].candidate == 1);
  CHECK(chosen[0].uncertainty > 2 * chosen[1].uncertainty);
}

TEST_CASE("an uncertain cost makes a run as uncertain as its share of the time") {
  CostFit fit;
  fit.costs = costs();
  fit.costs.slowdown = 0;
  const std::vector<CostPrior> priors(kPriors.begin(), kPriors.begin() + 5);
  // Of the unmasked tile, four ratios and the launch, only the launch is uncertain: by a fifth.
  fit.covariance.assign(36, 0);
  fit.covariance.back() = 0.2 * 0.2;
  // 8 CTAs of 10 tiles on 8 workers: 20 us of tiles, 4 of the CTA, 6 of the launch.
  const LaunchWork work{.ctas = 8, .unmasked_tiles = 80, .workers = 8, .waves = 1};
  const std::vector<SharpeningRun> chosen = sharpening_runs(fit, priors, {work}, 1);
  REQUIRE(chosen.size() == 1);
  CHECK(chosen[0].uncertainty == Approx(0.2 * 6 / 30).epsilon(1e-3));
}

TEST_CASE("nothing measured, or no prior, is refused") {
  CHECK_THROWS_AS(fit_costs({}, kPriors), InvalidParameter);
  CHECK_THROWS_AS(fit_costs(runs_of_known_costs(), {}), InvalidParameter);
  std::vector<MeasuredLaunch> runs = runs_of_known_costs();
  runs[0].ms = 0;
  CHECK_THROWS_AS(fit_costs(runs, kPriors), InvalidParameter);
}

TEST_CASE("dense work is that of the dense kernel's visits, and goes on where those overflow") {
  for (const Walk pass : {Walk::kForward, Walk::kBackward}) {
    for (const std::int64_t queries : {1, 127, 128, 1000}) {
      for (const std::int64_t keys : {1, 64, 65, 999}) {
        const FmhaKernel kernel{NattenBackend::kHopperFna, 128, 64};
        const LaunchWork work = dense_launch_work(kernel, queries, keys, pass, 3, 132);
        const LaunchWork counted = launch_work(fmha_visits(kernel, queries, keys, false, pass), 1, 3, 132);
        CHECK(work.ctas == counted.ctas);
        CHECK(work.unmasked_tiles == counted.unmasked_tiles);
        CHECK(work.bounds_masked_tiles == counted.bounds_masked_tiles);
        CHECK(work.masked_tiles == counted.masked_tiles);
      }
    }
  }
  const std::int64_t tokens = std::int64_t{1} << 40;
  const LaunchWork huge =
      dense_launch_work({NattenBackend::kHopperFna, 128, 128}, tokens, tokens, Walk::kForward, 1, 132);
  CHECK(huge.unmasked_tiles == std::ldexp(1.0, 33 + 33));
}

TEST_CASE("a fit states the mean and the worst of what runs say of the others, and twice its spread") {
  std::vector<MeasuredLaunch> runs = runs_of_known_costs();
  runs[2].ms *= 1.3, runs[7].ms *= 0.9;
  const CostFit fit = fit_costs(runs, kPriors);
  double sum = 0, squares = 0, worst = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const double error = std::abs(fit.left_out_ms[i].value() - runs[i].ms) / runs[i].ms;
    sum += error;
    squares += error * error;
    worst = error > worst ? error : worst;
  }
  REQUIRE(fit.costs.evidence.left_out);
  CHECK(fit.costs.evidence.runs == 12);
  CHECK(fit.costs.evidence.left_out->mean == Approx(sum / 12));
  CHECK(fit.costs.evidence.left_out->worst == Approx(worst));
  CHECK(worst > 0.1);
  CHECK(fit.costs.evidence.interval == Approx(2 * std::sqrt(squares / 12)));
  const CostFit exact = fit_costs(runs_of_known_costs(), kPriors);
  CHECK(exact.costs.evidence.interval == Approx(0.04));  // no run repeats better than by 2%
  const CostFit alone = fit_costs({runs[0]}, kPriors);
  CHECK_FALSE(alone.left_out_ms[0].has_value());
  CHECK_FALSE(alone.costs.evidence.left_out.has_value());
  CHECK(alone.costs.evidence.interval == Approx(0.15));
}

}  // namespace kernel_time_test
