// Every cell of devices, kernels, head dims, types and passes has a time or a reason, and intervals that hold.
#include <algorithm>
#include <map>
#include <set>

#include <natten_sim/models/tiles/axis_count.hpp>
#include <natten_sim/study/cell_costs.hpp>
#include <natten_sim/study/search.hpp>
#include <natten_sim/study/time.hpp>

#include "catch.hpp"
#include "shared_context.hpp"

namespace cell_costs_test {

using namespace natten_sim;
using study::CostCell;
using study::NoCosts;
using natten_sim::test::shared_context;

CostCell cell(const char* kernel, const char* device, std::int64_t head_dim, Walk pass = Walk::kForward,
              Dtype dtype = Dtype::kBf16) {
  return {kernel, device, head_dim, dtype, pass, std::nullopt, std::nullopt};
}

CostEvidence evidence_of(const CostCell& asked) {
  return std::get<KernelCosts>(study::costs_of_cell(asked, shared_context().catalog)).passes.front().evidence;
}

std::string reason_of(const CostCell& asked) {
  const auto found = study::costs_of_cell(asked, shared_context().catalog);
  REQUIRE(std::holds_alternative<NoCosts>(found));
  CHECK(std::get<NoCosts>(found).impossible);
  return std::get<NoCosts>(found).reason;
}

TEST_CASE("of the points of each kind of transfer 85 to 95% are within its interval") {
  int kinds = 0;
  for (const TransferError& error : shared_context().catalog.physics.transfers) {
    if (error.points < kFewestPoints) continue;
    INFO(to_string(error.kind));
    ++kinds;
    CHECK(error.inside >= 0.85);
    CHECK(error.inside <= 0.95);
  }
  CHECK(kinds >= 3);
}

TEST_CASE("every cell that exists in hardware has a time") {
  std::map<std::string, int> cells;
  for (const study::CoverageCell& row : study::coverage(shared_context().catalog)) {
    INFO(row.cell.device << " " << row.cell.kernel << " " << row.cell.head_dim << " " << row.missing.reason);
    CHECK((row.evidence || row.missing.impossible));
    if (!row.evidence) CHECK_FALSE(row.missing.reason.empty());
    if (row.evidence && row.cell.dtype == Dtype::kBf16) ++cells[row.cell.device];
  }
  // cutlass-fna, cutlass-fmha, FlexAttention, FlashAttention-2 at five head dims, cuDNN at four, in two passes.
  for (const char* device : {"a100", "a6000", "a10", "l4", "l40s", "rtx3090", "rtx4090", "rtx5090", "rtx-pro-6000", "gb10"})
    CHECK(cells[device] == 48);
  // And cuDNN at 256, hopper-fna and -fmha forward at four and backward at three, FlashAttention-3 at five, -4 at four, and
  // forward at 64 and 128 this project's.
  for (const char* device : {"h100", "h200", "h20", "h800", "gh200"}) CHECK(cells[device] == 48 + 2 + 14 + 10 + 8 + 2);
  // And blackwell-fna, -fmha and FlashAttention-4 at four.
  for (const char* device : {"b200", "gb200", "b300"}) CHECK(cells[device] == 48 + 24);
}

TEST_CASE("what was measured stays as it was measured") {
  const Catalog& catalog = shared_context().catalog;
  for (const KernelCosts& costs : catalog.kernel_costs) {
    for (const PassCosts& pass : costs.passes) {
      const auto found = study::costs_of_cell({costs.kernel, costs.device, costs.head_dim, costs.dtypes.front(), pass.pass,
                                               pass.q_tile_tokens, pass.kv_tile_tokens},
                                              catalog);
      CHECK(std::get<KernelCosts>(found).passes.front() == pass);
      CHECK(pass.evidence.origin == CostOrigin::kMeasured);
    }
  }
}

TEST_CASE("a kernel that a device cannot run is refused with what it can") {
  const std::string hopper = reason_of(cell("hopper-fna", "a100", 128));
  CHECK(hopper.find("sm90 alone") != std::string::npos);
  CHECK(hopper.find("cutlass-fna") != std::string::npos);
  CHECK(reason_of(cell("cutlass-fna", "a100", 128, Walk::kForward, Dtype::kE4m3)).find("fp16, bf16") !=
        std::string::npos);
  CHECK(reason_of(cell("hopper-fna", "h100", 256, Walk::kBackward)).find("32, 64, 128") != std::string::npos);
  CHECK(reason_of(cell("cudnn", "a100", 256)).find("multiples of 8 up to 128") != std::string::npos);
  CHECK(reason_of(cell("gna", "h100", 128, Walk::kBackward)).find("no backward pass") != std::string::npos);
}

TEST_CASE("evidence is named, and each kind of transfer says from where") {
  CHECK(evidence_of(cell("hopper-fna", "h100", 128)).origin == CostOrigin::kMeasured);
  const CostEvidence device = evidence_of(cell("hopper-fna", "h800", 64));
  CHECK(device.origin == CostOrigin::kTransferred);
  CHECK(device.transfer == "other-device");
  CHECK(device.source.find("hopper-fna small on h200 at head dim 64") != std::string::npos);
  CHECK(evidence_of(cell("hopper-fna", "h200", 256)).transfer == "other-head-dim");
  // Head dim 80 runs the program of 96, which was measured there; another device runs it too.
  CHECK(evidence_of(cell("fa2", "h200", 80)).transfer == "same-program");
  CHECK(evidence_of(cell("fa2", "h100", 80)).transfer == "other-device");
  CHECK(evidence_of(cell("cudnn", "h200", 256, Walk::kBackward)).origin == CostOrigin::kMeasured);
  CHECK(evidence_of(cell("blackwell-fmha", "b200", 64)).transfer == "sibling-kernel");
  CHECK(evidence_of(cell("fa2", "rtx4090", 64)).transfer == "other-architecture");
  CHECK(evidence_of(cell("cutlass-fna", "a100", 64)).transfer == "other-architecture");
  Catalog nobody = shared_context().catalog;
  std::erase_if(nobody.kernel_costs, [](const KernelCosts& costs) { return costs.kernel.starts_with("cutlass-"); });
  const auto found = study::costs_of_cell(cell("cutlass-fna", "a100", 64), nobody);
  const CostEvidence& physical = std::get<KernelCosts>(found).passes.front().evidence;
  CHECK(physical.origin == CostOrigin::kPhysical);
  CHECK(physical.interval == nobody.physics.error_of(TransferKind::kPhysical)->interval);
  // Of 8-bit types nobody measured a cell.
  CHECK(evidence_of(cell("blackwell-fna", "b200", 128, Walk::kForward, Dtype::kE4m3)).transfer == "physical");
}

TEST_CASE("without the physics what nobody measured has no time") {
  study::Context context = shared_context();
  study::TimeQuestion question{.kernel = "cutlass-fna", .device = "a100"};
  question.mask = make_mask({64, 64}, {16, 16});
  question.sizes = {.heads = 8, .heads_kv = 8, .head_dim = 64, .head_dim_value = 64};
  CHECK(std::holds_alternative<study::PassTime>(study::time(question, context)));
  context.catalog.physics = {};
  CHECK(std::holds_alternative<study::MissingTime>(study::time(question, context)));
}

TEST_CASE("FlashAttention-2 on an RTX 4090 takes as long as its products allow, and not ten times that") {
  study::TimeQuestion question{.kernel = "fa2", .device = "rtx4090"};
  question.mask = make_mask({16384}, {16384});
  question.sizes = {.heads = 16, .heads_kv = 16, .head_dim = 128, .head_dim_value = 128};
  const auto time = std::get<study::PassTime>(study::time(question, shared_context()));
  const double least_ms = 4.0 * 16384 * 16384 * 128 * 16 / 165.2e12 * 1e3;
  CHECK(time.high_ms > least_ms);
  CHECK(time.low_ms < 3 * least_ms);
}

TEST_CASE("search by time finds the fastest window of cutlass-fna, whose tiles move") {
  study::SearchQuestion question;
  question.setting.input = {12, 10};
  question.setting.heads = 64;
  question.setting.head_dim = 64;
  question.setting.device = "a100";
  question.kernels = {"cutlass-fna"};
  question.constraints.sparsity = SparsityRange{0, 0.8};
  question.top = 1;
  const study::SearchAnswer answer = study::search(question, shared_context());
  REQUIRE(answer.candidates.size() == 1);
  REQUIRE(answer.candidates.front().time);
  const TilePair& tiles = answer.candidates.front().tiles.tiles;
  double least_ms = 1e300;
  for (std::int64_t x = 2; x <= 12; ++x) {
    for (std::int64_t y = 2; y <= 10; ++y) {
      for (std::int64_t s = 1; s <= x; ++s) {
        for (std::int64_t t = 1; t <= y; ++t) {
          study::TimeQuestion timed{.kernel = "cutlass-fna", .device = "a100"};
          timed.mask = make_mask({12, 10}, {x, y}, {s, t});
          const double pairs = static_cast<double>(attended_pairs(timed.mask[0]) * attended_pairs(timed.mask[1]));
          if (pairs < 0.2 * 120 * 120) continue;
          timed.tiles = tiles;
          timed.sizes = {.heads = 64, .heads_kv = 64, .head_dim = 64, .head_dim_value = 64};
          const auto time = study::time(timed, shared_context());
          least_ms = std::min(least_ms, std::get<study::PassTime>(time).total_ms);
        }
      }
    }
  }
  CHECK(answer.candidates.front().time->total_ms == Approx(least_ms).epsilon(1e-9));
}

}  // namespace cell_costs_test
