#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/models/attention_traffic.hpp>
#include <natten_sim/models/scan_reuse.hpp>
#include <natten_sim/sim/lockstep.hpp>

#include "report_text.hpp"
#include "reproduction.hpp"

namespace natten_sim::cli {
namespace {

ReproducedRow row_of(std::string figure, std::string item, std::string published, std::string ours,
                     double deviation, double tolerance, Verdict outside, std::string note = "") {
  const bool within = std::abs(deviation) <= tolerance;
  return {std::move(figure),
          std::move(item),
          std::move(published),
          std::move(ours),
          deviation,
          tolerance,
          within ? Verdict::kWithin : outside,
          std::move(note)};
}

ReproducedRow count_row(std::string figure, std::string item, std::int64_t published, std::int64_t ours,
                        double relative_tolerance, std::string note = "") {
  return row_of(std::move(figure), std::move(item), grouped(published), grouped(ours),
                static_cast<double>(ours - published), relative_tolerance * static_cast<double>(published),
                Verdict::kOutside, std::move(note));
}

SplitQProblem problem_of(const Json& paper, std::int64_t seqlen, std::int64_t tile, std::int64_t batch,
                         bool causal) {
  const std::int64_t dim = paper["head_dim"];
  return {.mask = make_mask({seqlen}, {seqlen}, {}, {}, {causal}),
          .tiles = {{tile}, {tile}},
          .sizes = {.batch = batch, .head_dim = dim, .head_dim_value = dim}};
}

std::int64_t exact_sectors(const Json& paper, std::int64_t seqlen, bool causal) {
  return attention_traffic(problem_of(paper, seqlen, paper["tile"], 1, causal)).sectors.total;
}

/// 8 S (1 + S/T), and causal 8 S (S/(2T) + 1/2): section 3.2.
double approximation(const Json& paper, std::int64_t seqlen, bool causal) {
  const auto s = static_cast<double>(seqlen), t = paper["tile"].get<double>();
  return causal ? 8 * s * (s / (2 * t) + 0.5) : 8 * s * (1 + s / t);
}

void add_counters(const Json& paper, std::vector<ReproducedRow>& rows) {
  for (const Json& counter : paper["counters"]) {
    const std::int64_t seqlen = counter["seqlen"], ours = exact_sectors(paper, seqlen, false);
    const bool exact = counter["schedule"] == "grid";
    const std::string item = fmt::format("{} schedule, {} tokens, L2 sectors from Tex",
                                         counter["schedule"].get<std::string>(), seqlen);
    // The paper's own model is off by its table 3; the grid launch is met to the sector.
    const double tolerance = exact ? 0 : paper["mape_percent"]["full"]["l2_sectors_tex"].get<double>() / 100;
    rows.push_back(count_row(
        counter["table"], item, counter["l2_sectors_tex"], ours, tolerance,
        exact
            ? ""
            : "the counter of the persistent kernel is lower than the formula; the paper does not say why"));
  }
}

/// Mean absolute percentage error of two models on the counters that the paper prints.
void add_errors(const Json& paper, std::vector<ReproducedRow>& rows) {
  for (const char* metric : {"l2_sectors_total", "l2_sectors_tex"}) {
    double theirs = 0, ours = 0, count = 0;
    for (const Json& counter : paper["counters"]) {
      if (counter["schedule"] != "persistent") continue;
      const double measured = counter[metric];
      const std::int64_t seqlen = counter["seqlen"];
      theirs += std::abs(approximation(paper, seqlen, false) / measured - 1);
      ours += std::abs(static_cast<double>(exact_sectors(paper, seqlen, false)) / measured - 1);
      ++count;
    }
    const double published = paper["mape_percent"]["full"][metric];
    const double recomputed = 100 * theirs / count;
    rows.push_back(
        row_of("table 3", fmt::format("MAPE of the paper's formula, full, {}, percent", metric),
               fmt::format("{:.4f}", published), fmt::format("{:.4f}", recomputed), recomputed - published,
               0.00005, Verdict::kKnown,
               fmt::format("over the two lengths of table 1; the paper averages over lengths that it only "
                           "draws. The exact count has {:.4f}",
                           100 * ours / count)));
  }
}

void add_causal(const Json& paper, std::vector<ReproducedRow>& rows) {
  for (const std::int64_t seqlen : {std::int64_t{8192}, std::int64_t{32768}, std::int64_t{131072}}) {
    const auto exact = static_cast<double>(exact_sectors(paper, seqlen, true));
    const double approximate = approximation(paper, seqlen, true);
    const double deviation = 100 * (exact / approximate - 1);
    const double published = paper["mape_percent"]["causal"]["l2_sectors_tex"];
    rows.push_back(row_of(
        "section 3.2", fmt::format("causal, {} tokens: exact count over approximation, percent", seqlen), "0",
        fmt::format("{:+.4f}", deviation), deviation, published, Verdict::kKnown,
        fmt::format("exact {}; the approximation is K and V alone, without Q, O and the cut last tile",
                    grouped(static_cast<std::int64_t>(exact)))));
  }
}

void add_onset(const Json& paper, const Device& device, std::vector<ReproducedRow>& rows) {
  const auto capacity = static_cast<std::int64_t>(find_value(device, "l2_bytes")->value);
  const auto sms = static_cast<std::int64_t>(find_value(device, "sms")->value);
  const std::int64_t ours =
      *first_noncompulsory_seqlen(problem_of(paper, 1 << 20, paper["tile"], 1, false), sms, capacity);
  const double published = paper["onset_seqlen"]["value"];
  rows.push_back(
      row_of(paper["onset_seqlen"]["section"], "sequence length at which misses exceed the cold ones",
             fmt::format("about {:.0f}", published), grouped(ours), static_cast<double>(ours) - published,
             5000, Verdict::kKnown,
             "the whole L2 of 24 MiB holds K and V up to there; an onset at 80K would be an effective "
             "capacity of about 21 MiB"));
  const double hit_rate = lockstep_hit_rate(sms);
  rows.push_back(row_of(paper["hit_rate"]["section"], fmt::format("hit rate of {} SMs in lockstep", sms),
                        fmt::format("{}", paper["hit_rate"]["value"].get<double>()),
                        fmt::format("{:.4f}", hit_rate), hit_rate - paper["hit_rate"]["value"].get<double>(),
                        0.005, Verdict::kOutside));
}

struct Misses {
  std::int64_t cold = 0;
  std::int64_t cyclic = 0;
  std::int64_t sawtooth = 0;
};

Misses lockstep_misses(const SplitQProblem& problem, Schedule schedule, const Device& device) {
  const auto capacity = static_cast<std::int64_t>(find_value(device, "l2_bytes")->value);
  const auto workers = static_cast<std::int32_t>(find_value(device, "sms")->value);
  const auto misses = [&](Traversal order) {
    const AttentionWork work(problem, {.schedule = schedule, .order = order, .workers = workers});
    return replay_lockstep(work).misses(capacity);
  };
  return {attention_traffic(problem).cold.total, misses(Traversal::kCyclic), misses(Traversal::kSawtooth)};
}

void add_misses(const Json& paper, const Device& device, std::vector<ReproducedRow>& rows) {
  const Json& cutile = paper["cutile"];
  const SplitQProblem problem = problem_of(paper, cutile["seqlen"], cutile["tile"], cutile["batch"], false);
  for (const auto& [name, schedule] :
       {std::pair{"fully static", Schedule::kPersistent}, std::pair{"tile-based", Schedule::kTile}}) {
    const Misses ours = lockstep_misses(problem, schedule, device);
    const std::string section = cutile["section"];
    // "Approximately", to ten million sectors.
    rows.push_back(count_row(section, fmt::format("{}, misses cyclic", name), cutile["misses_cyclic"],
                             ours.cyclic, 10e6 / cutile["misses_cyclic"].get<double>()));
    rows.push_back(count_row(section, fmt::format("{}, misses sawtooth", name), cutile["misses_sawtooth"],
                             ours.sawtooth, 10e6 / cutile["misses_sawtooth"].get<double>()));
    const double reduction = 1 - static_cast<double>(ours.sawtooth) / static_cast<double>(ours.cyclic);
    rows.push_back(row_of(section, fmt::format("{}, fewer misses", name),
                          fmt::format("{}", cutile["reduction"].get<double>()),
                          fmt::format("{:.4f}", reduction), reduction - cutile["reduction"].get<double>(),
                          0.02, Verdict::kOutside));
  }
  const Misses cuda = lockstep_misses(problem_of(paper, cutile["seqlen"], paper["tile"], 1, false),
                                      Schedule::kPersistent, device);
  const double reduction =
      1 - static_cast<double>(cuda.sawtooth - cuda.cold) / static_cast<double>(cuda.cyclic - cuda.cold);
  const double published = paper["cuda"]["noncompulsory_reduction"];
  rows.push_back(
      row_of(paper["cuda"]["section"], "CUDA kernel, fewer non-compulsory misses",
             fmt::format("about {}", published), fmt::format("{:.4f}", reduction), reduction - published,
             0.05, Verdict::kKnown,
             "the length is not stated; the reduction is about capacity / (K and V), here at 131072 tokens"));
}

}  // namespace

std::vector<ReproducedRow> reproduce_sawtooth() {
  const Json paper = Json::parse(published_sawtooth_figures());
  const Catalog catalog = builtin_catalog();
  const Device& device = catalog.device(paper["device"].get<std::string>());
  std::vector<ReproducedRow> rows;
  add_counters(paper, rows);
  add_errors(paper, rows);
  add_causal(paper, rows);
  add_onset(paper, device, rows);
  add_misses(paper, device, rows);
  return rows;
}

}  // namespace natten_sim::cli
