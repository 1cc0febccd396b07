#include "timing.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>

#include <natten_sim/kernels/attention/attention.hpp>

#include "tensors.hpp"

namespace natten_sim::bench {
namespace {

using forward::Dispatch;
using forward::KernelShape;
using forward::Problem;
using forward::Schedule;

constexpr int kInputSets = 3;

struct Variant {
  std::string name;
  KernelShape kernel;
  Schedule schedule;
};

/// Median milliseconds of each variant, in turns. Poisons the output before and looks for NaN after, so that
/// a kernel that writes nothing is never fast.
std::vector<double> medians(const kernels::GpuInfo& gpu, const Problem& problem,
                            const std::vector<Variant>& variants, std::vector<Storage>& sets,
                            int repetitions) {
  kernels::L2Flusher flusher(gpu);
  std::vector<std::vector<forward::Plan>> plans(variants.size());
  for (std::size_t i = 0; i < variants.size(); ++i) {
    for (Storage& set : sets) {
      set.poison();
      plans[i].emplace_back(gpu, problem, variants[i].kernel, variants[i].schedule, set.tensors());
      plans[i].back().launch();
    }
  }
  kernels::synchronize();
  std::vector<std::vector<float>> times(variants.size());
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    for (std::size_t turn = 0; turn < variants.size(); ++turn) {
      const std::size_t i = (turn + static_cast<std::size_t>(repetition)) % variants.size();
      const forward::Plan& plan = plans[i][static_cast<std::size_t>(repetition) % sets.size()];
      times[i].push_back(kernels::time_with_events([&] { plan.launch(); }, 1, [&] { flusher.start(); })[0]);
    }
  }
  std::vector<double> result;
  for (std::vector<float>& list : times) {
    std::sort(list.begin(), list.end());
    result.push_back(list[list.size() / 2]);
  }
  return result;
}

std::vector<Storage> input_sets(Problem& problem, HeadLayout layout) {
  std::vector<Storage> sets;
  for (int i = 0; i < kInputSets; ++i)
    sets.emplace_back(problem, layout, 0, 17 + static_cast<std::uint64_t>(i));
  return sets;
}

std::string describe(const KernelShape& kernel) {
  return std::to_string(kernel.q_tile) + "x" + std::to_string(kernel.kv_tile) + " k" +
         std::to_string(kernel.stages) + "v" + std::to_string(kernel.v_stages) +
         (kernel.ping_pong ? " turns" : "") + (kernel.joined ? " joined" : "") + " " +
         to_string(kernel.rescale) + " early " + std::to_string(kernel.early) +
         (kernel.mask_products > 0 ? " mask products " + std::to_string(kernel.mask_products) : "");
}

double operations(const Problem& problem, bool causal) {
  return 4.0 * static_cast<double>(problem.q_tokens) * static_cast<double>(problem.kv_tokens) *
         static_cast<double>(problem.head_dim * problem.heads * problem.batch) * (causal ? 0.5 : 1.0);
}

KernelShape shape(int q_tile, int kv_tile, int q_stages, bool overlap, bool ping_pong,
                  forward::Rescale rescale, int early, bool joined = false) {
  KernelShape made;
  made.q_tile = q_tile;
  made.kv_tile = kv_tile;
  made.q_stages = q_stages;
  made.overlap = overlap;
  made.ping_pong = ping_pong;
  made.rescale = rescale;
  made.early = early;
  made.joined = joined;
  return made;
}

std::vector<Variant> ladder(bool causal) {
  Schedule grid, fixed, ticket;
  grid.dispatch = Dispatch::kGrid;
  ticket.dispatch = Dispatch::kTicket;
  if (causal) {
    for (Schedule* schedule : {&grid, &fixed, &ticket}) {
      schedule->last_q_tile_first = true;
      schedule->heads_a_section = 4;
    }
  }
  using forward::Rescale;
  const Rescale always = Rescale::kAlways, risen = Rescale::kRisen, far = Rescale::kFar,
                overflow = Rescale::kOnOverflow;
  const Schedule balanced = causal ? ticket : fixed;
  Schedule split = balanced;
  split.split_tail = !causal;
  const auto joined = [](int stages, int v_stages, Rescale rescale) {
    KernelShape made = shape(128, 128, 2, true, false, rescale, 1, true);
    made.stages = stages;
    made.v_stages = v_stages;
    return made;
  };
  KernelShape wide = joined(3, 3, overflow);
  wide.q_tile = 192;
  wide.kv_tile = 80;
  wide.early = 0;
  return {
      {"one warpgroup, serial", shape(64, 128, 1, false, false, always, 0), grid},
      {"two consumers", shape(128, 128, 1, false, false, always, 0), grid},
      {"+ turns", shape(128, 128, 1, false, true, always, 0), grid},
      {"+ softmax beside P V", shape(128, 128, 1, true, true, always, 0), grid},
      {"+ persistent, two Q tiles", shape(128, 128, 2, true, true, always, 0), fixed},
      {"+ tickets", shape(128, 128, 2, true, true, always, 0), ticket},
      {"+ rescale only when needed", shape(128, 128, 2, true, true, risen, 0), ticket},
      {"+ first row's exp early", shape(128, 128, 2, true, true, risen, 1), ticket},
      {"- turns", shape(128, 128, 2, true, false, risen, 1), ticket},
      {"+ rescale only when far", shape(128, 128, 2, true, false, far, 1), ticket},
      {"+ items joined", joined(2, 2, far), ticket},
      {"+ references stay", joined(2, 2, overflow), ticket},
      {"+ third K stage", joined(3, 2, overflow), ticket},
      {"static or tickets", joined(3, 2, overflow), balanced},
      {"+ tail split", joined(3, 2, overflow), split},
      {"third V stage instead", joined(2, 3, overflow), split},
      {"128x176", shape(128, 176, 1, true, false, far, 1), ticket},
      {"192x80", wide, balanced},
  };
}

}  // namespace

