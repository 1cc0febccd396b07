#include <algorithm>

#include <natten_sim/io/catalog.hpp>
#include <natten_sim/io/contention_data.hpp>
#include <natten_sim/io/json_text.hpp>
#include <natten_sim/report/described.hpp>
#include <natten_sim/report/validation_views.hpp>
#include <natten_sim/validate/cases/msda.hpp>

#include "validate/view_tables.hpp"

namespace natten_sim::report::views {
namespace {

using validate::MsdaCase;

constexpr const char* kPaperGpu = "h100";

/// The paper's query-block latencies on its H100, by configuration, type and pass, for another bandwidth.
class ScaledLatencies {
 public:
  explicit ScaledLatencies(const Device& device) : table_(parse_json(published_msda_figures())["table_11"]) {
    const Catalog catalog = builtin_catalog();
    const auto& theirs = catalog.device(kPaperGpu).dram_bytes_per_s;
    if (theirs && device.dram_bytes_per_s) scale_ = theirs->value / device.dram_bytes_per_s->value;
  }

  [[nodiscard]] std::optional<double> of(const MsdaCase& point) const {
    const std::string column = point.phase == MsdaPhase::kForward ? "block_forward_ms" : "block_backward_ms";
    const Json& columns = table_["columns"];
    const auto at = std::find(columns.begin(), columns.end(), column) - columns.begin();
    for (const Json& row : table_["rows"]) {
      if (row[0] == point.config.name && row[1] == to_string(point.dtype) && scale_)
        return *scale_ * row.at(static_cast<std::size_t>(at)).get<double>();
    }
    return std::nullopt;
  }

 private:
  Json table_;
  std::optional<double> scale_;
};

/// Plain runs alone: in linear order, with the vector reductions, locations and weights in fp32.
bool is_plain(const MsdaCase& point) {
  return point.order == QueryOrder::kLinear && point.parameters_dtype == Dtype::kFp32 &&
         (point.phase == MsdaPhase::kForward || point.path == kernels::scatter_add::Path::kRed16);
}

struct LatencyRow {
  const validate::Recording* recording;
  const MsdaCase* point;
  double ms;
  std::optional<double> scaled;
};

template <typename Members>
void describe(Members& m, Of<LatencyRow>) {
  const auto of = [](auto... members) { return path(&LatencyRow::point, members...); };
  m.put("device", path(&LatencyRow::recording, &device_name), kDeviceMeaning);
  m.put("config", of(&MsdaCase::config, &MsdaConfig::name), "Configuration of the paper");
  m.put("phase", of(&MsdaCase::phase), "Pass");
  m.put("tiling", of(&MsdaCase::tiling), "What a CTA takes");
  m.put("dtype", of(&MsdaCase::dtype), "Element type");
  m.put("time_ms", &LatencyRow::ms, "Measured time, the median");
  m.put("scaled_paper_ms", &LatencyRow::scaled,
        "The paper's time of query blocks, for this GPU's bandwidth; null: it has none");
}

/// Our kernels beside the paper's query-block latencies: time_ms, scaled_paper_ms. Three lines of it:
///
///     ms                              block  point  paper's H100, scaled
///     B2_800x1333_d256_L4 bf16 fwd    0.018  0.019                 0.313
///     B2_800x1333_d256_L4 bf16 bwd    0.030  0.021                 0.808
std::optional<ValidationView> make_msda_latencies(const RecordedData& data) {
  ValidationView view;
  for (const auto& recording : data.recordings) {
    if (recording.head.suite != "msda") continue;
    const ScaledLatencies paper(device_of(recording, data.devices));
    std::vector<std::pair<std::string, std::vector<std::string>>> lines;
    std::size_t cells = 0, faster = 0;
    double least = 0;
    for (const validate::RecordedRow& row : recording.rows) {
      const auto* const point = row.point.as<MsdaCase>();
      if (point == nullptr || !row.timing || !is_plain(*point)) continue;
      const double ms = row.timing->milliseconds.median;
      const std::optional<double> scaled = paper.of(*point);
      const std::string load =
          point->config.name + " " + to_string(point->dtype) + " " + to_string(point->phase);
      auto at =
          std::find_if(lines.begin(), lines.end(), [&](const auto& each) { return each.first == load; });
      if (at == lines.end()) at = lines.insert(at, {load, {"-", "-", cell(scaled, "{:.3f}")}});
      const bool block = point->tiling == MsdaTiling::kBlock;
      at->second.at(block ? 0 : 1) = fmt::format("{:.3f}", ms);
      view.rows.push_back(json_of(LatencyRow{&recording, point, ms, scaled}));
      if (!block || !scaled) continue;
      ++cells;
      faster += ms <= *scaled ? 1 : 0;
      least = cells == 1 ? *scaled / ms : std::min(least, *scaled / ms);
    }
    Cells table = {{"ms", "block", "point", "paper's H100, scaled"}};
    for (const auto& [load, line] : lines) {
      table.push_back({load});
      table.back().insert(table.back().end(), line.begin(), line.end());
    }
    append_table(table, view.text, "Deformable attention, " + recording.head.device.name);
    view.text +=
        fmt::format("block tiling: at least as fast in {} of {} cells, by a factor of {:.2f} at least\n",
                    faster, cells, least);
  }
  if (view.rows.empty()) return std::nullopt;
  return view;
}

}  // namespace

ViewKind msda_latencies_view();
ViewKind msda_latencies_view() {
  return {.name = "msda-latencies",
          .position = 88,
          .drawn = false,
          .needs = "recordings of the suite msda",
          .row_schema = schema_of<LatencyRow>,
          .make = make_msda_latencies};
}

}  // namespace natten_sim::report::views
