#include <algorithm>
#include <cmath>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/catalog.hpp>
#include <natten_sim/io/attention_kernels.hpp>
#include <natten_sim/io/judged_launches.hpp>
#include <natten_sim/io/kernel_times.hpp>
#include <natten_sim/io/schedule_costs.hpp>
#include <natten_sim/io/strict_object.hpp>
#include <natten_sim/io/tile_physics.hpp>

#include "backward_kernels.hpp"
#include "catalog_reader.hpp"
#include "device_atomics.hpp"
#include "embedded_data.hpp"
#include "natten_releases.hpp"

namespace natten_sim {
namespace {

using Json = StrictObject::Json;  // ordered: tile tables are in the backends' order of preference
using Reader = CatalogReader;

void append_tiles(const Json& table, std::optional<std::int64_t> head_dim, const std::string& variant,
                  const std::string& where, std::vector<BackendTiles>& tiles) {
  if (table.is_array()) {
    for (const Json& entry : table) {
      const Reader reader(entry, where);
      tiles.push_back({{reader.extents("q_tile"), reader.extents("kv_tile")},
                       head_dim,
                       variant.empty() ? reader.text_or("schedule", "") : variant});
    }
    return;
  }
  for (const auto& [key, value] : table.items()) {
    constexpr std::string_view kHeadDim = "head_dim_";
    if (key.starts_with(kHeadDim)) {
      append_tiles(value, std::stoll(key.substr(kHeadDim.size())), variant, where, tiles);
    } else if (key == "1d" || key == "2d" || key == "3d") {
      append_tiles(value, head_dim, variant, where, tiles);
    } else {
      append_tiles(value, head_dim, key, where, tiles);  // a GEMM shape
    }
  }
}

void add_backends(Catalog& catalog, std::string_view json, const std::string& where) {
  const Json document = parse_strict(json, where);
  const Reader reader(document, where);
  for (const auto& [name, entry] : reader.at("backends").items()) {
    const Reader fields(entry, where + ": backend '" + name + "'");
    Backend backend;
    backend.name = name;
    backend.source = reader.text("source");
    backend.architectures = fields.texts("arch");
    if (fields.has("dtypes")) backend.dtypes = fields.texts("dtypes");
    const std::string kv_tiling = fields.text("kv_tiling");
    if (kv_tiling != "static" && kv_tiling != "dynamic") fields.fail("kv_tiling", "static or dynamic");
    backend.kv_tiling = kv_tiling == "static" ? KvTiling::kStatic : KvTiling::kDynamic;
    for (const char* key : {"forward", "forward_by_gemm"}) {
      if (fields.has(key)) append_tiles(fields.at(key), std::nullopt, "", fields.where(), backend.forward);
    }
    for (const char* key : {"backward", "backward_by_gemm"}) {
      if (fields.has(key)) append_tiles(fields.at(key), std::nullopt, "", fields.where(), backend.backward);
    }
    catalog.backends.push_back(std::move(backend));
  }
}

PublishedWindow read_window(const Json& entry, const Preset& preset, const std::string& where) {
  const Reader fields(entry, where, {"window", "dilation", "q_tile", "kv_tile", "strides", "source"});
  PublishedWindow window;
  window.window = fields.extents("window");
  const auto require_all_axes = [&](const char* key, const Extents& values) {
    require_extents(key, values, preset.layout.rank(), 1, kMaxAxisLength);
  };
  require_all_axes("window", window.window);
  if (fields.has("dilation")) {
    window.dilation = fields.extents("dilation");
    require_all_axes("dilation", window.dilation);
  }
  (void)make_mask(preset.layout, window.window, {}, window.dilation);
  if (fields.has("q_tile") || fields.has("kv_tile")) {
    window.tiles = TilePair{fields.extents("q_tile"), fields.extents("kv_tile")};
    require_extents("q_tile", window.tiles->q_tile, preset.layout.rank(), 1, kMaxAxisLength);
    require_extents("kv_tile", window.tiles->kv_tile, preset.layout.rank(), 1, kMaxAxisLength);
  }
  if (fields.has("strides")) {
    for (const Json& stride : fields.array("strides")) {
      window.strides.push_back(fields.extents_in(stride, "strides"));
      require_all_axes("stride", window.strides.back());
      (void)make_mask(preset.layout, window.window, window.strides.back(), window.dilation);
    }
  }
  window.source = fields.text_or("source", "");
  return window;
}

Preset read_preset(const Json& entry, const std::string& where) {
  const Reader fields(entry, where,
                      {"name", "description", "layout", "heads", "head_dim", "causal", "attention_share",
                       "steps", "dense_steps", "windows", "sources"});
  Preset preset;
  preset.name = fields.text("name");
  if (preset.name.empty()) fields.fail("name", "a name");
  preset.description = fields.text_or("description", "");
  preset.layout = fields.extents("layout");
  if (fields.has("heads")) preset.heads = fields.positive("heads");
  if (fields.has("head_dim")) preset.head_dim = fields.positive("head_dim");
  if (fields.has("attention_share")) {
    preset.attention_share = fields.number("attention_share");
    if (!(*preset.attention_share >= 0 && *preset.attention_share <= 1))
      fields.fail("attention_share", "a fraction in 0..1");
  }
  if (fields.has("steps")) preset.steps = fields.positive("steps");
  if (fields.has("dense_steps")) {
    preset.dense_steps = fields.count("dense_steps");
    if (!preset.steps || *preset.dense_steps > *preset.steps)
      fields.fail("dense_steps", "no more than 'steps'");
  }
  if (fields.has("windows")) {
    for (const Json& window : fields.array("windows")) {
      preset.windows.push_back(
          read_window(window, preset, where + ": window of preset '" + preset.name + "'"));
    }
  }
  if (fields.has("sources")) {
    const Reader sources(
        fields.at("sources"), where,
        {"layout", "heads", "head_dim", "causal", "attention_share", "steps", "dense_steps"});
    preset.source = sources.text_or("layout", "");
  }
  return preset;
}

/// Bytes, bytes a second and counts of SMs lie below this.
constexpr std::int64_t kMaxDeviceNumber = std::int64_t{1} << 50;
constexpr std::int64_t kMaxDeviceCount = std::int64_t{1} << 20;

void read_value(const Reader& fields, std::string_view, std::int64_t& value) {
  value = fields.integer("value", {1, kMaxDeviceNumber});
}
void read_value(const Reader& fields, std::string_view, std::int32_t& value) {
  value = static_cast<std::int32_t>(fields.integer("value", {1, kMaxDeviceCount}));
}
/// Rejects implausible values, which would give infinite times.
void read_value(const Reader& fields, std::string_view name, double& value) {
  value = fields.number("value");
  if (name.ends_with("_ns")) {
    if (!(value >= 1e-3 && value <= 1e9)) fields.fail("value", "a time of 0.001 to 1e9 ns");
  } else if (!(value >= 1e3 && value <= 1e21)) {
    fields.fail("value", "a rate of 1e3 to 1e21 a second");
  }
}

/// Quantiles of one quantity, in their order.
void require_ascending(const Device& device, const std::string& where) {
  const auto fields = {std::pair{"dram_tile_ns", &device.dram_tile_ns},
                       std::pair{"dram_tile_p90_ns", &device.dram_tile_p90_ns},
                       std::pair{"dram_tile_p99_ns", &device.dram_tile_p99_ns},
                       std::pair{"dram_tile_p999_ns", &device.dram_tile_p999_ns}};
  const char* below = nullptr;
  double least = 0;
  for (const auto& [name, number] : fields) {
    if (!*number) continue;
    if (below != nullptr && (*number)->value < least) {
      throw MalformedData(
          where, "'" + std::string(name) + "' of device '" + device.name + "' is below '" + below + "'",
          "quantiles that increase");
    }
    below = name;
    least = (*number)->value;
  }
}

/// [SMs, partition] or [SMs, partition, slowness].
LaunchRun read_launch_run(const Json& entry, const Reader& sourced, const Device& device) {
  const auto whole = [&](std::size_t i, std::int64_t least, std::int64_t most) {
    return entry[i].is_number_integer() && entry[i].get<std::int64_t>() >= least &&
           entry[i].get<std::int64_t>() <= most;
  };
  const bool pair = entry.is_array() && (entry.size() == 2 || entry.size() == 3) &&
                    whole(0, 1, kMaxDeviceCount) && device.l2.partitions &&
                    whole(1, 0, device.l2.partitions->value - 1);
  const bool slowness =
      pair && (entry.size() == 2 || (entry[2].is_number() && std::abs(entry[2].get<double>()) < 1));
  if (!slowness) {
    sourced.fail(
        "value",
        "pairs [SMs, number of an L2 partition, from 0], or triples with a slowness between -1 and 1");
  }
  return {entry[0].get<std::int32_t>(), entry[1].get<std::int32_t>(),
          entry.size() == 3 ? entry[2].get<double>() : 0};
}

/// "launch_runs": they add up to the SMs of the device.
void read_launch_runs(const Reader& sourced, Device& device) {
  std::int64_t sms = 0;
  device.launch_runs.emplace();
  for (const Json& entry : sourced.array("value")) {
    device.launch_runs->value.push_back(read_launch_run(entry, sourced, device));
    sms += device.launch_runs->value.back().sms;
  }
  if (!device.sms || sms != device.sms->value) sourced.fail("value", "as many SMs in all as 'sms' says");
  device.launch_runs->measured = sourced.boolean_or("measured", false);
  device.launch_runs->source = sourced.text("source");
}

Device read_device(const Json& entry, const std::string& where) {
  Device device;
  std::vector<std::string> keys = {"name",    "title",        "arch",       "default_backend",
                                   "atomics", "msda_kernels", "msda_costs", "launch_runs"};
  for_each_number(device, [&](const char* name, const auto&) { keys.emplace_back(name); });
  const Reader fields(entry, where, keys);
  device.name = fields.text("name");
  device.title = fields.text_or("title", "");
  device.architecture = fields.text("arch");
  device.default_backend = fields.text("default_backend");
  const auto place = [&](const std::string& key) {
    return where + ": '" + key + "' of device '" + device.name + "'";
  };
  if (fields.has("atomics")) device.atomics = read_atomics(fields.at("atomics"), place("atomics"));
  if (fields.has("msda_kernels")) {
    for (const Json& kernel : fields.array("msda_kernels"))
      device.msda_kernels.push_back(read_msda_kernel(kernel, place("msda_kernels")));
  }
  if (fields.has("msda_costs"))
    device.msda_costs = read_msda_costs(fields.at("msda_costs"), place("msda_costs"));
  for_each_number(device, [&](const char* name, auto& number) {
    if (!fields.has(name)) return;
    const Reader sourced(fields.at(name), place(name), {"value", "measured", "source"});
    number.emplace();
    read_value(sourced, name, number->value);
    number->measured = sourced.boolean_or("measured", false);
    number->source = sourced.text("source");
  });
  require_ascending(device, where);
  if (fields.has("launch_runs"))
    read_launch_runs(Reader(fields.at("launch_runs"), place("launch_runs"), {"value", "measured", "source"}),
                     device);
  return device;
}

/// Replaces an entry of an earlier file; `added` holds the names of this one.
template <typename T>
void replace_or_add(std::vector<T>& table, T entry, std::vector<std::string>& added,
                    const std::string& where) {
  if (std::find(added.begin(), added.end(), entry.name) != added.end()) {
    throw MalformedData(where, "'" + entry.name + "' stands there twice", "each name once");
  }
  added.push_back(entry.name);
  const auto same =
      std::find_if(table.begin(), table.end(), [&](const T& old) { return old.name == entry.name; });
  if (same != table.end()) {
    *same = std::move(entry);
  } else {
    table.push_back(std::move(entry));
  }
}

Catalog parse_builtin_catalog() {
  Catalog catalog;
  add_backends(catalog, embedded::backends, "data/backends.json");
  add_natten_releases(catalog);
  add_presets(catalog, embedded::presets, "data/presets.json");
  for (const embedded::File& file : embedded::devices)
    add_devices(catalog, file.text, std::string(file.path));
  std::sort(catalog.devices.begin(), catalog.devices.end(),
            [](const Device& a, const Device& b) { return a.name < b.name; });
  join_atomics(catalog);
  join_msda_kernels(catalog);
  join_msda_costs(catalog);
  catalog.kernels = parse_kernel_file(embedded::attention_kernels, "data/attention-kernels.json");
  add_kernel_times(catalog, embedded::kernel_times, "data/kernel-times.json");
  add_judged_launches(catalog, embedded::judged_launches, "data/judged-launches.json");
  catalog.physics = parse_tile_physics(embedded::tile_physics, "data/tile-physics.json");
  for (const embedded::File& file : embedded::schedule_costs)
    add_schedule_costs(catalog, file.text, std::string(file.path));
  std::sort(catalog.schedule_costs.begin(), catalog.schedule_costs.end(),
            [](const ScheduleCostSet& a, const ScheduleCostSet& b) { return a.name < b.name; });
  add_backward_kernels(catalog);
  return catalog;
}

}  // namespace

void add_presets(Catalog& catalog, std::string_view json, const std::string& where) {
  const Json document = parse_strict(json, where, "natten-sim.presets/1");
  std::vector<std::string> added;
  for (const Json& entry : Reader(document, where).array("presets")) {
    try {
      replace_or_add(catalog.presets, read_preset(entry, where), added, where);
    } catch (const InvalidParameter& error) {  // a window that the layout does not admit
      throw MalformedData(where, error.what(), "windows that fit the preset's layout");
    }
  }
}

void add_devices(Catalog& catalog, std::string_view json, const std::string& where) {
  const Json document = parse_strict(json, where, "natten-sim.devices/1");
  std::vector<std::string> added;
  for (const Json& entry : Reader(document, where).array("devices")) {
    Device device = read_device(entry, where);
    const bool known =
        std::any_of(catalog.backends.begin(), catalog.backends.end(),
                    [&](const Backend& backend) { return backend.name == device.default_backend; });
    if (!known) {
      throw MalformedData(
          where, "device '" + device.name + "' has the unknown backend '" + device.default_backend + "'",
          "a backend of the catalog");
    }
    replace_or_add(catalog.devices, std::move(device), added, where);
  }
}

Device& device_to_join(Catalog& catalog, const std::string& name, const std::string& where) {
  for (Device& device : catalog.devices) {
    if (device.name == name) return device;
  }
  throw MalformedData(where, "device '" + name + "'", "a device of data/devices/");
}

const Catalog& builtin_catalog() {
  static const Catalog catalog = parse_builtin_catalog();
  return catalog;
}

std::string_view published_gna_figures() { return embedded::gna_dissertation; }
std::string_view published_sawtooth_figures() { return embedded::sawtooth; }
std::string_view published_tiled_attention_figures() { return embedded::tiled_attention; }
std::string_view measured_beside_figures() { return embedded::measured_beside; }

std::string_view published_dash_figures() { return embedded::dash; }
std::string_view published_determinism_figures() { return embedded::flash_attention_determinism; }

}  // namespace natten_sim
