#include "windows/kind_groups.hpp"

#include <map>

#include <natten_sim/core/cancellation.hpp>

namespace natten_sim {
namespace {

void add(std::uint32_t number, const AxisKind& kind, const Reach& reach, KindGroup& group) {
  const bool first = group.kinds.empty();
  group.kinds.push_back(number);
  const Reach& all = group.reach;
  group.reach = first ? reach
                      : Reach{std::min(all.lo, reach.lo), std::max(all.hi, reach.hi),
                              std::max(all.smallest, reach.smallest), std::min(all.largest, reach.largest)};
  for (std::size_t pass = 0; pass < group.least.size(); ++pass) {
    AxisWork& least = group.least[pass];
    const AxisWork& work = kind.work[pass];
    least = {.ctas = work.ctas,
             .visited = first ? work.visited : std::min(least.visited, work.visited),
             .without_elements = std::max(least.without_elements, work.without_elements),
             .filled = first ? work.filled : std::min(least.filled, work.filled)};
  }
}

}  // namespace

Reach reach_of(const AxisKind& kind, double length) {
  Reach reach{static_cast<double>(kind.least_attended()), static_cast<double>(kind.most_attended())};
  const auto less = [](const KindMember& a, const KindMember& b) { return a.window < b.window; };
  const auto [least, most] = std::minmax_element(kind.members.begin(), kind.members.end(), less);
  reach.smallest = length / static_cast<double>(least->window);
  reach.largest = length / static_cast<double>(most->window);
  return reach;
}

namespace {

std::vector<KindGroup> kind_groups(const Kinds& kinds, const std::vector<Reach>& reach, double clipped_share) {
  std::map<std::int64_t, KindGroup> by_window;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    poll();
    add(static_cast<std::uint32_t>(i), kinds[i], reach[i], by_window[kinds[i].members.back().window]);
  }
  std::vector<KindGroup> groups;
  for (auto& [window, group] : by_window) {
    for (AxisWork& work : group.least) work.without_elements = std::min(work.without_elements, work.visited);
    groups.push_back(std::move(group));
  }
  std::stable_sort(groups.begin(), groups.end(), [&](const KindGroup& a, const KindGroup& b) {
    return visits_of(a.least[0]).full(clipped_share) < visits_of(b.least[0]).full(clipped_share);
  });
  return groups;
}

}  // namespace

GroupedKinds grouped(const Kinds& kinds, double length, double clipped_share, std::size_t passes) {
  GroupedKinds all{.kinds = &kinds, .clipped_share = clipped_share, .reach = {}, .groups = {}, .most_attended = {}};
  for (const AxisKind& kind : kinds) {
    poll();
    all.reach.push_back(reach_of(kind, length));
    all.least_attended = std::min(all.least_attended, all.reach.back().lo);
    all.most_attended_of_all = std::max(all.most_attended_of_all, all.reach.back().hi);
    for (std::size_t pass = 0; pass < passes; ++pass) {
      const Visits of_kind = visits_of(kind.work[pass]);
      all.least[pass] = all.least[pass].least(of_kind);
      all.least_per_pair[pass] = all.least_per_pair[pass].least(of_kind.over(all.reach.back().hi));
    }
  }
  all.groups = kind_groups(kinds, all.reach, clipped_share);
  for (const KindGroup& group : all.groups)
    all.most_attended.push_back(std::max(all.most_attended.empty() ? 0.0 : all.most_attended.back(), group.reach.hi));
  return all;
}

}  // namespace natten_sim
