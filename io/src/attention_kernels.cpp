#include "attention_kernels.hpp"

#include <natten_sim/core/names.hpp>

#include "catalog_reader.hpp"

namespace natten_sim {
namespace {

using Json = StrictObject::Json;
using Reader = CatalogReader;

KernelRate read_rate(const Json& entry, const std::string& where) {
  const Reader fields(entry, where,
                      {"device", "head_dim", "flops_per_s", "tokens", "heads", "lone_share", "slot_skew",
                       "jitter", "score_share", "arrival_ns", "measured", "source", "assumed"});
  const KernelRate rate{fields.text("device"),
                        fields.positive("head_dim"),
                        fields.number("flops_per_s"),
                        fields.positive("tokens"),
                        fields.positive("heads"),
                        fields.number("lone_share"),
                        fields.number("slot_skew"),
                        fields.number("jitter"),
                        fields.has("score_share") ? fields.number("score_share") : 0.5,
                        fields.has("arrival_ns") ? fields.number("arrival_ns") : 0,
                        fields.boolean("measured"),
                        fields.text("source"),
                        fields.has("assumed") ? fields.texts("assumed") : std::vector<std::string>{}};
  for (const std::string& name : rate.assumed) {
    if (!fields.has(name.c_str())) fields.fail("assumed", "names of numbers of the rate");
  }
  if (!(rate.flops_per_s > 0)) fields.fail("flops_per_s", "a positive number");
  if (!(rate.score_share > 0 && rate.score_share < 1)) fields.fail("score_share", "between 0 and 1");
  if (!(rate.arrival_ns >= 0)) fields.fail("arrival_ns", "0 or more");
  return rate;
}

/// A value of an enumeration, by its name.
template <Named E>
E read_name(const Reader& fields, const char* key) {
  const std::string text = fields.text(key);
  for (const Name<E>& entry : NamesOf<E>::kTable) {
    if (text == entry.name) return entry.value;
  }
  fields.fail(key, joined(names_of<E>()).c_str());
}

AttentionKernel read_kernel(const Json& entry, const std::string& where) {
  const Reader fields(
      entry, where,
      {"name", "title", "q_tile", "kv_tiles", "schedule", "order", "ctas_per_sm", "rates", "source"});
  AttentionKernel kernel;
  kernel.name = fields.text("name");
  kernel.title = fields.text("title");
  kernel.q_tile = fields.positive("q_tile");
  for (const Json& tile : fields.array("kv_tiles")) {
    const Reader pair(tile, where, {"head_dim", "kv_tile", "stages"});
    kernel.kv_tiles.push_back({pair.positive("head_dim"), pair.positive("kv_tile"), std::nullopt});
    if (pair.has("stages")) kernel.kv_tiles.back().stages = pair.positive("stages");
  }
  if (kernel.kv_tiles.empty()) fields.fail("kv_tiles", "one KV tile or more");
  kernel.schedule = read_name<CtaSchedule>(fields, "schedule");
  kernel.order = read_name<KvOrder>(fields, "order");
  kernel.ctas_per_sm = fields.positive("ctas_per_sm");
  for (const Json& rate : fields.array("rates")) kernel.rates.push_back(read_rate(rate, where));
  kernel.source = fields.text("source");
  return kernel;
}

}  // namespace

void add_kernels(Catalog& catalog, std::string_view json, const std::string& where) {
  const Json document = parse_strict(json, where, "natten-sim.attention-kernels/1");
  for (const Json& entry : Reader(document, where).array("kernels"))
    catalog.kernels.push_back(read_kernel(entry, where));
}

}  // namespace natten_sim
