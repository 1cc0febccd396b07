#include <algorithm>
#include <iterator>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/parallel.hpp>
#include <natten_sim/study/recall.hpp>

namespace natten_sim::study {

double MaskRecalls::mean(std::size_t mask) const {
  double sum = 0;
  for (std::size_t unit = 0; unit < layers * heads; ++unit) sum += values[unit * masks + mask];
  return sum / static_cast<double>(layers * heads);
}

double MaskRecalls::least(std::size_t mask) const {
  double least = 1;
  for (std::size_t unit = 0; unit < layers * heads; ++unit)
    least = std::min(least, values[unit * masks + mask]);
  return least;
}

MaskRecalls recalls_of(const std::string& table, const Extents& layout,
                       std::span<const NeighborhoodMask> masks, const Context& context) {
  return recalls_of(OffsetTables("recall", table, layout), layout, masks, context);
}

MaskRecalls recalls_of(OffsetTables tables, const Extents& layout, std::span<const NeighborhoodMask> masks,
                       const Context& context) {
  const MaskRecall recall(layout, masks);
  MaskRecalls found{tables.layers(), tables.heads(), masks.size(), {}};
  const std::size_t heads = found.layers * found.heads, batch = std::max(1U, context.threads);
  found.values.resize(heads * masks.size());
  for (std::size_t begin = 0; begin < heads; begin += batch) {
    poll_now();
    std::vector<std::vector<double>> values(std::min(batch, heads - begin));
    for (std::vector<double>& each : values) each = tables.next();
    run_tasks(values.size(), {.threads = context.threads}, [&](std::size_t i, std::size_t) {
      const std::vector<double> own =
          tables.product() ? recall.of_product(values[i]) : recall.of_table(values[i]);
      std::copy(own.begin(), own.end(),
                found.values.begin() + static_cast<std::ptrdiff_t>((begin + i) * masks.size()));
    });
    if (context.progress)
      context.progress(static_cast<double>(begin + values.size()) / static_cast<double>(heads));
  }
  return found;
}

std::vector<std::size_t> kv_heads_of(const std::vector<std::size_t>& heads, std::size_t heads_per_kv_head) {
  std::vector<std::size_t> of_each, distinct;
  for (const std::size_t head : heads) of_each.push_back(head / heads_per_kv_head);
  std::unique_copy(of_each.begin(), of_each.end(), std::back_inserter(distinct));
  const auto served = [&](std::size_t kv_head) { return std::count(of_each.begin(), of_each.end(), kv_head); };
  const bool alike = std::all_of(distinct.begin(), distinct.end(),
                                 [&](std::size_t each) { return served(each) == served(distinct.front()); });
  return alike ? distinct : of_each;
}

}  // namespace natten_sim::study
