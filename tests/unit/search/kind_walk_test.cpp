// Which combinations of kinds are kept: those with the smallest bounds of all, whatever was kept before.
#include "windows/kind_walk.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <natten_sim/core/random_bits.hpp>

#include "catch.hpp"

namespace {

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
  for (const double us : {3.0, 4.0}) {
    TimedPass pass{.repeats = 2, .workers = 3};
    pass.costs.unmasked_tile_us = us, pass.costs.bounds_masked_tile_us = us + 1;
    pass.costs.masked_tile_us = {us + 2, us + 2, us + 2};
    pass.costs.cta_us = 1;
    objective.choices.push_back({{pass}});
  }
  for (int trial = 0; trial < 50; ++trial) {
    const Kinds first = random_kinds(random, 1 + random.below(5)), second = random_kinds(random, 1 + random.below(6));
    const auto kept_of = [&](std::size_t most) {
      std::vector<KindTuple> kept;
      for (std::size_t choice = 0; choice < 2; ++choice) {
        PerAxis<const Kinds*> axes;
        axes.push_back(&first);
        axes.push_back(&second);
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

}  // namespace
