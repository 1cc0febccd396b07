#include <natten_sim/kernels/attention_forward/split_tail.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>

namespace natten_sim::kernels::attention_forward {
namespace {

constexpr std::int32_t kShortestPart = 2;

/// The parts of one CTA after the other.
using Assignment = std::vector<std::vector<SplitPart>>;

/// Fills CTA after CTA up to `level`; nothing where the items do not fit below it.
std::optional<Assignment> fill(std::span<const std::int32_t> tiles, std::int32_t whole,
                               const std::vector<double>& loads, double level, const SplitCosts& costs) {
  Assignment assigned(loads.size());
  auto item = static_cast<std::size_t>(whole);
  std::int32_t done = 0;  // tiles of it
  for (std::size_t cta = 0; cta < loads.size() && item < tiles.size(); ++cta) {
    double room = level - loads[cta];
    while (item < tiles.size()) {
      const std::int32_t left = tiles[item] - done;
      const double fixed = costs.item + (done > 0 ? costs.part : 0);
      if (fixed + left <= room) {  // the rest of it
        assigned[cta].push_back({static_cast<std::int32_t>(item), done, tiles[item]});
        room -= fixed + left;
        ++item;
        done = 0;
        continue;
      }
      auto taken = static_cast<std::int32_t>(std::floor(room - costs.item - costs.part));
      taken = std::min(taken, left - kShortestPart);
      if (taken >= kShortestPart) {
        assigned[cta].push_back({static_cast<std::int32_t>(item), done, done + taken});
        done += taken;
      }
      break;
    }
  }
  if (item < tiles.size()) return std::nullopt;
  return assigned;
}

/// Numbers the parts of each item and lays them out in rounds.
std::vector<SplitPart> rounds(Assignment assigned) {
  std::size_t most = 0;
  std::vector<SplitPart*> of_item;
  const auto close = [&] {
    for (std::size_t i = 0; i < of_item.size(); ++i) {
      of_item[i]->number = static_cast<std::int32_t>(i);
      of_item[i]->parts = static_cast<std::int32_t>(of_item.size());
    }
    of_item.clear();
  };
  for (std::vector<SplitPart>& parts : assigned) {
    most = std::max(most, parts.size());
    for (SplitPart& part : parts) {
      if (!of_item.empty() && of_item.back()->item != part.item) close();
      of_item.push_back(&part);
    }
  }
  close();
  std::vector<SplitPart> list(most * assigned.size());
  for (std::size_t cta = 0; cta < assigned.size(); ++cta) {
    for (std::size_t round = 0; round < assigned[cta].size(); ++round)
      list[round * assigned.size() + cta] = assigned[cta][round];
  }
  return list;
}

std::vector<double> loads_of(std::span<const std::int32_t> tiles, std::int32_t ctas, const SplitCosts& costs) {
  std::vector<double> loads(static_cast<std::size_t>(ctas), 0.0);
  for (std::size_t i = 0; i < tiles.size(); ++i) loads[i % loads.size()] += costs.item + tiles[i];
  return loads;
}

}  // namespace

SplitTail split_tail(std::span<const std::int32_t> tiles, std::int32_t ctas, const SplitCosts& costs) {
  const auto items = static_cast<std::int32_t>(tiles.size());
  const auto longest = [](const std::vector<double>& loads) {
    return *std::max_element(loads.begin(), loads.end());
  };
  SplitTail best{items, {}, longest(loads_of(tiles, ctas, costs))};
  const double bound = best.makespan - 0.25;
  for (const std::int32_t rest : {items % ctas, items % ctas + ctas}) {
    if (rest == 0 || rest > items) continue;
    const std::int32_t whole = items - rest;
    const std::vector<double> loads =
        loads_of(tiles.first(static_cast<std::size_t>(whole)), ctas, costs);
    double low = longest(loads), high = std::min(best.makespan, bound);
    std::optional<Assignment> found = high > low ? fill(tiles, whole, loads, high, costs) : std::nullopt;
    if (!found) continue;
    while (high - low > 0.05) {
      const double middle = (low + high) / 2;
      if (std::optional<Assignment> fits = fill(tiles, whole, loads, middle, costs)) {
        found = std::move(fits);
        high = middle;
      } else {
        low = middle;
      }
    }
    best = {whole, rounds(std::move(*found)), high};
  }
  return best;
}

}  // namespace natten_sim::kernels::attention_forward
