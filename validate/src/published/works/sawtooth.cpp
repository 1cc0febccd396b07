// Zhu, Pan and Ding: Sawtooth Wavefront Reordering. Counters, error figures and miss counts, as far as the
// text gives numbers.
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <natten_sim/io/catalog.hpp>
#include <natten_sim/io/json.hpp>
#include <natten_sim/models/reuse/scan_reuse.hpp>
#include <natten_sim/study/reuse.hpp>
#include <natten_sim/validate/published/published_work.hpp>

namespace natten_sim::validate::works {
namespace {
using study::AttentionSubject;
using study::ReuseComparison;

/// 1234567 as 1,234,567.
std::string with_commas(std::int64_t value) {
  std::string digits = std::to_string(value);
  for (std::size_t at = digits.size(); at > (value < 0 ? 4U : 3U);) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

PublishedRow judged_row(std::string figure, std::string item, std::string published, std::string ours,
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

/// The numbers behind the two texts of a row, and their place in a picture.
PublishedRow with_numbers(PublishedRow row, double published, double ours, RowPlace place) {
  row.published_value = published;
  row.ours_value = ours;
  return placed(std::move(row), std::move(place));
}

PublishedRow sector_row(std::string figure, std::string item, std::int64_t published, std::int64_t ours,
                        double relative_tolerance, std::string note = "") {
  const auto theirs = static_cast<double>(published), own = static_cast<double>(ours);
  return with_numbers(
      judged_row(std::move(figure), std::move(item), with_commas(published), with_commas(ours), own - theirs,
                 relative_tolerance * theirs, Verdict::kOutside, std::move(note)),
      theirs, own, {.unit = "sectors"});
}

/// The paper's kernel: batch 1, one head, square tiles.
AttentionSubject kernel_of(const Json& paper, std::int64_t seqlen, bool causal = false) {
  const std::int64_t tile = paper["tile"];
  return {.seqlen = Extents{seqlen},
          .causal = causal,
          .head_dim = paper["head_dim"],
          .q_tile = Extents{tile},
          .kv_tile = Extents{tile}};
}

std::int64_t exact_sectors(const Json& paper, std::int64_t seqlen, bool causal,
                           const study::Context& context) {
  const study::ReuseQuestion question{.subject = kernel_of(paper, seqlen, causal)};
  return study::reuse(question, context).results.front().first.sectors.total;
}

/// 8 S (1 + S/T), and causal 8 S (S/(2T) + 1/2): section 3.2.
double approximate_sectors(const Json& paper, std::int64_t seqlen, bool causal) {
  const auto s = static_cast<double>(seqlen), t = paper["tile"].get<double>();
  return causal ? 8 * s * (s / (2 * t) + 0.5) : 8 * s * (1 + s / t);
}

void add_counters(const Json& paper, const study::Context& context, std::vector<PublishedRow>& rows) {
  for (const Json& counter : paper["counters"]) {
    const std::int64_t seqlen = counter["seqlen"], ours = exact_sectors(paper, seqlen, false, context);
    const bool exact = counter["schedule"] == "grid";
    const std::string item = fmt::format("{} schedule, {} tokens, L2 sectors from Tex",
                                         counter["schedule"].get<std::string>(), seqlen);
    // The paper's own model is off by its table 3; the grid launch is met to the sector.
    const double tolerance = exact ? 0 : paper["mape_percent"]["full"]["l2_sectors_tex"].get<double>() / 100;
    rows.push_back(sector_row(
        counter["table"], item, counter["l2_sectors_tex"], ours, tolerance,
        exact
            ? ""
            : "the counter of the persistent kernel is lower than the formula; the paper does not say why"));
  }
}

/// Mean absolute percentage error of two models on the counters that the paper prints.
void add_model_errors(const Json& paper, const study::Context& context, std::vector<PublishedRow>& rows) {
  for (const char* metric : {"l2_sectors_total", "l2_sectors_tex"}) {
    double theirs = 0, ours = 0, count = 0;
    for (const Json& counter : paper["counters"]) {
      if (counter["schedule"] != "persistent") continue;
      const double measured = counter[metric];
      const std::int64_t seqlen = counter["seqlen"];
      theirs += std::abs(approximate_sectors(paper, seqlen, false) / measured - 1);
      ours += std::abs(static_cast<double>(exact_sectors(paper, seqlen, false, context)) / measured - 1);
      ++count;
    }
    const double published = paper["mape_percent"]["full"][metric];
    const double recomputed = 100 * theirs / count;
    PublishedRow row = judged_row(
        "table 3", fmt::format("MAPE of the paper's formula, full, {}, percent", metric),
        fmt::format("{:.4f}", published), fmt::format("{:.4f}", recomputed), recomputed - published, 0.00005,
        Verdict::kKnownMiss,
        fmt::format("over the two lengths of table 1; the paper averages over lengths that it only "
                    "draws. The exact count has {:.4f}",
                    100 * ours / count));
    rows.push_back(with_numbers(std::move(row), published, recomputed, {.unit = "%"}));
  }
}

void add_causal(const Json& paper, const study::Context& context, std::vector<PublishedRow>& rows) {
  for (const std::int64_t seqlen : {std::int64_t{8192}, std::int64_t{32768}, std::int64_t{131072}}) {
    const std::int64_t sectors = exact_sectors(paper, seqlen, true, context);
    const double approximate = approximate_sectors(paper, seqlen, true);
    const double deviation = 100 * (static_cast<double>(sectors) / approximate - 1);
    const double published = paper["mape_percent"]["causal"]["l2_sectors_tex"];
    PublishedRow row = judged_row(
        "section 3.2", fmt::format("causal, {} tokens: exact count over approximation, percent", seqlen), "0",
        fmt::format("{:+.4f}", deviation), deviation, published, Verdict::kKnownMiss,
        fmt::format("exact {}; the approximation is K and V alone, without Q, O and the cut last tile",
                    with_commas(sectors)));
    rows.push_back(with_numbers(std::move(row), 0, deviation,
                                {.unit = "%", .axis = "tokens", .at = static_cast<double>(seqlen)}));
  }
}

/// Figures 5 and 6: where misses exceed the cold ones, and the hit rate over the SMs at work.
void add_onset(const Json& paper, const study::Context& context, std::vector<PublishedRow>& rows) {
  study::ReuseQuestion question{.subject = kernel_of(paper, 1 << 20),
                                .device = paper["device"].get<std::string>()};
  question.details.first_noncompulsory_seqlen = true;
  const study::ReuseAnswer answer = study::reuse(question, context);
  const std::int64_t ours = answer.results.front().first.first_noncompulsory_seqlen.value();
  const double published = paper["onset_seqlen"]["value"];
  const auto own = static_cast<double>(ours);
  rows.push_back(with_numbers(
      judged_row(paper["onset_seqlen"]["figure"], "sequence length at which misses exceed the cold ones",
                 fmt::format("about {:.0f}", published), with_commas(ours), own - published, 5000,
                 Verdict::kKnownMiss,
                 "the whole L2 of 24 MiB holds K and V up to there; an onset at 80K would be an effective "
                 "capacity of about 21 MiB"),
      published, own, {.unit = "tokens"}));
  const std::int64_t sms = *answer.question.sms;
  const double hit_rate = lockstep_hit_rate(sms), published_rate = paper["hit_rate"]["value"];
  const std::string figure = paper["hit_rate"]["figure"];
  rows.push_back(
      with_numbers(judged_row(figure, fmt::format("hit rate of {} SMs in lockstep", sms),
                              fmt::format("{}", published_rate), fmt::format("{:.4f}", hit_rate),
                              hit_rate - published_rate, 0.005, Verdict::kOutside),
                   published_rate, hit_rate,
                   {.unit = "hits of all reads", .axis = "SMs at work", .at = static_cast<double>(sms)}));
  for (const std::int64_t active : {1, 2, 4, 8, 16, 33, 66, 99, 132}) {
    rows.push_back(
        placed(shown_row(figure, fmt::format("hit rate of {} SMs in lockstep", active), {},
                         lockstep_hit_rate(active)),
               {.unit = "hits of all reads", .axis = "SMs at work", .at = static_cast<double>(active)}));
  }
}

/// What the paper says of throughput. Nothing here predicts it: the profile of a GB10 has no rates.
void add_throughput(const Json& paper, std::vector<PublishedRow>& rows) {
  for (const Json& said : paper["throughput"]) {
    const double cyclic = said["cyclic_tflops"], sawtooth = said["sawtooth_tflops"];
    const std::string figure = said["figure"];
    const std::string note = said["section"].get<std::string>() + "; a GB10's rates are not known";
    rows.push_back(placed(shown_row(figure, "cyclic", cyclic, {}, note), {.unit = "TFLOP/s"}));
    rows.push_back(placed(shown_row(figure, "sawtooth", sawtooth, {}, note), {.unit = "TFLOP/s"}));
    rows.push_back(
        placed(shown_row(figure, "sawtooth over cyclic", sawtooth / cyclic, {}, note), {.unit = "x"}));
  }
}

/// Cyclic beside sawtooth, in lockstep in front of the whole L2.
ReuseComparison misses_of(const Json& paper, const AttentionSubject& subject, const study::Context& context) {
  const study::ReuseQuestion question{.subject = subject,
                                      .device = paper["device"].get<std::string>(),
                                      .method = study::LruReplay{},
                                      .order = KvOrder::kCyclic,
                                      .compare = KvOrder::kSawtooth};
  return study::reuse(question, context).results.front();
}

void add_cutile_misses(const Json& paper, const study::Context& context, std::vector<PublishedRow>& rows) {
  const Json& cutile = paper["cutile"];
  const std::string section = cutile["figure"];
  const std::int64_t tile = cutile["tile"];
  AttentionSubject subject = kernel_of(paper, cutile["seqlen"]);
  subject.batch = cutile["batch"];
  subject.q_tile = subject.kv_tile = Extents{tile};
  for (const auto& [name, schedule] :
       {std::pair{"fully static", CtaSchedule::kPersistent}, std::pair{"tile-based", CtaSchedule::kTile}}) {
    subject.schedule = schedule;
    const ReuseComparison ours = misses_of(paper, subject, context);
    const std::int64_t cyclic = ours.first.miss_sectors.value(), sawtooth = ours.second->miss_sectors.value();
    // "Approximately", to ten million sectors.
    rows.push_back(sector_row(section, fmt::format("{}, misses cyclic", name), cutile["misses_cyclic"],
                              cyclic, 10e6 / cutile["misses_cyclic"].get<double>()));
    rows.push_back(sector_row(section, fmt::format("{}, misses sawtooth", name), cutile["misses_sawtooth"],
                              sawtooth, 10e6 / cutile["misses_sawtooth"].get<double>()));
    const double reduction = 1 - static_cast<double>(sawtooth) / static_cast<double>(cyclic);
    const double published = cutile["reduction"];
    rows.push_back(with_numbers(
        judged_row(section, fmt::format("{}, fewer misses", name), fmt::format("{}", published),
                   fmt::format("{:.4f}", reduction), reduction - published, 0.02, Verdict::kOutside),
        published, reduction, {.unit = "of the cyclic misses"}));
  }
}

void add_cuda_misses(const Json& paper, const study::Context& context, std::vector<PublishedRow>& rows) {
  const ReuseComparison ours = misses_of(paper, kernel_of(paper, paper["cutile"]["seqlen"]), context);
  const auto noncompulsory = [](const study::ReuseResult& result) {
    return static_cast<double>(result.miss_sectors.value() - result.cold_sectors);
  };
  const double reduction = 1 - noncompulsory(*ours.second) / noncompulsory(ours.first);
  const double published = paper["cuda"]["noncompulsory_reduction"];
  rows.push_back(with_numbers(
      judged_row(paper["cuda"]["figure"], "CUDA kernel, fewer non-compulsory misses",
                 fmt::format("about {}", published), fmt::format("{:.4f}", reduction), reduction - published,
                 0.05, Verdict::kKnownMiss,
                 "the length is not stated; the reduction is about capacity / (K and V), here at 131072 "
                 "tokens"),
      published, reduction, {.unit = "of the cyclic misses"}));
}

/// Figure 11 has no number in the text: the causal kernel of the static variant, predicted.
void add_causal_misses(const Json& paper, const study::Context& context, std::vector<PublishedRow>& rows) {
  const Json& cutile = paper["cutile"];
  const std::int64_t tile = cutile["tile"];
  AttentionSubject subject = kernel_of(paper, cutile["seqlen"], true);
  subject.batch = cutile["batch"];
  subject.q_tile = subject.kv_tile = Extents{tile};
  subject.schedule = CtaSchedule::kPersistent;
  const ReuseComparison ours = misses_of(paper, subject, context);
  const std::string note = "section 4.3.1 says that sawtooth is effective too, and by how much nowhere";
  const auto add = [&](const char* item, const study::ReuseResult& result) {
    rows.push_back(
        placed(shown_row("figure 11", item, {}, static_cast<double>(result.miss_sectors.value()), note),
               {.unit = "sectors"}));
  };
  add("fully static, causal, misses cyclic", ours.first);
  add("fully static, causal, misses sawtooth", *ours.second);
}

std::vector<PublishedRow> reproduce_sawtooth(const study::Context& context) {
  const Json paper = Json::parse(published_sawtooth_figures());
  std::vector<PublishedRow> rows;
  add_counters(paper, context, rows);
  add_model_errors(paper, context, rows);
  add_causal(paper, context, rows);
  add_onset(paper, context, rows);
  add_cuda_misses(paper, context, rows);
  add_cutile_misses(paper, context, rows);
  add_causal_misses(paper, context, rows);
  add_throughput(paper, rows);
  return rows;
}

}  // namespace

PublishedWork sawtooth() {
  return {.name = "sawtooth",
          .title = "the Sawtooth paper",
          .source =
              "Zhu, Pan, Ding, Sawtooth Wavefront Reordering: Enhanced CuTile FlashAttention on NVIDIA "
              "GB10, 2026",
          .position = 30,
          .reproduce = reproduce_sawtooth,
          .figures = {"table 1", "table 2", "table 3", "section 3.2", "figure 5", "figure 6", "figure 8",
                      "figure 9", "figure 11", "figure 7", "figure 10", "figure 12"},
          .effort = "eight launches over 131,072 tokens are replayed tile by tile through a simulated L2"};
}

}  // namespace natten_sim::validate::works
