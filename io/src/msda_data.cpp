#include <utility>

#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/io/msda_data.hpp>
#include <natten_sim/io/strict_object.hpp>

#include "device_atomics.hpp"
#include "embedded_data.hpp"

namespace natten_sim {
namespace {

using Json = StrictObject::Json;

constexpr NumberField<MsdaKernel> kKernelNumbers[] = {{"occupancy", &MsdaKernel::occupancy},
                                                      {"bytes_in_flight", &MsdaKernel::bytes_in_flight},
                                                      {"sectors_per_sample", &MsdaKernel::sectors_per_sample},
                                                      {"read_request_ns", &MsdaKernel::read_request_ns},
                                                      {"read_byte_ns", &MsdaKernel::read_byte_ns},
                                                      {"write_request_ns", &MsdaKernel::write_request_ns},
                                                      {"host_forward_ns", &MsdaKernel::host_forward_ns},
                                                      {"host_backward_ns", &MsdaKernel::host_backward_ns}};

}  // namespace

std::vector<MsdaConfig> read_msda_configs(std::string_view json, const std::string& where) {
  const Json document = parse_strict(json, where, "natten-sim.msda-configs/1");
  std::vector<MsdaConfig> configs;
  for (const Json& entry : StrictObject(document, where, {"schema", "configs"}).array("configs")) {
    const StrictObject fields(
        entry, where,
        {"name", "batch", "height", "width", "strides", "channels", "heads", "points", "queries", "source"});
    MsdaConfig config;
    config.name = fields.text("name");
    config.batch = fields.integer("batch");
    config.height = fields.integer("height");
    config.width = fields.integer("width");
    for (const Json& stride : fields.array("strides"))
      config.strides.push_back(fields.integer_in(stride, "strides"));
    config.channels = fields.integer("channels");
    config.heads = fields.integer("heads");
    config.points = fields.integer("points");
    config.queries = fields.integer("queries");
    config.source = fields.text("source");
    try {
      require_valid(config);
    } catch (const InvalidParameter& error) {
      throw MalformedData(where, error.what(), "a configuration that can be sampled");
    }
    configs.push_back(std::move(config));
  }
  if (configs.empty()) throw MalformedData(where, "no configuration", "at least one");
  return configs;
}

std::vector<MsdaConfig> builtin_msda_configs() {
  return read_msda_configs(embedded::msda_configs, "data/msda-configs.json");
}

MsdaKernel read_msda_kernel(const Json& entry, const std::string& where) {
  const StrictObject fields(
      entry, where,
      keys_of(kKernelNumbers, {"device", "tiling", "borrowed_from", "dram_granule_bytes", "source"}));
  MsdaKernel kernel;
  kernel.tiling = parse_name<MsdaTiling>(fields.text("tiling"));
  kernel.borrowed_from = fields.text_or("borrowed_from", "");
  kernel.dram_granule_bytes = fields.integer("dram_granule_bytes");
  fields.numbers(kKernelNumbers, kernel);
  if (fields.text("source").empty()) fields.fail("source", "where the numbers come from");
  return kernel;
}

void join_msda_kernels(Catalog& catalog) {
  const std::string where = "data/msda-kernels.json";
  const Json document = parse_strict(embedded::msda_kernels, where, "natten-sim.msda-kernels/1");
  for (const Json& entry : StrictObject(document, where, {"schema", "kernels"}).array("kernels")) {
    const std::string name = StrictObject(entry, where).text("device");
    device_to_join(catalog, name, where).msda_kernels.push_back(read_msda_kernel(entry, where));
  }
}

std::vector<MsdaLatency> msda_latencies() {
  const std::string where = "data/msda-paper.json";
  const Json document = parse_strict(embedded::msda_paper, where, "natten-sim.msda-figures/1");
  std::vector<MsdaLatency> latencies;
  for (const auto& [name, table] : {std::pair{"table 10", "table_10"}, std::pair{"table 11", "table_11"}}) {
    const std::string device = document["devices"][document[table]["device"].get<std::string>()];
    const Json& columns = document[table]["columns"];
    const auto column = [&](const std::string& heading) {
      return static_cast<std::size_t>(std::find(columns.begin(), columns.end(), heading) - columns.begin());
    };
    for (const Json& row : document[table]["rows"]) {
      const std::string config = row[0].get<std::string>();
      const Dtype type = parse_name<Dtype>(row[1].get<std::string>());
      for (const std::optional<MsdaTiling> tiling :
           {std::optional(MsdaTiling::kPoint), std::optional(MsdaTiling::kBlock),
            std::optional<MsdaTiling>()}) {
        const std::string kernel = tiling ? to_string(*tiling) : "cuda";
        latencies.push_back({name, device, config, type, tiling,
                             row[column(kernel + "_forward_ms")].get<double>() * 1e6,
                             row[column(kernel + "_backward_ms")].get<double>() * 1e6,
                             config.starts_with("B2_800x1333_d256_L4")});
      }
    }
  }
  return latencies;
}

}  // namespace natten_sim
