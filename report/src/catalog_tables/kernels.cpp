#include <fmt/format.h>

#include <natten_sim/report/catalog_report.hpp>
#include <natten_sim/report/described.hpp>

#include "kernel_costs_members.hpp"

namespace natten_sim::report {

template <typename Members>
void describe(Members& m, Of<KernelRate>) {
  using R = KernelRate;
  m.put("device", &R::device);
  m.put("head_dim", &R::head_dim, "Head dim");
  m.put("flops_per_s", &R::flops_per_s, "FLOPs per second");
  m.put("tokens", &R::tokens, "Tokens of the problem that was timed");
  m.put("heads", &R::heads, "Its heads");
  m.put("lone_share", &R::lone_share, "Share of an SM's rate that a CTA alone on it gets");
  m.put("slot_skew", &R::slot_skew, "Difference of an SM's youngest and oldest CTA, over the mean time of a tile");
  m.put("jitter", &R::jitter, "Standard deviation of a tile's time, as a fraction");
  m.put("score_share", &R::score_share, "Share of a tile's time that its scores and softmax take");
  m.put("arrival_ns", &R::arrival_ns, "From asking for a tile to its arrival from the L2; 0: not known");
  m.put("measured", &R::measured, "Whether the rate was measured");
  m.put("source", &R::source);
  m.optional("assumed", unless_empty(&R::assumed), "Those of these numbers that nobody measured with this kernel");
}

template <typename Members>
void describe(Members& m, Of<AttentionKernel>) {
  using K = AttentionKernel;
  m.put("name", &K::name, "Name of the kernel");
  m.put("title", &K::title, "The same in words");
  m.put("q_tile", &K::q_tile);
  m.put("kv_tiles", &K::kv_tiles, "KV tiles by head dim", [](auto& tile) {
    tile.put("head_dim", &KernelTile::head_dim, "Head dim");
    tile.put("kv_tile", &KernelTile::kv_tile);
    tile.put("stages", &KernelTile::stages, "KV tiles that are loaded ahead; null: not known");
  });
  m.put("schedule", &K::schedule, "How CTAs take Q tiles");
  m.put("order", &K::order, "Order of the KV tiles");
  m.put("ctas_per_sm", &K::ctas_per_sm, "CTAs at a time on an SM");
  m.put("rates", &K::rates, "Measured rates, as a kernel file has them");
  m.put("source", &K::source);
}

/// The calibrated times of kernels.
struct TimesTold {
  const Catalog* catalog;
};

template <typename Members>
void describe(Members& m, Of<TimesTold>) {
  m.put("times", [](const TimesTold& told) -> const auto& { return told.catalog->kernel_costs; },
        "Calibrated times, as data/kernel-times.json has them");
}

}  // namespace natten_sim::report

namespace natten_sim::report::tables {
namespace {

Json kernel_entries(const Catalog& catalog) { return json_of(catalog.kernels); }

Json times_beside(const Catalog& catalog) { return json_of(TimesTold{&catalog}); }

/// One row a kernel's rate.
std::vector<Json> kernel_rows(const Catalog& catalog) {
  std::vector<Json> rows;
  for (const AttentionKernel& kernel : catalog.kernels) {
    const Json fields = json_of(kernel);
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
      text += fmt::format("  {}: {} run{} ({})", pass_name(pass.pass),
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
          .keep = keep_kernel,
          .entry_schema = schema_of<AttentionKernel>,
          .beside_schema = schema_of<TimesTold>};
}

}  // namespace natten_sim::report::tables
