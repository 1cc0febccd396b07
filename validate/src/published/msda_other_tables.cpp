#include "published/msda_other_tables.hpp"

#include <optional>
#include <utility>

#include <fmt/format.h>

namespace natten_sim::validate {
namespace {

constexpr const char* kInSweep = "the same cells are judged in tables 10 and 11";
constexpr const char* kNotModelled = "this backend is not modelled";

/// The tiling of a backend that is modelled.
std::optional<MsdaTiling> tiling_of(const std::string& backend) {
  if (backend == "Triton, point-parallel" || backend == "Triton point-parallel") return MsdaTiling::kPoint;
  if (backend == "Triton, query-block" || backend == "Triton query-block") return MsdaTiling::kBlock;
  return std::nullopt;
}

struct Latency {
  const char* figure;
  std::string backend, card;
  MsdaPhase phase;
  const char* config;
  double published;
};

void add_latency(const Latency& cell, MsdaTables& tables) {
  const std::string device = tables.device(cell.card);
  const std::optional<MsdaTiling> tiling = tiling_of(cell.backend);
  std::optional<double> ours;
  if (tiling) {
    const study::MsdaPass pass =
        tables.pass({.config = cell.config, .device = device, .phase = cell.phase, .tiling = *tiling});
    ours = pass.time.latency_ns * 1e-6;
  }
  PublishedRow row =
      placed(shown_row(cell.figure, fmt::format("{} {}, {}", device, to_string(cell.phase), cell.backend),
                       cell.published, ours, tiling ? kInSweep : kNotModelled),
             {.unit = "ms", .series = fmt::format("{} {}", device, to_string(cell.phase))});
  row.fitted = false;
  tables.rows.push_back(std::move(row));
}

/// Rows of a table whose columns are named card_phase_ms.
template <typename Published>
void add_latencies(const char* figure, const std::string& backend, const char* config, MsdaTables& tables,
                   Published published) {
  for (const char* card : {"a100", "h100"}) {
    for (const MsdaPhase phase : values_of<MsdaPhase>()) {
      const std::string column = fmt::format("{}_{}_ms", card, to_string(phase));
      add_latency({figure, backend, card, phase, config, published(column)}, tables);
    }
  }
}

/// Dispersion: the medians can be predicted, the spread cannot.
void add_dispersion(const char* config, MsdaTables& tables) {
  for (const Json& row : tables.table("table_7")["rows"]) {
    const std::string backend = row[0];
    const auto phase = parse_name<MsdaPhase>(row[1].get<std::string>());
    add_latency({"table 7", backend, "a100", phase, config, row[2]}, tables);
    add_latency({"table 7", backend, "h100", phase, config, row[5]}, tables);
  }
}

void add_parity(MsdaTables& tables) {
  const Json& table = tables.table("table_12");
  for (const Json& row : table["rows"]) {
    for (std::size_t column = 1; column < row.size(); ++column) {
      const std::string name = table["columns"][column];  // fp16_max_abs, fp16_mean_rel
      const bool absolute = name.ends_with("abs");
      const std::string item = fmt::format("{}, {}, {} deviation", row[0].get<std::string>(),
                                           name.substr(0, name.find('_')), absolute ? "largest" : "mean");
      PublishedRow shown =
          placed(shown_row("table 12", item, row[column].get<double>(), {}, "rounding is not modelled"),
                 {.unit = absolute ? "absolute deviation from fp32" : "deviation relative to fp32"});
      shown.fitted = false;
      tables.rows.push_back(std::move(shown));
    }
  }
}

}  // namespace

void add_other_tables(MsdaTables& tables) {
  const char* const decoder = "B4_800x1333_d256_L4";
  for (const Json& row : tables.table("table_4")["rows"]) {
    add_latencies("table 4", row["backend"], decoder, tables,
                  [&](const std::string& column) { return row[column].get<double>(); });
  }
  add_dispersion(decoder, tables);
  add_parity(tables);
  const Json& ladder = tables.table("table_13");
  for (const Json& row : ladder["rows"]) {
    const std::string backend = row[0];
    add_latencies("table 13", backend, "B2_1536x2048_d256_L4_enc", tables,
                  [&](const std::string& column) { return tables.value("table_13", backend, column); });
  }
}

}  // namespace natten_sim::validate
