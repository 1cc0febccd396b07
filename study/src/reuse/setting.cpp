#include "setting.hpp"

#include <algorithm>
#include <memory>
#include <tuple>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/conflict.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/core/mask.hpp>

#include "../given_blocks.hpp"
#include "device_numbers.hpp"
#include "timed.hpp"

namespace natten_sim::study {
namespace {

constexpr std::int64_t kMaxL2Bytes = std::int64_t{1} << 50;
constexpr std::int64_t kMaxCtas = std::int64_t{1} << 20;

/// Fills in the device's numbers where the question has none.
void fill_l2(const DeviceNumbers& device, ReuseSetting& setting) {
  ReuseQuestion& question = setting.question;
  if (!question.sector_bytes)
    question.sector_bytes = device.sector_bytes.value_or(kReuseDefaults.sector_bytes);
  require_in("sector-bytes", *question.sector_bytes, 1, 1 << 20);
  if (!question.line_bytes)
    question.line_bytes = std::max(*question.sector_bytes, device.line_bytes.value_or(0));
  require_in("line-bytes", *question.line_bytes, *question.sector_bytes, 1 << 20);
  if (!question.sms) question.sms = device.sms.value_or(kReuseDefaults.sms);
  require_in("sms", *question.sms, 1, kMaxCtas);
  setting.capacity_source = question.capacity_bytes     ? CapacitySource::kGiven
                            : device.l2_effective_bytes ? CapacitySource::kEffective
                            : device.l2_bytes           ? CapacitySource::kWhole
                                                        : CapacitySource::kUnknown;
  if (setting.capacity_source == CapacitySource::kEffective)
    question.capacity_bytes = device.l2_effective_bytes;
  if (setting.capacity_source == CapacitySource::kWhole) question.capacity_bytes = device.l2_bytes;
  if (question.capacity_bytes) require_in("l2-bytes", *question.capacity_bytes, 1, kMaxL2Bytes);
}

void fill_sizes(std::int64_t sector_bytes, AttentionSubject& subject, OperandSizes& sizes) {
  if (!subject.heads_kv) subject.heads_kv = subject.heads;
  if (*subject.heads_kv < 1 || subject.heads % *subject.heads_kv != 0) {
    throw InvalidParameter("heads-kv", std::to_string(*subject.heads_kv),
                           "a divisor of the heads (" + std::to_string(subject.heads) + ")");
  }
  if (!subject.dim_value) subject.dim_value = subject.head_dim;
  sizes = {.batch = subject.batch,
           .heads = subject.heads,
           .heads_kv = *subject.heads_kv,
           .head_dim = subject.head_dim,
           .head_dim_value = *subject.dim_value,
           .element_bytes = element_bytes(subject.dtype),
           .sector_bytes = sector_bytes};
}

const KernelTile& kernel_kv_tile(const AttentionKernel& kernel, std::int64_t head_dim) {
  if (const KernelTile* tile = kernel.tile_of(head_dim)) return *tile;
  std::vector<std::string> known;
  for (const KernelTile& tile : kernel.kv_tiles) known.push_back(std::to_string(tile.head_dim));
  throw InvalidParameter("dim", std::to_string(head_dim),
                         joined(known) + " (" + kernel.name + "), or " + mention("kv-tile"));
}

void fill_tiles(const AttentionKernel* kernel, std::size_t rank, AttentionSubject& subject) {
  const auto one_axis = [&](const char* parameter, std::int64_t tile) {
    if (rank != 1) throw InvalidParameter(parameter, "not given", "a tile shape for layouts of several axes");
    return Extents{tile};
  };
  if (!subject.q_tile) subject.q_tile = one_axis("q-tile", kernel ? kernel->q_tile : kReuseDefaults.tile);
  if (!subject.kv_tile) {
    subject.kv_tile =
        one_axis("kv-tile", kernel ? kernel_kv_tile(*kernel, subject.head_dim).kv_tile : kReuseDefaults.tile);
  }
}

/// Where the kernel's own tile is asked about and its stages are known.
std::optional<std::int32_t> kernel_stages(const AttentionKernel* kernel, const AttentionSubject& subject) {
  if (kernel == nullptr) return std::nullopt;
  for (const KernelTile& tile : kernel->kv_tiles) {
    if (tile.stages && tile.head_dim == subject.head_dim && Extents{tile.kv_tile} == *subject.kv_tile)
      return static_cast<std::int32_t>(*tile.stages);
  }
  return std::nullopt;
}

void require_named_orders(const ReuseQuestion& question) {
  for (const auto& order : {question.order, question.compare}) {
    if (const auto* own = order ? std::get_if<OwnOrder>(&*order) : nullptr) {
      throw InvalidParameter("order", own->name,
                             "a named order with " + mention("sweep") + ": a permutation fits one length");
    }
  }
}

PerAxis<bool> flags_of(const CausalAxes& causal, std::size_t rank) {
  const auto* every = std::get_if<bool>(&causal);
  return every != nullptr ? PerAxis<bool>(rank, *every) : std::get<PerAxis<bool>>(causal);
}

/// Flags of axes that differ; else what all of them say.
CausalAxes shortest(const PerAxis<bool>& flags) {
  if (flags == PerAxis<bool>(flags.rank(), flags[0])) return flags[0];
  return flags;
}

/// The mask, and in the subject its stride and causal axes. Windows of a sweep may be longer than its
/// shortest sequence; each length cuts them for itself.
NeighborhoodMask fill_mask(AttentionSubject& subject) {
  const auto* layout = std::get_if<Extents>(&subject.seqlen);
  const Extents input = layout ? *layout : Extents{kMaxAxisLength};
  const Extents window = subject.window.value_or(input);
  if (layout == nullptr && window.rank() != 1)
    throw InvalidParameter("window", to_string(window), "one value with " + mention("sweep"));
  NeighborhoodMask mask =
      make_mask(input, window, subject.stride, {}, flags_of(subject.causal, input.rank()));
  subject.stride = stride_of(mask);
  subject.causal = shortest(causal_of(mask));
  return mask;
}

/// Blocks as tiles, of which they hold one or more; those beyond the end of a sequence left out.
VisitedRows in_tiles(const BlockMask& blocks, const GivenMask& mask, const SequenceTiling& sizes, const Extents& q_tile,
                     const Extents& kv_tile) {
  for (const auto& [name, block, tile] :
       {std::tuple{"q-tile", sizes.q_tile, q_tile[0]}, std::tuple{"kv-tile", sizes.kv_tile, kv_tile[0]}}) {
    if (block % tile != 0)
      throw InvalidParameter(name, std::to_string(tile), "a divisor of " + std::to_string(block) + ", the mask's blocks");
  }
  VisitedRows rows{.heads = mask.masks / mask.batches, .batches = mask.batches};
  const std::int64_t of_block = sizes.kv_tile / kv_tile[0], kv_tiles = ceil_divide(sizes.kv_tokens, kv_tile[0]);
  const std::int64_t q_tiles = ceil_divide(sizes.q_tokens, q_tile[0]), blocks_of_mask = blocks.q_tiles / mask.masks;
  for (std::int64_t each = 0; each < mask.masks; ++each) {
    for (std::int64_t q = 0; q < q_tiles; ++q) {
      poll();
      std::vector<std::int32_t>& row = rows.kv_of_q.emplace_back();
      const std::int64_t block = each * blocks_of_mask + q * q_tile[0] / sizes.q_tile;
      for (const std::int32_t kv : blocks.attended().kv_of_q[static_cast<std::size_t>(block)]) {
        for (std::int64_t tile = kv * of_block; tile < std::min((kv + 1) * of_block, kv_tiles); ++tile)
          row.push_back(static_cast<std::int32_t>(tile));
      }
    }
  }
  return rows;
}

/// The tiles that the subject's mask visits; its tokens go into the subject. Requires tiles.
std::shared_ptr<const VisitedRows> take_mask(const Catalog& catalog, AttentionSubject& subject) {
  const GivenMask& mask = *subject.mask;
  const auto* layout = std::get_if<Extents>(&subject.seqlen);
  const bool causal = subject.causal != CausalAxes(false);
  if (layout == nullptr || subject.window || causal)
    throw Conflict(mention("mask"), mention(layout == nullptr ? "sweep" : causal ? "causal" : "window"));
  if (layout->rank() > 1)
    throw InvalidParameter("seqlen", to_string(*layout), "one axis beside " + mention("mask"));
  if (std::holds_alternative<VarlenMask>(mask.mask.rule))
    throw InvalidParameter("mask", "varlen", "document:LEN,.. for sequences that lie side by side");
  SaidSizes said{.q_tokens = {}, .kv_tokens = subject.seqlen_k, .q_tile = mask.q_tile, .kv_tile = mask.kv_tile};
  if (!layout->empty()) said.q_tokens = (*layout)[0];
  if (!said.q_tile) said.q_tile = (*subject.q_tile)[0];
  if (!said.kv_tile) said.kv_tile = (*subject.kv_tile)[0];
  const SequenceTiling sizes = sizes_of(mask, said, 1);
  subject.seqlen = Extents{sizes.q_tokens};
  if (sizes.kv_tokens != sizes.q_tokens) subject.seqlen_k = sizes.kv_tokens;
  const BlockMask blocks = given_tiles(mask, sizes, catalog).tiles;
  return std::make_shared<const VisitedRows>(in_tiles(blocks, mask, sizes, *subject.q_tile, *subject.kv_tile));
}

void fill_attention(const Catalog& catalog, const DeviceNumbers& device, AttentionSubject& subject,
                    ReuseSetting& setting) {
  const auto* layout = std::get_if<Extents>(&subject.seqlen);
  if (layout != nullptr && layout->empty() && !subject.mask)
    throw InvalidParameter("seqlen", "not given", "1 to 4 axes");
  ReuseQuestion& question = setting.question;
  AttentionSetting attention;
  const AttentionKernel* kernel = subject.kernel ? &catalog.kernel(subject.kernel->name) : nullptr;
  fill_sizes(*question.sector_bytes, subject, attention.problem.sizes);
  if (subject.mask && kernel == nullptr) {
    if (!subject.q_tile && subject.mask->q_tile) subject.q_tile = Extents{*subject.mask->q_tile};
    if (!subject.kv_tile && subject.mask->kv_tile) subject.kv_tile = Extents{*subject.mask->kv_tile};
  }
  fill_tiles(kernel, layout && !layout->empty() ? layout->rank() : 1, subject);
  if (subject.mask) attention.problem.rows = take_mask(catalog, subject);
  attention.problem.tiles = {*subject.q_tile, *subject.kv_tile};
  attention.problem.mask = fill_mask(subject);
  if (subject.seqlen_k) {
    require_in("seqlen-k", *subject.seqlen_k, 1, kMaxAxisLength);
    attention.problem.keys = subject.seqlen_k;
  }
  if (layout != nullptr) natten_sim::require_valid(attention.problem);
  if (!subject.schedule) subject.schedule = kernel ? kernel->schedule : kReuseDefaults.schedule;
  if (!subject.ctas_per_sm) subject.ctas_per_sm = kernel ? kernel->ctas_per_sm : kReuseDefaults.ctas_per_sm;
  require_in("ctas-per-sm", *subject.ctas_per_sm, 1, 32);
  if (!subject.workers) subject.workers = *question.sms * *subject.ctas_per_sm;
  require_in("workers", *subject.workers, 1, kMaxCtas);
  attention.schedule = {.schedule = *subject.schedule,
                        .workers = static_cast<std::int32_t>(*subject.workers),
                        .launch = subject.launch,
                        .last_q_tile_first = subject.longest_first};
  if (!question.order) question.order = kernel ? kernel->order : kReuseDefaults.order;
  if (const auto* sweep = std::get_if<SeqlenSweep>(&subject.seqlen)) {
    require_valid(*sweep);
    require_named_orders(question);
  }
  if (const auto* replay = std::get_if<LruReplay>(&*question.method)) {
    if (const auto* sample = std::get_if<SampledLru>(&replay->cache); sample != nullptr)
      throw InvalidParameter("sample", "with attention",
                             "a stream or a trace; attention is simulated exactly");
  }
  if (auto* timed = std::get_if<TimedRun>(&*question.method)) {
    attention.wavefront = wavefront_device(setting, device, kernel, subject, *timed);
    if (!timed->stages) timed->stages = kernel_stages(kernel, subject);
    attention.wavefront_options = wavefront_options(device, attention.problem, *subject.ctas_per_sm, *timed);
    timed->jitter = attention.wavefront->jitter;
    timed->stages = attention.wavefront_options.stages;
  }
  setting.attention = attention;
}

void fill_stream(StreamSubject& stream, ReuseQuestion& question) {
  require_in("stream-bytes", stream.bytes, 1, kMaxL2Bytes);
  require_in("passes", stream.passes, 1, std::int64_t{1} << 40);
  if (!stream.workers) stream.workers = question.sms;
  require_in("workers", *stream.workers, 1, kMaxCtas);
  if (!question.order) question.order = kReuseDefaults.order;
  for (const auto& order : {question.order, question.compare}) {
    if (const auto* own = order ? std::get_if<OwnOrder>(&*order) : nullptr)
      throw InvalidParameter("order", own->name, "cyclic, sawtooth, descending or best for a stream");
  }
}

void require_method(const ReuseQuestion& question) {
  const Fidelity fidelity = fidelity_of(*question.method);
  const bool attention = std::holds_alternative<AttentionSubject>(question.subject);
  if (fidelity == Fidelity::kTimed && !attention)
    throw InvalidParameter("fidelity", "timed", "closed-form or lru for a stream, lru for a trace");
  if (std::holds_alternative<TraceSubject>(question.subject)) {
    if (fidelity != Fidelity::kLru)
      throw InvalidParameter("fidelity", to_string(fidelity), "lru for a trace");
    if (question.order || question.compare)
      throw InvalidParameter("order", name_of(question.order ? *question.order : *question.compare),
                             "none for a trace, which has its own");
  }
  const auto* replay = std::get_if<LruReplay>(&*question.method);
  if (replay && std::holds_alternative<SetAssociative>(replay->cache) && !question.capacity_bytes)
    throw Missing(mention("ways"), mention("l2-bytes") + " or " + mention("device"));
}

}  // namespace

std::string to_string(const SeqlenSweep& sweep) {
  return "seqlen=" + std::to_string(sweep.lo) + ":" + std::to_string(sweep.hi) + ":" +
         std::to_string(sweep.step);
}

void require_valid(const SeqlenSweep& sweep) {
  const auto require = [&](bool holds, const std::string& accepted) {
    if (!holds) throw InvalidParameter("sweep", to_string(sweep), accepted);
  };
  require(sweep.lo >= 1 && sweep.step >= 1, "LO and STEP of 1 or more");
  require(sweep.lo <= sweep.hi, "LO <= HI");
  require((sweep.hi - sweep.lo) / sweep.step < kMaxSweepLengths,
          "at most " + std::to_string(kMaxSweepLengths) + " lengths");
}

void require_in(const char* parameter, std::int64_t value, std::int64_t lo, std::int64_t hi) {
  if (value >= lo && value <= hi) return;
  throw InvalidParameter(parameter, std::to_string(value),
                         "integers in " + std::to_string(lo) + ".." + std::to_string(hi),
                         std::to_string(value < lo ? lo : hi));
}

ReuseSetting resolve_reuse(const ReuseQuestion& question, const Catalog& catalog) {
  ReuseSetting setting;
  setting.question = question;
  DeviceNumbers device;
  if (question.device) {
    setting.device = catalog.device(*question.device);
    device = numbers_of(*setting.device);
  }
  fill_l2(device, setting);
  ReuseQuestion& filled = setting.question;
  if (!filled.method) {
    const bool trace = std::holds_alternative<TraceSubject>(filled.subject);
    filled.method =
        default_fidelity(trace) == Fidelity::kLru ? ReuseMethod(LruReplay{}) : ReuseMethod(ClosedForm{});
  }
  require_method(filled);
  if (auto* attention = std::get_if<AttentionSubject>(&filled.subject)) {
    fill_attention(catalog, device, *attention, setting);
  } else if (auto* stream = std::get_if<StreamSubject>(&filled.subject)) {
    fill_stream(*stream, filled);
  }
  return setting;
}

AttentionSetting at_length(const AttentionSetting& attention, std::int64_t seqlen) {
  AttentionSetting at = attention;
  AxisMask& axis = at.problem.mask[0];
  axis.length = seqlen;
  axis.window = std::min(axis.window, seqlen);
  natten_sim::require_valid(at.problem);
  return at;
}

}  // namespace natten_sim::study
