// What searches take at most: tables of each axis, and combinations where every window has a place on a front.
#include <algorithm>
#include <set>
#include <utility>

#include <natten_sim/study/estimate.hpp>
#include <natten_sim/study/kernel_choice.hpp>

#include "searches/search_space.hpp"

namespace natten_sim::study {
namespace {

/// Of combinations that are tried before bounds are tight, and what is held whatever the space.
constexpr double kFirstSteps = 50'000, kFirstBytes = 4 << 20;

/// Ways to tile one axis, in either pass.
double pairs_along(const SearchSpace& space, std::size_t axis) {
  std::set<std::pair<std::int64_t, std::int64_t>> pairs;
  const auto add = [&](const TilePair& tiles) {
    if (!tiles.q_tile.empty()) pairs.emplace(tiles.q_tile[axis], tiles.kv_tile[axis]);
  };
  for (const TileChoice& choice : space.tiles) {
    add(choice.tiles);
    add(choice.backward_tiles);
  }
  return static_cast<double>(std::max<std::size_t>(1, pairs.size()));
}

/// Windows and strides of one axis: a stride is at most its window.
double options_along(const IntRange& windows, const IntRange& strides) {
  if (windows.hi < windows.lo) return 0;
  const auto longest = [&](std::int64_t window) { return static_cast<double>(std::min(window, strides.hi)); };
  const double mean = (longest(windows.lo) + longest(windows.hi)) / 2 - static_cast<double>(strides.lo) + 1;
  return static_cast<double>(windows.hi - windows.lo + 1) * std::max(1.0, mean);
}

Estimate estimate_of(SearchQuestion question, const Context& context) {
  if (asks_cycle(question.cyclic) && question.kernels.empty() && question.tiles.empty() && question.setting.device)
    question.kernels = {kCyclicKernel};
  question.setting = resolved(question.setting, context.catalog, has_pass(question.phase, Walk::kBackward));
  SearchAnswer known;
  known.question = question;
  const SearchSpace space = space_of(context.catalog, known);
  // Tables are made again for more rows where some are alike, and by time for tighter bounds.
  const double tables = (question.phase == SearchPhase::kBoth ? 2 : 1) * (question.setting.device ? 8 : 2);
  Estimate estimate{.steps = kFirstSteps,
                    .bytes = kFirstBytes,
                    .option = "input",
                    .value = to_string(space.input),
                    .at_most = true};
  constexpr double kOfTuple = 20, kBytesOfWindow = 2000;
  const double bytes_of_tuple = question.setting.device ? 10 : 500;  // by time most have no place on the front
  double tuples = 1;
  for (std::size_t axis = 0; axis < space.input.rank(); ++axis) {
    const auto windows = static_cast<double>(space.window[axis].hi - space.window[axis].lo + 1);
    estimate.steps += tables * pairs_along(space, axis) * options_along(space.window[axis], space.stride[axis]);
    estimate.bytes += kBytesOfWindow * windows;
    tuples *= windows;
  }
  if (question.kind == SearchKind::kPareto) {
    estimate.steps += tables * kOfTuple * tuples;
    estimate.bytes += bytes_of_tuple * tuples;
  }
  return estimate;
}

Estimate times(Estimate estimate, double searches) {
  estimate.steps *= searches;
  return estimate;
}

/// Searches of one device's advice: for each of three points twice, and more where a speedup is looked for.
constexpr double kOfAdvice = 6, kOfSpeedup = 30;

}  // namespace

Estimate estimate(const DevicesSearch& asked, const Context& given) {
  const WithKernels kernels(given, asked.question.kernels);
  const std::vector<std::string>& devices = asked.devices.names;
  SearchQuestion question = asked.question;
  if (!devices.empty()) question.setting.device = devices.front();
  return times(estimate_of(question, kernels.get()), static_cast<double>(std::max<std::size_t>(1, devices.size())));
}

Estimate estimate(const AdviseQuestion& asked, const Context& context) {
  SearchQuestion question;
  question.setting = asked.setting;
  question.setting.backend = std::nullopt;
  if (!asked.devices.empty()) question.setting.device = asked.devices.front();
  question.phase = asked.use == AdviseUse::kTraining ? SearchPhase::kBoth : SearchPhase::kForward;
  question.window = asked.window;
  question.stride = asked.stride;
  question.cyclic = asked.cyclic;
  const std::size_t devices = asked.devices.empty() ? context.catalog.devices.size() : asked.devices.size();
  return times(estimate_of(question, context), static_cast<double>(devices) * (asked.speedup ? kOfSpeedup : kOfAdvice));
}

Estimate estimate(const PlanQuestion& asked, const Context& context) {
  AdviseQuestion question;
  question.setting = asked.setting;
  if (asked.setting.device) question.devices = {*asked.setting.device};
  question.use = asked.use;
  question.window = asked.window;
  question.stride = asked.stride;
  return estimate(question, context);
}

}  // namespace natten_sim::study
