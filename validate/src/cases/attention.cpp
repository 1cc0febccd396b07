#include <algorithm>
#include <optional>
#include <utility>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/io/strict_object.hpp>
#include <natten_sim/kernels/attention_forward/attention_engine.hpp>
#include <natten_sim/validate/cases/attention.hpp>
#include <natten_sim/validate/cases/registry.hpp>
#include <natten_sim/validate/measure/pace.hpp>
#include <natten_sim/validate/record/kernel_pace.hpp>

#include "device_number.hpp"
#include "reuse_answer.hpp"

namespace natten_sim::validate {
namespace {

bool on_wgmma(const AttentionCase& point) { return point.variant.engine == kernels::AttentionEngine::kWgmma; }

const char* mask_word(const AttentionCase& point) { return point.problem.causal ? "causal" : "full"; }

Point read_attention(const StrictObject& fields) {
  AttentionCase point;
  kernels::AttentionProblem& p = point.problem;
  p.batch = fields.integer_or("batch", 1);
  p.heads = fields.integer_or("heads", 1);
  p.heads_kv = fields.integer_or("heads_kv", p.heads);
  p.tokens = fields.integer("tokens");
  p.head_dim = fields.integer("head_dim");
  p.dtype = parse_name<Dtype>(fields.text_or("dtype", "bf16"));
  p.causal = fields.boolean_or("causal", false);
  kernels::AttentionVariant& v = point.variant;
  v.q_tile = fields.integer32("q_tile");
  v.kv_tile = fields.integer32("kv_tile");
  v.stages = fields.integer32_or("stages", 1);
  v.ctas_per_sm = fields.integer32("ctas_per_sm");
  v.schedule = parse_name<CtaSchedule>(fields.text("schedule"));
  v.walk = parse_name<KvOrder>(fields.text("order"));
  v.last_q_tile_first = fields.boolean_or("last_q_tile_first", false);
  v.ctas = fields.integer32_or("ctas", 0);
  v.engine = parse_name<kernels::AttentionEngine>(fields.text_or("engine", "mma.sync"));
  kernels::require_valid_sizes(p, v);
  return point;
}

/// Sectors by formula; DRAM reads of all CTAs in step in front of an LRU of the effective capacity, which is that
/// of data with a copy in each partition: not of CTAs that are near one of them.
void add_closed_form(const AttentionCase& point, const Device& device, std::vector<Prediction>& predictions) {
  const study::ReuseResult answer = reuse_on(device, reuse_question(point, device, study::ClosedForm{}));
  predictions.push_back({"l2_read_sectors", "split-Q sectors, closed form",
                         static_cast<double>(answer.sectors.total - *answer.sectors.o), false});
  const std::int64_t ctas = point.variant.resident_ctas(number(device, device.sms, "sms"));
  if (!device.l2.effective_bytes || !answer.dram_read_bytes || only_partition(device, ctas)) return;
  predictions.push_back(
      {"dram_read_bytes", "lockstep LRU, closed form", static_cast<double>(*answer.dram_read_bytes), false});
}

/// CTAs as processes in time, in front of the L2's partitions. Paces are measured; nothing is fitted to what
/// attention kernels read.
void add_timed(const AttentionCase& point, const Device& device, std::vector<Prediction>& predictions) {
  constexpr const char* kModel = "timed wavefronts";
  std::optional<study::TimedRun> timed = timed_run(device, point.problem, point.variant);
  if (!timed) return;
  const study::ReuseResult answer = reuse_on(device, reuse_question(point, device, *std::move(timed)));
  predictions.push_back({"dram_read_bytes", kModel, static_cast<double>(*answer.dram_read_bytes), false});
  predictions.push_back({"l2_fabric_sectors", kModel, static_cast<double>(*answer.fabric_sectors), false});
}

}  // namespace

study::ReuseQuestion reuse_question(const AttentionCase& point, const Device& device,
                                 study::ReuseMethod method) {
  const kernels::AttentionProblem& p = point.problem;
  const kernels::AttentionVariant& v = point.variant;
  const std::int64_t sms = number(device, device.sms, "sms");
  study::ReuseQuestion question;
  question.subject = study::AttentionSubject{.seqlen = Extents{p.tokens},
                                             .causal = p.causal,
                                             .batch = p.batch,
                                             .heads = p.heads,
                                             .heads_kv = p.heads_kv,
                                             .head_dim = p.head_dim,
                                             .dtype = p.dtype,
                                             .q_tile = Extents{v.q_tile},
                                             .kv_tile = Extents{v.kv_tile},
                                             .schedule = v.schedule,
                                             .longest_first = v.last_q_tile_first,
                                             .ctas_per_sm = v.ctas_per_sm,
                                             .workers = v.resident_ctas(sms)};
  question.sector_bytes = number(device, device.l2.sector_bytes, "l2_sector_bytes");
  question.method = std::move(method);
  question.order = v.walk;
  return question;
}

namespace cases {

CaseKind attention();
CaseKind attention() {
  return {"attention",
          {"batch", "heads", "heads_kv", "tokens", "head_dim", "dtype", "causal", "q_tile", "kv_tile",
           "stages", "ctas_per_sm", "schedule", "order", "last_q_tile_first", "ctas", "engine"},
          read_attention};
}

}  // namespace cases

std::string AttentionCase::tiles_text() const {
  return (on_wgmma(*this) ? "wgmma " : "") + std::to_string(variant.q_tile) + "x" +
         std::to_string(variant.kv_tile) + "x" + std::to_string(variant.stages);
}

std::string AttentionCase::key() const {
  const kernels::AttentionProblem& p = problem;
  const kernels::AttentionVariant& v = variant;
  return "attention b" + std::to_string(p.batch) + " h" + std::to_string(p.heads) + "/" +
         std::to_string(p.heads_kv) + " s" + std::to_string(p.tokens) + " d" + std::to_string(p.head_dim) +
         " " + to_string(p.dtype) + " " + mask_word(*this) + " " + tiles_text() + " " +
         std::to_string(v.ctas_per_sm) + " CTAs " + to_string(v.schedule) + " " + to_string(v.walk) +
         (v.last_q_tile_first ? " last first" : "") +
         (v.ctas == 0 ? "" : " " + std::to_string(v.ctas) + " in all");
}

std::string AttentionCase::group() const {
  return std::string("attention ") + mask_word(*this) + " " + to_string(variant.schedule) + " " +
         to_string(variant.walk) + (variant.ctas == 0 ? "" : ", some SMs") +
         (on_wgmma(*this) ? ", wgmma" : "");
}

std::vector<Parameter> AttentionCase::parameters() const {
  const kernels::AttentionProblem& p = problem;
  const kernels::AttentionVariant& v = variant;
  std::vector<Parameter> all = {{"kernel", "attention"},
                                {"batch", p.batch},
                                {"heads", p.heads},
                                {"heads_kv", p.heads_kv},
                                {"tokens", p.tokens},
                                {"head_dim", p.head_dim},
                                {"dtype", to_string(p.dtype)},
                                {"causal", p.causal},
                                {"q_tile", v.q_tile},
                                {"kv_tile", v.kv_tile},
                                {"stages", v.stages},
                                {"ctas_per_sm", v.ctas_per_sm},
                                {"schedule", to_string(v.schedule)},
                                {"order", to_string(v.walk)},
                                {"last_q_tile_first", v.last_q_tile_first}};
  if (v.ctas != 0) all.push_back({"ctas", v.ctas});
  if (on_wgmma(*this)) all.push_back({"engine", to_string(v.engine)});
  return all;
}

std::vector<Prediction> AttentionCase::predict(const Device& device, Fidelity fidelity) const {
  std::vector<Prediction> predictions;
  add_closed_form(*this, device, predictions);
  if (fidelity == Fidelity::kTimed) add_timed(*this, device, predictions);
  return predictions;
}

Launch AttentionCase::prepare(Bench& bench, std::uint64_t seed) const {
  const kernels::AttentionBuffers buffers = kernels::random_attention_buffers(problem, seed);
  return [launch = kernels::prepare_attention(bench.gpu(), problem, variant, buffers), buffers] {
    launch(nullptr);
  };
}

CheckedPoint AttentionCase::check(Bench& bench, std::uint64_t seed) const {
  constexpr std::int64_t kRows = 64;
  const kernels::AttentionBuffers buffers = kernels::random_attention_buffers(problem, seed);
  kernels::launch_attention(bench.gpu(), problem, variant, buffers);
  const kernels::AttentionError error =
      kernels::check_attention(problem, buffers, kernels::sampled_rows(problem, kRows, seed));
  CheckedPoint checked;
  checked.ran = true;
  checked.error = error.kernel;
  checked.naive_error = error.naive;
  checked.passed = error.within_bound();
  if (on_wgmma(*this)) {
    const auto whole = kernels::attention_forward::check_whole(problem, buffers);
    checked.error = std::max(checked.error, whole.relative_norm);
    checked.passed = checked.passed && whole.within_bound();
  }
  return checked;
}

std::vector<Point> AttentionCase::to_check(CheckLengths lengths) const {
  // Odd lengths, so that tails are checked too.
  constexpr std::int64_t kShort = 2047, kLong = 32769;
  AttentionCase checked = *this;
  checked.problem.tokens = std::min(kShort, std::max<std::int64_t>(problem.tokens - 1, 1));
  std::vector<Point> points = {checked};
  if (lengths == CheckLengths::kShortAndLong && problem.tokens >= kLong - 1) {
    checked.problem.tokens = kLong;
    points.emplace_back(checked);
  }
  return points;
}

void AttentionCase::require_built() const { (void)kernels::require_valid(problem, variant); }

std::optional<double> AttentionCase::operations() const { return problem.operations(); }

std::optional<CurvePlace> AttentionCase::curve() const {
  if (problem.heads != 1) return std::nullopt;
  CurvePlace place;
  place.chart = "head dim " + std::to_string(problem.head_dim) + ", " + mask_word(*this) + ", " +
                to_string(problem.dtype) + ", " + tiles_text() + ", " + std::to_string(variant.ctas_per_sm) +
                " CTAs an SM";
  place.series = std::string(to_string(variant.schedule)) + " " + to_string(variant.walk) +
                 (variant.last_q_tile_first ? ", last first" : "");
  place.x_label = "tokens";
  place.x = static_cast<double>(problem.tokens);
  return place;
}

std::optional<Point> AttentionCase::cyclic_partner() const {
  if (variant.walk != KvOrder::kSawtooth) return std::nullopt;
  AttentionCase cyclic = *this;
  cyclic.variant.walk = KvOrder::kCyclic;
  return cyclic;
}

CtaPace AttentionCase::pace(Bench& bench) const {
  if (problem.causal) throw InvalidParameter("causal", "true", "false: items of equal length", "false");
  const kernels::AttentionBuffers buffers = kernels::random_attention_buffers(problem, 1);
  const std::int64_t items = ceil_divide(problem.tokens, variant.q_tile) * problem.heads * problem.batch;
  std::vector<kernels::ItemInterval> intervals(static_cast<std::size_t>(items));
  kernels::DeviceBuffer on_gpu(intervals.size() * sizeof(kernels::ItemInterval));
  const auto pace_with = [&](bool middles) {
    const kernels::AttentionLaunch launch =
        kernels::prepare_attention(bench.gpu(), problem, variant, buffers, middles);
    for (int repetition = 0; repetition < 2; ++repetition) {  // the first loads the kernel
      on_gpu.fill(0);  // a kernel leaves out what it does not take
      bench.flusher().flush();
      launch(&on_gpu);
      kernels::synchronize();
    }
    on_gpu.copy_to_host(intervals.data(), on_gpu.bytes());
    return pace_of(intervals, ceil_divide(problem.tokens, variant.kv_tile));
  };
  CtaPace pace = pace_with(false);
  const CtaPace of_twin = pace_with(true);
  pace.score_share = of_twin.score_share;
  pace.arrival_ns = of_twin.arrival_ns;
  return pace;
}

}  // namespace natten_sim::validate
