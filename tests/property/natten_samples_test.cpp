// NATTEN's published profiler samples beside what its kernels visit.
#include <cmath>
#include <fstream>
#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/io/catalog.hpp>
#include <natten_sim/models/tiles/natten_visits.hpp>
#include <natten_sim/models/tiles/token_permutation.hpp>

#include "catch.hpp"
#include "places.hpp"

namespace natten_samples_test {

using namespace natten_sim;

Extents extents(const nlohmann::json& values) {
  Extents result;
  for (const std::int64_t value : values) result.push_back(value);
  return result;
}

struct Sample {
  std::string gpu;
  Extents input;
  std::int64_t heads = 1;
  Walk pass = Walk::kForward;
  TilePair tiles;
  double ms = 0, total_ms = 0;
  KernelVisits visits;
  TokenPermutation permutation;
};

std::vector<Sample> samples() {
  std::ifstream file(std::string(natten_sim::test::kSourceDir) + "/data/natten-profiler-samples.json");
  std::vector<Sample> read;
  const nlohmann::json document = nlohmann::json::parse(file);
  for (const auto& entry : document.at("samples")) {
    if (entry.at("kernel") == "cudnn") continue;
    const NattenBackend backend = parse_name<NattenBackend>(entry.at("kernel").get<std::string>());
    const NeighborhoodMask mask =
        make_mask(extents(entry.at("input")), extents(entry.at("window")), extents(entry.at("stride")));
    const TilePair tiles{extents(entry.at("q_tile")), extents(entry.at("kv_tile"))};
    const std::int64_t heads = entry.at("heads");
    const Walk pass = entry.value("pass", "forward") == "backward" ? Walk::kBackward : Walk::kForward;
    const double ms = entry.at("ms");
    const NattenProblem problem{
        .mask = mask, .backend = backend, .tiles = tiles, .fmha = {backend, 128, 128}, .pass = pass};
    const OperandSizes sizes{.heads = heads, .heads_kv = heads, .head_dim = 128, .head_dim_value = 128};
    read.push_back(
        {entry.at("gpu").get<std::string>(), extents(entry.at("input")), heads, pass, tiles, ms,
         entry.value("total_ms", ms), natten_visits(problem).attention,
         token_permutation(mask, backend, tiles, pass, sizes)});
  }
  return read;
}

double ns_per_tile(const Sample& sample) {
  return sample.ms * 1e6 /
         (static_cast<double>(sample.visits.visited_tiles) * static_cast<double>(sample.heads));
}

TEST_CASE(
    "published times of large runs are visited tiles times a constant, half as large again when masked") {
  std::map<std::string, std::vector<double>> unmasked, masked;
  for (const Sample& sample : samples()) {
    if (sample.input.rank() == 1) continue;  // one head of 128 Q tiles or so: a wave or two
    const Masking masking = masking_of(sample.visits);
    REQUIRE((masking == Masking::kNone || masking == Masking::kElements));
    (masking == Masking::kNone ? unmasked : masked)[sample.gpu].push_back(ns_per_tile(sample));
  }
  for (const std::string gpu : {"H100", "B200"}) {
    REQUIRE(unmasked[gpu].size() == 2);
    REQUIRE(masked[gpu].size() == 2);
    // FLUX and Hunyuan Video: the same constant within 5% unmasked, 15% masked.
    CHECK(std::abs(unmasked[gpu][0] / unmasked[gpu][1] - 1) < 0.05);
    CHECK(std::abs(masked[gpu][0] / masked[gpu][1] - 1) < 0.15);
    for (std::size_t i = 0; i < 2; ++i) {
      CHECK(masked[gpu][i] / unmasked[gpu][i] > 1.4);
      CHECK(masked[gpu][i] / unmasked[gpu][i] < 1.7);
    }
  }
}

TEST_CASE("published totals spend about a nanosecond a kilobyte on token permutation") {
  for (const Sample& sample : samples()) {
    if (sample.input.rank() == 1 || sample.permutation.bytes == 0) continue;
    const double bytes_per_s =
        static_cast<double>(sample.permutation.bytes) / ((sample.total_ms - sample.ms) * 1e-3);
    CHECK(bytes_per_s > 0.9e12);
    CHECK(bytes_per_s < 1.5e12);
  }
}

TEST_CASE("on a B200 strided Hunyuan attention is 10.4 times faster, 7.3 times with token permutation") {
  const double dense_ms = 135.265;
  for (const Sample& sample : samples()) {
    if (sample.gpu != "B200" || sample.input.rank() != 3 || masking_of(sample.visits) != Masking::kNone)
      continue;
    CHECK(std::abs(dense_ms / sample.ms - 10.4) < 0.05);
    CHECK(std::abs(dense_ms / sample.total_ms - 7.3) < 0.05);
    // The count alone: 480 Q tiles x 900 KV tiles against 38,880 visited.
    CHECK(sample.visits.visited_tiles == 38'880);
    CHECK(sample.visits.launched_tiles == 480);
  }
}

/// Nanoseconds for the multiplication of a Q tile of 64 tokens with a KV tile of 64.
double ns_per_4096_pairs(const Sample& sample) {
  const auto area = static_cast<double>(product(sample.tiles.q_tile, "q_tile")) *
                    static_cast<double>(product(sample.tiles.kv_tile, "kv_tile"));
  return ns_per_tile(sample) * 4096 / area;
}

TEST_CASE("on an A100 the profiler's search finds tiles that our counts say run without masks") {
  // Four published times: default and optimized tiles, forward and backward. Nothing is copied.
  std::vector<Sample> a100;
  for (const Sample& sample : samples()) {
    if (sample.gpu == "A100") a100.push_back(sample);
  }
  REQUIRE(a100.size() == 4);
  for (const Sample& sample : a100) CHECK(sample.permutation.bytes == 0);
  // 8 x 12 x 20 Q tiles. On each axis 4 does not divide the window of 18 or the stride groups start between
  // tiles, so all visited tiles are masked, forward and backward alike: 5 x 6 x 6 KV tiles for most Q tiles.
  CHECK(masking_of(a100[0].visits) == Masking::kElements);
  CHECK(masking_of(a100[1].visits) == Masking::kElements);
  CHECK(a100[0].visits.launched_tiles == 8 * 12 * 20);
  // 15 x 6 x 20 Q tiles of 2x8x4, 9 x 3 x 3 KV tiles of 2x8x8 each: windows that tiles divide, no masks.
  CHECK(masking_of(a100[2].visits) == Masking::kNone);
  CHECK(a100[2].visits.visited_tiles == 15 * 6 * 20 * 9 * 3 * 3);
  CHECK(masking_of(a100[3].visits) == Masking::kNone);
  CHECK(a100[3].visits.visited_tiles == 15 * 6 * 10 * 9 * 3 * 3);
  // A masked pair of tiles costs twice an unmasked one forward; backward, where more is multiplied, as much.
  CHECK(std::abs(ns_per_4096_pairs(a100[0]) / ns_per_4096_pairs(a100[2]) - 2.1) < 0.1);
  CHECK(std::abs(ns_per_4096_pairs(a100[1]) / ns_per_4096_pairs(a100[3]) - 1.05) < 0.05);
}

TEST_CASE("NATTEN's dry runs list our tile pairs, in our order") {
  std::ifstream file(std::string(natten_sim::test::kSourceDir) + "/data/natten-profiler-samples.json");
  const nlohmann::json document = nlohmann::json::parse(file);
  const Catalog catalog = builtin_catalog();
  for (const auto& run : document.at("dry_runs")) {
    const std::string name = run.at("kernel");
    INFO(name);
    const Walk pass = run.at("pass") == "backward" ? Walk::kBackward : Walk::kForward;
    const std::vector<TilePair> ours = tile_pairs(catalog.backend(name), 3, 128, pass);
    const auto& theirs = run.at("tiles");
    REQUIRE(ours.size() >= theirs.size());
    CHECK((ours.size() == theirs.size() || !run.at("whole").get<bool>()));
    for (std::size_t i = 0; i < theirs.size(); ++i) {
      CHECK(ours[i].q_tile == extents(theirs[i][0]));
      CHECK(ours[i].kv_tile == extents(theirs[i][1]));
    }
  }
}

}  // namespace natten_samples_test
