#include <algorithm>
#include <cmath>
#include <map>

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

double nanoseconds(const ItemInterval& item) { return static_cast<double>(item.end_ns - item.begin_ns); }

double median(std::vector<double> values) { return spread_of(values).median; }

}  // namespace

CtaPace pace_of(std::span<const ItemInterval> intervals, std::int64_t kv_tiles) {
  const auto tiles = static_cast<double>(kv_tiles);
  std::vector<std::vector<double>> of_slot;
  std::vector<double> differences;
  double mean = 0;
  CtaPace pace;
  for (const auto& [sm, ctas] : by_sm(intervals)) {
    std::uint64_t all_begun = 0, first_over = UINT64_MAX;
    for (const auto& [number, cta] : ctas) {
      all_begun = std::max(all_begun, cta.items.front().begin_ns);
      first_over = std::min(first_over, cta.items.back().end_ns);
    }
    for (const auto& [number, cta] : ctas) {
      of_slot.resize(std::max(of_slot.size(), cta.slot + 1));
      double before = 0;
      for (std::size_t i = cta.items.size() > 1 ? 1 : 0; i < cta.items.size(); ++i) {
        if (cta.items[i].begin_ns < all_begun || cta.items[i].end_ns > first_over) continue;
        const double time = nanoseconds(cta.items[i]);
        of_slot[cta.slot].push_back(time / tiles);
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
    // The median of |X - Y| is 0.9539 sigma for normal X, Y. A few interrupted items do not change it.
    pace.jitter = median(std::move(differences)) / 0.9539 / mean * std::sqrt(tiles);
  }
  return pace;
}

}  // namespace natten_sim::validate