void time_ladder(const kernels::GpuInfo& gpu, std::int64_t tokens) {
  for (const bool causal : {false, true}) {
    Problem problem = sequence(16, tokens, 128, causal);
    std::vector<Storage> sets = input_sets(problem, HeadLayout::kHeadsLast);
    const std::vector<Variant> variants = ladder(causal);
    const std::vector<double> times = medians(gpu, problem, variants, sets, 15);
    for (std::size_t i = 0; i < variants.size(); ++i) {
      std::printf("ladder %-28s %-6s %lld  %.4f ms  %.1f TFLOP/s\n", variants[i].name.c_str(),
                  causal ? "causal" : "full", static_cast<long long>(tokens), times[i],
                  operations(problem, causal) / times[i] / 1e9);
    }
    std::fflush(stdout);
  }
}

void launch_ladder_once(const kernels::GpuInfo& gpu, std::int64_t tokens, bool causal) {
  Problem problem = sequence(16, tokens, 128, causal);
  Storage storage(problem, HeadLayout::kHeadsLast, 0, 17);
  for (const Variant& variant : ladder(causal)) {
    forward::Plan(gpu, problem, variant.kernel, variant.schedule, storage.tensors()).launch();
    kernels::synchronize();
    std::printf("%s\n", variant.name.c_str());
  }
}

void time_engines(const kernels::GpuInfo& gpu, std::int64_t tokens) {
  for (const bool causal : {false, true}) {
    const kernels::AttentionProblem problem{1, 16, 16, tokens, 128, Dtype::kBf16, causal};
    const kernels::AttentionBuffers buffers = kernels::random_attention_buffers(problem, 17);
    kernels::AttentionVariant mma_sync, wgmma;
    mma_sync.stages = 2;
    mma_sync.schedule = wgmma.schedule = CtaSchedule::kGrid;
    mma_sync.walk = wgmma.walk = KvOrder::kDescending;
    mma_sync.last_q_tile_first = wgmma.last_q_tile_first = causal;
    wgmma.kv_tile = 128;
    wgmma.stages = 2;
    wgmma.ctas_per_sm = 1;
    wgmma.engine = kernels::AttentionEngine::kWgmma;
    kernels::L2Flusher flusher(gpu);
    for (const kernels::AttentionVariant& variant : {mma_sync, wgmma}) {
      const kernels::AttentionLaunch launch = kernels::prepare_attention(gpu, problem, variant, buffers);
      launch(nullptr);
      std::vector<float> ms =
          kernels::time_with_events([&] { launch(nullptr); }, 15, [&] { flusher.start(); });
      std::sort(ms.begin(), ms.end());
      std::printf("engine %-8s %-6s %lld  %.4f ms  %.1f TFLOP/s\n", to_string(variant.engine),
                  causal ? "causal" : "full", static_cast<long long>(tokens), ms[ms.size() / 2],
                  problem.operations() / ms[ms.size() / 2] / 1e9);
      std::fflush(stdout);
    }
  }
}

