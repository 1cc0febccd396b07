// What the words of a problem refuse: each value at fault is named with what would be accepted.
#include <limits>
#include <string>
#include <vector>

#include <natten_sim/core/backward_schedule.hpp>
#include <natten_sim/core/catalog.hpp>
#include <natten_sim/core/lowering.hpp>
#include <natten_sim/core/mask.hpp>
#include <natten_sim/core/split_q.hpp>
#include <natten_sim/core/wide_integer.hpp>

#include "catch.hpp"

namespace refused_values_test {

using namespace natten_sim;

/// The sentence that a call is refused with; empty if it is not.
template <typename Call>
std::string refusal(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// `parameter: value is not valid; accepted: accepted`.
std::string sentence(const std::string& parameter, const std::string& value, const std::string& accepted) {
  return parameter + ": " + value + " is not valid; accepted: " + accepted;
}

/// 3 x 2 tiles, of which KV tile 0 attends to all Q tiles and KV tile 1 to Q tiles 1 and 2; two heads.
BackwardProblem small_problem() {
  BackwardProblem problem;
  problem.mask = {3, 2, std::vector<TileWork>(6, TileWork::kFull)};
  problem.mask.work[1] = TileWork::kNone;
  problem.heads = 2;
  problem.workers = 2;
  return problem;
}

BackwardSchedule small_schedule() {
  BackwardSchedule schedule;
  schedule.dispatch = Dispatch::kStatic;
  schedule.chains = {{0, 0, {0, 1, 2}}, {0, 1, {2, 1}}, {1, 0, {2, 0, 1}}, {1, 1, {1, 2}}};
  schedule.worker = {0, 1, 0, 1};
  schedule.dq_order = {{0}, {0, 1}, {1, 0}, {0}, {1, 0}, {0, 1}};
  return schedule;
}

TEST_CASE("a backward problem is refused by the size that is at fault") {
  const auto refused = [](const auto& change) {
    BackwardProblem problem = small_problem();
    change(problem);
    return refusal([&] { require_valid(problem); });
  };
  using P = BackwardProblem;
  CHECK(refused([](P&) {}).empty());
  CHECK(refused([](P& p) { p.mask.q_tiles = 0; }) == sentence("q_tiles", "0", "1 or more"));
  CHECK(refused([](P& p) { p.mask.kv_tiles = -1; }) == sentence("kv_tiles", "-1", "1 or more"));
  CHECK(refused([](P& p) { p.heads = 0; }) == sentence("heads", "0", "1 or more"));
  CHECK(refused([](P& p) { p.workers = 0; }) == sentence("workers", "0", "1 or more"));
  CHECK(refused([](P& p) { p.workers = 1 << 20; }).empty());
  CHECK(refused([](P& p) { p.workers = (1 << 20) + 1; }) == sentence("workers", "1048577", "1..1048576"));
  CHECK(refused([](P& p) { p.heads_per_kv_head = 0; }) == sentence("heads_per_kv_head", "0", "1 or more"));
  CHECK(refused([](P& p) { p.heads_per_kv_head = 2; }).empty());
  CHECK(refused([](P& p) { p.heads_per_kv_head = 3; }) ==
        sentence("heads_per_kv_head", "3", "a divisor of the heads, 2"));
  CHECK(refused([](P& p) { p.merged_heads = 0; }) == sentence("merged_heads", "0", "1 or more"));
  CHECK(refused([](P& p) { p.merged_heads = 3; }).empty());
  CHECK(refused([](P& p) { p.merged_heads = 2; }) ==
        sentence("merged_heads", "2", "a divisor of the Q tiles, 3"));
  CHECK(refused([](P& p) { p.mask.kv_tiles = 3; }) == sentence("mask", "6 cells", "9 cells"));
}

TEST_CASE("a schedule is refused by the chain or the dQ tile that is at fault") {
  const BackwardProblem problem = small_problem();
  const auto refused = [&](const auto& change) {
    BackwardSchedule schedule = small_schedule();
    change(schedule);
    return refusal([&] { require_valid(problem, schedule); });
  };
  using S = BackwardSchedule;
  CHECK(refused([](S&) {}).empty());
  CHECK(refused([](S& s) { s.dq_order.clear(); }).empty());
  CHECK(refused([](S& s) { s.chains.pop_back(); }) == sentence("chains", "3", "4, heads times KV tiles"));
  const std::string ranges = "heads 0..1, KV tiles 0..1";
  CHECK(refused([](S& s) { s.chains[0].head = 2; }) == sentence("chains", "head 2, KV tile 0", ranges));
  CHECK(refused([](S& s) { s.chains[0].head = -1; }) == sentence("chains", "head -1, KV tile 0", ranges));
  CHECK(refused([](S& s) { s.chains[1].kv_tile = 2; }) == sentence("chains", "head 0, KV tile 2", ranges));
  CHECK(refused([](S& s) { s.chains[1].kv_tile = -1; }) == sentence("chains", "head 0, KV tile -1", ranges));
  CHECK(refused([](S& s) { s.chains[2] = s.chains[0]; }) ==
        sentence("chains", "head 0, KV tile 0 twice", "each chain once"));
  const std::string each = "each attended tile once";
  CHECK(refused([](S& s) {
          s.chains[0].q_order = {0, 1, 1};
        }) == sentence("q_order", "tile 1 twice at head 0, KV tile 0", each));
  CHECK(refused([](S& s) {
          s.chains[3].q_order = {0, 2};
        }) == sentence("q_order", "tile 0 at head 1, KV tile 1", "attended tiles only"));
  CHECK(refused([](S& s) { s.chains[3].q_order = {2}; }) ==
        sentence("q_order", "tile 1 missing at head 1, KV tile 1", each));
  CHECK(refused([](S& s) { s.worker.pop_back(); }) == sentence("worker", "3 workers", "4, one a chain"));
  CHECK(refused([](S& s) { s.worker[2] = 2; }) == sentence("worker", "2", "0..1"));
  CHECK(refused([](S& s) { s.worker[2] = -1; }) == sentence("worker", "-1", "0..1"));
  CHECK(refused([](S& s) { s.dispatch = Dispatch::kDynamic; }) ==
        sentence("worker", "given", "none for dynamic dispatch"));
  CHECK(refused([](S& s) { s.dispatch = Dispatch::kDynamic, s.worker.clear(); }).empty());
  CHECK(refused([](S& s) { s.dq_order.pop_back(); }) ==
        sentence("dq_order", "5 dQ tiles", "6, heads times Q tiles"));
  CHECK(refused([](S& s) {
          s.dq_order[4] = {1, 1};
        }) == sentence("dq_order", "tile 1 twice at head 1, Q tile 1", each));
  CHECK(refused([](S& s) { s.dq_order[3] = {1}; }) ==
        sentence("dq_order", "tile 1 at head 1, Q tile 0", "attended tiles only"));
  CHECK(refused([](S& s) { s.dq_order[2] = {0}; }) ==
        sentence("dq_order", "tile 1 missing at head 0, Q tile 2", each));
}

TEST_CASE("tiles of a chain and of a dQ tile are those that attend, ascending") {
  const BlockMask mask = small_problem().mask;
  CHECK(attended_q_tiles(mask, 0) == std::vector<std::int32_t>{0, 1, 2});
  CHECK(attended_q_tiles(mask, 1) == std::vector<std::int32_t>{1, 2});
  CHECK(attended_kv_tiles(mask, 0) == std::vector<std::int32_t>{0});
  CHECK(attended_kv_tiles(mask, 2) == std::vector<std::int32_t>{0, 1});
  CHECK(MaskCells().attended(3, 2).count == 0);  // of no cells
}

SplitQProblem split_q_problem() {
  SplitQProblem problem;
  problem.mask = make_mask({100}, {100});
  problem.tiles = {{16}, {32}};
  problem.sizes.heads = problem.sizes.heads_kv = 6;
  return problem;
}

TEST_CASE("a split-Q problem is refused by the size that is at fault") {
  const auto refused = [](const auto& change) {
    SplitQProblem problem = split_q_problem();
    change(problem);
    return refusal([&] { require_valid(problem); });
  };
  using P = SplitQProblem;
  CHECK(refused([](P&) {}).empty());
  CHECK(refused([](P& p) { p.sizes.batch = 0; }) == sentence("batch_size", "0", "1..1048576"));
  CHECK(refused([](P& p) { p.sizes.heads = 0; }) == sentence("heads", "0", "1..1048576"));
  CHECK(refused([](P& p) { p.sizes.heads_kv = 7; }) == sentence("heads_kv", "7", "1..6"));
  CHECK(refused([](P& p) { p.sizes.heads_kv = 4; }) ==
        sentence("heads_kv", "4", "a divisor of the heads (6)"));
  CHECK(refused([](P& p) { p.sizes.head_dim = 0; }) == sentence("head_dim", "0", "1..1048576"));
  CHECK(refused([](P& p) { p.sizes.head_dim_value = 1 << 21; }) ==
        sentence("head_dim_value", "2097152", "1..1048576"));
  CHECK(refused([](P& p) { p.sizes.element_bytes = 17; }) == sentence("element_bytes", "17", "1..16"));
  CHECK(refused([](P& p) { p.sizes.sector_bytes = 0; }) == sentence("sector_bytes", "0", "1..1048576"));
  CHECK(refused([](P& p) { p.mask[0].window = 50, p.mask[0].dilation = 2; }) ==
        sentence("dilation", "2 on axis 0", "1 (tiles of a dilated layout are not contiguous)"));
  // 10 tokens by 10: a row of 40 elements of 2 bytes is two and a half sectors.
  const auto two_axes = [](P& p) { p.mask = make_mask({10, 10}, {10, 10}), p.tiles = {{2, 2}, {2, 2}}; };
  const std::string whole = "rows of whole sectors of 32 bytes for layouts of several axes";
  CHECK(refused(two_axes).empty());
  CHECK(refused([&](P& p) { two_axes(p), p.sizes.head_dim = 40; }) ==
        sentence("head_dim", "80 bytes a token", whole));
  CHECK(refused([&](P& p) { two_axes(p), p.sizes.head_dim_value = 40; }) ==
        sentence("head_dim_value", "80 bytes a token", whole));
  CHECK(refused([](P& p) { p.sizes.head_dim = 40; }).empty());  // one axis may begin inside a sector
  CHECK(refused([](P& p) {
          p.sizes = {.batch = 1 << 20, .heads = 1 << 20, .heads_kv = 1, .head_dim = 1 << 20};
        }) == "bytes of an operand: overflow, the exact value is larger than 9223372036854775807 (2^63 - 1)");
}

TEST_CASE(
    "keys that are not as many as queries belong to one axis without a window, and causal ones end with it") {
  const auto refused = [](const auto& change) {
    SplitQProblem problem = split_q_problem();
    problem.keys = 120;
    change(problem);
    return refusal([&] { require_valid(problem); });
  };
  using P = SplitQProblem;
  CHECK(refused([](P&) {}).empty());
  CHECK(refused([](P& p) { p.keys = 40; }).empty());
  CHECK(refused([](P& p) { p.keys = 0; }).starts_with("seqlen_k: 0 is not valid; accepted: 1.."));
  const std::string plain = "as many as queries, but for one axis without a window";
  CHECK(refused([](P& p) { p.mask[0].window = 99; }) == sentence("seqlen_k", "120", plain));
  CHECK(refused([](P& p) { p.mask[0].stride = 2; }) == sentence("seqlen_k", "120", plain));
  CHECK(refused([](P& p) {
          p.mask = make_mask({10, 10}, {10, 10}), p.tiles = {{2, 2}, {2, 2}};
        }) == sentence("seqlen_k", "120", plain));
  CHECK(refused([](P& p) { p.mask[0].causal = true; }).empty());
  CHECK(refused([](P& p) { p.mask[0].causal = true, p.keys = 99; }) ==
        sentence("seqlen_k", "99", "100 or more with a causal mask"));
  // The last query ends at the last key: Q tile 0 (queries 0 .. 15) sees 120 - 100 + 16 keys in tiles of 32.
  SplitQProblem problem = split_q_problem();
  problem.keys = 120;
  CHECK(key_length(problem, 0) == 120);
  CHECK(visited_kv_tiles(problem, 0, 0) == TileRange{0, 4});
  problem.mask[0].causal = true;
  CHECK(visited_kv_tiles(problem, 0, 0) == TileRange{0, 2});
  CHECK(visited_kv_tiles(problem, 0, 6) == TileRange{0, 4});
  problem.keys.reset();
  CHECK(key_length(problem, 0) == 100);
  CHECK(visited_kv_tiles(problem, 0, 0) == TileRange{0, 1});
}

TEST_CASE("a lowering is found by construct, architecture and type, and otherwise says what there is") {
  const auto row = [](const char* construct, const char* architecture, Dtype type) {
    Lowering lowering;
    lowering.construct = construct, lowering.architecture = architecture, lowering.type = type;
    return lowering;
  };
  const std::vector<Lowering> table = {row("atomicAdd", "sm90", Dtype::kFp32),
                                       row("red", "sm90", Dtype::kBf16),
                                       row("atomicAdd", "sm80", Dtype::kBf16)};
  CHECK(construct_names(table) == std::vector<std::string>{"atomicAdd", "red"});
  CHECK(&find_lowering(table, "atomicAdd", "sm80", Dtype::kBf16) == &table[2]);
  CHECK(refusal([&] { (void)find_lowering(table, "atomicAd", "sm80", Dtype::kBf16); }) ==
        "construct: unknown name 'atomicAd'; accepted: atomicAdd, red");
  CHECK(refusal([&] { (void)find_lowering(table, "atomicAdd", "sm80", Dtype::kFp32); }) ==
        sentence("construct", "atomicAdd for sm80 fp32",
                 "a row of the lowering table; this construct has: sm90 fp32, sm80 bf16"));
}

TEST_CASE("a name of the catalog may be cut after a whole part, if that says which is meant") {
  Catalog catalog;
  for (const char* name : {"h100", "h200", "rtx-4090"}) catalog.devices.push_back(Device{.name = name});
  for (const char* name : {"wan2-1-14b-720p", "wan2-1-1b", "hunyuan-video"}) {
    catalog.presets.emplace_back();
    catalog.presets.back().name = name;
  }
  CHECK(catalog.device("H200").name == "h200");
  CHECK(catalog.device("rtx").name == "rtx-4090");
  CHECK(catalog.preset("wan").name == "wan2-1-14b-720p");  // sizes of one model: the first
  CHECK(catalog.preset("wan2-1-1b").name == "wan2-1-1b");
  CHECK(catalog.preset("hunyuan").name == "hunyuan-video");
  for (const char* name : {"h1", "h10", "rt", "rtx-40"}) {  // too short, or inside a part
    CAPTURE(name);
    CHECK(refusal([&] { (void)catalog.device(name); }) ==
          "device: unknown name '" + std::string(name) + "'; accepted: h100, h200, rtx-4090; your own with device-file");
  }
  catalog.devices.push_back(Device{.name = "rtx-5090"});
  CHECK_FALSE(refusal([&] { (void)catalog.device("rtx"); }).empty());  // two devices
}

TEST_CASE("a backend without tiles says whether it lacks the rank, the pass or the head dim") {
  Backend backend{.name = "own"};
  backend.forward = {{{{8, 8}, {8, 8}}, 64, ""},
                     {{{8, 8}, {8, 8}}, 128, ""},
                     {{{4, 4}, {8, 8}}, 64, ""},
                     {{{8, 8}, {8, 8}}, 64, "again"}};
  const auto pairs = [&](std::size_t rank, std::int64_t head_dim, Walk pass) {
    return tile_pairs(backend, rank, head_dim, pass);
  };
  CHECK(pairs(2, 64, Walk::kForward) == std::vector<TilePair>{{{8, 8}, {8, 8}}, {{4, 4}, {8, 8}}});
  CHECK(pairs(2, 128, Walk::kForward) == std::vector<TilePair>{{{8, 8}, {8, 8}}});
  CHECK(refusal([&] { (void)pairs(2, 32, Walk::kForward); }) ==
        sentence("head_dim", "32", "64, 128 (own forward)"));
  CHECK(refusal([&] { (void)pairs(3, 64, Walk::kForward); }) ==
        sentence("backend", "own",
                 "a backend with forward tiles for 3-D layouts, or tile shapes given by hand"));
  CHECK(refusal([&] { (void)pairs(2, 64, Walk::kBackward); }) ==
        sentence("backend", "own",
                 "a backend with backward tiles for 2-D layouts, or tile shapes given by hand"));
}

TEST_CASE("masks and shapes of another rank, and values out of range, are refused by axis") {
  CHECK(refusal([] {
          (void)make_mask({8, 8}, {});
        }) == sentence("window", "none", "one value for each axis of the input"));
  CHECK(refusal([] {
          (void)make_mask({8, 8, 8}, {4, 4});
        }) == sentence("window", "2 values", "3 values, one for each axis of the input"));
  CHECK(refusal([] { (void)make_mask({8}, {4}, {1, 1}); }) == sentence("stride", "2 values", "1 value"));
  CHECK(refusal([] { require_valid(NeighborhoodMask{}); }) == sentence("input", "no axes", "1 to 4 axes"));
  CHECK(refusal([] {
          (void)make_mask({8, 8}, {4, 9});
        }) == sentence("window", "9 on axis 1", "1..8 (the axis length)"));
  CHECK(refusal([] {
          (void)make_mask({8, 8}, {4, 4}, {}, {1, 3});
        }) == sentence("window", "4 on axis 1", "1..2 (axis length / dilation)"));
  CHECK(refusal([] { (void)make_mask({8}, {4}, {5}); }) ==
        sentence("stride", "5 on axis 0", "1..4 (the window)"));
  CHECK(refusal([] { (void)make_mask({8}, {1}, {}, {9}); }) ==
        sentence("dilation", "9 on axis 0", "1..8 (the axis length)"));
  const NeighborhoodMask mask = make_mask({9, 8}, {4, 3}, {2, 1}, {2, 1}, {true, false});
  CHECK(input_of(mask) == Extents{9, 8});
  CHECK(window_of(mask) == Extents{4, 3});
  CHECK(stride_of(mask) == Extents{2, 1});
  CHECK(dilation_of(mask) == Extents{2, 1});
  CHECK(causal_of(mask) == PerAxis<bool>{true, false});
  CHECK(refusal([] { require_extents("q_tile", {4}, 2, 1, 9); }) ==
        sentence("q_tile", "4 (1 axis)", "2 values, one for each axis of the input"));
  CHECK(refusal([] {
          require_extents("q_tile", {4, 4}, 1, 1, 9);
        }) == sentence("q_tile", "4x4 (2 axes)", "1 value"));
  CHECK(refusal([] {
          require_extents("q_tile", {4, 10}, 2, 1, 9);
        }) == sentence("q_tile", "10 on axis 1", "1..9"));
  CHECK(refusal([] { Extents{1, 2, 3, 4}.push_back(5); }) == sentence("rank", "more than 4", "1 to 4 axes"));
  CHECK(decimal(-Int128{1200}) == "-1200");
  CHECK(decimal(0) == "0");
}

TEST_CASE("a device lists the numbers that it has, in the order of the files, and names what it lacks") {
  Device device{.name = "own"};
  CHECK(known_numbers(device).empty());
  device.boost_clock_hz = {1.5e9, true, "clocks"};
  device.sms = {4, false, "data sheet"};
  device.l2.ways = {16, true, "counter"};
  const std::vector<DeviceNumber> numbers = known_numbers(device);
  REQUIRE(numbers.size() == 3);
  CHECK(numbers[0].name == "sms");
  CHECK(numbers[0].value == 4);
  CHECK_FALSE(numbers[0].measured);
  CHECK(numbers[1].name == "l2_ways");
  CHECK(numbers[1].source == "counter");
  CHECK(numbers[2].value == 1.5e9);
  CHECK(numbers[2].measured);
  CHECK(refusal([&] { (void)msda_kernel(device, MsdaTiling::kPoint); }) ==
        sentence("device", "'own'", "a device with msda_kernels of point tiling"));
  device.msda_kernels.resize(2);
  device.msda_kernels[0].tiling = MsdaTiling::kBlock;
  device.msda_kernels[1].tiling = MsdaTiling::kPoint;
  CHECK(&msda_kernel(device, MsdaTiling::kPoint) == &device.msda_kernels[1]);
  CHECK(std::string(HardwareAbsent("a GPU", "this machine has none").what()) ==
        "this needs a GPU, but this machine has none");
}

TEST_CASE("CTAs are near one partition where all the SMs that they start on are") {
  Device device{.name = "own"};
  CHECK_FALSE(only_partition(device, 1));  // nothing is known
  device.launch_runs = {{{2, 1}, {3, 0}}, true, "seen"};
  CHECK_FALSE(only_partition(device, 1));
  device.l2.partitions = {2, true, "seen"};
  CHECK(only_partition(device, 1) == 1);
  CHECK(only_partition(device, 2) == 1);
  CHECK_FALSE(only_partition(device, 3));
  device.l2.partitions = {1, true, "seen"};
  CHECK_FALSE(only_partition(device, 2));
}

}  // namespace refused_values_test
