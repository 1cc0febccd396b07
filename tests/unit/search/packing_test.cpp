// MULTIFIT against first fit decreasing in its textbook form, and against the optimum by brute force.
#include "schedules/packing.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include <natten_sim/core/random_bits.hpp>

#include "catch.hpp"
#include "schedules/local_change.hpp"

namespace packing_test {

using namespace natten_sim;
using schedules::Assignment;
using schedules::multifit;
using Lists = std::vector<std::vector<std::int32_t>>;

double load_of(const std::vector<std::int32_t>& list, const std::vector<double>& times) {
  double load = 0;
  for (const std::int32_t chain : list) load += times[static_cast<std::size_t>(chain)];
  return load;
}

double largest_load(const Lists& lists, const std::vector<double>& times) {
  double largest = 0;
  for (const auto& list : lists) largest = std::max(largest, load_of(list, times));
  return largest;
}

/// Every chain on every worker.
double optimum(const std::vector<double>& times, std::size_t workers) {
  std::vector<double> loads(workers, 0.0);
  double best = std::accumulate(times.begin(), times.end(), 0.0);
  const auto place = [&](const auto& self, std::size_t chain) -> void {
    if (chain == times.size()) {
      best = std::min(best, *std::max_element(loads.begin(), loads.end()));
      return;
    }
    for (double& load : loads) {
      load += times[chain];
      self(self, chain + 1);
      load -= times[chain];
    }
  };
  place(place, 0);
  return best;
}

/// First fit decreasing: every chain on the first worker with room, longest chains first.
std::optional<Lists> first_fit_decreasing(const std::vector<double>& times, std::size_t workers,
                                          double limit) {
  std::vector<std::int32_t> order(times.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return times[static_cast<std::size_t>(a)] > times[static_cast<std::size_t>(b)];
  });
  Lists lists(workers);
  for (const std::int32_t chain : order) {
    const auto room = std::find_if(lists.begin(), lists.end(), [&](const auto& list) {
      return load_of(list, times) + times[static_cast<std::size_t>(chain)] <= limit;
    });
    if (room == lists.end()) return std::nullopt;
    room->push_back(chain);
  }
  return lists;
}

/// MULTIFIT as it was published: the limit is bisected, first fit decreasing packs.
Lists published_multifit(const std::vector<double>& times, std::size_t workers, double least) {
  if (const auto at_once = first_fit_decreasing(times, workers, least)) return *at_once;
  double low = least, high = std::accumulate(times.begin(), times.end(), 0.0);
  for (int step = 0; step < 60; ++step) {
    const double middle = (low + high) / 2;
    (first_fit_decreasing(times, workers, middle) ? high : low) = middle;
  }
  return *first_fit_decreasing(times, workers, high);
}

TEST_CASE("multifit packs every chain once, longest first, and within 13/11 of the optimum") {
  RandomSequence random(7);
  for (int trial = 0; trial < 300; ++trial) {
    const std::size_t workers = 1 + random.below(4);
    std::vector<double> times(random.below(8));
    for (double& time : times) time = static_cast<double>(1 + random.below(9));
    std::vector<std::int32_t> chains(times.size());
    std::iota(chains.begin(), chains.end(), 0);
    const double sum = std::accumulate(times.begin(), times.end(), 0.0);
    const double least = sum / static_cast<double>(workers);
    const Lists lists = multifit(chains, times, static_cast<std::int32_t>(workers), least);
    REQUIRE(lists.size() == workers);
    std::multiset<std::int32_t> packed;
    for (const auto& list : lists) {
      packed.insert(list.begin(), list.end());
      CHECK(std::is_sorted(list.begin(), list.end(), [&](std::int32_t a, std::int32_t b) {
        return times[static_cast<std::size_t>(a)] > times[static_cast<std::size_t>(b)];
      }));
    }
    CHECK(packed == std::multiset<std::int32_t>(chains.begin(), chains.end()));
    CHECK(largest_load(lists, times) <= optimum(times, workers) * 13 / 11 + 1e-9);
    CHECK(lists == published_multifit(times, workers, least));
  }
}

TEST_CASE("at the least limit that fits multifit is first fit decreasing") {
  // 30 in all, on two workers.
  const std::vector<double> times = {3, 7, 5, 3, 7, 5};
  const std::vector<std::int32_t> chains = {0, 1, 2, 3, 4, 5};
  // At 15 worker 0 takes 7 and 7, worker 1 takes 5, 5 and 3, and the last 3 is left; at 16 worker 1 takes it.
  CHECK_FALSE(first_fit_decreasing(times, 2, 15));
  CHECK(multifit(chains, times, 2, 15) == Lists{{1, 4}, {2, 5, 0, 3}});
  // A limit that fits at once is taken as it is, however large: all on the first worker.
  CHECK(multifit(chains, times, 2, 30) == Lists{{1, 4, 2, 5, 0, 3}, {}});
  // Names of chains are no positions.
  CHECK(multifit({40, 10, 20}, {1, 3, 2}, 2, 3) == Lists{{10}, {20, 40}});
  CHECK(multifit({}, {}, 3, 0) == Lists{{}, {}, {}});
}