namespace {

/// `tokens` a sequence, at least 16384 in all, hidden size 2048.
Problem sized(std::int64_t tokens, std::int64_t head_dim, bool causal) {
  Problem problem = sequence(2048 / head_dim, tokens, head_dim, causal);
  problem.batch = std::max<std::int64_t>(16384 / tokens, 1);
  return problem;
}

void print_times(const char* what, const Problem& problem, bool causal, const std::vector<Variant>& variants,
                 const std::vector<double>& times) {
  for (std::size_t i = 0; i < variants.size(); ++i) {
    std::printf("%s hd%lld %-6s %6lld  %-52s %.4f ms  %.1f TFLOP/s\n", what,
                static_cast<long long>(problem.head_dim), causal ? "causal" : "full",
                static_cast<long long>(problem.q_tokens), variants[i].name.c_str(), times[i],
                operations(problem, causal) / times[i] / 1e9);
  }
  std::fflush(stdout);
}

}  // namespace

void time_sizes(const kernels::GpuInfo& gpu, std::int64_t head_dim) {
  for (const std::int64_t tokens : {65536, 32768, 16384, 8192, 4096, 2048, 1024, 512}) {
    for (const bool causal : {false, true}) {
      Problem problem = sized(tokens, head_dim, causal);
      std::vector<Storage> sets = input_sets(problem, HeadLayout::kHeadsLast);
      const std::vector<Variant> variants = {
          {"best", forward::best_kernel(problem), forward::best_schedule(problem)}};
      print_times("sizes", problem, causal, variants,
                  medians(gpu, problem, variants, sets, tokens > 16384 ? 5 : 15));
    }
  }
}

void time_choices(const kernels::GpuInfo& gpu, std::int64_t head_dim) {
  for (const std::int64_t tokens : {65536, 16384, 4096, 1024}) {
    for (const bool causal : {false, true}) {
      Problem problem = sized(tokens, head_dim, causal);
      std::vector<Storage> sets = input_sets(problem, HeadLayout::kHeadsLast);
      const Schedule best = forward::best_schedule(problem);
      Schedule whole = best;
      whole.split_tail = false;
      std::vector<Variant> variants;
      for (const KernelShape& kernel : forward::built_kernels()) {
        if (kernel.head_dim != head_dim || kernel.neighborhood || kernel.dtype != problem.dtype) continue;
        const bool splits = kernel.head_dim <= (kernel.joined ? 128 : 192);
        if (kernel.rescale == forward::Rescale::kOnOverflow || kernel == forward::best_kernel(problem) ||
            head_dim > 128)
          variants.push_back({describe(kernel), kernel, splits ? best : whole});
      }
      print_times("choices", problem, causal, variants,
                  medians(gpu, problem, variants, sets, tokens > 16384 ? 5 : 15));
    }
  }
}

void time_variants(const kernels::GpuInfo& gpu, std::int64_t head_dim, std::int64_t tokens) {
  for (const bool causal : {false, true}) {
    Problem problem = sized(tokens, head_dim, causal);
    std::vector<Storage> sets = input_sets(problem, HeadLayout::kHeadsLast);
    std::vector<Variant> variants;
    const Schedule best = forward::best_schedule(problem);
    Schedule ticket = best;
    ticket.dispatch = Dispatch::kTicket;
    ticket.split_tail = false;
    for (const KernelShape& kernel : forward::built_kernels()) {
      const bool fits = kernel.head_dim == head_dim && !kernel.neighborhood && kernel.dtype == problem.dtype;
      if (!fits || !kernel.overlap || kernel.ping_pong) continue;
      variants.push_back({describe(kernel) + " ticket", kernel, ticket});
      if (causal) continue;
      Schedule whole = best;
      whole.split_tail = false;
      variants.push_back({describe(kernel) + " static", kernel, whole});
      variants.push_back({describe(kernel) + " split", kernel, best});
    }
    print_times("variants", problem, causal, variants, medians(gpu, problem, variants, sets, 9));
  }
}

