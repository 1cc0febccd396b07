// Times of a tile pair from its instruction mix, and how far off transfers of them are.
#include <cmath>

#include <natten_sim/core/error.hpp>
#include <natten_sim/models/tiles/tile_time.hpp>

#include "catch.hpp"

namespace tile_time_test {

using namespace natten_sim;

Device hopper(const char* name = "h", double clock = 2e9, std::int32_t sms = 100) {
  Device device{.name = name, .title = "", .architecture = "sm90", .default_backend = "hopper-fna"};
  device.sms = Sourced<std::int32_t>{sms, false, "made up"};
  device.boost_clock_hz = Sourced<double>{clock, false, "made up"};
  device.dense_bf16_flops_per_s = Sourced<double>{0.9 * 4096 * clock * sms, false, "made up"};
  return device;
}

KernelPhysics kernel_of(const char* name, TensorIssue issue = TensorIssue::kWgmma) {
  return {.kernel = name, .architectures = {"sm90"}, .issue = issue};
}

PhysicalPass forward() { return {.pass = Walk::kForward, .products = 2, .exponentials = 1, .dtypes = {Dtype::kBf16}}; }

TileCell cell_of(const char* kernel, const Device& device, std::int64_t head_dim, double us = 0) {
  TileCell cell = tile_cell(kernel_of(kernel), forward(), {.head_dim = 256, .q_tile_tokens = 128, .kv_tile_tokens = 128},
                            device, head_dim, Dtype::kBf16);
  cell.us = us;
  return cell;
}

std::vector<CostPrior> priors() {
  return {{"tensor_forward", 1.2, 0.25, ""},
          {"element_forward", 1, 0.6, ""},
          {"tensor_backward", 1.3, 0.25, ""},
          {"element_backward", 2, 0.6, ""},
          {"kernel", 1, 0.3, ""}};
}

TEST_CASE("128 x 128 pairs of head dim 128 keep Hopper's tensor cores 2048 clocks and its exponentials 1024") {
  const TileCell cell = cell_of("a", hopper(), 128);
  CHECK(cell.tensor_us == Approx(2048 / 2e3));   // 4 * 128^3 / 4096 at 2 GHz; the stated peak is a tenth below
  CHECK(cell.element_us == Approx(1024 / 2e3));  // 128^2 / 16
  const PhysicalTiles tiles{.head_dim = 256, .q_tile_tokens = 128, .kv_tile_tokens = 128};
  const TileCell sync =
      tile_cell(kernel_of("a", TensorIssue::kMmaSync), forward(), tiles, hopper(), 128, Dtype::kBf16);
  CHECK(sync.tensor_us == Approx(cell.tensor_us / kMmaSyncShare));
  const TileCell bytes = tile_cell(kernel_of("a"), forward(), tiles, hopper(), 128, Dtype::kE4m3);
  CHECK(bytes.tensor_us == Approx(cell.tensor_us / 2));
  CHECK(bytes.element_us == Approx(cell.element_us));
  PhysicalTiles padded = tiles;
  padded.computed_head_dim = 128;
  CHECK(tile_cell(kernel_of("a"), forward(), padded, hopper(), 96, Dtype::kBf16).tensor_us == Approx(cell.tensor_us));
  Device unknown = hopper();
  unknown.boost_clock_hz = std::nullopt;
  CHECK_THROWS_AS(tile_cell(kernel_of("a"), forward(), tiles, unknown, 128, Dtype::kBf16), InvalidParameter);
}

TEST_CASE("a fit predicts cells that follow its law, and a kernel that is slower by a factor") {
  std::vector<TileCell> cells;
  for (const std::int64_t head_dim : {32, 64, 128, 256}) {
    for (const auto& [kernel, factor] : {std::pair{"a", 1.0}, {"b", 1.4}}) {
      TileCell cell = cell_of(kernel, hopper(), head_dim);
      cell.us = factor * (1.3 * cell.tensor_us + 0.7 * cell.element_us);
      cells.push_back(cell);
    }
  }
  const TileFit fit = fit_tiles(cells, priors());
  for (const TileCell& cell : cells) CHECK(physical_us(cell, fit, priors()) == Approx(cell.us).epsilon(0.03));
  const TileCell other = cell_of("a", hopper("faster", 2.5e9), 96);
  CHECK(physical_us(other, fit, priors()) ==
        Approx(1.3 * other.tensor_us + 0.7 * other.element_us).epsilon(0.03));
  CHECK_THROWS_AS(fit_tiles({other}, priors()), InvalidParameter);
  CHECK_THROWS_AS(fit_tiles(cells, {}), InvalidParameter);
}

TEST_CASE("a cell takes its time from the nearest measured ones") {
  const Device here = hopper("here"), there = hopper("there", 2.2e9);
  const TileFit fit;
  const std::vector<TileCell> cells = {cell_of("x-fna", there, 128, 3), cell_of("x-fna", here, 64, 2),
                                       cell_of("x-fmha", here, 128, 2.5), cell_of("y", here, 128, 1)};
  const auto transfer = [&](const TileCell& cell, std::vector<TileCell> known) {
    return transfer_of(cell, known, fit, priors());
  };
  const TileCell wanted = cell_of("x-fna", here, 128);
  const Transfer device = transfer(wanted, cells);
  CHECK(device.kind == TransferKind::kOtherDevice);
  CHECK(device.sources == std::vector<std::size_t>{0});
  CHECK(device.us == Approx(3 * 2.2 / 2));  // clocks alone differ
  CHECK(transfer(wanted, {cells[1], cells[2], cells[3]}).kind == TransferKind::kOtherHeadDim);
  CHECK(transfer(wanted, {cells[2], cells[3]}).kind == TransferKind::kSiblingKernel);
  const Transfer none = transfer(wanted, {cells[3]});
  CHECK(none.kind == TransferKind::kPhysical);
  CHECK(none.us == Approx(1.2 * wanted.tensor_us + wanted.element_us));
  TileCell elsewhere = cells[0];
  elsewhere.architecture = "sm100";
  CHECK(transfer(wanted, {elsewhere, cells[3]}).kind == TransferKind::kOtherArchitecture);
  TileCell farther = cells[1];
  farther.architecture = "sm100";
  CHECK(transfer(wanted, {farther, cells[3]}).kind == TransferKind::kOtherArchitectureAndHeadDim);
  CHECK(transfer(wanted, {farther, elsewhere}).sources == std::vector<std::size_t>{1});
}

TEST_CASE("a head dim that is padded runs the program of the one that it is padded to, slower by a factor") {
  const auto padded = [&](const Device& device, std::int64_t head_dim, std::int64_t largest, double us = 0) {
    const PhysicalTiles tiles{.head_dim = largest, .computed_head_dim = 96, .q_tile_tokens = 128, .kv_tile_tokens = 64, .uneven = 1.25};
    TileCell cell = tile_cell(kernel_of("a"), forward(), tiles, device, head_dim, Dtype::kBf16);
    cell.us = us;
    return cell;
  };
  const Device here = hopper("here"), there = hopper("there");
  const TileCell wanted = padded(here, 80, 96);
  const std::vector<TileCell> cells = {padded(here, 96, 96, 2), padded(there, 96, 96, 3), padded(here, 88, 88, 4)};
  const Transfer program = transfer_of(wanted, cells, {}, priors());
  CHECK(program.kind == TransferKind::kSameProgram);
  CHECK(program.sources == std::vector<std::size_t>{0});
  CHECK(program.us == Approx(1.25 * 2));
  CHECK(transfer_of(padded(here, 96, 96), {padded(here, 72, 96, 2)}, {}, priors()).us == Approx(2 / 1.25));
  const Transfer elsewhere = transfer_of(wanted, {cells[1], cells[2]}, {}, priors());
  CHECK(elsewhere.kind == TransferKind::kOtherDevice);
  CHECK(elsewhere.us == Approx(1.25 * 3));
  CHECK(transfer_of(wanted, {cells[2]}, {}, priors()).kind == TransferKind::kOtherHeadDim);  // of other tiles
}

TEST_CASE("an interval is the 90% conformal quantile, and half again the worst of few points") {
  std::vector<TileCell> cells;
  std::vector<LeftOutCell> rows;
  for (std::size_t i = 0; i < 24; ++i) {  // errors of 1% to 24%
    cells.push_back(cell_of("a", hopper(), 128, 1 + 0.01 * static_cast<double>(i + 1)));
    rows.push_back({TransferKind::kOtherDevice, i, 1.0});
  }
  rows.push_back({TransferKind::kPhysical, 9, 1.0});
  for (const TransferError& error : transfer_errors(rows, cells)) {
    if (error.kind == TransferKind::kOtherDevice) {
      CHECK(error.points == 24);
      CHECK(error.mean == Approx(0.125));
      CHECK(error.worst == Approx(0.24));
      CHECK(error.interval == Approx(0.23));  // ceil(0.9 * 25) = 23rd
      CHECK(error.inside == Approx(22.0 / 24));  // 23% and 24% are outside of the 22nd of the others
    } else if (error.kind == TransferKind::kPhysical) {
      CHECK(error.interval == Approx(0.15));
    } else {
      CHECK(error.points == 0);
      CHECK(error.interval == Approx(1.5 * 0.23));
    }
  }
}

}  // namespace tile_time_test
