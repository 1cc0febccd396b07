#include "reuse_report.hpp"

#include <fmt/format.h>

#include "report_text.hpp"

namespace natten_sim::cli {
namespace {

template <typename T>
Json nullable(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json answer_fields(const ReuseAnswer& answer) {
  Json fields;
  fields["sectors"] = {{"q", nullable(answer.sectors.q)},
                       {"k", nullable(answer.sectors.k)},
                       {"v", nullable(answer.sectors.v)},
                       {"o", nullable(answer.sectors.o)},
                       {"total", answer.sectors.total}};
  fields["cold_sectors"] = answer.cold_sectors;
  fields["miss_sectors"] = nullable(answer.miss_sectors);
  fields["hit_rate"] = nullable(answer.hit_rate);
  fields["dram_read_bytes"] = nullable(answer.dram_read_bytes);
  fields["dram_write_bytes"] = nullable(answer.dram_write_bytes);
  fields["effective_capacity_bytes"] = nullable(answer.effective_capacity_bytes);
  fields["first_noncompulsory_seqlen"] = nullable(answer.first_noncompulsory_seqlen);
  Json histogram = Json::array();
  for (const ReuseProfile::Point& bucket : answer.histogram)
    histogram.push_back({{"upto_bytes", bucket.bytes}, {"count", bucket.count}});
  fields["stack_distance"] = {{"mean_bytes", nullable(answer.mean_distance_bytes)}, {"histogram", histogram}};
  fields["order"] = answer.order;
  if (answer.time_ns) fields["time_ns"] = *answer.time_ns;
  if (answer.miss_ratio_standard_error)
    fields["miss_ratio_standard_error"] = *answer.miss_ratio_standard_error;
  return fields;
}

/// Share by which `second` is below `first`.
std::optional<double> reduction(const std::optional<std::int64_t>& first,
                                const std::optional<std::int64_t>& second) {
  if (!first || !second || *first == 0) return std::nullopt;
  return 1.0 - static_cast<double>(*second) / static_cast<double>(*first);
}

std::optional<std::int64_t> noncompulsory(const ReuseAnswer& answer) {
  if (!answer.miss_sectors) return std::nullopt;
  return *answer.miss_sectors - answer.cold_sectors;
}

std::string bytes_text(double bytes) {
  constexpr double kKiB = 1024;
  if (bytes >= kKiB * kKiB * kKiB) return fmt::format("{:.2f} GiB", bytes / (kKiB * kKiB * kKiB));
  if (bytes >= kKiB * kKiB) return fmt::format("{:.2f} MiB", bytes / (kKiB * kKiB));
  if (bytes >= kKiB) return fmt::format("{:.2f} KiB", bytes / kKiB);
  return fmt::format("{:.0f} B", bytes);
}

std::string count_or_dash(const std::optional<std::int64_t>& value) { return value ? grouped(*value) : "-"; }

std::string percent_or_dash(const std::optional<double>& value) {
  return value ? fmt::format("{:.2f}%", 100 * *value) : "-";
}

std::string head_line(const ReuseRequest& request) {
  std::string text;
  if (request.trace_path) {
    text = "trace " + *request.trace_path;
  } else if (request.stream) {
    text = fmt::format("stream of {} bytes   {} passes   {} readers", grouped(request.stream->bytes),
                       grouped(request.stream->passes), grouped(request.stream->readers));
  } else {
    const SplitQProblem& problem = request.problem;
    const OperandSizes& sizes = problem.sizes;
    const std::string length = request.sweep ? fmt::format("{}..{}", request.sweep->lo, request.sweep->hi)
                                             : to_string(input_of(problem.mask));
    const std::string window = request.windowed && !request.sweep
                                   ? "   window " + to_string(window_of(problem.mask))
                                   : std::string();
    text = fmt::format(
        "attention over {}{}{}   {} of head dim {}{}   batch {}   {}\n", length,
        request.causal ? " causal" : "", window,
        sizes.heads == 1 ? "1 head" : fmt::format("{} heads", sizes.heads), sizes.head_dim,
        sizes.head_dim_value == sizes.head_dim ? "" : fmt::format(" (V {})", sizes.head_dim_value),
        sizes.batch, request.dtype);
    text += fmt::format("Q tile {}   KV tile {}   {} schedule   {} workers", to_string(problem.tiles.q_tile),
                        to_string(problem.tiles.kv_tile), to_string(request.schedule.schedule),
                        request.schedule.workers);
  }
  text += fmt::format("   {}\n", to_string(request.fidelity));
  if (request.device || request.capacity_bytes) {
    text += request.device ? request.device->title : std::string("L2");
    text += request.capacity_bytes
                ? fmt::format("   capacity {}", bytes_text(static_cast<double>(*request.capacity_bytes)))
                : std::string("   capacity unknown");
    if (request.ways) text += fmt::format(", {} ways", *request.ways);
    text += fmt::format("   sector {} B\n", request.sector_bytes);
  }
  return text;
}

using Rows = std::vector<std::vector<std::string>>;

void add_row(Rows& rows, const std::string& label, const ReusePair& pair,
             const std::function<std::string(const ReuseAnswer&)>& cell) {
  std::vector<std::string> row = {label, cell(pair.first)};
  if (pair.second) row.push_back(cell(*pair.second));
  rows.push_back(row);
}

void add_reduction(Rows& rows, const ReusePair& pair) {
  if (!pair.second) return;
  const auto change = [&](const char* label, std::optional<double> value) {
    if (value) rows.push_back({label, "", fmt::format("{:.2f}% fewer", 100 * *value)});
  };
  change("misses", reduction(pair.first.miss_sectors, pair.second->miss_sectors));
  change("  not compulsory", reduction(noncompulsory(pair.first), noncompulsory(*pair.second)));
}

}  // namespace

Json reuse_input(const ReuseRequest& request) {
  Json input;
  if (request.trace_path) {
    input["trace"] = *request.trace_path;
  } else if (request.stream) {
    input["stream_bytes"] = request.stream->bytes;
    input["passes"] = request.stream->passes;
    input["workers"] = request.stream->readers;
  } else {
    const SplitQProblem& problem = request.problem;
    const OperandSizes& sizes = problem.sizes;
    if (request.sweep) {
      input["sweep"] =
          fmt::format("seqlen={}:{}:{}", request.sweep->lo, request.sweep->hi, request.sweep->step);
    } else {
      input["seqlen"] = to_json(input_of(problem.mask));
    }
    input["window"] = request.windowed ? to_json(window_of(problem.mask)) : Json();
    input["stride"] = to_json(stride_of(problem.mask));
    input["causal"] = request.causal;
    input["q_tile"] = to_json(problem.tiles.q_tile);
    input["kv_tile"] = to_json(problem.tiles.kv_tile);
    input["batch_size"] = sizes.batch;
    input["heads"] = sizes.heads;
    input["heads_kv"] = sizes.heads_kv;
    input["head_dim"] = sizes.head_dim;
    input["dim_value"] = sizes.head_dim_value;
    input["dtype"] = request.dtype;
    input["kernel"] = request.kernel ? Json(request.kernel->name) : Json();
    input["schedule"] = to_string(request.schedule.schedule);
    input["interleave_heads"] = request.schedule.launch == LaunchOrder::kHeadsFirst;
    input["longest_first"] = request.schedule.last_q_tile_first;
    input["workers"] = request.schedule.workers;
    input["ctas_per_sm"] = request.ctas_per_sm;
    if (request.fidelity == Fidelity::kLru)
      input["granularity"] = request.granularity == Granularity::kTile ? "tile" : "sector";
    if (request.fidelity == Fidelity::kTimed) input["jitter"] = wavefront_device(request).jitter;
  }
  if (!request.trace_path) input["order"] = request.order.text;
  if (request.compare) input["compare"] = request.compare->text;
  input["fidelity"] = to_string(request.fidelity);
  input["device"] = request.device ? Json(request.device->name) : Json();
  input["l2_bytes"] = nullable(request.capacity_bytes);
  input["sector_bytes"] = request.sector_bytes;
  input["sms"] = request.sms;
  if (request.ways) {
    constexpr const char* kNames[] = {"lru", "fifo", "plru", "nru", "random"};
    input["ways"] = *request.ways;
    input["replacement"] = kNames[static_cast<int>(request.replacement)];
    input["hashed"] = request.index == SetIndex::kHashed;
    input["line_bytes"] = request.line_bytes;
  }
  if (request.sample) input["sample"] = *request.sample;
  return input;
}

Json reuse_fields(const ReusePair& pair) {
  Json fields = answer_fields(pair.first);
  if (!pair.second) return fields;
  Json second = answer_fields(*pair.second);
  second["reduction"] = {
      {"miss_sectors", nullable(reduction(pair.first.miss_sectors, pair.second->miss_sectors))},
      {"noncompulsory_miss_sectors",
       nullable(reduction(noncompulsory(pair.first), noncompulsory(*pair.second)))},
      {"dram_read_bytes", nullable(reduction(pair.first.dram_read_bytes, pair.second->dram_read_bytes))}};
  fields["compare"] = second;
  return fields;
}

std::string reuse_text(const ReuseRequest& request, const ReusePair& pair) {
  Rows rows;
  add_row(rows, "order", pair, [](const ReuseAnswer& a) { return a.order; });
  add_row(rows, "sectors", pair, [](const ReuseAnswer& a) { return grouped(a.sectors.total); });
  if (pair.first.sectors.q) {
    add_row(rows, "  Q", pair, [](const ReuseAnswer& a) { return count_or_dash(a.sectors.q); });
    add_row(rows, "  K", pair, [](const ReuseAnswer& a) { return count_or_dash(a.sectors.k); });
    add_row(rows, "  V", pair, [](const ReuseAnswer& a) { return count_or_dash(a.sectors.v); });
    add_row(rows, "  O", pair, [](const ReuseAnswer& a) { return count_or_dash(a.sectors.o); });
  }
  add_row(rows, "cold sectors", pair, [](const ReuseAnswer& a) { return grouped(a.cold_sectors); });
  add_row(rows, "miss sectors", pair, [](const ReuseAnswer& a) { return count_or_dash(a.miss_sectors); });
  add_row(rows, "  not compulsory", pair,
          [](const ReuseAnswer& a) { return count_or_dash(noncompulsory(a)); });
  add_row(rows, "hit rate", pair, [](const ReuseAnswer& a) { return percent_or_dash(a.hit_rate); });
  add_row(rows, "DRAM read", pair, [](const ReuseAnswer& a) {
    return a.dram_read_bytes ? bytes_text(static_cast<double>(*a.dram_read_bytes)) : "-";
  });
  add_row(rows, "DRAM written", pair, [](const ReuseAnswer& a) {
    return a.dram_write_bytes ? bytes_text(static_cast<double>(*a.dram_write_bytes)) : "-";
  });
  if (pair.first.sectors.q) {
    add_row(rows, "first seqlen beyond capacity", pair,
            [](const ReuseAnswer& a) { return count_or_dash(a.first_noncompulsory_seqlen); });
  }
  add_row(rows, "mean stack distance", pair, [](const ReuseAnswer& a) {
    return a.mean_distance_bytes ? bytes_text(*a.mean_distance_bytes) : "-";
  });
  if (pair.first.time_ns) {
    add_row(rows, "time", pair,
            [](const ReuseAnswer& a) { return fmt::format("{:.3f} ms", *a.time_ns * 1e-6); });
  }
  if (pair.first.miss_ratio_standard_error) {
    add_row(rows, "standard error of the miss ratio", pair,
            [](const ReuseAnswer& a) { return fmt::format("{:.4f}", *a.miss_ratio_standard_error); });
  }
  add_reduction(rows, pair);
  return head_line(request) + "\n" + text_table(rows);
}

std::string sweep_text(const ReuseRequest& request, const std::vector<ReusePair>& pairs) {
  Rows rows = {{"seqlen", "sectors", "cold", "misses", "hit rate", "DRAM read"}};
  if (request.compare) rows.front().insert(rows.front().end(), {"misses " + request.compare->text, "fewer"});
  for (const ReusePair& pair : pairs) {
    const ReuseAnswer& a = pair.first;
    rows.push_back({grouped(pair.seqlen), grouped(a.sectors.total), grouped(a.cold_sectors),
                    count_or_dash(a.miss_sectors), percent_or_dash(a.hit_rate),
                    a.dram_read_bytes ? bytes_text(static_cast<double>(*a.dram_read_bytes)) : "-"});
    if (pair.second) {
      rows.back().push_back(count_or_dash(pair.second->miss_sectors));
      rows.back().push_back(percent_or_dash(reduction(a.miss_sectors, pair.second->miss_sectors)));
    }
  }
  return head_line(request) + "\n" + text_table(rows);
}

std::string reuse_csv(const ReuseRequest& request, const std::vector<ReusePair>& pairs,
                      std::optional<ReusePicture> picture) {
  std::vector<Json> rows;
  if (picture == ReusePicture::kHistogram || picture == ReusePicture::kCurve) {
    const bool curve = picture == ReusePicture::kCurve;
    const auto add = [&](const ReuseAnswer& answer) {
      for (const ReuseProfile::Point& point : curve ? answer.curve : answer.histogram) {
        rows.push_back({{"order", answer.order},
                        {curve ? "capacity_bytes" : "upto_bytes", point.bytes},
                        {curve ? "miss_sectors" : "count", point.count}});
      }
    };
    add(pairs.front().first);
    if (pairs.front().second) add(*pairs.front().second);
    const Json header = {{"order", nullptr},
                         {curve ? "capacity_bytes" : "upto_bytes", nullptr},
                         {curve ? "miss_sectors" : "count", nullptr}};
    return csv_table(header, rows);
  }
  for (const ReusePair& pair : pairs) {
    Json row = reuse_input(request);
    if (request.sweep) row["seqlen"] = pair.seqlen;
    Json fields = reuse_fields(pair);
    fields["stack_distance"].erase("histogram");  // has a table of its own
    if (fields.contains("compare")) fields["compare"]["stack_distance"].erase("histogram");
    for (const char* same : {"order", "compare"}) {
      if (row.contains(same)) row["input_" + std::string(same)] = row[same];
      row.erase(same);
    }
    row.update(flattened(fields));
    rows.push_back(flattened(row));
  }
  return csv_table(rows.front(), rows);
}

}  // namespace natten_sim::cli
