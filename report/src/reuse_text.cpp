#include <functional>

#include <fmt/format.h>

#include <natten_sim/io/schedule_mask_text.hpp>
#include <natten_sim/report/reuse_report.hpp>
#include <natten_sim/report/text_table.hpp>

#include "reuse_numbers.hpp"

namespace natten_sim::report {
namespace {

using study::AttentionSubject;
using study::ReuseAnswer;
using study::ReuseComparison;
using study::ReuseQuestion;
using study::ReuseResult;
using TextRows = std::vector<std::vector<std::string>>;

std::string binary_bytes_text(double bytes) {
  constexpr double kKiB = 1024;
  if (bytes >= kKiB * kKiB * kKiB) return fmt::format("{:.2f} GiB", bytes / (kKiB * kKiB * kKiB));
  if (bytes >= kKiB * kKiB) return fmt::format("{:.2f} MiB", bytes / (kKiB * kKiB));
  if (bytes >= kKiB) return fmt::format("{:.2f} KiB", bytes / kKiB);
  return fmt::format("{:.0f} B", bytes);
}

template <typename T>
std::string bytes_or_dash(const std::optional<T>& bytes) {
  return bytes ? binary_bytes_text(static_cast<double>(*bytes)) : "-";
}

std::string count_or_dash(const std::optional<std::int64_t>& value) { return value ? grouped(*value) : "-"; }

std::string percent_or_dash(const std::optional<double>& value) {
  return value ? fmt::format("{:.2f}%", 100 * *value) : "-";
}

/// Axes that differ: causal 1x0.
std::string causal_text(const study::CausalAxes& causal) {
  if (const bool* every = std::get_if<bool>(&causal)) return *every ? " causal" : "";
  Extents flags;
  for (const bool axis : std::get<PerAxis<bool>>(causal)) flags.push_back(axis ? 1 : 0);
  return " causal " + to_string(flags);
}

std::vector<std::string> attention_parts(const AttentionSubject& subject) {
  const auto* sweep = std::get_if<study::SeqlenSweep>(&subject.seqlen);
  const std::string length = sweep != nullptr ? fmt::format("{}..{}", sweep->lo, sweep->hi)
                                              : to_string(std::get<Extents>(subject.seqlen));
  std::vector<std::string> parts = {fmt::format(
      "attention over {}{}{}", length, subject.seqlen_k ? fmt::format(" x {} keys", *subject.seqlen_k) : "",
      causal_text(subject.causal))};
  if (subject.mask) parts.push_back("mask " + mask_text(subject.mask->mask));
  if (subject.window && sweep == nullptr) parts.push_back("window " + to_string(*subject.window));
  parts.push_back(
      fmt::format("{} of head dim {}{}", counted(subject.heads, "head"), subject.head_dim,
                  *subject.dim_value == subject.head_dim ? "" : fmt::format(" (V {})", *subject.dim_value)));
  parts.push_back(fmt::format("batch {}", subject.batch));
  parts.emplace_back(to_string(subject.dtype));
  return parts;
}

std::string cache_line(const ReuseAnswer& answer) {
  const ReuseQuestion& question = answer.question;
  if (!answer.device && !question.capacity_bytes) return "";
  std::string text = answer.device ? answer.device->title : std::string("L2");
  text += question.capacity_bytes ? "   capacity " + bytes_or_dash(question.capacity_bytes)
                                  : std::string("   capacity unknown");
  const auto* replay = std::get_if<study::LruReplay>(&*question.method);
  const auto* sets = replay ? std::get_if<study::SetAssociative>(&replay->cache) : nullptr;
  if (sets != nullptr) text += ", " + counted(sets->ways, "way");
  return text + fmt::format("   sector {} B\n", *question.sector_bytes);
}

std::string head_lines(const ReuseAnswer& answer) {
  std::string text = joined(reuse_subject(answer), "   ");
  if (const auto* subject = std::get_if<AttentionSubject>(&answer.question.subject)) {
    text += fmt::format("\nQ tile {}   KV tile {}   {} schedule   {}", to_string(*subject->q_tile),
                        to_string(*subject->kv_tile), to_string(*subject->schedule),
                        counted(*subject->workers, "worker"));
  }
  text += fmt::format("   {}\n", to_string(study::fidelity_of(*answer.question.method)));
  return text + cache_line(answer) + "\n";
}

/// Rows of one comparison: a label, then a cell an order.
class ComparisonTable {
 public:
  explicit ComparisonTable(const ReuseComparison& comparison) : comparison_(comparison) {}

  void add(const std::string& label, const std::function<std::string(const ReuseResult&)>& cell) {
    rows_.push_back({label, cell(comparison_.first)});
    if (comparison_.second) rows_.back().push_back(cell(*comparison_.second));
  }

