#include "check.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <random>

#include "tensors.hpp"

namespace natten_sim::bench {
namespace {

using forward::Band;
using forward::Dispatch;
using forward::KernelShape;
using forward::Problem;
using forward::Schedule;

struct Case {
  std::string name;
  Problem problem;
  KernelShape kernel;
  Schedule schedule;
  HeadLayout layout = HeadLayout::kHeadsFirst;
  std::int64_t padding = 0;
  int repeats = 2;
};

/// Rows of the GPU oracle against plain loops on the CPU. The largest difference over the row's largest |v|.
double oracle_difference(const Problem& problem, const Storage& storage, const forward::Reference& reference,
                         std::mt19937_64& random) {
  const forward::HostTensors inputs = storage.host_inputs();
  const std::int64_t rows = problem.batch * problem.heads * problem.q_tokens;
  double worst = 0;
  for (int i = 0; i < 6; ++i) {
    const auto row = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(rows));
    const std::int64_t query = row % problem.q_tokens, head = row / problem.q_tokens % problem.heads;
    const forward::ReferenceRow expected =
        forward::reference_row(problem, inputs, row / problem.q_tokens / problem.heads, head, query);
    std::vector<double> o(static_cast<std::size_t>(problem.head_dim));
    reference.o.copy_to_host(o.data(), o.size() * 8, static_cast<std::size_t>(row * problem.head_dim) * 8);
    double lse = 0;
    reference.lse.copy_to_host(&lse, 8, static_cast<std::size_t>(row) * 8);
    for (std::size_t d = 0; d < o.size(); ++d) worst = std::max(worst, std::abs(o[d] - expected.o[d]));
    if (!(lse == expected.lse)) worst = std::max(worst, std::abs(lse - expected.lse));
  }
  return worst;
}

bool run(const kernels::GpuInfo& gpu, Case test, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Storage storage(test.problem, test.layout, test.padding, seed);
  const forward::Tensors tensors = storage.tensors();
  const forward::Plan plan(gpu, test.problem, test.kernel, test.schedule, tensors);
  plan.launch();
  kernels::synchronize();
  const forward::Reference reference = forward::reference_on_gpu(test.problem, tensors);
  const double oracle = oracle_difference(test.problem, storage, reference, random);
  const forward::Deviation off = forward::deviation(test.problem, tensors, reference);
  const bool small = test.problem.batch * test.problem.heads * test.problem.q_tokens < 1 << 17;
  const std::int64_t overwritten = small ? storage.overwritten(test.problem) : 0;
  const std::uint64_t bits = storage.output_bits();
  int different = 0;
  for (int i = 1; i < test.repeats; ++i) {
    storage.poison();
    plan.launch();
    different += storage.output_bits() != bits ? 1 : 0;
  }
  const bool passed = off.within_bound() && oracle < 1e-11 && overwritten == 0 && different == 0;
  std::printf(
      "%-4s %-52s norm %.2e  element %.3f  lse %.1e  wrong %lld %lld  guards %lld  oracle %.1e  %d of %d "
      "repeats differ\n",
      passed ? "ok" : "FAIL", test.name.c_str(), off.relative_norm, off.worst_element, off.worst_lse,
      static_cast<long long>(off.wrong), static_cast<long long>(off.wrong_lse),
      static_cast<long long>(overwritten), oracle, different, test.repeats - 1);
  std::fflush(stdout);
  return passed;
}

std::string describe(const KernelShape& shape) {
  return "hd" + std::to_string(shape.head_dim) +
         (shape.dtype == Dtype::kFp16 ? " fp16 " : " bf16 ") + std::to_string(shape.q_tile) + "x" +
         std::to_string(shape.kv_tile) + (shape.neighborhood ? " na" : "") +
         " k" + std::to_string(shape.stages) + "v" + std::to_string(shape.v_stages) +
         (shape.q_stages > 1 ? " 2q" : "") + (shape.overlap ? "" : " serial") +
         (shape.ping_pong ? " turns" : "") + (shape.joined ? " joined" : "") + " " +
         to_string(shape.rescale) + (shape.early > 0 ? " early" + std::to_string(shape.early) : "") +
         (shape.mask_products > 0 ? " products" + std::to_string(shape.mask_products) : "");
}

Case band_case(const KernelShape& shape, std::int64_t heads, std::int64_t heads_kv, std::int64_t q_tokens,
               std::int64_t kv_tokens, const Band& band, const std::string& what) {
  Case made;
  made.problem = sequence(heads, q_tokens, shape.head_dim, false);
  made.problem.heads_kv = heads_kv;
  made.problem.kv_tokens = kv_tokens;
  made.problem.dtype = shape.dtype;
  made.problem.mask = band;
  made.kernel = shape;
  made.name = describe(shape) + " " + what;
  return made;
}

/// A ragged causal and a ragged full sequence for every kernel that is built.
void add_every_band_kernel(std::vector<Case>& cases) {
  for (const KernelShape& shape : forward::built_kernels()) {
    if (shape.neighborhood) continue;
    cases.push_back(band_case(shape, 2, 2, 1000, 1000, {}, "full 1000"));
    cases.push_back(band_case(shape, 3, 3, 777, 777, {std::nullopt, 0}, "causal 777"));
    cases.back().problem.batch = 2;
    cases.back().layout = HeadLayout::kHeadsLast;
    cases.back().schedule.dispatch = Dispatch::kTicket;
    cases.back().schedule.last_q_tile_first = true;
    cases.back().schedule.heads_a_section = 4;
    if (shape.rescale != forward::Rescale::kOnOverflow) continue;
    // Scores with a deviation of 4 sqrt(head_dim) pass the first tile's maximum by more than 2^64, of
    // sqrt(head_dim) by more than 2^16.
    const double overflowing = shape.dtype == Dtype::kFp16 ? 1 : 4;
    for (const bool causal : {false, true}) {
      Band band;
      if (causal) band.right = 0;
      cases.push_back(band_case(shape, 5, 5, 3000, 8192, band, causal ? "overflow, causal" : "overflow, split"));
      cases.back().problem.scale = overflowing;
      cases.back().schedule.split_tail = !causal && shape.head_dim <= 128;
      cases.back().schedule.dispatch = causal ? Dispatch::kTicket : Dispatch::kStatic;
      cases.back().repeats = 20;
    }
    cases.push_back(band_case(shape, 1, 1, 100, 8192, {}, "overflow in the only item"));
    cases.back().problem.scale = overflowing;
  }
}

void add_bands(std::vector<Case>& cases) {
  KernelShape shape;
  for (const std::int64_t tokens : {1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 129, 255, 256, 257, 640}) {
    cases.push_back(
        band_case(shape, 2, 1, tokens, tokens, {std::nullopt, 0}, "causal " + std::to_string(tokens)));
    cases.back().padding = 200;
    cases.push_back(band_case(shape, 2, 2, tokens, 300, {}, "full " + std::to_string(tokens) + "x300"));
    cases.back().padding = 200;
  }
  cases.push_back(band_case(shape, 8, 2, 600, 1500, {std::nullopt, 0}, "causal gqa 600x1500"));
  cases.back().padding = 77;
  cases.push_back(band_case(shape, 8, 2, 1500, 600, {std::nullopt, 0}, "causal 1500x600, rows without keys"));
  cases.push_back(band_case(shape, 4, 2, 2000, 2000, {300, 0}, "window 300,0"));
  cases.push_back(band_case(shape, 4, 2, 2000, 2500, {100, 50}, "window 100,50 2000x2500"));
  cases.push_back(band_case(shape, 4, 4, 1024, 1024, {0, 0}, "window 0,0"));
  cases.push_back(band_case(shape, 4, 4, 2048, 2048, {}, "scale 0.5"));
  cases.back().problem.scale = 0.5;
  cases.push_back(band_case(shape, 4, 4, 2048, 2048, {}, "scale 1e-3"));
  cases.back().problem.scale = 1e-3;
  for (const KvOrder walk :
       {KvOrder::kCyclic, KvOrder::kSawtooth, KvOrder::kDescending}) {
    for (const Dispatch dispatch : {Dispatch::kStatic, Dispatch::kTicket, Dispatch::kGrid}) {
      cases.push_back(
          band_case(shape, 40, 8, 1111, 1111, {std::nullopt, 0},
                    std::string("causal ") + to_string(dispatch) + " " + to_string(walk)));
      cases.back().schedule = {dispatch, walk, false, 3, dispatch == Dispatch::kGrid ? 0 : 50};
    }
  }
  cases.push_back(band_case(shape, 2, 2, 16384, 16384, {}, "full 16384"));
  cases.push_back(band_case(shape, 2, 2, 16384, 16384, {std::nullopt, 0}, "causal 16384, 200 repeats"));
  cases.back().schedule = forward::best_schedule(cases.back().problem);
  cases.back().repeats = 200;
}

/// Items that CTAs divide among them: lists of one to many parts, both directions, masks at either end.
void add_splits(std::vector<Case>& cases) {
  KernelShape shape;
  const auto add = [&](std::int64_t heads, std::int64_t q_tokens, std::int64_t kv_tokens, const Band& band,
                       const std::string& what) -> Case& {
    cases.push_back(band_case(shape, heads, heads, q_tokens, kv_tokens, band, "split " + what));
    cases.back().schedule.split_tail = true;
    cases.back().repeats = 20;
    return cases.back();
  };
  add(3, 2000, 5000, {}, "2000x5000");
  add(1, 128, 16384, {}, "128x16384, one item");
  add(2, 16384, 16384, {}, "16384, 200 repeats").repeats = 200;
  add(5, 3000, 3000, {std::nullopt, 0}, "causal 3000");
  add(5, 3000, 3000, {std::nullopt, 0}, "causal 3000, 50 CTAs").schedule.ctas = 50;
  add(7, 2000, 2500, {700, 350}, "window 700,350").schedule.walk = KvOrder::kCyclic;
  add(9, 4000, 4000, {}, "sawtooth, 50 CTAs").schedule = {Dispatch::kStatic, KvOrder::kSawtooth, true, 4, 50,
                                                          true};
  for (const int head_dim : {64, 96, 160, 192}) {
    for (const Dtype dtype : {Dtype::kBf16, Dtype::kFp16}) {
      Problem problem = sequence(3, 1500, head_dim, false);
      problem.dtype = dtype;
      for (const KernelShape& built :
           forward::built_kernels()) {  // joined items of wide heads cannot be split
        if (built.head_dim != head_dim || built.dtype != dtype || built.neighborhood) continue;
        if (built.head_dim > 128 && built.joined) continue;
        shape = built;
        add(3, 1500, 3001, {}, "1500x3001");
      }
    }
  }
}

Case box_case(std::int64_t heads, std::int64_t head_dim, const NeighborhoodMask& mask, const Extents& q_tile,
              const Extents& kv_tile, const std::string& what) {
  Case made;
  made.problem = neighborhood(heads, head_dim, mask, q_tile, kv_tile);
  made.kernel = forward::best_kernel(made.problem);
  made.name = describe(made.kernel) + " " + what;
  return made;
}

/// Extra keys that fill no tile, some tiles and a part of one, or tiles alone; beside lists with full tiles
/// and without, items that overflow, dilation, causal axes, both layouts, and every kernel.
void add_extra_keys(std::vector<Case>& cases) {
  const auto add = [&](std::int64_t extra, const NeighborhoodMask& mask, const Extents& tile,
                       std::string what) {
    cases.push_back(box_case(4, 128, mask, tile, tile, ""));
    cases.back().problem.extra_tokens = extra;
    cases.back().problem.heads_kv = 2;
    cases.back().problem.batch = 2;
    cases.back().name = describe(cases.back().kernel) + " " + std::to_string(extra) + " extra keys, " + what;
  };
  for (const std::int64_t extra : {1, 77, 127, 128, 129, 300, 512}) {
    add(extra, make_mask({1000}, {100}), {128}, "1-D");
    cases.back().padding = 33;
    add(extra, make_mask({40, 50}, {13, 9}, {4, 3}), {16, 8}, "2-D");
    cases.back().layout = HeadLayout::kHeadsLast;
  }
  add(200, make_mask({777}, {200}, {8}, {3}, {true}), {128}, "1-D dilated causal");
  add(200, make_mask({12, 20, 17}, {5, 7, 9}), {4, 4, 8}, "3-D heads first");
  add(200, make_mask({9, 20, 17}, {3, 4, 5}, {1, 2, 3}, {2, 3, 2}, {true, false, false}), {4, 4, 8},
      "3-D dilated causal");
  cases.back().layout = HeadLayout::kHeadsLast;
  add(256, make_mask({16, 32, 32}, {8, 16, 16}, {8, 16, 16}), {4, 4, 8}, "3-D block-sparse");
  cases.back().repeats = 20;
  for (const KernelShape& shape : forward::built_kernels()) {
    if (!shape.neighborhood) continue;
    const bool wide = shape.kv_tile != 128;
    cases.push_back(wide && shape.mask_products != 1
                        ? box_case(5, shape.head_dim, make_mask({40, 50}, {13, 9}), {16, 8}, {14, 8}, "")
                        : box_case(5, shape.head_dim, make_mask({24, 30, 41}, {11, 13, 15}), {4, 4, 8},
                                   {4, 4, wide ? 7 : 8}, ""));
    cases.back().kernel = shape;
    cases.back().problem.dtype = shape.dtype;
    cases.back().problem.extra_tokens = 333;
    cases.back().name = describe(shape) + " 333 extra keys";
    cases.back().schedule.dispatch = Dispatch::kTicket;
    cases.back().layout = HeadLayout::kHeadsLast;
    if (shape.rescale != forward::Rescale::kOnOverflow) continue;
    cases.push_back(cases.back());
    cases.back().name += ", overflow";
    cases.back().problem.scale = shape.dtype == Dtype::kFp16 ? 1 : 4;
    cases.back().repeats = 20;
  }
}

/// Four axes, of which tiles have side 1 along the first.
void add_four_axes(std::vector<Case>& cases) {
  const auto add = [&](const NeighborhoodMask& mask, std::string what) {
    for (const HeadLayout layout : {HeadLayout::kHeadsLast, HeadLayout::kHeadsFirst}) {
      cases.push_back(box_case(4, 128, mask, {1, 4, 4, 8}, {1, 2, 8, 8}, "4-D " + what));
      cases.back().problem.heads_kv = 2;
      cases.back().problem.batch = 2;
      cases.back().layout = layout;
    }
  };
  add(make_mask({3, 6, 9, 10}, {2, 3, 4, 5}), "3x6x9x10");
  add(make_mask({5, 6, 9, 10}, {2, 3, 4, 5}, {2, 1, 2, 1}, {2, 1, 2, 1}, {false, false, true, false}),
      "strided, dilated, causal");
  add(make_mask({5, 4, 9, 10}, {3, 3, 4, 5}, {1, 1, 2, 1}, {1, 1, 1, 2}, {true, false, false, false}),
      "causal along the first axis");
  add(make_mask({4, 8, 8, 8}, {2, 8, 8, 8}, {2, 1, 1, 1}), "block-sparse, 100 extra keys");
  for (std::size_t i = cases.size() - 2; i < cases.size(); ++i) cases[i].problem.extra_tokens = 100;
}

void add_neighborhoods(std::vector<Case>& cases) {
  const auto add = [&](const std::string& what, const NeighborhoodMask& mask, const Extents& q_tile,
                       const Extents& kv_tile, HeadLayout layout = HeadLayout::kHeadsLast) {
    cases.push_back(box_case(3, 128, mask, q_tile, kv_tile, what));
    cases.back().layout = layout;
  };
  add("1-D 1000 w 100", make_mask({1000}, {100}), {128}, {128});
  add("1-D 1000 w 100 s 50 d 3", make_mask({1000}, {100}, {50}, {3}), {128}, {128});
  add("1-D causal", make_mask({777}, {200}, {8}, {1}, {true}), {128}, {128}, HeadLayout::kHeadsFirst);
  add("2-D 40x50 w 13x9", make_mask({40, 50}, {13, 9}), {16, 8}, {16, 8});
  add("2-D 40x50 s 4x3 tiles 8x16", make_mask({40, 50}, {13, 9}, {4, 3}), {8, 16}, {16, 8});
  add("2-D dilated causal", make_mask({40, 50}, {7, 9}, {2, 1}, {3, 2}, {true, false}), {16, 8}, {16, 8},
      HeadLayout::kHeadsFirst);
  add("2-D 8x33000, an axis too long for mask products", make_mask({8, 33000}, {5, 50}), {8, 16}, {8, 16});
  add("2-D 8x32700", make_mask({8, 32700}, {5, 50}), {8, 16}, {8, 16});
  add("3-D 12x20x17 w 5x7x9", make_mask({12, 20, 17}, {5, 7, 9}), {4, 4, 8}, {4, 4, 8});
  add("3-D heads first", make_mask({12, 20, 17}, {5, 7, 9}), {4, 4, 8}, {4, 4, 8}, HeadLayout::kHeadsFirst);
  add("3-D tiles 2x8x8", make_mask({12, 20, 17}, {6, 8, 8}, {2, 4, 1}), {2, 8, 8}, {2, 8, 8});
  add("3-D tiles 8x4x4 / 1x8x16", make_mask({12, 20, 33}, {6, 8, 8}), {8, 4, 4}, {1, 8, 16});
  add("3-D dilated causal", make_mask({9, 20, 17}, {3, 4, 5}, {1, 2, 3}, {2, 3, 2}, {true, false, false}),
      {4, 4, 8}, {4, 4, 8});
  add("3-D block-sparse", make_mask({16, 32, 32}, {8, 16, 16}, {8, 16, 16}), {4, 4, 8}, {4, 4, 8});
  for (const std::int64_t head_dim : {64, 96}) {
    for (const Dtype dtype : {Dtype::kBf16, Dtype::kFp16}) {
      cases.push_back(
          box_case(4, head_dim, make_mask({12, 20, 17}, {5, 7, 9}), {4, 4, 8}, {4, 4, 8}, "3-D gqa"));
      cases.back().problem.dtype = cases.back().kernel.dtype = dtype;
      cases.back().problem.heads_kv = 2;
      cases.back().problem.batch = 2;
      cases.back().layout = HeadLayout::kHeadsLast;
    }
  }
  cases.push_back(box_case(2, 160, make_mask({40, 50}, {13, 9}), {16, 8}, {14, 8}, "2-D"));
  for (const KernelShape& shape : forward::built_kernels()) {
    if (!shape.neighborhood || shape.kv_tile != 128) continue;
    cases.push_back(
        box_case(5, shape.head_dim, make_mask({24, 30, 41}, {11, 13, 15}), {4, 4, 8}, {4, 4, 8}, ""));
    cases.back().kernel = shape;
    cases.back().problem.dtype = shape.dtype;
    cases.back().name = describe(shape) + " 3-D 24x30x41";
    cases.back().schedule.dispatch = Dispatch::kTicket;
    cases.back().layout = HeadLayout::kHeadsLast;
    if (shape.rescale != forward::Rescale::kOnOverflow) continue;
    cases.push_back(cases.back());
    cases.back().name += ", overflow";
    cases.back().problem.scale = shape.dtype == Dtype::kFp16 ? 1 : 4;
    cases.back().repeats = 20;
  }
  add_extra_keys(cases);
  add_four_axes(cases);
  for (const std::int64_t stride : {1, 8}) {
    cases.push_back(box_case(2, 128, make_mask({60, 70}, {25, 50}, {stride, stride}, {2, 1}), {16, 8}, {8, 16},
                             "2-D 60x70 dilation 2x1"));
    cases.back().repeats = 20;
  }
}

}  // namespace

bool run_checks(const kernels::GpuInfo& gpu, const std::string& filter) {
  const auto seed =
      static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()) % 1000003;
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::vector<Case> cases;
  add_every_band_kernel(cases);
  add_bands(cases);
  add_splits(cases);
  add_neighborhoods(cases);
  int failed = 0, ran = 0;
  for (const Case& test : cases) {
    if (test.name.find(filter) == std::string::npos) continue;
    ++ran;
    failed += run(gpu, test, seed + static_cast<std::uint64_t>(ran)) ? 0 : 1;
  }
  std::printf("%d of %d checks passed\n", ran - failed, ran);
  return failed == 0 && ran > 0;
}

}  // namespace natten_sim::bench
