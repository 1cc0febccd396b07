#include <algorithm>
#include <utility>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/core/msda_config.hpp>

#include "embedded_data.hpp"
#include "strict_object.hpp"

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

void require_range(const char* name, std::int64_t value, std::int64_t lo, std::int64_t hi) {
  if (value >= lo && value <= hi) return;
  throw InvalidParameter(name, std::to_string(value), std::to_string(lo) + ".." + std::to_string(hi),
                         std::to_string(value < lo ? lo : hi));
}

}  // namespace

void require_valid(const MsdaConfig& config) {
  require_range("batch", config.batch, 1, 4096);
  require_range("height", config.height, 1, 65536);
  require_range("width", config.width, 1, 65536);
  require_range("levels", config.levels(), 1, 16);
  for (const std::int64_t stride : config.strides)
    require_range("stride", stride, 1, std::min(config.height, config.width));
  require_range("heads", config.heads, 1, 1024);
  require_range("channels", config.channels, config.heads, 65536);
  if (config.channels % config.heads != 0)
    throw InvalidParameter("channels", std::to_string(config.channels), "a multiple of the heads");
  require_range("points", config.points, 1, 64);
  require_range("queries", config.queries, 0, std::int64_t{1} << 24);
  const std::int64_t samples = checked_multiply(
      checked_multiply(config.batch * queries_per_image(config), config.heads * config.levels(), "samples"),
      config.points, "samples");
  if (samples > (std::int64_t{1} << 32))
    throw InvalidParameter("samples", std::to_string(samples), "at most 2^32 sampled locations");
}

std::vector<MsdaLevel> pyramid(const MsdaConfig& config) {
  std::vector<MsdaLevel> levels;
  std::int64_t first = 0;
  for (const std::int64_t stride : config.strides) {
    levels.push_back({config.height / stride, config.width / stride, first});
    first += levels.back().pixels();
  }
  return levels;
}

std::int64_t pixels_per_image(const MsdaConfig& config) {
  const std::vector<MsdaLevel> levels = pyramid(config);
  return levels.back().first + levels.back().pixels();
}

std::int64_t queries_per_image(const MsdaConfig& config) {
  return config.encoder() ? pixels_per_image(config) : config.queries;
}

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
    for (const Json& stride : fields.array("strides")) {
      if (!stride.is_number_integer()) fields.fail("strides", "integers");
      config.strides.push_back(stride.get<std::int64_t>());
    }
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

MsdaKernel msda_kernel(std::string_view device, std::string_view tiling) {
  const std::string where = "data/msda-kernels.json";
  const Json document = parse_strict(embedded::msda_kernels, where, "natten-sim.msda-kernels/1");
  std::vector<std::string> known;
  for (const Json& entry : StrictObject(document, where, {"schema", "kernels"}).array("kernels")) {
    const StrictObject fields(
        entry, where,
        keys_of(kKernelNumbers, {"device", "tiling", "borrowed_from", "dram_granule_bytes", "source"}));
    known.push_back(fields.text("device") + " " + fields.text("tiling"));
    if (fields.text("device") != device || fields.text("tiling") != tiling) continue;
    MsdaKernel kernel;
    kernel.device = device;
    kernel.tiling = tiling;
    kernel.borrowed_from = fields.text("borrowed_from");
    kernel.dram_granule_bytes = fields.integer("dram_granule_bytes");
    fields.numbers(kKernelNumbers, kernel);
    return kernel;
  }
  const std::string name = std::string(device) + " " + std::string(tiling);
  std::string list;
  for (const std::string& entry : known) list += (list.empty() ? "" : ", ") + entry;
  throw UnknownName("device and tiling", name, closest_name(name, known), list);
}

std::vector<MsdaLatency> msda_latencies() {
  const std::string where = "data/msda-paper.json";
  const Json document = parse_strict(embedded::msda_paper, where, "natten-sim.msda-figures/1");
  std::vector<MsdaLatency> latencies;
  for (const auto& [device, table] : {std::pair{"a100", "table_10"}, std::pair{"h100", "table_11"}}) {
    const Json& columns = document[table]["columns"];
    const auto column = [&](const std::string& name) {
      return static_cast<std::size_t>(std::find(columns.begin(), columns.end(), name) - columns.begin());
    };
    for (const Json& row : document[table]["rows"]) {
      const std::string config = row[0].get<std::string>(), type = row[1].get<std::string>();
      for (const char* tiling : {"point", "block", "cuda"}) {
        latencies.push_back({device, config, type, tiling,
                             row[column(std::string(tiling) + "_forward_ms")].get<double>() * 1e6,
                             row[column(std::string(tiling) + "_backward_ms")].get<double>() * 1e6,
                             config.starts_with("B2_800x1333_d256_L4")});
      }
    }
  }
  return latencies;
}

}  // namespace natten_sim
