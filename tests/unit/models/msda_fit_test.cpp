// Shapes of deformable attention, and a fit of its constants, by hand.
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include <natten_sim/models/msda/msda_run.hpp>

#include "catch.hpp"
#include "refused.hpp"

namespace msda_fit_test {

using namespace natten_sim;

/// But for rounding.
bool same(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b)); }

/// Two images, 3 heads of 4 channels, 2 points; 40 x 56 pixels are levels of 5 x 7 and 2 x 3.
MsdaConfig small_config(const char* name, std::int64_t channels, std::int64_t queries) {
  MsdaConfig config;
  config.name = name;
  config.batch = 2;
  config.height = 40;
  config.width = 56;
  config.strides = {8, 16};
  config.channels = channels;
  config.heads = 3;
  config.points = 2;
  config.queries = queries;
  return config;
}

TEST_CASE("corners and bytes are multiplied from shapes") {
  const MsdaConfig encoder = small_config("encoder", 12, 0), decoder = small_config("decoder", 12, 10);
  // Four corners of 2 images, 41 or 10 queries, 3 heads, 2 levels, 2 points.
  CHECK(in_bounds_work(encoder, Dtype::kFp32).reads == 4 * 2 * 41 * 3 * 2 * 2);
  CHECK(in_bounds_work(decoder, Dtype::kFp32).reads == 4 * 2 * 10 * 3 * 2 * 2);
  CHECK(in_bounds_work(encoder, Dtype::kFp32).read_bytes == 16);
  CHECK(in_bounds_work(encoder, Dtype::kFp16).read_bytes == 8);
  CHECK(in_bounds_work(encoder, Dtype::kFp16).dram_bytes == 0);

  // Of the decoder: value 2 x 41 x 12 = 984, output and queries 2 x 10 x 12 = 240, weights 2 x 10 x 3 x 2 x 2
  // = 240, locations 480 elements.
  const MsdaMemory half = msda_memory(decoder, Dtype::kFp16);
  const std::int64_t forward = (984 + 480 + 240 + 240 + 240) * 2;
  CHECK(half.forward_alloc_bytes == forward);
  CHECK(half.forward_peak_bytes == forward + (240 + 240) * 2);
  const std::int64_t native = forward + (984 + 480 + 240) * 2;
  CHECK(half.backward_native_bytes == native);
  CHECK(half.backward_fp32_accumulator_bytes == native + 984 * 4);
  CHECK(half.backward_fp32_cast_bytes == forward + (984 + 480 + 240 + 240) * 4 + (984 + 480 + 240) * 4);
  CHECK(msda_memory(decoder, Dtype::kFp32).forward_alloc_bytes == 2 * forward);
}

TEST_CASE(
    "constants that published latencies were made with are found again, from the cells that are fitted") {
  const std::vector<MsdaConfig> configs = {small_config("narrow", 12, 0), small_config("wide", 96, 0),
                                           small_config("decoder", 12, 10)};
  // Reads of 2 ns and 0.25 ns a byte by blocks, of 3 ns by points; sectors at 4 a ns; updates of 7 ns by
  // points.
  MsdaKernel block, point;
  point.read_byte_ns = 0.5;  // not fitted, but counted when updates are
  std::vector<MsdaLatency> cells;
  const auto add = [&](const char* config, Dtype type, std::optional<MsdaTiling> tiling, double forward,
                       double backward) {
    MsdaLatency cell;
    cell.device = "here";
    cell.config = config;
    cell.type = type;
    cell.tiling = tiling;
    cell.forward_ns = forward;
    cell.backward_ns = backward;
    cell.fitted = true;
    cells.push_back(cell);
  };
  for (std::size_t i = 0; i < 2; ++i) {
    for (const Dtype type : {Dtype::kFp32, Dtype::kFp16}) {
      const char* name = i == 0 ? "narrow" : "wide";
      const double reads = 4 * 2 * 41 * 3 * 2 * 2;
      const double bytes = (i == 0 ? 4 : 32) * (type == Dtype::kFp32 ? 4.0 : 2.0);
      const double by_blocks = reads * (2 + 0.25 * bytes);
      const bool counts = type == Dtype::kFp32;  // backward
      add(name, type, MsdaTiling::kBlock, by_blocks, counts ? by_blocks + reads * bytes / 32 / 4 : 1);
      add(name, type, MsdaTiling::kPoint, reads * 3, counts ? reads * (3 + 0.5 * bytes) + reads * 7 : 1);
      add(name, type, std::nullopt, 5, 6);  // the CUDA operator
    }
  }
  add("decoder", Dtype::kFp32, MsdaTiling::kPoint, 1e9, 1e9);
  add("decoder", Dtype::kFp32, MsdaTiling::kBlock, 100, 1000);
  add("decoder", Dtype::kFp16, MsdaTiling::kBlock, 300, 4000);
  add("decoder", Dtype::kFp16, MsdaTiling::kBlock, 1e9, 1e9);
  cells.back().fitted = false;
  add("decoder", Dtype::kFp16, MsdaTiling::kBlock, 1e9, 1e9);
  cells.back().device = "elsewhere";
  const MsdaFit fit = fit_msda("here", block, point, cells, configs);
  CHECK(same(fit.block.read_request_ns, 2));
  CHECK(same(fit.block.read_byte_ns, 0.25));
  CHECK(same(fit.point.read_request_ns, 3));
  CHECK(fit.point.read_byte_ns == 0.5);
  CHECK(same(fit.slice_sectors_per_ns, 4));
  CHECK(same(fit.point.write_request_ns, 7));
  CHECK(fit.block.write_request_ns == 0);
  for (const MsdaKernel& kernel : {fit.block, fit.point}) {
    CHECK(kernel.host_forward_ns == 200);
    CHECK(kernel.host_backward_ns == 2500);
  }
  cells.resize(cells.size() - 5);  // none of a decoder
  CHECK(test::refused([&] { (void)fit_msda("here", block, point, cells, configs); }) == "latencies");
  cells.front().config = "unknown";
  CHECK(test::refused([&] { (void)fit_msda("here", block, point, cells, configs); }) == "configuration");
}

}  // namespace msda_fit_test
