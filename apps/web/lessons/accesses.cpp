#include <algorithm>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/core/kv_order.hpp>
#include <natten_sim/report/json.hpp>
#include <natten_sim/sim/reuse/stack_distance.hpp>

#include "cli/context.hpp"
#include "cli/reply.hpp"

namespace natten_sim::cli {
namespace {

constexpr std::int64_t kMostAccesses = 20'000;

/// CTAs walk KV tiles in front of one LRU cache, one tile a step each. CTA w takes Q tiles w, w + ctas, .. and
/// starts `drift` * w steps late. At most the tiles up to its Q tile are walked with a causal mask.
struct AccessesFlags {
  std::int64_t kv_tiles = 16, q_tiles = 4, ctas = 1, drift = 0, capacity_tiles = 8;
  KvOrder order = KvOrder::kCyclic;
  bool causal = false;
  OutputFlags output;
};

Options<AccessesFlags> accesses_rows() {
  Options<AccessesFlags> rows;
  rows.add("--kv-tiles", &AccessesFlags::kv_tiles, {.value = "N", .help = "KV tiles [default]", .range = {1, 1000}});
  rows.add("--q-tiles", &AccessesFlags::q_tiles, {.value = "N", .help = "Q tiles [default]", .range = {1, 1000}});
  rows.add("--ctas", &AccessesFlags::ctas, {.value = "N", .help = "CTAs [default]", .range = {1, 64}});
  rows.add("--drift", &AccessesFlags::drift,
           {.value = "N", .help = "Steps by which each CTA starts after the one before [default]", .range = {0, 1000}});
  rows.add("--capacity-tiles", &AccessesFlags::capacity_tiles,
           {.value = "N", .help = "KV tiles that the cache holds [default]", .range = {1, 100'000}});
  rows.add("--order", &AccessesFlags::order, {.value = "KIND", .help = "Order of KV tiles [default]"});
  rows.add("--causal", &AccessesFlags::causal, {.help = "Q tile q visits KV tiles up to its own"});
  return rows.include(output_rows(), &AccessesFlags::output);
}

/// KV tiles that a Q tile visits, in the order of its CTA's pass number `pass`.
std::vector<std::int64_t> walk(const AccessesFlags& flags, std::int64_t q_tile, std::int64_t pass) {
  const std::int64_t last =
      flags.causal ? std::min(flags.kv_tiles, ((q_tile + 1) * flags.kv_tiles + flags.q_tiles - 1) / flags.q_tiles)
                   : flags.kv_tiles;
  std::vector<std::int64_t> tiles;
  for (std::int64_t tile = 0; tile < last; ++tile) tiles.push_back(tile);
  const bool down = flags.order == KvOrder::kDescending || (flags.order == KvOrder::kSawtooth && pass % 2 == 1);
  if (down) std::reverse(tiles.begin(), tiles.end());
  return tiles;
}

struct Access {
  std::int64_t step = 0, cta = 0, q_tile = 0, kv_tile = 0;
};

/// By step, CTAs in turn.
std::vector<Access> accesses_of(const AccessesFlags& flags) {
  std::vector<Access> all;
  for (std::int64_t cta = 0; cta < flags.ctas; ++cta) {
    std::int64_t step = cta * flags.drift;
    std::int64_t pass = 0;
    for (std::int64_t q_tile = cta; q_tile < flags.q_tiles; q_tile += flags.ctas, ++pass) {
      for (const std::int64_t kv_tile : walk(flags, q_tile, pass)) all.push_back({step++, cta, q_tile, kv_tile});
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const Access& a, const Access& b) {
    return a.step != b.step ? a.step < b.step : a.cta < b.cta;
  });
  return all;
}

int run_accesses(const AccessesFlags& flags, Reply& reply) {
  if (flags.kv_tiles * flags.q_tiles > kMostAccesses) {
    throw InvalidParameter("q-tiles", std::to_string(flags.q_tiles) + " of " + std::to_string(flags.kv_tiles) + " accesses each",
                           "at most " + std::to_string(kMostAccesses) + " accesses");
  }
  StackDistances distances(flags.kv_tiles);
  ReuseProfile profile;
  Json rows = Json::array();
  for (const Access& access : accesses_of(flags)) {
    const std::optional<std::int64_t> distance = distances.access(access.kv_tile);
    profile.add(distance);
    Json row = Json::array();
    for (const std::int64_t value : {access.step, access.cta, access.q_tile, access.kv_tile}) row.push_back(value);
    row.push_back(report::nullable(distance));
    rows.push_back(row);
  }
  Json curve = Json::array();  // of capacities 0, 1, ..
  for (std::int64_t capacity = 0; capacity <= flags.kv_tiles; ++capacity) curve.push_back(profile.misses(capacity));
  Json result = {{"accesses", profile.accesses()},
                 {"cold", profile.cold()},
                 {"misses", profile.misses(flags.capacity_tiles)},
                 {"misses_of_capacity", curve},
                 {"walk", rows}};
  put_answer(flags.output, reply, JsonAnswer("accesses", Json::object(), std::move(result)));
  return kExitDone;
}

}  // namespace

Command accesses_lesson();
Command accesses_lesson() {
  Command command{.name = "accesses", .summary = "CTAs in front of a small cache, access by access"};
  bind(command, accesses_rows(), run_accesses);
  return command;
}

}  // namespace natten_sim::cli