Assignment small_assignment() {
  Assignment assignment;
  assignment.of_worker = {{0, 1}, {2}, {}};
  assignment.q_order = {{0, 1, 2}, {0, 1, 2}, {0, 1, 2}};
  return assignment;
}

TEST_CASE("a moved chain comes to every place and trades with every other, and no chain is lost") {
  // From {0 1} {2} {}: one chain moves to any place of any list, or trades with another.
  std::set<Lists> wanted;
  const Lists start = small_assignment().of_worker;
  for (std::size_t from = 0; from < start.size(); ++from) {
    for (std::size_t at = 0; at < start[from].size(); ++at) {
      for (std::size_t to = 0; to < start.size(); ++to) {
        Lists taken = start;
        const std::int32_t chain = taken[from][at];
        taken[from].erase(taken[from].begin() + static_cast<std::ptrdiff_t>(at));
        for (std::size_t place = 0; place <= taken[to].size(); ++place) {
          Lists moved = taken;
          moved[to].insert(moved[to].begin() + static_cast<std::ptrdiff_t>(place), chain);
          wanted.insert(moved);
        }
        for (std::size_t place = 0; place < start[to].size(); ++place) {
          Lists traded = start;
          std::swap(traded[from][at], traded[to][place]);
          wanted.insert(traded);
        }
      }
    }
  }
  wanted.insert(start);  // an empty list gives nothing
  std::map<Lists, int> seen;
  RandomSequence random(3);
  for (int trial = 0; trial < 20000; ++trial) {
    Assignment assignment = small_assignment();
    schedules::move_chain(assignment, random);
    ++seen[assignment.of_worker];
    CHECK(assignment.q_order == small_assignment().q_order);
  }
  std::set<Lists> reached;
  for (const auto& [lists, times] : seen) reached.insert(lists);
  CHECK(reached == wanted);
  // Nothing changes: the empty list is drawn first (1/3), list 1 twice (1/9), list 0 twice and a place again
  // (1/18).
  CHECK(seen[start] == Approx(20000 / 2.0).epsilon(0.05));
  // Chain 0 or 1 to the empty list, which has none to trade: 1/9 of all, half of them each.
  CHECK(seen[Lists{{1}, {2}, {0}}] == Approx(20000 / 18.0).epsilon(0.15));
  CHECK(seen[Lists{{0}, {2}, {1}}] == Approx(20000 / 18.0).epsilon(0.15));
}

TEST_CASE("a moved tile trades, moves or turns the order of one of the chains, and no tile is lost") {
  const std::vector<std::int32_t> order = {0, 1, 2, 3};
  // Of 16 pairs (a, b): swapped; the order turned to begin with a; a moved to where b is.
  std::map<std::vector<std::int32_t>, double> share;
  for (std::size_t a = 0; a < 4; ++a) {
    for (std::size_t b = 0; b < 4; ++b) {
      std::vector<std::int32_t> swapped = order, turned = order, moved = order;
      std::swap(swapped[a], swapped[b]);
      std::rotate(turned.begin(), turned.begin() + static_cast<std::ptrdiff_t>(a), turned.end());
      moved.erase(moved.begin() + static_cast<std::ptrdiff_t>(a));
      moved.insert(moved.begin() + static_cast<std::ptrdiff_t>(b), order[a]);
      for (const auto& result : {swapped, turned, moved}) share[result] += 1 / 48.0;
    }
  }
  std::map<std::vector<std::int32_t>, int> seen;
  RandomSequence random(11);
  constexpr int kTrials = 60000;
  int of_first = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    Assignment assignment;
    assignment.q_order = {order, order, order};
    schedules::move_tile(assignment, {0, 2}, random);  // chain 1 has no turn
    CHECK(assignment.q_order[1] == order);
    const bool first = assignment.q_order[2] == order;
    of_first += first && assignment.q_order[0] != order ? 1 : 0;
    ++seen[first ? assignment.q_order[0] : assignment.q_order[2]];
  }
  CHECK(seen.size() == share.size());
  for (const auto& [result, wanted] : share) CHECK(seen[result] == Approx(kTrials * wanted).epsilon(0.1));
  CHECK(of_first == Approx(kTrials * (1 - share[order]) / 2).epsilon(0.05));
  Assignment untouched;
  schedules::move_tile(untouched, {}, random);
  CHECK(untouched.q_order.empty());
}

}  // namespace packing_test
