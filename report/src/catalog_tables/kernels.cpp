#include <fmt/format.h>

#include <natten_sim/io/attention_kernels.hpp>
#include <natten_sim/io/kernel_times.hpp>
#include <natten_sim/report/catalog_report.hpp>

namespace natten_sim::report::tables {
namespace {

Json kernel_json(const AttentionKernel& kernel) {
  Json tiles = Json::array(), rates = Json::array();
  for (const KernelTile& tile : kernel.kv_tiles)
    tiles.push_back({{"head_dim", tile.head_dim},
                     {"kv_tile", tile.kv_tile},
                     {"stages", tile.stages ? Json(*tile.stages) : Json()}});
  for (const KernelRate& rate : kernel.rates) rates.push_back(natten_sim::to_json(rate));
  return {{"name", kernel.name},
          {"title", kernel.title},
          {"q_tile", kernel.q_tile},
          {"kv_tiles", tiles},
          {"schedule", to_string(kernel.schedule)},
          {"order", to_string(kernel.order)},
          {"ctas_per_sm", kernel.ctas_per_sm},
          {"rates", rates},
          {"source", kernel.source}};
}

Json kernel_entries(const Catalog& catalog) {
  Json entries = Json::array();
  for (const AttentionKernel& kernel : catalog.kernels) entries.push_back(kernel_json(kernel));
  return entries;
}

/// The calibrated times of kernels, as data/kernel-times.json has them.
Json times_beside(const Catalog& catalog) {
  Json entries = Json::array();
  for (const KernelCosts& costs : catalog.kernel_costs) entries.push_back(natten_sim::to_json(costs));
  return {{"times", entries}};
}

/// One row a kernel's rate.
std::vector<Json> kernel_rows(const Catalog& catalog) {
  std::vector<Json> rows;
  for (const AttentionKernel& kernel : catalog.kernels) {
    const Json fields = kernel_json(kernel);
    for (const Json& rate : fields["rates"]) {
      Json row = {{"name", kernel.name}, {"title", kernel.title}};
      row.update(rate);
      rows.push_back(row);
    }
  }
  return rows;
}

/// hopper-fna on h200, head dim 128: forward 7 runs, off by 3.5% on runs left out
std::string times_text(const Catalog& catalog) {
  if (catalog.kernel_costs.empty()) return "";
  std::string text = "Times (natten-sim count --kernel NAME --device NAME):\n";
  for (const KernelCosts& costs : catalog.kernel_costs) {
    std::string types;
    for (const Dtype dtype : costs.dtypes)
      types += (types.empty() ? "" : "/") + std::string(to_string(dtype));
    text += fmt::format("{} on {}, head dim {}, {}\n", costs.kernel, costs.device, costs.head_dim, types);
    for (const PassCosts& pass : costs.passes) {
      const CostEvidence& evidence = pass.evidence;
      text += fmt::format("  {}: {} run{} ({})", pass.pass == Walk::kForward ? "forward" : "backward",
                          evidence.runs, evidence.runs == 1 ? "" : "s", joined(evidence.kinds));
      text += evidence.left_out
                  ? fmt::format(", off by {:.1f}% on average and {:.1f}% at worst on runs left out",
                                100 * evidence.left_out->mean, 100 * evidence.left_out->worst)
                  : ", nothing to hold them against";
      text += fmt::format("; stated interval {:.0f}%   [{}]\n", 100 * evidence.interval, evidence.source);
    }
  }
  return text;
}

std::string kernels_text(const Catalog& catalog) {
  std::string text;
  for (const AttentionKernel& kernel : catalog.kernels) {
    text += fmt::format("{}   {}   {} schedule   {} order   {} CTA{} an SM\n", kernel.name, kernel.title,
                        to_string(kernel.schedule), to_string(kernel.order), kernel.ctas_per_sm,
                        kernel.ctas_per_sm == 1 ? "" : "s");
    for (const KernelTile& tile : kernel.kv_tiles)
      text += fmt::format("  head dim {}: Q tile {}, KV tile {}{}\n", tile.head_dim, kernel.q_tile,
                          tile.kv_tile, tile.stages ? fmt::format(", stages {}", *tile.stages) : "");
    for (const KernelRate& rate : kernel.rates) {
      text += fmt::format("  {} at head dim {}: {:.4g} TFLOP/s{} with {} heads of {} tokens   [{}]\n",
                          rate.device, rate.head_dim, rate.flops_per_s * 1e-12,
                          rate.measured ? " (measured)" : "", rate.heads, rate.tokens, rate.source);
    }
    text += "  source: " + kernel.source + "\n\n";
  }
  return text + times_text(catalog);
}

void keep_kernel(Catalog& catalog, const std::string& name) {
  const std::string found = catalog.kernel(name).name;
  std::erase_if(catalog.kernels, [&](const AttentionKernel& each) { return each.name != found; });
  std::erase_if(catalog.kernel_costs, [&](const KernelCosts& costs) { return costs.kernel != found; });
}

}  // namespace

CatalogTable kernels_table();
CatalogTable kernels_table() {
  return {.name = "kernels",
          .position = 40,
          .entries = kernel_entries,
          .rows = kernel_rows,
          .text = kernels_text,
          .beside = times_beside,
          .keep = keep_kernel};
}

}  // namespace natten_sim::report::tables