  void add_reductions() {
    if (!comparison_.second) return;
    const ReuseResult &first = comparison_.first, &second = *comparison_.second;
    add_reduction("misses", reduction(first.miss_sectors, second.miss_sectors));
    add_reduction("  not compulsory", reduction(noncompulsory(first), noncompulsory(second)));
  }

  [[nodiscard]] const TextRows& rows() const { return rows_; }

 private:
  void add_reduction(const char* label, const std::optional<double>& value) {
    if (value) rows_.push_back({label, "", fmt::format("{:.2f}% fewer", 100 * *value)});
  }

  const ReuseComparison& comparison_;
  TextRows rows_;
};

std::string single_text(const ReuseComparison& comparison) {
  ComparisonTable table(comparison);
  const ReuseResult& first = comparison.first;
  const bool attention = first.sectors.q.has_value();
  table.add("order", walked_order);
  table.add("sectors", [](const ReuseResult& r) { return grouped(r.sectors.total); });
  if (attention) {
    table.add("  Q", [](const ReuseResult& r) { return count_or_dash(r.sectors.q); });
    table.add("  K", [](const ReuseResult& r) { return count_or_dash(r.sectors.k); });
    table.add("  V", [](const ReuseResult& r) { return count_or_dash(r.sectors.v); });
    table.add("  O", [](const ReuseResult& r) { return count_or_dash(r.sectors.o); });
  }
  table.add("cold sectors", [](const ReuseResult& r) { return grouped(r.cold_sectors); });
  table.add("miss sectors", [](const ReuseResult& r) { return count_or_dash(r.miss_sectors); });
  table.add("  not compulsory", [](const ReuseResult& r) { return count_or_dash(noncompulsory(r)); });
  table.add("hit rate", [](const ReuseResult& r) { return percent_or_dash(r.hit_rate); });
  table.add("DRAM read", [](const ReuseResult& r) { return bytes_or_dash(r.dram_read_bytes); });
  table.add("DRAM written", [](const ReuseResult& r) { return bytes_or_dash(r.dram_write_bytes); });
  if (attention) {
    table.add("first seqlen beyond capacity",
              [](const ReuseResult& r) { return count_or_dash(r.first_noncompulsory_seqlen); });
  }
  table.add("mean stack distance", [](const ReuseResult& r) { return bytes_or_dash(r.mean_distance_bytes); });
  if (first.time_ns)
    table.add("time", [](const ReuseResult& r) { return fmt::format("{:.3f} ms", *r.time_ns * 1e-6); });
  if (first.miss_ratio_standard_error) {
    table.add("standard error of the miss ratio",
              [](const ReuseResult& r) { return fmt::format("{:.4f}", *r.miss_ratio_standard_error); });
  }
  table.add_reductions();
  return text_table(table.rows());
}

std::string sweep_table(const ReuseAnswer& answer) {
  TextRows rows = {{"seqlen", "sectors", "cold", "misses", "hit rate", "DRAM read"}};
  if (answer.question.compare) {
    rows.front().push_back("misses " + study::name_of(*answer.question.compare));
    rows.front().push_back("fewer");
  }
  for (const ReuseComparison& comparison : answer.results) {
    const ReuseResult& first = comparison.first;
    rows.push_back({grouped(comparison.seqlen.value()), grouped(first.sectors.total), grouped(first.cold_sectors),
                    count_or_dash(first.miss_sectors), percent_or_dash(first.hit_rate),
                    bytes_or_dash(first.dram_read_bytes)});
    if (comparison.second) {
      const std::optional<std::int64_t>& misses = comparison.second->miss_sectors;
      rows.back().push_back(count_or_dash(misses));
      rows.back().push_back(percent_or_dash(reduction(first.miss_sectors, misses)));
    }
  }
  return text_table(rows);
}

}  // namespace

std::vector<std::string> reuse_subject(const ReuseAnswer& answer) {
  const study::ReuseSubject& subject = answer.question.subject;
  if (const auto* trace = std::get_if<study::TraceSubject>(&subject)) return {"trace " + trace->name};
  if (const auto* stream = std::get_if<study::StreamSubject>(&subject)) {
    return {fmt::format("stream of {} bytes", grouped(stream->bytes)),
            (stream->passes == 1 ? std::string("1 pass") : grouped(stream->passes) + " passes"),
            counted(*stream->workers, "reader")};
  }
  return attention_parts(std::get<AttentionSubject>(subject));
}

std::string reuse_text(const ReuseAnswer& answer) {
  return head_lines(answer) +
         (sweep_of(answer) != nullptr ? sweep_table(answer) : single_text(answer.results.front()));
}

}  // namespace natten_sim::report
