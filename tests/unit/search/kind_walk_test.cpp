// Which combinations of kinds are kept: those with the smallest bounds of all, whatever was kept before.
#include "windows/kind_walk.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <natten_sim/core/random_bits.hpp>

#include "catch.hpp"

namespace kind_walk_test {

using namespace natten_sim;

Kinds random_kinds(RandomSequence& random, std::size_t count) {
  Kinds kinds;
  for (std::size_t i = 0; i < count; ++i) {
    const auto visited = static_cast<std::int64_t>(4 + i + random.below(2));
    AxisKind kind;
    kind.work[0] = {.ctas = 2, .visited = visited, .without_elements = visited - 2, .unmasked = visited - 4};
    kind.members = {{.window = 1, .attended = 8, .stride = 1}};
    kinds.push_back(std::move(kind));
  }
  std::sort(kinds.begin(), kinds.end(),
            [](const AxisKind& a, const AxisKind& b) { return a.work[0].visited < b.work[0].visited; });
  return kinds;
}

using Bound = std::vector<double>;

Bound row_of(const KindTuple& tuple) {
  return {tuple.least_ms, static_cast<double>(tuple.choice), static_cast<double>(tuple.kinds[0]),
          static_cast<double>(tuple.kinds[1])};
}

TEST_CASE("of all combinations of kinds, those with the smallest bounds are kept, and no others") {
  RandomSequence random(17);
  SearchSpace space = full_space({8, 8});
  space.tiles = {{"", {{2, 2}, {2, 2}}}, {"", {{4, 4}, {2, 2}}}};
  TimeObjective objective;
  for (int trial = 0; trial < 50; ++trial) {
    objective.choices.clear();
    const double unit = trial % 2 == 0 ? 1 : 1.0 / 64;  // with small costs a quotient is more than a product
    for (const double us : {3.0, 4.0}) {
      TimedPass pass{.repeats = 2, .workers = 3};
      pass.costs.unmasked_tile_us = us * unit, pass.costs.bounds_masked_tile_us = (us + 1) * unit;
      pass.costs.masked_tile_us = {(us + 2) * unit, (us + 2) * unit, (us + 2) * unit};
      pass.costs.cta_us = unit;
      objective.choices.push_back({{pass}});
    }
    const Kinds first = random_kinds(random, 1 + random.below(5)),
                second = random_kinds(random, 1 + random.below(6));
    const auto kept_of = [&](std::size_t most) {
      std::vector<KindTuple> kept;
      for (std::size_t choice = 0; choice < 2; ++choice) {
        const GroupedKinds groups[] = {grouped(first, 8, 0, 1), grouped(second, 8, 0, 1)};
        PerAxis<const GroupedKinds*> axes;
        axes.push_back(&groups[0]);
        axes.push_back(&groups[1]);
        KindWalk(space, {}, objective, choice, axes).collect(most, kept);
      }
      std::sort(kept.begin(), kept.end());
      std::vector<Bound> rows;
      for (const KindTuple& tuple : kept) rows.push_back(row_of(tuple));
      return rows;
    };
    const std::vector<Bound> all = kept_of(1000);
    REQUIRE(all.size() == 2 * first.size() * second.size());
    for (std::size_t most = 1; most <= all.size(); ++most) {
      CAPTURE(trial, most);
      CHECK(kept_of(most) ==
            std::vector<Bound>(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(most)));
    }
  }
}

TEST_CASE("the bound of a combination is the time of its work, on as many waves as there have to be") {
  SearchSpace space = full_space({8, 8});
  space.tiles = {{"", {{2, 2}, {2, 2}}}};
  TimedPass pass{.repeats = 4, .workers = 3};
  pass.costs.unmasked_tile_us = 3, pass.costs.bounds_masked_tile_us = 4;
  pass.costs.masked_tile_us = {5, 6, 7};
  pass.costs.cta_us = 2, pass.costs.launch_us = 9;
  TimeObjective objective;
  objective.choices.push_back({{pass}});
  AxisKind first, second;
  first.work[0] = {.ctas = 2, .visited = 9, .without_elements = 7, .unmasked = 4, .even = false};
  second.work[0] = {.ctas = 3, .visited = 5, .without_elements = 4, .unmasked = 2, .even = false};
  first.members = second.members = {{.window = 1, .attended = 8, .stride = 1}};
  const Kinds firsts = {first}, seconds = {second};
  const GroupedKinds groups[] = {grouped(firsts, 8, 0, 1), grouped(seconds, 8, 0, 1)};
  PerAxis<const GroupedKinds*> axes;
  axes.push_back(&groups[0]);
  axes.push_back(&groups[1]);
  std::vector<KindTuple> kept;
  KindWalk(space, {}, objective, 0, axes).collect(10, kept);
  REQUIRE(kept.size() == 1);
  // 4 heads of 6 CTAs: 45 tiles, of which 28 without elements and 8 unmasked, on three workers.
  const double us = 4 * (8 * 3.0 + 20 * 4.0 + 17 * 6.0 + 6 * 2.0) / 3 + 9;
  CHECK(kept[0].least_ms == Approx(us / 1e3).epsilon(1e-6));
}

TEST_CASE("what is said of all kinds and of groups holds for each of them, and one meets it") {
  RandomSequence random(23);
  for (int trial = 0; trial < 30; ++trial) {
    Kinds kinds = random_kinds(random, 1 + random.below(12));
    for (AxisKind& kind : kinds) {
      const auto window = static_cast<std::int64_t>(1 + random.below(4));
      kind.work[0].filled =
          static_cast<double>(kind.work[0].visited) - 0.25 * static_cast<double>(random.below(4));
      kind.work[1] = kind.work[0];
      kind.work[1].visited += static_cast<std::int64_t>(random.below(3));
      kind.members = {{.window = window, .attended = 8 * window, .stride = 1},
                      {.window = window + 1, .attended = 8 * (window + 1), .stride = 1}};
    }
    const GroupedKinds all = grouped(kinds, 8, 0.5, 2);
    std::vector<std::uint32_t> numbers;
    double least_attended = 1e300, most_attended = 0;
    Visits least[2] = {kEndless, kEndless}, per_pair[2] = {kEndless, kEndless};
    for (std::size_t group = 0; group < all.groups.size(); ++group) {
      const KindGroup& own = all.groups[group];
      for (const std::uint32_t number : own.kinds) {
        const AxisKind& kind = kinds[number];
        numbers.push_back(number);
        CHECK(kind.members.back().window == kinds[own.kinds.front()].members.back().window);
        CHECK((own.reach.lo <= static_cast<double>(kind.least_attended()) &&
               own.reach.hi >= static_cast<double>(kind.most_attended())));
        CHECK(all.most_attended[group] >= static_cast<double>(kind.members.back().attended));
        least_attended = std::min(least_attended, static_cast<double>(kind.members.front().attended));
        most_attended = std::max(most_attended, static_cast<double>(kind.members.back().attended));
        for (std::size_t pass = 0; pass < 2; ++pass) {
          const Visits visits = visits_of(kind.work[pass]), of_group = visits_of(own.least[pass]);
          CHECK((of_group.all <= visits.all && of_group.filled <= visits.filled));
          least[pass] = least[pass].least(visits);
          per_pair[pass] =
              per_pair[pass].least(visits.over(static_cast<double>(kind.members.back().attended)));
        }
      }
      if (group > 0) {
        CHECK(visits_of(all.groups[group - 1].least[0]).full(0.5) <= visits_of(own.least[0]).full(0.5));
      }
    }
    std::sort(numbers.begin(), numbers.end());
    REQUIRE(numbers.size() == kinds.size());  // each in one group
    CHECK(std::adjacent_find(numbers.begin(), numbers.end()) == numbers.end());
    CHECK((all.least_attended == least_attended && all.most_attended_of_all == most_attended));
    for (std::size_t pass = 0; pass < 2; ++pass) {
      CHECK((all.least[pass].all == least[pass].all && all.least[pass].filled == least[pass].filled));
      CHECK((all.least_per_pair[pass].all == per_pair[pass].all &&
             all.least_per_pair[pass].filled == per_pair[pass].filled));
    }
  }
}

}  // namespace kind_walk_test
