#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/validate/measure/pace.hpp>
#include <natten_sim/validate/measure/timing.hpp>

namespace natten_sim::validate {
namespace {

using kernels::ItemInterval;

struct Cta {
  std::vector<ItemInterval> items;  // in the order of time
  std::size_t slot = 0;             // among the CTAs of its SM
};

using CtasOfSm = std::map<std::uint32_t, std::map<std::uint32_t, Cta>>;  // by SM, then by number

CtasOfSm by_sm(std::span<const ItemInterval> intervals) {
  CtasOfSm sms;
  for (const ItemInterval& each : intervals) sms[each.sm][each.cta].items.push_back(each);
  for (auto& [sm, ctas] : sms) {
    std::size_t slot = 0;
    for (auto& [number, cta] : ctas) {
      std::sort(cta.items.begin(), cta.items.end(),
                [](const ItemInterval& a, const ItemInterval& b) { return a.begin_ns < b.begin_ns; });
      cta.slot = slot++;
    }
  }
  return sms;
}

/// The median of |X - Y| is 0.9539 sigma for normal X, Y. A few interrupted items do not change it.
constexpr double kMedianOfDifferences = 0.9539;

double nanoseconds(const ItemInterval& item) { return static_cast<double>(item.end_ns - item.begin_ns); }

double median(std::vector<double> values) { return spread_of(values).median; }

/// The items of a CTA that count, in the order of time.
using CountedItems = std::vector<ItemInterval>;

/// Cycles from the first mark to mark `mark`, or with `mark` past the last those of the whole item. None where
/// the item has no such tile.
double cycles_of(const ItemInterval& item, int mark) {
  if (mark == kernels::kItemMarks) return static_cast<double>(item.end_cycle - item.begin_cycle);
  const std::uint64_t first = item.mark_cycles[0], last = item.mark_cycles[static_cast<std::size_t>(mark)];
  return first == 0 || last == 0 ? 0 : static_cast<double>(last - first);
}

/// Deviation of the cycles to a mark by the median difference of successive items of a CTA; empty without two.
std::optional<double> deviation_at(const std::vector<CountedItems>& ctas, int mark) {
  std::vector<double> differences;
  double sum = 0;
  for (const CountedItems& items : ctas) {
    for (std::size_t i = 1; i < items.size(); ++i) {
      const double before = cycles_of(items[i - 1], mark), now = cycles_of(items[i], mark);
      if (before == 0 || now == 0) continue;
      differences.push_back(std::abs(now - before));
      sum += (now + before) / 2;
    }
  }
  if (differences.empty()) return std::nullopt;
  const double mean = sum / static_cast<double>(differences.size());
  return median(std::move(differences)) / kMedianOfDifferences / mean;
}

std::vector<TileVariation> variation_of(const std::vector<CountedItems>& ctas, std::int64_t kv_tiles) {
  std::vector<TileVariation> variation;
  for (int mark = 1; mark <= kernels::kItemMarks; ++mark) {
    const std::int64_t tiles = mark == kernels::kItemMarks ? kv_tiles : kernels::tiles_to_mark(mark);
    if (const std::optional<double> deviation = deviation_at(ctas, mark))
      variation.push_back({tiles, *deviation});
  }
  // Marks alone tell of tiles; the whole item has cycles where the kernel takes any.
  return variation.size() > 1 ? variation : std::vector<TileVariation>();
}

/// By the median distance from the median, which is 0.6745 sigma: an SM that was interrupted does not count.
double deviation_of_ctas(const std::vector<CountedItems>& ctas, const std::vector<std::size_t>& slot_of) {
  std::map<std::size_t, std::vector<double>> of_slot;
  for (std::size_t i = 0; i < ctas.size(); ++i) {
    std::vector<double> cycles;
    for (const ItemInterval& item : ctas[i]) cycles.push_back(cycles_of(item, kernels::kItemMarks));
    if (!cycles.empty()) of_slot[slot_of[i]].push_back(median(std::move(cycles)));
  }
  std::vector<double> distances;
  for (auto& [slot, medians] : of_slot) {
    const double middle = median(medians);
    if (middle == 0) return 0;
    for (const double each : medians) distances.push_back(std::abs(each - middle) / middle);
  }
  return distances.empty() ? 0 : median(std::move(distances)) / 0.6745;
}

/// Share of a tile's time for scores, from the tiles between the first three marks, which are single ones.
std::optional<double> score_share_of(const std::vector<CountedItems>& ctas) {
  static_assert(kernels::tiles_to_mark(1) == 1 && kernels::tiles_to_mark(2) == 2);
  std::vector<double> shares;
  for (const CountedItems& items : ctas) {
    for (const ItemInterval& item : items) {
      for (const std::size_t tile : {0, 1}) {
        const std::uint64_t begin = item.mark_cycles[tile], middle = item.middle_cycles[tile],
                            end = item.mark_cycles[tile + 1];
        if (begin < middle && middle < end && begin != 0)
          shares.push_back(static_cast<double>(middle - begin) / static_cast<double>(end - begin));
      }
    }
  }
  if (shares.empty()) return std::nullopt;
  return median(std::move(shares));
}

/// At the clock that each item had.
std::optional<double> arrival_ns_of(const std::vector<CountedItems>& ctas) {
  std::vector<double> times;
  for (const CountedItems& items : ctas) {
    for (const ItemInterval& item : items) {
      const double cycles = cycles_of(item, kernels::kItemMarks);
      if (item.arrival_cycles != 0 && cycles > 0)
        times.push_back(static_cast<double>(item.arrival_cycles) * nanoseconds(item) / cycles);
    }
  }
  if (times.empty()) return std::nullopt;
  return median(std::move(times));
}

}  // namespace

CtaPace pace_of(std::span<const ItemInterval> intervals, std::int64_t kv_tiles) {
  const auto tiles = static_cast<double>(kv_tiles);
  std::vector<std::vector<double>> of_slot;
  std::vector<double> differences;
  double mean = 0;
  CtaPace pace;
  std::vector<CountedItems> counted;
  std::vector<std::size_t> slot_of;  // of each of them
  for (const auto& [sm, ctas] : by_sm(intervals)) {
    std::uint64_t all_begun = 0, first_over = UINT64_MAX;
    for (const auto& [number, cta] : ctas) {
      all_begun = std::max(all_begun, cta.items.front().begin_ns);
      first_over = std::min(first_over, cta.items.back().end_ns);
    }
    for (const auto& [number, cta] : ctas) {
      of_slot.resize(std::max(of_slot.size(), cta.slot + 1));
      double before = 0;
      counted.emplace_back();
      slot_of.push_back(cta.slot);
      for (std::size_t i = cta.items.size() > 1 ? 1 : 0; i < cta.items.size(); ++i) {
        if (cta.items[i].begin_ns < all_begun || cta.items[i].end_ns > first_over) continue;
        const double time = nanoseconds(cta.items[i]);
        of_slot[cta.slot].push_back(time / tiles);
        counted.back().push_back(cta.items[i]);
        mean += time;
        ++pace.items;
        if (before > 0) differences.push_back(std::abs(time - before));
        before = time;
      }
    }
  }
  for (std::vector<double>& values : of_slot) {
    if (values.empty()) {
      throw InvalidParameter("items", std::to_string(intervals.size()),
                             "enough for several items a CTA, or for one CTA an SM");
    }
    pace.tile_ns.push_back(median(std::move(values)));
  }
  if (pace.tile_ns.empty()) throw InvalidParameter("intervals", "none", "those of one launch");
  mean /= pace.items;
  if (!differences.empty()) {
    pace.jitter = median(std::move(differences)) / kMedianOfDifferences / mean * std::sqrt(tiles);
  }
  pace.variation = variation_of(counted, kv_tiles);
  pace.score_share = score_share_of(counted);
  pace.arrival_ns = arrival_ns_of(counted);
  pace.cta_deviation = deviation_of_ctas(counted, slot_of);
  return pace;
}

}  // namespace natten_sim::validate
