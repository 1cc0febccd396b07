#include <natten_sim/io/attention_kernels.hpp>

#include <algorithm>
#include <utility>

#include <natten_sim/core/names.hpp>
#include <natten_sim/io/catalog.hpp>
#include <natten_sim/io/files.hpp>
#include <natten_sim/io/json_text.hpp>

#include "backward_kernels.hpp"
#include "catalog_reader.hpp"

namespace natten_sim {
namespace {

using Json = StrictObject::Json;
using Reader = CatalogReader;

constexpr const char* kAxisNames = "q-tiles, heads and batch at most once, for the axes of the grid";

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

/// ["q-tiles", "heads"]: what each axis of the grid counts.
KernelGrid read_grid(const Reader& fields) {
  const std::vector<std::string> axes = fields.texts("grid");
  KernelGrid grid;
  constexpr std::size_t kAxes = 3;
  for (std::size_t axis = 0; axis < axes.size() && axis < kAxes; ++axis) {
    std::optional<std::size_t>* counted = axes[axis] == "q-tiles" ? &grid.q_tiles
                                          : axes[axis] == "heads" ? &grid.heads
                                          : axes[axis] == "batch" ? &grid.batch
                                                                  : nullptr;
    if (counted == nullptr || *counted) fields.fail("grid", kAxisNames);
    *counted = axis;
  }
  if (axes.size() > kAxes) fields.fail("grid", kAxisNames);
  return grid;
}

AttentionKernel read_kernel(const Json& entry, const std::string& where) {
  const Reader fields(entry, where,
                      {"name", "title", "q_tile", "kv_tiles", "schedule", "order", "ctas_per_sm", "rates", "source",
                       "launch", "longest_first", "masking", "dtype", "architectures", "grid", "names", "backward"});
  AttentionKernel kernel;
  kernel.name = fields.text("name");
  kernel.title = fields.text("title");
  kernel.q_tile = fields.positive("q_tile");
  for (const Json& tile : fields.array("kv_tiles")) {
    const Reader pair(tile, where, {"head_dim", "kv_tile", "stages"});
    if (kernel.tile_of(pair.positive("head_dim")) != nullptr) fields.fail("kv_tiles", "one for each head dim");
    kernel.kv_tiles.push_back({pair.positive("head_dim"), pair.positive("kv_tile"), std::nullopt});
    if (pair.has("stages")) kernel.kv_tiles.back().stages = pair.positive("stages");
  }
  if (kernel.kv_tiles.empty()) fields.fail("kv_tiles", "one KV tile or more");
  kernel.schedule = read_name<CtaSchedule>(fields, "schedule");
  kernel.order = read_name<KvOrder>(fields, "order");
  kernel.ctas_per_sm = fields.positive("ctas_per_sm");
  if (fields.has("rates")) {
    for (const Json& rate : fields.array("rates")) kernel.rates.push_back(read_rate(rate, where));
  }
  kernel.source = fields.text("source");
  if (fields.has("launch")) kernel.launch = read_name<LaunchOrder>(fields, "launch");
  if (fields.has("longest_first")) kernel.longest_first = fields.boolean("longest_first");
  if (fields.has("masking")) kernel.masking = read_name<KernelMasking>(fields, "masking");
  if (fields.has("dtype")) kernel.dtype = read_name<Dtype>(fields, "dtype");
  if (fields.has("architectures")) kernel.architectures = fields.texts("architectures");
  if (fields.has("names")) kernel.names = fields.texts("names");
  if (fields.has("grid")) kernel.grid = read_grid(fields);
  if (fields.has("backward")) kernel.backward = read_backward_member(fields, kernel);
  return kernel;
}

/// As read_grid() has them: up to the last axis that counts something.
std::vector<std::string> axes_of(const KernelGrid& grid) {
  std::vector<std::string> axes;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (grid.q_tiles == axis) axes.emplace_back("q-tiles");
    if (grid.heads == axis) axes.emplace_back("heads");
    if (grid.batch == axis) axes.emplace_back("batch");
  }
  return axes;
}

Json rate_json(const KernelRate& rate) {
  Json fields = {{"device", rate.device},
                 {"head_dim", rate.head_dim},
                 {"flops_per_s", rate.flops_per_s},
                 {"tokens", rate.tokens},
                 {"heads", rate.heads},
                 {"lone_share", rate.lone_share},
                 {"slot_skew", rate.slot_skew},
                 {"jitter", rate.jitter},
                 {"score_share", rate.score_share},
                 {"arrival_ns", rate.arrival_ns},
                 {"measured", rate.measured},
                 {"source", rate.source}};
  if (!rate.assumed.empty()) fields["assumed"] = rate.assumed;
  return fields;
}

}  // namespace

std::vector<AttentionKernel> parse_kernel_file(std::string_view json, const std::string& where) {
  const Json document = parse_strict(json, where, kKernelFileSchema);
  const Reader file(document, where);
  if (file.array("kernels").empty()) file.fail("kernels", "one kernel or more");
  std::vector<AttentionKernel> kernels;
  for (const Json& entry : file.array("kernels")) {
    kernels.push_back(read_kernel(entry, where));
    const auto same = [&](const AttentionKernel& each) { return each.name == kernels.back().name; };
    if (std::count_if(kernels.begin(), kernels.end(), same) > 1) file.fail("kernels", "each name once");
  }
  return kernels;
}

