#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/io/catalog.hpp>
#include <natten_sim/io/contention_data.hpp>
#include <natten_sim/models/scatter/remedies.hpp>

#include "catch.hpp"

namespace remedies_test {

using namespace natten_sim;

const Device& device_of(const std::string& name) {
  static const Catalog catalog = builtin_catalog();
  return catalog.device(name);
}

ContentionProfile profile_of(const std::string& name) { return contention_profile(device_of(name)); }

PreReductionCosts costs_of(const std::string& name) {
  const PreReductionCosts measured = measured_pre_reduction();
  return scaled_costs(measured, device_of(measured.device), device_of(name));
}

/// One row of 32 elements that takes all updates.
ScatterLoad one_row(std::int64_t updates, Dtype type, InstructionPath path) {
  ScatterLoad load;
  load.updates = load.max_multiplicity = load.serial_multiplicity = updates;
  load.rows_touched = updates > 0 ? 1 : 0;
  load.width = 32;
  load.type = type;
  load.path = path;
  return load;
}

std::vector<std::string> ranking(const std::vector<Remedy>& remedies) {
  std::vector<std::string> names;
  for (const Remedy& remedy : remedies) names.push_back(remedy.name);
  return names;
}

bool before(const std::vector<Remedy>& remedies, const char* a, const char* b) {
  const std::vector<std::string> names = ranking(remedies);
  return std::find(names.begin(), names.end(), a) < std::find(names.begin(), names.end(), b);
}

TEST_CASE(
    "pre-reduction loses at the contention of a decoder, as the paper measured, and wins under collapse") {
  // A100, B4_800x1333_d256_L4: 614,400 updates of 32 channels, hottest row some 40.
  ScatterLoad load;
  load.updates = 614400;
  load.rows_touched = 400000;
  load.max_multiplicity = load.serial_multiplicity = 40;
  load.width = 32;
  load.type = Dtype::kBf16;
  load.path = InstructionPath::kCas;
  const auto decide = [&] {
    return compare_remedies(load, 704480, profile_of("a100-40gb"), {}, costs_of("a100-40gb"));
  };
  const auto mild = decide();
  for (const char* loser : {"warp-pre-reduction", "block-pre-reduction", "sort-pre-reduction"})
    CHECK(before(mild, "as-is", loser));
  // Measured order: 4.85 ms sort, 5.56 ms warp, 22.59 ms block.
  CHECK(before(mild, "sort-pre-reduction", "warp-pre-reduction"));
  CHECK(before(mild, "warp-pre-reduction", "block-pre-reduction"));
  load.max_multiplicity = load.serial_multiplicity = 200000;
  const auto collapse = decide();
  CHECK(collapse.front().name == "fp32-accumulator");
  CHECK(before(collapse, "sort-pre-reduction", "as-is"));
  CHECK(before(collapse, "private-copies-8", "as-is"));
}

double time_of(const std::vector<Remedy>& remedies, const std::string& name) {
  for (const Remedy& remedy : remedies) {
    if (remedy.name == name) return remedy.time_ns;
  }
  throw std::runtime_error(name);
}

TEST_CASE("pre-reduction also ends the retries of updates that come close together") {
  ScatterLoad load;
  load.updates = 1000000;
  load.rows_touched = 100000;
  load.max_multiplicity = load.serial_multiplicity = 12;
  load.width = 32;
  load.type = Dtype::kBf16;
  load.path = InstructionPath::kCas;
  const auto remedies = [&](double close_updates) {
    load.close_updates = close_updates;
    return compare_remedies(load, 100000, profile_of("a100-40gb"), {}, costs_of("a100-40gb"));
  };
  const auto apart = remedies(0), close = remedies(1000);
  CHECK(time_of(close, "as-is") > 10 * time_of(apart, "as-is"));
  // Sorted, every row is written once.
  CHECK(time_of(close, "sort-pre-reduction") == time_of(apart, "sort-pre-reduction"));
  // A group writes a row once: 32 or 4 groups in 1024 updates, of which one is the update itself.
  CHECK(time_of(close, "warp-pre-reduction") == time_of(remedies(31), "warp-pre-reduction"));
  CHECK(time_of(close, "block-pre-reduction") == time_of(remedies(3), "block-pre-reduction"));
  CHECK(time_of(remedies(2), "block-pre-reduction") < time_of(close, "block-pre-reduction"));
}

/// An H200 whose own kernels cost round numbers.
ContentionProfile round_costs() {
  ContentionProfile profile = profile_of("h200");
  profile.sweep->constants.host_launch_ns = 0;
  profile.sweep->remedies = RemedyCosts{.launch_ns = 1000,
                                        .half_bytes_per_ns = 2,
                                        .fp32_bytes_per_ns = 4,
                                        .sort_ns = 50000,
                                        .sort_update_ns = 3,
                                        .sum_ns = 2,
                                        .write_ns = 5,
                                        .join_ns = 400,
                                        .loop_rows = 1};
  return profile;
}

TEST_CASE("a sort costs its launches, its updates, and the blocks of the hottest row one after the other") {
  ScatterLoad load = one_row(6400, Dtype::kBf16, InstructionPath::kCas);
  load.width = 64;
  load.rows_touched = 10;
  const auto sort_ns = [&] {
    return time_of(compare_remedies(load, 1000, round_costs(), {}, costs_of("h200")),
                   "sort-pre-reduction");
  };
  // Two warps a row: 6,400 updates of 3 + 2 * 2 ns, ten rows of 2 * 5 ns. The hottest row fills 100 blocks of
  // 64, of which 99 are joined to the first.
  CHECK(sort_ns() == 50000 + 6400 * (3 + 4) + 10 * 10 + 99 * 400);
  load.max_multiplicity = 64;  // one block: nothing to join
  CHECK(sort_ns() == 50000 + 6400 * (3 + 4) + 10 * 10);
}

TEST_CASE("sorting nothing costs what nothing costs") {
  const auto remedies = compare_remedies(one_row(0, Dtype::kBf16, InstructionPath::kCas), 1000, round_costs(),
                                         {}, costs_of("h200"));
  CHECK(time_of(remedies, "sort-pre-reduction") == time_of(remedies, "as-is"));
}

TEST_CASE("private copies begin from zero, and do not part rows that are visited in turn") {
  ScatterLoad load = one_row(65536, Dtype::kBf16, InstructionPath::kCas);
  load.width = 256;
  load.rows_touched = load.hottest_rows = 64;
  load.max_multiplicity = load.serial_multiplicity = 1024;
  load.prior_runs = 13;
  const auto private_ns = [&](std::int64_t turn_rows) {
    load.turn_rows = turn_rows;
    return time_of(compare_remedies(load, 1000, round_costs(), {}, costs_of("h200")),
                   "private-copies-8");
  };
  // A CTA has 512 elements, two updates: update u comes to copy u / 2 % 8, and row u % 64 to one copy always.
  ScatterLoad alone = load;
  alone.prior_runs = 0;
  // Copies are zeroed, read, and added to the destination: 18 times its 512,000 bytes, at 2 a ns.
  const double copying = 18 * 1000 * 512 / 2.0 + 2 * 1000;
  CHECK(std::abs(private_ns(64) - (predict_contention(alone, round_costs()).time_ns + copying)) < 1e-6);
  // 63 rows come to all eight copies, as rows in no order do.
  CHECK(private_ns(63) == private_ns(0));
  CHECK(private_ns(0) - copying < (private_ns(64) - copying) / 10);
}

TEST_CASE("remedies state their memory") {
  ScatterLoad load = one_row(1000, Dtype::kBf16, InstructionPath::kCas);
  load.width = 256;
  std::map<std::string, std::int64_t> bytes;
  for (const Remedy& remedy :
       compare_remedies(load, 1000, profile_of("h200"), {}, costs_of("h200")))
    bytes[remedy.name] = remedy.extra_bytes;
  const std::map<std::string, std::int64_t> expected = {
      {"as-is", 0},
      {"fp32-accumulator", 1000 * 256 * 4},
      {"warp-pre-reduction", 0},
      {"block-pre-reduction", 0},
      {"sort-pre-reduction",
       1000 * (16 + 256 * 2)},  // a key and a position of 8 bytes, and the sorted values
      {"private-copies-8", 8 * 1000 * 256 * 2}};
  CHECK(bytes == expected);
}

}  // namespace remedies_test
