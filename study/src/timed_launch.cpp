#include "timed_launch.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>
#include <tuple>
#include <utility>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/models/tiles/axis_count.hpp>
#include <natten_sim/models/tiles/cutlass_ctas.hpp>
#include <natten_sim/models/tiles/natten_visits.hpp>
#include <natten_sim/models/tiles/tile_count.hpp>
#include <natten_sim/sim/tiles/kernel_grid.hpp>
#include <natten_sim/sim/tiles/shared_sm.hpp>

#include "launch_waves.hpp"

namespace natten_sim::study {
namespace {

/// Of libraries: masks run on tiles that the diagonal cuts, in both passes; or on all.
KernelVisits causal_library_visits(std::int64_t tokens, const PassCosts& costs, bool masks_all) {
  const bool forward = costs.pass == Walk::kForward;
  const AxisTiles tiles = forward ? AxisTiles{costs.q_tile_tokens, costs.kv_tile_tokens}
                                  : AxisTiles{costs.kv_tile_tokens, costs.q_tile_tokens};
  const AxisCount count = count_axis({tokens, tokens, 1, 1, true}, tiles, KvTiling::kStatic, costs.pass);
  const std::int64_t unmasked = masks_all ? 0 : count.full_tiles;
  return {.launched_tiles = count.walked_tiles,
          .visited_tiles = count.visited_tiles,
          .unmasked_tiles = unmasked,
          .masked_tiles = count.visited_tiles - unmasked};
}

/// Counts of axes without dilation, for natten_visits(). FlexAttention's blocks are counted along Q in both passes.
PerAxis<AxisCount> counted_axes(const TimeQuestion& question, NattenBackend family, AxisCountMemo& memo) {
  const Walk walk = family == NattenBackend::kFlexFna ? Walk::kForward : question.pass;
  const KvTiling tiling = family == NattenBackend::kFlexFna ? KvTiling::kStatic : streamed_tiling(family, walk);
  PerAxis<AxisCount> counted;
  for (std::size_t axis = 0; axis < question.mask.rank(); ++axis) {
    const bool whole = question.mask[axis].dilation == 1;
    counted.push_back(
        whole ? memo.count(question.mask[axis], axis_tiles(question.tiles, axis, walk), tiling, walk) : AxisCount{});
  }
  return counted;
}

KernelVisits dense_visits(const TimeQuestion& question, const TimedKernel& kernel, const PassCosts& costs) {
  const std::int64_t tokens = product(input_of(question.mask), "tokens");
  const bool causal = kernel.dense && is_causal_sequence(question);
  const bool masks_all = kernel.sequences && question.dtype == Dtype::kFp16;
  if (causal && kernel.library) return causal_library_visits(tokens, costs, masks_all);
  return fmha_visits({kernel.family, costs.q_tile_tokens, costs.kv_tile_tokens}, tokens,
                     checked_add(tokens, question.additional_keys, "tokens"), causal, question.pass);
}

KernelVisits visits_of_mask(const TimeQuestion& question, const TimedKernel& kernel, const PassCosts& costs,
                            LaunchMemo* memo) {
  if (question.ctas) return *question.visits;
  if (kernel.dense || flattens(question, kernel)) return dense_visits(question, kernel, costs);
  if (question.visits) return *question.visits;
  NattenProblem problem{.mask = question.mask, .backend = kernel.family, .tiles = question.tiles};
  problem.fmha.family = kernel.family;
  problem.fmha.q_tile = costs.q_tile_tokens;
  problem.fmha.kv_tile = costs.kv_tile_tokens;
  problem.pass = question.pass;
  problem.kernel_alone = true;
  if (memo != nullptr) problem.counted = counted_axes(question, kernel.family, memo->axes->counts);
  return natten_visits(problem).attention;
}

KernelVisits visits_of(const TimeQuestion& question, const TimedKernel& kernel, const PassCosts& costs,
                       LaunchMemo* memo = nullptr) {
  KernelVisits visits = visits_of_mask(question, kernel, costs, memo);
  if (masks_full_tiles(question, kernel, visits.masked_tiles)) {
    visits.masked_tiles += visits.unmasked_tiles;
    visits.unmasked_tiles = 0;
  }
  return visits;
}

/// Waves of equal CTAs whose last ones are divided along their keys: level, but for what a part costs besides its
/// tiles, two and a half of them. A launch of one wave or less has no more CTAs than Q tiles and divides nothing;
/// neither does the kernel of short sequences.
double waves_of_divided(double ctas, std::int64_t workers, double tiles_of_cta, std::int64_t tokens) {
  constexpr std::int64_t kFewKeys = 1200;
  constexpr double kPart = 2.5;
  const double level = ctas / static_cast<double>(workers), whole = even_waves(ctas, workers);
  return tokens < kFewKeys || level <= 1 ? whole : std::min(whole, level + kPart / std::max(tiles_of_cta, 1.0));
}

/// Blocks that are handed to a library's kernel, as its own tiles, of which they hold one or more: as many CTAs a block
/// as it has tiles of those that walk, each with the tiles of the blocks that it visits.
TimeQuestion in_own_tiles(TimeQuestion question, const PassCosts& costs) {
  const std::int64_t q = question.tiles.q_tile[0], kv = question.tiles.kv_tile[0];
  for (const auto& [name, block, tile] :
       {std::tuple{"q-tile", q, costs.q_tile_tokens}, std::tuple{"kv-tile", kv, costs.kv_tile_tokens}}) {
    if (block % tile != 0)
      throw InvalidParameter(name, std::to_string(block),
                             "a multiple of " + std::to_string(tile) + ", the tile of " + question.kernel);
  }
  const std::int64_t q_tiles = q / costs.q_tile_tokens, kv_tiles = kv / costs.kv_tile_tokens;
  const bool forward = question.pass == Walk::kForward;
  const std::int64_t walking = forward ? q_tiles : kv_tiles, walked = forward ? kv_tiles : q_tiles;
  auto ctas = std::make_shared<std::vector<CtaWork>>();
  for (CtaWork cta : *question.ctas) {
    cta.visits.tiles *= walked;
    cta.visits.full *= walked;
    ctas->insert(ctas->end(), static_cast<std::size_t>(walking), cta);
  }
  question.ctas = ctas;
  question.visits->launched_tiles *= walking;
  for (std::int64_t KernelVisits::*count :
       {&KernelVisits::visited_tiles, &KernelVisits::unmasked_tiles, &KernelVisits::masked_tiles})
    (*question.visits).*count *= walking * walked;
  return question;
}

/// PyTorch's FlashAttention-2 forward gives each Q tile of few to several CTAs, by this rule of its public source
/// (aten/src/ATen/native/transformers/cuda/flash_attn/flash_api.cpp): Q tiles of 64 rows, and the least number of
/// splits of the keys whose last wave of two CTAs an SM is at least 0.85 times as full as the best's; one where Q
/// tiles fill 0.8 of a wave.
std::int64_t splits_of(std::int64_t q_tiles, std::int64_t slots, std::int64_t key_blocks) {
  constexpr double kFull = 0.8, kNearBest = 0.85;
  constexpr std::int64_t kMost = 128;
  if (static_cast<double>(q_tiles) >= kFull * static_cast<double>(slots)) return 1;
  const std::int64_t most = std::min({kMost, slots, key_blocks});
  std::vector<double> efficiency(static_cast<std::size_t>(most) + 1, 0.0);
  for (std::int64_t splits = 1; splits <= most; ++splits) {
    const bool same = splits > 1 && ceil_divide(key_blocks, splits) == ceil_divide(key_blocks, splits - 1);
    const double waves = static_cast<double>(q_tiles * splits) / static_cast<double>(slots);
    if (!same) efficiency[static_cast<std::size_t>(splits)] = waves / std::ceil(waves);
  }
  const double best = *std::max_element(efficiency.begin(), efficiency.end());
  for (std::int64_t splits = 1; splits <= most; ++splits) {
    if (efficiency[static_cast<std::size_t>(splits)] >= kNearBest * best) return splits;
  }
  return 1;
}

/// Head dims that FlashAttention-2 is compiled for, in PyTorch; others are padded.
std::int64_t padded_head_dim(std::int64_t head_dim) {
  constexpr std::array kCompiled{32, 64, 96, 128, 192, 256};
  const auto found = std::lower_bound(kCompiled.begin(), kCompiled.end(), head_dim);
  return found == kCompiled.end() ? head_dim : *found;
}

/// Of the kernel that adds up what the CTAs of `splits` found, 4, 8 or 16 rows a CTA by the head dim: rounds of nine CTAs
/// an SM, and fp32 results that are read back (nine launches on an H200).
double adding_us(double round_us, std::int64_t rows, std::int64_t splits, std::int64_t head_dim, std::int64_t sms) {
  constexpr double kBytesPerUs = 15e6;
  constexpr std::int64_t kCtasOfSm = 9;
  const std::int64_t rows_of_cta = head_dim % 128 == 0 ? 4 : head_dim % 64 == 0 ? 8 : 16;
  const std::int64_t rounds = ceil_divide(ceil_divide(rows, rows_of_cta), kCtasOfSm * sms);
  return round_us * static_cast<double>(rounds) + static_cast<double>(rows * splits * head_dim * 4) / kBytesPerUs;
}

/// Its launch with several CTAs a Q tile, and the kernel that adds up what they found; none: it has one.
/// Of the priors, `split_pace` is what a pair of tokens takes there over what it takes in the usual kernel, `adding_us` a round
/// of the second kernel; costs that were fitted without it take another launch for it.
std::optional<LaunchWork> split_launch(const TimeQuestion& question, const PassCosts& costs, LaunchWork work,
                                       std::int64_t sms, const std::vector<CostPrior>& priors) {
  constexpr std::int64_t kRows = 64, kSlotsOfSm = 2;
  const std::int64_t tokens = product(input_of(question.mask), "tokens");
  const std::int64_t head_dim = padded_head_dim(question.sizes.head_dim);
  const std::int64_t keys = head_dim <= 64 ? 256 : head_dim <= 128 ? 128 : 64;
  const std::int64_t q_tiles = ceil_divide(tokens, kRows), key_blocks = ceil_divide(tokens, keys);
  const std::int64_t repeats = question.sizes.batch * question.sizes.heads;
  if (q_tiles > kMostSimulated / repeats) return std::nullopt;
  const std::int64_t splits = splits_of(q_tiles * repeats, kSlotsOfSm * sms, key_blocks);
  if (splits == 1) return std::nullopt;
  const std::int64_t of_split = ceil_divide(key_blocks, splits);
  const bool causal = is_causal_sequence(question);
  const double block_us = prior_value(priors, "split_pace", 1) * costs.unmasked_tile_us * static_cast<double>(kSlotsOfSm * kRows * keys) /
                          static_cast<double>(costs.ctas_per_sm * costs.q_tile_tokens * costs.kv_tile_tokens);
  std::vector<double> times;
  for (std::int64_t split = 0; split < splits; ++split) {
    for (std::int64_t tile = 0; tile < q_tiles; ++tile) {
      const std::int64_t end = causal ? ceil_divide(std::min(tokens, (tile + 1) * kRows), keys) : key_blocks;
      const std::int64_t blocks = std::clamp<std::int64_t>(end - split * of_split, 0, of_split);
      times.push_back(costs.cta_us / 2 + static_cast<double>(blocks) * block_us);
    }
  }
  const double round_us = prior_value(priors, "adding_us", 0);
  const double lone_share = prior_value(priors, "lone_share", 1.0 / kSlotsOfSm);
  const double makespan_us = run_shared(times, repeats, {sms, kSlotsOfSm, lone_share}) +
                             (round_us > 0 ? adding_us(round_us, tokens * repeats, splits, head_dim, sms) : costs.launch_us);
  work.ctas = static_cast<double>(splits * q_tiles * repeats);
  const double masked_us = costs.masked_tile_us[0];
  const double busy_us = work.unmasked_tiles * costs.unmasked_tile_us + work.bounds_masked_tiles * costs.bounds_masked_tile_us +
                         work.masked_tiles * masked_us + work.ctas * costs.cta_us;
  work.waves = work.ctas * makespan_us / busy_us;
  return work;
}

}  // namespace

bool flattens(const TimeQuestion& question, const TimedKernel& kernel) {
  if (question.ctas || kernel.dense || kernel.in_place || kernel.family != NattenBackend::kFlexFna) return false;
  return std::all_of(question.mask.begin(), question.mask.end(),
                     [](const AxisMask& axis) { return axis.window == axis.length && !axis.causal; });
}

std::int64_t all_keys(const TimeQuestion& question) {
  return checked_add(product(input_of(question.mask), "tokens"), question.additional_keys, "tokens");
}

bool is_causal_sequence(const TimeQuestion& question) {
  const NeighborhoodMask& mask = question.mask;
  return mask.rank() == 1 && mask[0].causal && mask[0].window == mask[0].length && question.additional_keys == 0;
}

double waves_of_equal(double ctas, std::int64_t sms, const PassCosts& costs) {
  const auto at_once = static_cast<double>(costs.ctas_per_sm);
  const double workers = static_cast<double>(sms) * at_once, rounds = std::floor(ctas / workers);
  const double left = ctas - rounds * workers;
  if (left <= 0) return rounds;
  if (!(costs.lone_share > 0)) return rounds + 1;
  const auto resident = static_cast<std::int64_t>(std::ceil(left / static_cast<double>(sms)));
  return rounds + shared_pace(resident, costs.ctas_per_sm, costs.lone_share);
}

CutlassWork dense_cutlass_work(const TimeQuestion& question, const PassCosts& costs, bool causal, std::int64_t sms) {
  TimeQuestion dense = question;
  dense.mask = make_mask({product(input_of(question.mask), "tokens")}, {product(input_of(question.mask), "tokens")}, {1});
  dense.mask[0].causal = causal;
  dense.tiles = {{costs.q_tile_tokens}, {costs.kv_tile_tokens}};
  CutlassWork work = cutlass_work_of(dense, sms);
  work.spread.alike = 1;  // cutlass-fmha's CTAs begin with different Q tiles
  return work;
}

CutlassLaunch cutlass_launch(const TimeQuestion& question) {
  return {.mask = question.mask,
          .tiles = question.tiles,
          .pass = question.pass,
          .repeats = question.sizes.batch * question.sizes.heads,
          .head_dim = question.sizes.head_dim,
          .deterministic = question.deterministic};
}

CutlassWork cutlass_work_of(const TimeQuestion& question, std::int64_t sms) {
  CutlassWork work = cutlass_work(cutlass_launch(question));
  work.spread.sms = sms;
  return work;
}

std::vector<LaunchWork> works_of_heads(const TimeQuestion& asked, const PassCosts& costs, const Context& context) {
  const Device& device = context.catalog.device(asked.device);
  const TimedKernel kernel = timed_kernel(asked.kernel, device, context.catalog);
  const std::int64_t batch = asked.sizes.batch, all = asked.sizes.heads;
  std::vector<LaunchWork> works;
  const bool shares_sms = kernel.family == NattenBackend::kCutlassFna || (costs.lone_share > 0 && costs.ctas_per_sm > 1);
  if (kernel.dense || kernel.sequences || shares_sms || asked.ctas || flattens(asked, kernel)) {
    for (TimeQuestion question = asked; static_cast<std::int64_t>(works.size()) < all;) {
      question.sizes.heads = question.sizes.heads_kv = static_cast<std::int64_t>(works.size()) + 1;
      works.push_back(work_of(question, costs, context));
    }
    return works;
  }
  const KernelVisits visits = visits_of(asked, kernel, costs);
  const std::int64_t workers = device.sms.value().value * costs.ctas_per_sm;
  const std::size_t rank = asked.mask.rank();
  const bool causal = has_causal_axis(asked.mask);
  const bool listed = kernel.family != NattenBackend::kCutlassFna && asked.tiling == Tiling::kMultiDimensional;
  const std::int64_t simulated =  // heads
      listed ? std::min(all, kMostSimulated / checked_multiply(visits.launched_tiles, batch, "ctas")) : 0;
  std::vector<double> makespans;
  double head_us = 0;
  if (simulated > 0) {
    const LaunchWork head = launch_work(visits, rank, batch, workers, causal);
    const std::vector<double> times = cta_times(asked, kernel, costs, head);
    makespans = grid_makespans(times, batch * simulated, workers, launch_of(asked.schedule));
    head_us = std::accumulate(times.begin(), times.end(), 0.0) * static_cast<double>(batch);
  }
  for (std::int64_t heads = 1; heads <= all; ++heads) {
    LaunchWork& work = works.emplace_back(launch_work(visits, rank, batch * heads, workers, causal));
    if (heads > simulated) {
      work.waves = uneven_waves(work.ctas, workers, 1).estimate;
    } else if (head_us > 0) {
      const double makespan_us = makespans[static_cast<std::size_t>(batch * heads - 1)];
      work.waves = makespan_us / (head_us * static_cast<double>(heads)) * work.ctas;
    }
  }
  return works;
}

LaunchWork work_of(const TimeQuestion& question, const PassCosts& costs, const Context& context) {
  const Device& device = context.catalog.device(question.device);
  return launch_of(question, {timed_kernel(question.kernel, device, context.catalog), device, costs, context.catalog}, nullptr);
}

RaggedTiles ragged_tiles(const TimeQuestion& question, const LaunchedKernel& launched, std::int64_t keys, bool causal) {
  const auto& [kernel, device, costs, catalog] = launched;
  constexpr std::int64_t kHopper = 90;
  if (!kernel.dense || compute_capability(device) != kHopper) return {};
  const std::vector<CostPrior> priors = catalog.cost_priors.of(question.pass, kernel.name, question.sizes.head_dim);
  const auto filled = static_cast<std::int64_t>(prior_value(priors, "ragged_tile", static_cast<double>(costs.kv_tile_tokens)));
  if (keys % filled == 0) return {};
  return causal ? RaggedTiles{prior_value(priors, "ragged_causal", 1)}
                : RaggedTiles{prior_value(priors, "ragged", 1), prior_value(priors, "ragged_lone_share", 0)};
}

LaunchWork launch_of(const TimeQuestion& asked, const LaunchedKernel& launched, LaunchMemo* memo) {
  const auto& [kernel, device, given, catalog] = launched;
  std::optional<PassCosts> of_causal;
  if (!kernel.dense && has_causal_program(given, asked.mask.rank(), has_causal_axis(asked.mask)))
    of_causal = on_axes(given, asked.mask.rank(), true);
  const PassCosts& costs = of_causal ? *of_causal : given;
  const bool in_own = (kernel.library || kernel.own != nullptr) && asked.ctas;
  const TimeQuestion own = in_own ? in_own_tiles(asked, costs) : TimeQuestion{};
  const TimeQuestion& question = in_own ? own : asked;
  if (!device.sms) throw InvalidParameter("device", device.name, "a device whose number of SMs is known");
  const std::int64_t sms = device.sms->value;
  const bool causal = kernel.dense && is_causal_sequence(question);
  const RaggedTiles ragged = question.ctas ? RaggedTiles{} : ragged_tiles(question, launched, all_keys(question), causal);
  const KernelVisits visits = visits_of(question, kernel, costs, memo);
  const std::int64_t repeats = repeats_of(question);
  LaunchWork work = launch_work(visits, kernel.dense ? 1 : question.mask.rank(), repeats, sms * costs.ctas_per_sm,
                                has_causal_axis(question.mask));
  if (kernel.family == NattenBackend::kCutlassFna && !kernel.library && !question.ctas) {
    const CutlassWork part = kernel.dense ? dense_cutlass_work(question, costs, causal, sms) : cutlass_work_of(question, sms);
    work.spread = part.spread;
    work.missing = part.missing;
    return work;
  }
  work.pace = ragged.pace;
  const bool even = (kernel.dense && !causal && !question.ctas) || flattens(question, kernel);
  const bool listed = kernel.family != NattenBackend::kCutlassFna &&
                      (question.ctas || question.tiling == Tiling::kMultiDimensional) &&
                      checked_multiply(visits.launched_tiles, repeats, "ctas") <= kMostSimulated;
  if (kernel.name == "fa2" && question.pass == Walk::kForward && question.additional_keys == 0) {
    const std::vector<CostPrior> priors = catalog.cost_priors.of(question.pass, kernel.name, question.sizes.head_dim);
    if (const auto split = split_launch(question, costs, work, sms, priors)) return *split;
  }
  if (even && kernel.sequences) {
    work.waves = waves_of_divided(work.ctas, work.workers, work.tiles() / std::max(work.ctas, 1.0),
                                  product(input_of(question.mask), "tokens"));
    return work;
  }
  std::optional<PassCosts> otherwise;
  if (ragged.lone_share > 0 && work.ctas > static_cast<double>(work.workers))
    otherwise.emplace(costs).lone_share = ragged.lone_share;
  const PassCosts& shared = otherwise ? *otherwise : costs;
  if (listed && !even && memo != nullptr && memo->waves == WaveCount::kBounded)
    memo->bounds = bounded_waves(question, kernel, shared, work, memo->axes->ctas);
  work.waves = even                                       ? waves_of_equal(work.ctas, sms, shared)
               : listed && memo != nullptr && memo->bounds ? memo->bounds->estimate
               : listed                                   ? simulated_waves(question, kernel, shared, work, sms)
                          : uneven_waves(work.ctas, work.workers, causal ? 2 : 1).estimate;
  return work;
}

}  // namespace natten_sim::study