namespace {

struct Published {
  const char* name;
  std::int64_t heads;
  Extents input, window, stride, q_tile, kv_tile;
};

const std::vector<Published>& published() {
  static const std::vector<Published> list = {
      {"flux 80x80 stride 1", 24, {256, 256}, {80, 80}, {1, 1}, {16, 8}, {16, 8}},
      {"flux 80x80 stride 16x16", 24, {256, 256}, {80, 80}, {16, 16}, {16, 8}, {16, 8}},
      {"cosmos 16x24x16 stride 1", 32, {16, 44, 80}, {16, 24, 16}, {1, 1, 1}, {4, 4, 8}, {4, 4, 8}},
      {"cosmos 16x24x16 stride 1x8x16", 32, {16, 44, 80}, {16, 24, 16}, {1, 8, 16}, {4, 4, 8}, {4, 4, 8}},
      {"hunyuan 18x24x24 stride 1", 24, {30, 48, 80}, {18, 24, 24}, {1, 1, 1}, {2, 8, 8}, {2, 8, 8}},
      {"hunyuan 18x24x24 stride 16x8x8", 24, {30, 48, 80}, {18, 24, 24}, {16, 8, 8}, {2, 8, 8}, {2, 8, 8}},
      {"1-D 32k w 2048 stride 1", 1, {32768}, {2048}, {1}, {128}, {128}},
      {"1-D 32k w 2048 stride 256", 1, {32768}, {2048}, {256}, {128}, {128}},
  };
  return list;
}

/// Dense time a pair of tiles, of a problem with as many tokens and heads.
double dense_ms(const kernels::GpuInfo& gpu, std::int64_t heads, std::int64_t tokens, std::int64_t head_dim) {
  Problem problem = sequence(heads, tokens, head_dim, false);
  std::vector<Storage> sets = input_sets(problem, HeadLayout::kHeadsLast);
  return medians(gpu, problem, {{"dense", forward::best_kernel(problem), forward::best_schedule(problem)}},
                 sets, 3)[0];
}

}  // namespace

void time_neighborhoods(const kernels::GpuInfo& gpu, const std::string& filter, bool every,
                        std::int64_t head_dim) {
  for (const Published& entry : published()) {
    if (std::string(entry.name).find(filter) == std::string::npos) continue;
    Problem problem = neighborhood(entry.heads, head_dim, make_mask(entry.input, entry.window, entry.stride),
                                   entry.q_tile, entry.kv_tile);
    const auto& visits = std::get<forward::Neighborhood>(problem.mask).visits;
    const auto full =
        std::count_if(visits.begin(), visits.end(), [](const auto& visit) { return visit.full; });
    std::vector<Storage> sets = input_sets(problem, HeadLayout::kHeadsLast);
    const KernelShape kernel = forward::best_kernel(problem);
    std::vector<Variant> variants = {{"best", kernel, forward::best_schedule(problem)}};
    if (every) {
      for (const KernelShape& other : forward::built_kernels()) {
        if (!other.neighborhood || other.head_dim != kernel.head_dim || other.dtype != kernel.dtype) continue;
        Schedule fixed, ticket;
        ticket.dispatch = Dispatch::kTicket;
        try {
          forward::Plan(gpu, problem, other, fixed, sets.front().tensors());
        } catch (const InvalidParameter&) {  // too few mask products
          continue;
        }
        variants.push_back({describe(other) + " static", other, fixed});
        variants.push_back({describe(other) + " ticket", other, ticket});
      }
    }
    const std::vector<double> ms = medians(gpu, problem, variants, sets, 7);
    sets.clear();
    const double dense = dense_ms(gpu, entry.heads, problem.q_tokens, head_dim);
    const double tiles = std::pow(std::ceil(static_cast<double>(problem.q_tokens) / 128), 2);
    for (std::size_t i = 0; i < variants.size(); ++i) {
      std::printf(
          "na %-32s %-40s %.4f ms  tiles %zu of %.0f, %zu partial  dense %.3f ms  over its share %.3f  %.1f "
          "TFLOP/s on visited tiles\n",
          entry.name, variants[i].name.c_str(), ms[i], visits.size(), tiles,
          visits.size() - static_cast<std::size_t>(full), dense,
          ms[i] / (dense * static_cast<double>(visits.size()) / tiles),
          4.0 * 128 * 128 * static_cast<double>(head_dim) * static_cast<double>(visits.size()) *
              static_cast<double>(entry.heads) / ms[i] / 1e9);
    }
    std::fflush(stdout);
  }
}

}  // namespace natten_sim::bench