void add_kernel(Catalog& catalog, const AttentionKernel& kernel) {
  std::erase_if(catalog.kernels, [&](const AttentionKernel& each) { return each.name == kernel.name; });
  catalog.kernels.push_back(kernel);
}

Json to_json(const AttentionKernel& kernel) {
  Json tiles = Json::array(), rates = Json::array();
  for (const KernelTile& tile : kernel.kv_tiles) {
    tiles.push_back({{"head_dim", tile.head_dim}, {"kv_tile", tile.kv_tile}});
    if (tile.stages) tiles.back()["stages"] = *tile.stages;
  }
  for (const KernelRate& rate : kernel.rates) rates.push_back(rate_json(rate));
  Json fields = {{"name", kernel.name},
                 {"title", kernel.title},
                 {"q_tile", kernel.q_tile},
                 {"kv_tiles", tiles},
                 {"schedule", to_string(kernel.schedule)},
                 {"launch", to_string(kernel.launch)},
                 {"order", to_string(kernel.order)},
                 {"longest_first", kernel.longest_first},
                 {"ctas_per_sm", kernel.ctas_per_sm}};
  if (kernel.masking != KernelMasking::kPartialTiles) fields["masking"] = to_string(kernel.masking);
  if (kernel.dtype) fields["dtype"] = to_string(*kernel.dtype);
  if (!kernel.architectures.empty()) fields["architectures"] = kernel.architectures;
  if (!kernel.names.empty()) fields["names"] = kernel.names;
  if (kernel.grid.q_tiles || kernel.grid.heads || kernel.grid.batch) fields["grid"] = axes_of(kernel.grid);
  fields["rates"] = rates;
  if (kernel.backward) fields["backward"] = backward_member(*kernel.backward);
  fields["source"] = kernel.source;
  return fields;
}

std::string kernel_file_text(const std::vector<AttentionKernel>& kernels) {
  std::string text = "{\n  \"schema\": " + json_text(Json(kKernelFileSchema)) + ",\n  \"kernels\": [";
  for (const AttentionKernel& kernel : kernels) {
    text += &kernel == &kernels.front() ? "{\n" : ", {\n";
    const Json fields = to_json(kernel);
    std::size_t written = 0;
    for (const auto& [name, value] : fields.items()) {
      text += "    " + json_text(Json(name)) + ": " + json_text(value);
      text += ++written < fields.size() ? ",\n" : "\n";
    }
    text += "  }";
  }
  return text + "]\n}\n";
}

namespace {

bool is_kernel_file(const std::string& text) {
  return text == "-" || text.find('/') != std::string::npos || text.ends_with(".json") ||
         text.find(".json#") != std::string::npos;
}

std::vector<AttentionKernel> read_kernels(const std::string& parameter, const std::string& path) {
  std::vector<AttentionKernel> kernels =
      parse_kernel_file(natten_sim::read_text(parameter, path, kMaxCatalogBytes), "kernel file " + path);
  for (AttentionKernel& kernel : kernels) kernel.file = path;
  return kernels;
}

/// Whether it is the kernel of that name that ships.
bool ships(const AttentionKernel& kernel) {
  const std::vector<AttentionKernel>& shipped = builtin_catalog().kernels;
  return std::any_of(shipped.begin(), shipped.end(), [&](const AttentionKernel& each) {
    return each.name == kernel.name && to_json(each) == to_json(kernel);
  });
}

}  // namespace

KernelChoice parse_kernel_choice(const std::string& parameter, const std::string& text) {
  if (!is_kernel_file(text)) return text;
  const std::size_t mark = text.rfind(".json#");
  const std::string path = mark == std::string::npos ? text : text.substr(0, mark + 5);
  const std::optional<std::string> wanted =
      mark == std::string::npos ? std::nullopt : std::optional(text.substr(mark + 6));
  const std::vector<AttentionKernel> kernels = read_kernels(parameter, path);
  std::vector<std::string> names;
  for (const AttentionKernel& kernel : kernels) {
    names.push_back(kernel.name);
    if (wanted ? kernel.name != *wanted : kernels.size() > 1) continue;
    KernelChoice choice = kernel.name;
    choice.file = text;
    if (!ships(kernel)) choice.own = std::make_shared<const AttentionKernel>(kernel);
    return choice;
  }
  if (wanted) throw UnknownName(parameter, text, closest_name(*wanted, names), joined(names));
  throw InvalidParameter(parameter, text + ", a file of several kernels", path + "#NAME with one of " + joined(names));
}

std::vector<AttentionKernel> kernels_of(const std::string& parameter, const std::string& text) {
  return is_kernel_file(text) ? read_kernels(parameter, text)
                              : std::vector<AttentionKernel>{builtin_catalog().kernel(text)};
}

}  // namespace natten_sim
