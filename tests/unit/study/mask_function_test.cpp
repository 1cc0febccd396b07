// What FlexAttention's partial blocks cost by their mask function, beside times measured on an H200.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <natten_sim/models/tiles/mask_function.hpp>
#include <natten_sim/sim/tiles/shared_sm.hpp>
#include <natten_sim/study/time.hpp>

#include "catch.hpp"
#include "shared_context.hpp"

namespace mask_function_test {

using namespace natten_sim;
using natten_sim::test::shared_context;

struct MeasuredMask {
  std::int64_t head_dim;
  Walk pass;
  Extents input, window, stride, tile;
  std::int64_t heads;
  MaskFunction function;
  double ms;
};

/// Medians of nine launches by scripts/time_mask_functions.py, PyTorch 2.11 on an NVIDIA H200, bf16.
const std::vector<MeasuredMask>& measured_masks() {
  static const std::vector<MeasuredMask> rows = {
    {64, Walk::kBackward, {128, 128}, {24, 24}, {1, 1}, {1, 128}, 16, MaskFunction::kRows, 3.374},
    {64, Walk::kBackward, {128, 128}, {24, 24}, {1, 1}, {1, 128}, 16, MaskFunction::kTables, 3.0919},
    {64, Walk::kBackward, {128, 128}, {24, 24}, {1, 1}, {8, 16}, 16, MaskFunction::kTables, 1.7093},
    {64, Walk::kBackward, {128, 128}, {24, 24}, {1, 1}, {8, 16}, 16, MaskFunction::kTiles, 2.4684},
    {64, Walk::kBackward, {128, 128}, {24, 24}, {8, 8}, {8, 16}, 16, MaskFunction::kTables, 0.9886},
    {64, Walk::kBackward, {128, 128}, {24, 24}, {8, 8}, {8, 16}, 16, MaskFunction::kTiles, 1.1825},
    {64, Walk::kBackward, {16, 32, 32}, {8, 16, 16}, {1, 1, 1}, {1, 4, 32}, 16, MaskFunction::kRows, 5.7533},
    {64, Walk::kBackward, {16, 32, 32}, {8, 16, 16}, {1, 1, 1}, {1, 4, 32}, 16, MaskFunction::kTables, 4.6095},
    {64, Walk::kBackward, {16, 32, 32}, {8, 16, 16}, {1, 1, 1}, {4, 4, 8}, 16, MaskFunction::kTables, 3.223},
    {64, Walk::kBackward, {16, 32, 32}, {8, 16, 16}, {1, 1, 1}, {4, 4, 8}, 16, MaskFunction::kTiles, 5.8369},
    {64, Walk::kBackward, {32768}, {2048}, {1}, {128}, 8, MaskFunction::kCompare, 1.3218},
    {64, Walk::kBackward, {32768}, {2048}, {1}, {128}, 8, MaskFunction::kRows, 1.3123},
    {64, Walk::kBackward, {32768}, {2048}, {1}, {128}, 8, MaskFunction::kTables, 1.4039},
    {64, Walk::kBackward, {32768}, {2048}, {256}, {128}, 8, MaskFunction::kRows, 1.2119},
    {64, Walk::kForward, {128, 128}, {24, 24}, {1, 1}, {1, 128}, 16, MaskFunction::kRows, 1.1762},
    {64, Walk::kForward, {128, 128}, {24, 24}, {1, 1}, {1, 128}, 16, MaskFunction::kTables, 1.6095},
    {64, Walk::kForward, {128, 128}, {24, 24}, {1, 1}, {8, 16}, 16, MaskFunction::kTables, 0.8886},
    {64, Walk::kForward, {128, 128}, {24, 24}, {1, 1}, {8, 16}, 16, MaskFunction::kTiles, 1.2325},
    {64, Walk::kForward, {128, 128}, {24, 24}, {8, 8}, {8, 16}, 16, MaskFunction::kTables, 0.5133},
    {64, Walk::kForward, {128, 128}, {24, 24}, {8, 8}, {8, 16}, 16, MaskFunction::kTiles, 0.529},
    {64, Walk::kForward, {16, 32, 32}, {8, 16, 16}, {1, 1, 1}, {1, 4, 32}, 16, MaskFunction::kRows, 3.5835},
    {64, Walk::kForward, {16, 32, 32}, {8, 16, 16}, {1, 1, 1}, {1, 4, 32}, 16, MaskFunction::kTables, 2.3944},
    {64, Walk::kForward, {16, 32, 32}, {8, 16, 16}, {1, 1, 1}, {4, 4, 8}, 16, MaskFunction::kTables, 1.7619},
    {64, Walk::kForward, {16, 32, 32}, {8, 16, 16}, {1, 1, 1}, {4, 4, 8}, 16, MaskFunction::kTiles, 3.4276},
    {64, Walk::kForward, {32768}, {2048}, {1}, {128}, 8, MaskFunction::kCompare, 0.4135},
    {64, Walk::kForward, {32768}, {2048}, {1}, {128}, 8, MaskFunction::kRows, 0.4414},
    {64, Walk::kForward, {32768}, {2048}, {1}, {128}, 8, MaskFunction::kTables, 0.6354},
    {64, Walk::kForward, {32768}, {2048}, {256}, {128}, 8, MaskFunction::kRows, 0.3915},
    {128, Walk::kBackward, {128, 128}, {24, 24}, {1, 1}, {1, 128}, 16, MaskFunction::kRows, 4.266},
    {128, Walk::kBackward, {128, 128}, {24, 24}, {1, 1}, {1, 128}, 16, MaskFunction::kTables, 3.8506},
    {128, Walk::kBackward, {128, 128}, {24, 24}, {1, 1}, {8, 16}, 16, MaskFunction::kTables, 2.1529},
    {128, Walk::kBackward, {128, 128}, {24, 24}, {1, 1}, {8, 16}, 16, MaskFunction::kTiles, 2.9483},
    {128, Walk::kBackward, {128, 128}, {24, 24}, {8, 8}, {8, 16}, 16, MaskFunction::kTables, 1.3331},
    {128, Walk::kBackward, {128, 128}, {24, 24}, {8, 8}, {8, 16}, 16, MaskFunction::kTiles, 1.5202},
    {128, Walk::kBackward, {16, 32, 32}, {8, 16, 16}, {1, 1, 1}, {1, 4, 32}, 16, MaskFunction::kRows, 7.0754},
    {128, Walk::kBackward, {16, 32, 32}, {8, 16, 16}, {1, 1, 1}, {1, 4, 32}, 16, MaskFunction::kTables, 5.7272},
    {128, Walk::kBackward, {16, 32, 32}, {8, 16, 16}, {1, 1, 1}, {4, 4, 8}, 16, MaskFunction::kTables, 4.1365},
    {128, Walk::kBackward, {16, 32, 32}, {8, 16, 16}, {1, 1, 1}, {4, 4, 8}, 16, MaskFunction::kTiles, 6.8301},
    {128, Walk::kBackward, {32768}, {2048}, {1}, {128}, 8, MaskFunction::kCompare, 1.9878},
    {128, Walk::kBackward, {32768}, {2048}, {1}, {128}, 8, MaskFunction::kRows, 2.0224},
    {128, Walk::kBackward, {32768}, {2048}, {1}, {128}, 8, MaskFunction::kTables, 2.0948},
    {128, Walk::kBackward, {32768}, {2048}, {256}, {128}, 8, MaskFunction::kRows, 1.8433},
    {128, Walk::kForward, {128, 128}, {24, 24}, {1, 1}, {1, 128}, 16, MaskFunction::kRows, 1.6732},
    {128, Walk::kForward, {128, 128}, {24, 24}, {1, 1}, {1, 128}, 16, MaskFunction::kTables, 1.9134},
    {128, Walk::kForward, {128, 128}, {24, 24}, {1, 1}, {8, 16}, 16, MaskFunction::kTables, 1.042},
    {128, Walk::kForward, {128, 128}, {24, 24}, {1, 1}, {8, 16}, 16, MaskFunction::kTiles, 1.263},
    {128, Walk::kForward, {128, 128}, {24, 24}, {8, 8}, {8, 16}, 16, MaskFunction::kTables, 0.598},
    {128, Walk::kForward, {128, 128}, {24, 24}, {8, 8}, {8, 16}, 16, MaskFunction::kTiles, 0.6836},
    {128, Walk::kForward, {16, 32, 32}, {8, 16, 16}, {1, 1, 1}, {1, 4, 32}, 16, MaskFunction::kRows, 3.3361},
    {128, Walk::kForward, {16, 32, 32}, {8, 16, 16}, {1, 1, 1}, {1, 4, 32}, 16, MaskFunction::kTables, 2.8333},
    {128, Walk::kForward, {16, 32, 32}, {8, 16, 16}, {1, 1, 1}, {4, 4, 8}, 16, MaskFunction::kTables, 1.9749},
    {128, Walk::kForward, {16, 32, 32}, {8, 16, 16}, {1, 1, 1}, {4, 4, 8}, 16, MaskFunction::kTiles, 3.1381},
    {128, Walk::kForward, {32768}, {2048}, {1}, {128}, 8, MaskFunction::kCompare, 0.75},
    {128, Walk::kForward, {32768}, {2048}, {1}, {128}, 8, MaskFunction::kRows, 0.7609},
    {128, Walk::kForward, {32768}, {2048}, {1}, {128}, 8, MaskFunction::kTables, 0.8118},
    {128, Walk::kForward, {32768}, {2048}, {256}, {128}, 8, MaskFunction::kRows, 0.7088},
  };
  return rows;
}

study::TimeQuestion question_of(const MeasuredMask& row) {
  study::TimeQuestion question{.kernel = "flexattention", .device = "h200"};
  question.mask = make_mask(row.input, row.window, row.stride);
  question.tiles = {row.tile, row.tile};
  question.pass = row.pass;
  question.sizes = {.heads = row.heads, .heads_kv = row.heads, .head_dim = row.head_dim, .head_dim_value = row.head_dim};
  question.mask_function = row.function;
  return question;
}

study::PassTime time_of(const study::TimeQuestion& question) {
  return std::get<study::PassTime>(study::time(question, shared_context()));
}

TEST_CASE("a mask's instructions: four an axis, and half a division's for each of a key's") {
  const NeighborhoodMask two = make_mask({64, 64}, {8, 8}), dilated = make_mask({64, 64}, {8, 8}, {}, {1, 2});
  CHECK(mask_instructions(MaskFunction::kCompare, make_mask({64}, {8})) == 4);
  CHECK(mask_instructions(MaskFunction::kRows, two) == 8 + kDivision / 2 * 3);
  CHECK(mask_instructions(MaskFunction::kTiles, two) == 8 + kDivision / 2 * 8);
  CHECK(mask_instructions(MaskFunction::kRows, dilated) == 8 + kDivision / 2 * 5);
  CHECK(mask_instructions(MaskFunction::kTables, two) == kTablesInstructions);
}

TEST_CASE("an instruction is issued at 128 lanes a clock, backward twice") {
  Device device;
  device.name = "made up";
  device.boost_clock_hz = {1e9, false, "this test"};
  PassCosts costs;
  costs.q_tile_tokens = costs.kv_tile_tokens = 128;
  costs.unmasked_tile_us = 2;
  CHECK(with_mask_instructions(costs, 10, device).masked_tile_us[1] == Approx(2 + 10 * 128 * 128 / 128 / 1e3));
  costs.pass = Walk::kBackward;
  CHECK(with_mask_instructions(costs, 10, device).masked_tile_us[1] == Approx(2 + 2 * 10 * 128 * 128 / 128 / 1e3));
}

TEST_CASE("of two CTAs on an SM both take their share of the time of one after the other, and one alone takes its own") {
  PassCosts one;
  one.unmasked_tile_us = 2;
  one.masked_tile_us = {3, 3, 3};
  one.cta_us = 5;
  const PassCosts two = with_two_ctas(one, 0.7);
  REQUIRE(two.ctas_per_sm == 2);
  const SharedSms sm{.sms = 1, .ctas_per_sm = 2, .lone_share = two.lone_share};
  const double alone = 5 + 10 * 2 + 3 * 3, together = two.cta_us + 10 * two.unmasked_tile_us + 3 * two.masked_tile_us[0];
  const std::vector<double> cta = {together};
  CHECK(run_shared(cta, 1, sm) == Approx(alone));
  CHECK(run_shared(cta, 2, sm) == Approx(0.7 * 2 * alone));
}

/// Milliseconds of a long launch whose blocks are all full, over those with a mask function that reads tables.
double share_of_tables(const std::string& device, std::int64_t head_dim, Walk pass) {
  study::TimeQuestion question{.kernel = "flexattention", .device = device};
  question.mask = make_mask({32768}, {32768});
  question.tiles = {{128}, {128}};
  question.pass = pass;
  question.sizes = {.heads = 64, .heads_kv = 64, .head_dim = head_dim, .head_dim_value = head_dim};
  question.mask_cost = 0;
  const double without = time_of(question).kernel_ms;
  question.mask_function = MaskFunction::kTables;
  return without / time_of(question).kernel_ms;
}

TEST_CASE("mask functions without tables are faster where they leave an SM room for a second CTA") {
  for (const std::string device : {"h100", "h200"}) {
    CHECK(share_of_tables(device, 64, Walk::kForward) == Approx(0.72).margin(0.02));
    CHECK(share_of_tables(device, 96, Walk::kForward) == Approx(0.62).margin(0.02));
    CHECK(share_of_tables(device, 128, Walk::kForward) == 1);
    CHECK(share_of_tables(device, 64, Walk::kBackward) == 1);
  }
  CHECK(share_of_tables("a100", 64, Walk::kForward) == 1);
  CHECK(share_of_tables("b200", 64, Walk::kForward) == 1);
}

TEST_CASE("times by mask function are near those measured on an H200, and mostly within their interval") {
  double sum = 0, worst = 0;
  int inside = 0, rows = 0;
  for (const MeasuredMask& row : measured_masks()) {
    if (row.function == MaskFunction::kTables) continue;
    const study::PassTime time = time_of(question_of(row));
    const double error = std::abs(time.kernel_ms / row.ms - 1);
    sum += error;
    worst = std::max(worst, error);
    ++rows;
    inside += time.low_ms <= row.ms && row.ms <= time.high_ms ? 1 : 0;
  }
  CAPTURE(sum / rows, worst, inside, rows);
  CHECK(sum / rows < 0.12);
  CHECK(worst < 0.5);
  CHECK(inside >= 0.75 * rows);
}

TEST_CASE("longer mask functions take longer, and the answer names the one that its time is of") {
  study::TimeQuestion question = question_of(measured_masks().front());
  question.mask = make_mask({16, 32, 32}, {8, 16, 16});
  question.tiles = {{4, 4, 8}, {4, 4, 8}};
  question.mask_function = std::nullopt;
  const study::PassTime tables = time_of(question);
  CHECK(tables.mask_function == "tables");
  question.mask_function = MaskFunction::kTables;
  CHECK(time_of(question).total_ms == tables.total_ms);
  question.mask_function = MaskFunction::kRows;
  const study::PassTime rows = time_of(question);
  question.mask_function = MaskFunction::kTiles;
  const study::PassTime tiles = time_of(question);
  CHECK(tiles.total_ms > rows.total_ms);
  CHECK(tiles.mask_instructions == mask_instructions(MaskFunction::kTiles, question.mask));
  question.mask_cost = tiles.mask_instructions;
  CHECK(time_of(question).mask_function == "given");
  CHECK(time_of(question).total_ms == tiles.total_ms);
}

TEST_CASE("a kernel without a mask function refuses one") {
  study::TimeQuestion question{.kernel = "cudnn", .device = "h200"};
  question.mask = make_mask({4096}, {4096});
  question.sizes = {.heads = 8, .heads_kv = 8, .head_dim = 128, .head_dim_value = 128};
  question.mask_cost = 10;
  CHECK_THROWS_AS(study::time(question, shared_context()), InvalidParameter);
}

}  // namespace mask_function_test
