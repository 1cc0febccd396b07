// The search by time against plain enumeration: every combination timed by study::time.
#include <algorithm>
#include <random>
#include <set>
#include <tuple>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/models/tiles/axis_count.hpp>
#include <natten_sim/models/tiles/natten_visits.hpp>
#include <natten_sim/sim/tiles/kernel_grid.hpp>
#include <natten_sim/search/windows/time_search.hpp>
#include <natten_sim/study/search.hpp>
#include <natten_sim/study/time.hpp>

#include "catch.hpp"
#include "random.hpp"

namespace time_search_test {

using namespace natten_sim;

struct Row {
  double ms = 0, left_out = 0;  // pairs; negative: those that attend
  bool masked = false;
  std::int64_t stride_product = 1;
  double unevenness = 1;
  Extents window, stride;
  std::vector<Extents> tiles;  // Q and KV tile of each pass
  std::size_t choice = 0;
  std::vector<std::int64_t> visits;  // what every CTA does along each axis, and how the launch masks

  [[nodiscard]] auto rank() const {
    return std::tie(ms, left_out, masked, stride_product, unevenness, window, stride, tiles, choice);
  }
};

/// The fastest first; times that only rounding tells apart are equal.
void sort_by_time(std::vector<Row>& rows) {
  const auto before = [](const Row& a, const Row& b) { return a.rank() < b.rank(); };
  std::sort(rows.begin(), rows.end(), before);
  for (std::size_t first = 0, end = 0; first < rows.size(); first = end) {
    const double ms = rows[first].ms;
    while (end < rows.size() && rows[end].ms <= ms * (1 + 1e-12)) ++end;
    const auto at = [&](std::size_t i) { return rows.begin() + static_cast<std::ptrdiff_t>(i); };
    std::sort(at(first), at(end), [&](Row a, Row b) {
      a.ms = b.ms = ms;
      return before(a, b);
    });
  }
}

struct Scenario {
  study::SearchQuestion question;
  study::Context context;
};

const TilePair& pair_of(const TileChoice& choice, Walk pass) {
  return pass == Walk::kForward ? choice.tiles : choice.backward_tiles;
}

std::vector<Walk> passes_of(const Scenario& scenario) {
  std::vector<Walk> passes;
  for (const Walk walk : {Walk::kForward, Walk::kBackward}) {
    if (has_pass(scenario.question.phase, walk)) passes.push_back(walk);
  }
  return passes;
}

study::TimeQuestion timed(const Scenario& scenario, const TileChoice& choice, const NeighborhoodMask& mask,
                          Walk pass) {
  const study::Setting& setting = scenario.question.setting;
  study::TimeQuestion asked{.kernel = choice.kernel, .device = "h200"};
  asked.schedule = scenario.question.kernel_schedule.value_or(KernelSchedule::kCooperative);
  asked.mask = mask;
  asked.tiles = pair_of(choice, pass);
  asked.pass = pass;
  asked.sizes = {.batch = 1, .heads = *setting.heads, .heads_kv = *setting.heads, .head_dim = 128,
                 .head_dim_value = 128, .element_bytes = 2};
  asked.dtype = Dtype::kFp16;
  return asked;
}

NattenBackend family_of(const TileChoice& choice) {
  return choice.kernel == "flexattention" ? NattenBackend::kFlexFna : NattenBackend::kHopperFna;
}

void add_visits(const TileChoice& choice, const NeighborhoodMask& mask, Walk pass,
                std::vector<std::int64_t>& key) {
  const TilePair& pair = pair_of(choice, pass);
  for (std::size_t axis = 0; axis < mask.rank(); ++axis) {
    NattenProblem problem;
    problem.mask.push_back(mask[axis]);
    problem.backend = family_of(choice);
    problem.tiles = {Extents{pair.q_tile[axis]}, Extents{pair.kv_tile[axis]}};
    problem.pass = pass;
    problem.kernel_alone = true;
    const KernelVisits visits = natten_visits(problem).attention;
    key.insert(key.end(), {-1, visits.unmasked_tiles, visits.bounds_masked_tiles});
    for (const CtaVisits& cta : list_ctas(problem.mask, problem.tiles, problem.backend, pass)) {
      key.push_back(cta.tiles);
      if (problem.backend == NattenBackend::kFlexFna) key.push_back(cta.full);
    }
  }
}

/// All combinations within the sparsity and imbalance.
std::vector<Row> enumerated(const Scenario& scenario) {
  const study::SearchQuestion& question = scenario.question;
  const Extents& input = question.setting.input;
  std::vector<Row> rows;
  for (std::size_t choice = 0; choice < question.tiles.size(); ++choice) {
    const TileChoice& tiles = question.tiles[choice];
    std::vector<std::pair<Extents, Extents>> combinations = {{{}, {}}};
    for (std::size_t axis = 0; axis < input.rank(); ++axis) {
      std::vector<std::pair<Extents, Extents>> longer;
      for (const auto& [window, stride] : combinations) {
        for (std::int64_t w = 1; w <= input[axis] / question.dilation[axis]; ++w) {
          for (std::int64_t s = 1; s <= w; ++s) {
            longer.emplace_back(window, stride);
            longer.back().first.push_back(w);
            longer.back().second.push_back(s);
          }
        }
      }
      combinations = std::move(longer);
    }
    for (const auto& [window, stride] : combinations) {
      const NeighborhoodMask mask = make_mask(input, window, stride, question.dilation, question.causal);
      double attended = 1, dense = 1, least = 1e9, most = 0;
      for (std::size_t axis = 0; axis < input.rank(); ++axis) {
        attended *= static_cast<double>(attended_pairs(mask[axis]));
        dense *= static_cast<double>(input[axis] * input[axis]);
        const double ratio = static_cast<double>(input[axis]) / static_cast<double>(window[axis]);
        least = std::min(least, ratio);
        most = std::max(most, ratio);
      }
      const double sparsity = 1 - attended / dense;
      if (question.constraints.sparsity && (sparsity < question.constraints.sparsity->lo - 1e-12 ||
                                            sparsity > question.constraints.sparsity->hi + 1e-12))
        continue;
      if (question.constraints.max_imbalance && most > *question.constraints.max_imbalance * least + 1e-12)
        continue;
      Row row{.unevenness = most / least, .window = window, .stride = stride};
      row.left_out = -attended;
      row.choice = choice;
      for (const std::int64_t each : stride) row.stride_product *= each;
      for (const Walk pass : passes_of(scenario)) {
        const study::TimeQuestion asked = timed(scenario, tiles, mask, pass);
        row.ms += std::get<study::PassTime>(study::time(asked, scenario.context)).total_ms;
        row.tiles.push_back(asked.tiles.q_tile);
        row.tiles.push_back(asked.tiles.kv_tile);
        add_visits(tiles, mask, pass, row.visits);
        NattenProblem problem;
        problem.mask = mask;
        problem.backend = family_of(tiles);
        problem.tiles = asked.tiles;
        problem.pass = pass;
        problem.kernel_alone = true;
        row.masked = row.masked || natten_visits(problem).attention.masked_tiles > 0;
      }
      row.visits.push_back(static_cast<std::int64_t>(choice));
      bool whole = family_of(tiles) == NattenBackend::kFlexFna;  // runs as one sequence, in no tiles of the layout
      for (std::size_t axis = 0; axis < input.rank(); ++axis)
        whole = whole && window[axis] == input[axis] && !question.causal[axis];
      row.visits.push_back(whole ? 1 : 0);
      rows.push_back(std::move(row));
    }
  }
  sort_by_time(rows);
  return rows;
}

std::vector<Row> distinct(const std::vector<Row>& rows, Distinct how, std::size_t top) {
  std::vector<Row> chosen;
  std::set<std::vector<std::int64_t>> visits;
  std::set<std::pair<Extents, Extents>> masks;
  for (const Row& row : rows) {
    if (chosen.size() == top) break;
    if (how == Distinct::kNone) {
      chosen.push_back(row);
      continue;
    }
    if (!visits.insert(row.visits).second) continue;
    const Extents stride = how == Distinct::kStride ? row.stride : Extents{};
    if (how != Distinct::kTiles && !masks.insert({row.window, stride}).second) continue;
    chosen.push_back(row);
  }
  return chosen;
}

Scenario random_scenario(std::mt19937& random) {
  const auto between = [&](std::int64_t lo, std::int64_t hi) {
    return std::uniform_int_distribution<std::int64_t>(lo, hi)(random);
  };
  const auto factor = [&] { return std::uniform_real_distribution<double>(0.5, 2)(random); };
  Scenario scenario{.question = {}, .context = study::default_context()};
  study::SearchQuestion& question = scenario.question;
  const auto rank = static_cast<std::size_t>(between(1, 3));
  for (std::size_t axis = 0; axis < rank; ++axis) {
    question.setting.input.push_back(between(3, rank == 1 ? 30 : rank == 2 ? 11 : 5));
    if (rank == 1 && between(0, 2) == 0) question.setting.input[0] += 60;  // long enough for a sketch
    question.dilation.push_back(between(0, 4) == 0 ? 2 : 1);
    question.causal.push_back(between(0, 4) == 0);
  }
  question.setting.device = "h200";
  question.setting.heads = between(1, 200);
  question.setting.head_dim = 128;
  question.setting.dtype = Dtype::kFp16;
  question.any = true;
  question.objective = Objective::kTime;
  question.top = between(1, 12);
  const Distinct kinds[] = {Distinct::kTiles, Distinct::kStride, Distinct::kWindow, Distinct::kNone};
  question.distinct = kinds[between(0, 3)];
  const SearchPhase phases[] = {SearchPhase::kForward, SearchPhase::kBackward, SearchPhase::kBoth};
  question.phase = phases[between(0, 2)];
  if (between(0, 2) > 0) question.constraints.sparsity = SparsityRange{0.25, 0.25 * static_cast<double>(between(2, 4))};
  if (between(0, 2) == 0) question.constraints.max_imbalance = 1.5;
  if (between(0, 3) == 0) question.kernel_schedule = KernelSchedule::kPingpong;
  std::vector<KernelCosts> costs;
  for (const char* kernel : {"hopper-fna", "flexattention"}) {
    PassCosts pass;
    pass.q_tile_tokens = pass.kv_tile_tokens = 4;
    pass.unmasked_tile_us = factor();
    pass.bounds_masked_tile_us = 1.25 * pass.unmasked_tile_us;
    for (double& masked : pass.masked_tile_us) masked = 1.5 * pass.unmasked_tile_us;
    pass.cta_us = 3 * factor();
    pass.launch_us = 4;
    pass.slowdown = 0.1;
    pass.slowdown_ms = factor();
    PassCosts backward = pass;
    backward.pass = Walk::kBackward;
    backward.unmasked_tile_us *= 2;
    backward.bounds_masked_tile_us *= 2.2;
    for (double& masked : backward.masked_tile_us) masked *= 2.5;
    backward.cta_us *= factor();
    costs.push_back({kernel, "h200", 128, {Dtype::kFp16}, {pass, backward}, {}});
  }
  scenario.context.catalog.kernel_costs = costs;
  const Extents shapes[3][2] = {{{4}, {4}}, {{2, 2}, {4, 1}}, {{1, 2, 2}, {2, 2, 1}}};
  for (const Extents& q_tile : shapes[rank - 1]) {
    const Extents& kv_tile = shapes[rank - 1][between(0, 1)];
    const TilePair pair = {q_tile, kv_tile}, none = {};
    const TilePair forward = has_pass(question.phase, Walk::kForward) ? pair : none;
    const TilePair backward = has_pass(question.phase, Walk::kBackward) ? pair : none;
    const TilePair turned = backward.q_tile.empty() ? none : TilePair{kv_tile, q_tile};
    question.tiles.push_back({"hopper-fna", forward, between(0, 1) == 0 ? backward : turned, "hopper-fna"});
    if (between(0, 1) == 0) question.tiles.push_back({"flex-fna", forward, backward, "flexattention"});
    if (rank == 1) break;
  }
  return scenario;
}

/// Of `trials` random scenarios; how many rows were compared.
std::size_t compare(std::uint64_t seed, int trials) {
  INFO("NATTEN_SIM_SEED=" << seed);
  std::mt19937 random(static_cast<std::mt19937::result_type>(seed));
  std::size_t rows = 0;
  for (int trial = 0; trial < trials; ++trial) {
    const Scenario scenario = random_scenario(random);
    INFO("trial " << trial << ", layout " << to_string(scenario.question.setting.input));
    const std::vector<Row> expected =
        distinct(enumerated(scenario), *scenario.question.distinct, static_cast<std::size_t>(*scenario.question.top));
    const study::SearchAnswer answer = study::search(scenario.question, scenario.context);
    CHECK(answer.complete);
    REQUIRE(answer.candidates.size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const study::SearchCandidate& found = answer.candidates[i];
      INFO("row " << i);
      CHECK(found.total_ms() == expected[i].ms);
      CHECK(window_of(found.counted.problem.mask) == expected[i].window);
      CHECK(stride_of(found.counted.problem.mask) == expected[i].stride);
      const Walk first = passes_of(scenario).front();
      CHECK(pair_of(found.tiles, first).q_tile == expected[i].tiles.front());
      ++rows;
    }
  }
  return rows;
}

TEST_CASE("the fastest combinations are those of plain enumeration, in its order") {
  const int trials = natten_sim::test::cases(30);
  CHECK(compare(natten_sim::test::stored_seed(), trials) > static_cast<std::size_t>(trials * 5 / 3));
}

TEST_CASE("a window over the input that runs as one sequence is a row of its own, wherever its tiles would put it") {
  CHECK(compare(3147411981, 183) > 500);  // the last of them: FlexAttention, 5x4, forward and backward
}

}  // namespace time_search_test
