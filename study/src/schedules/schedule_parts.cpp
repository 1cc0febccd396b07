#include <optional>
#include <utility>
#include <vector>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/conflict.hpp>
#include <natten_sim/io/schedule_mask_text.hpp>
#include <natten_sim/io/value_text.hpp>
#include <natten_sim/io/catalog.hpp>
#include <natten_sim/study/schedule_parts.hpp>

namespace natten_sim::study {
namespace {

constexpr std::int32_t kMaxWriterStages = 64;
constexpr std::int32_t kMaxHeadsPerSection = 1 << 30;

}  // namespace

void require_no_sizes(const ScheduleParts& parts, const std::string& mask) {
  for (const auto& [name, size] :
       {std::pair{"seqlen-q", parts.seqlen_q}, std::pair{"seqlen-k", parts.seqlen_k},
        std::pair{"q-tile", parts.q_tile}, std::pair{"kv-tile", parts.kv_tile}}) {
    if (!size) continue;
    throw Conflict(mention(name), mention("mask") + " " + mask, "no sizes: this mask brings its own");
  }
}

namespace {

/// Whether numbers of tiles are those of the tokens, as an answer echoes them beside each other.
bool agree(const ScheduleParts& parts, const TokenSizes& sizes) {
  const auto same = [](std::optional<std::int64_t> said, std::int64_t tokens, std::int64_t tile) {
    return !said || (tokens > 0 && tile > 0 && *said == ceil_divide(tokens, tile));
  };
  return same(parts.q_tiles, sizes.q_tokens, sizes.q_tile) &&
         same(parts.kv_tiles, sizes.kv_tokens.value_or(sizes.q_tokens), sizes.kv_tile);
}

ScheduleSizes sizes_of(const ScheduleParts& parts) {
  const bool tiles = parts.q_tiles || parts.kv_tiles, tokens = parts.seqlen_q || parts.seqlen_k;
  if (tiles && !tokens) {
    for (const auto& [name, size] :
         {std::pair{"q-tile", parts.q_tile}, std::pair{"kv-tile", parts.kv_tile}}) {
      if (size)
        throw Conflict(mention(name), mention("q-tiles"), "tile sizes with " + mention("seqlen-q"));
    }
    return TileSizes{parts.q_tiles, parts.kv_tiles};
  }
  if (!tokens) {
    throw InvalidParameter(mention("q-tiles"), "missing",
                           mention("q-tiles") + " and " + mention("kv-tiles") + ", or " +
                               mention("seqlen-q") + ", or a mask of gna: or a file");
  }
  if (!parts.seqlen_q) throw InvalidParameter("seqlen-q", "missing", "the tokens of the queries");
  TokenSizes sizes{*parts.seqlen_q, parts.seqlen_k};
  sizes.q_tile = parts.q_tile.value_or(sizes.q_tile);
  sizes.kv_tile = parts.kv_tile.value_or(sizes.kv_tile);
  if (tiles && !agree(parts, sizes)) {
    throw Conflict(mention("q-tiles"), mention("seqlen-q"), "sizes in tiles or in tokens");
  }
  return sizes;
}

ScheduleWorkers workers_of(const ScheduleParts& parts) {
  if (parts.workers && parts.device)
    throw Conflict(mention("device"), mention("workers"));
  if (parts.workers) return *parts.workers;
  if (parts.device) return WorkersOfDevice{*parts.device, parts.ctas_per_sm};
  return {};
}

ScheduleCosts costs_of(const ScheduleParts& parts) {
  ScheduleCosts costs = parts.question.costs;
  costs.handoff = parts.handoff.near;
  costs.handoff_far = parts.handoff.far;
  costs.writer_stages = parts.writer.stages;
  return costs;
}

/// Whether the costs are those of a question that says none: an answer's `input` says what they follow from.
bool are_usual(const ScheduleQuestion& question) {
  ScheduleCosts costs = question.costs;
  const bool grouped = question.heads_kv.value_or(question.heads) != question.heads;
  if (costs.compute_partial == costs.compute) costs.compute_partial.reset();
  if (costs.reduce_kv == (grouped ? costs.reduce : 0)) costs.reduce_kv.reset();
  if (costs.handoff_far == costs.handoff) costs.handoff_far.reset();
  return costs == ScheduleCosts{};
}

}  // namespace

ScheduleQuestion question_of(const ScheduleParts& parts) {
  ScheduleQuestion question = parts.question;
  if (brings_sizes(question.mask)) {
    require_no_sizes(parts, mask_text(question.mask));
    if (parts.q_tiles || parts.kv_tiles) question.sizes = TileSizes{parts.q_tiles, parts.kv_tiles};
  } else {
    question.sizes = sizes_of(parts);
  }
  question.workers = workers_of(parts);
  if (parts.one_algorithm()) question.algorithms = {parts.algorithm};
  question.costs = costs_of(parts);
  question.detail = {.plan = parts.one_algorithm()};
  question.cost_map = !parts.one_algorithm() && are_usual(question);
  return question;
}

TableQuestion table_question_of(const ScheduleParts& parts, ScheduleTable table) {
  return {.table = std::move(table), .workers = workers_of(parts), .costs = costs_of(parts), .detail = {}};
}

ScheduleParts parts_of(ScheduleParts asked, const ScheduleAnswer& answer) {
  ScheduleParts parts = std::move(asked);
  if (answer.tokens) {
    parts.seqlen_q = answer.tokens->q_tokens;
    parts.seqlen_k = answer.tokens->kv_tokens;
    parts.q_tile = answer.tokens->q_tile;
    parts.kv_tile = answer.tokens->kv_tile;
  }
  parts.q_tiles = answer.tiles.q_tiles;
  parts.kv_tiles = answer.tiles.kv_tiles;
  parts.question.heads = answer.heads;
  parts.question.heads_kv = answer.heads_kv;
  parts.question.batch = answer.batch;
  parts.workers = answer.ctas;
  parts.question.heads_in_flight = answer.heads_in_flight;
  parts.device.reset();
  const BackwardCosts& costs = answer.costs;
  parts.question.costs = {.compute = costs.compute,
                          .compute_partial = costs.compute_partial,
                          .reduce = costs.reduce,
                          .reduce_kv = costs.reduce_kv,
                          .per_tile_tax = costs.per_tile_tax,
                          .prologue = costs.prologue,
                          .epilogue = costs.epilogue,
                          .early_exit = costs.early_exit,
                          .release = costs.release,
                          .dkv_turns = costs.dkv_turns};
  parts.handoff = {costs.handoff, costs.handoff_far.value_or(costs.handoff)};
  parts.writer = {costs.writer_stages};
  return parts;
}

KernelScheduleQuestion kernel_question_of(const ScheduleParts& parts) {
  KernelScheduleQuestion question;
  question.kernel = parts.kernel.value();
  (void)kernel_mask_class(parts.question.mask);  // before the sizes that another mask would not need
  if (!parts.device) throw InvalidParameter(mention("device"), "missing", "the device that runs the kernel");
  question.device = *parts.device;
  if (!parts.seqlen_q) throw InvalidParameter(mention("seqlen-q"), "missing", "the tokens of the queries");
  question.q_tokens = *parts.seqlen_q;
  question.kv_tokens = parts.seqlen_k;
  question.head_dim = parts.question.head_dim;
  question.heads = parts.question.heads;
  question.heads_kv = parts.question.heads_kv;
  question.batch = parts.question.batch;
  question.mask = parts.question.mask;
  question.dtype = parts.question.dtype;
  question.costs = parts.question.named_costs;
  return question;
}

ScheduleParts parts_of(ScheduleParts asked, const KernelScheduleAnswer& answer) {
  ScheduleParts parts = std::move(asked);
  parts.seqlen_k = answer.kv_tokens;
  parts.question.heads_kv = answer.heads_kv;
  if (answer.costs) parts.question.named_costs = answer.costs->name;
  return parts;
}

std::string schedule_algorithm_names() {
  std::string names = ScheduleParts::kAllAlgorithms;
  for (const ScheduleAlgorithm* algorithm : schedule_algorithms()) names += " " + algorithm->name;
  return names;
}

std::vector<std::string> schedule_kernel_names() {
  std::vector<std::string> names = builtin_catalog().backward_kernel_names();
  for (const BackwardKernel& kernel : builtin_catalog().backward_kernels) {
    if (std::find(names.begin(), names.end(), kernel.full_name()) == names.end()) names.push_back(kernel.full_name());
  }
  return names;
}

std::vector<std::string> schedule_mask_beginnings() {
  return {"full", "causal", "window:", "document:", "prefix:", "dilated:", "varlen:", "gna:"};
}

RuledOut ruled_out_by_kernel() {
  return {{"q_tiles",     "kv_tiles",    "q_tile",     "kv_tile",       "workers",         "ctas_per_sm",
           "algorithm",   "dispatch",    "launch_order", "effort",      "seed",            "heads_in_flight",
           "walk",        "compute",     "compute_partial", "release",  "dkv_turns",       "early_exit",
           "gqa_chains",  "ctas_per_chain", "time_limit", "reduce",     "reduce_kv",       "prologue",
           "epilogue",    "handoff",     "handoff_far", "tax",          "overlap",         "table",
           "checkpoint",  "critical_path", "ascii",      "emit_header",     "emit_binary",
           "recorded_run"},
          "sizes, mask, device and costs: the kernel says the rest"};
}

RuledOut ruled_out_by_table() {
  return {{"mask",       "q_tiles",        "kv_tiles", "seqlen_q",     "seqlen_k",        "q_tile",
           "kv_tile",    "heads",          "heads_kv", "batch_size",   "algorithm",       "dispatch",
           "launch_order", "effort",       "time_limit", "seed",       "heads_in_flight", "walk",
           "gqa_chains", "ctas_per_chain", "dim",      "dtype",        "emit_table",      "checkpoint"},
          "costs and workers only: the table says the rest"};
}

DqWriter parse_dq_writer(const std::string& parameter, const std::string& text) {
  constexpr std::string_view kAsync = "async:";
  if (text == "serial") return {0};
  if (!text.starts_with(kAsync))
    throw InvalidParameter(parameter, text, "serial, or async:K with 1 to 64 buffers");
  return {
      static_cast<std::int32_t>(parse_integer(parameter, text.substr(kAsync.size()), 1, kMaxWriterStages))};
}

std::string to_string(const DqWriter& writer) {
  return writer.stages == 0 ? "serial" : "async:" + std::to_string(writer.stages);
}

HeadSections parse_head_sections(const std::string& parameter, const std::string& text) {
  constexpr std::string_view kSections = "sections:";
  if (text == "heads") return {1};
  if (!text.starts_with(kSections))
    throw InvalidParameter(parameter, text, "heads, or sections:K with K heads a section");
  return {static_cast<std::int32_t>(
      parse_integer(parameter + " sections", text.substr(kSections.size()), 1, kMaxHeadsPerSection))};
}

std::string section_text(const HeadSections& launch) {
  return "sections:" + std::to_string(launch.heads_per_section);
}

}  // namespace natten_sim::study
