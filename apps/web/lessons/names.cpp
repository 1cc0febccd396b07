#include <natten_sim/core/device.hpp>
#include <natten_sim/report/json.hpp>
#include <natten_sim/search/schedules/schedule_algorithm.hpp>
#include <natten_sim/study/context.hpp>

#include "cli/context.hpp"
#include "cli/reply.hpp"

namespace natten_sim::cli {
namespace {

struct NamesFlags {
  OutputFlags output;
};

/// The windows that were published for a preset, with their strides.
Json ladders(const Preset& preset) {
  Json all = Json::array();
  for (const PublishedWindow& window : preset.windows) {
    if (!window.tiles || window.strides.empty()) continue;
    Json strides = Json::array();
    for (const Extents& stride : window.strides) strides.push_back(report::to_json(stride));
    all.push_back({{"window", report::to_json(window.window)},
                   {"q_tile", report::to_json(window.tiles->q_tile)},
                   {"kv_tile", report::to_json(window.tiles->kv_tile)},
                   {"strides", strides},
                   {"source", window.source}});
  }
  return all;
}

/// What pages offer to choose from, with the rates that a roofline is drawn with.
int run_names(const NamesFlags& flags, Reply& reply) {
  const study::Context context = study::default_context();
  Json devices = Json::array();
  for (const Device& device : context.catalog.devices) {
    devices.push_back({{"name", device.name},
                       {"title", device.title},
                       {"sms", report::nullable(value_of<std::int64_t>(device.sms))},
                       {"dram_bytes_per_s", report::nullable(value_of<double>(device.dram_bytes_per_s))},
                       {"flops_per_s", report::nullable(value_of<double>(device.dense_bf16_flops_per_s))},
                       {"l2_bytes", report::nullable(value_of<std::int64_t>(device.l2.effective_bytes))},
                       {"atomics", device.atomics.has_value()}});
  }
  Json presets = Json::array();
  for (const Preset& preset : context.catalog.presets) {
    presets.push_back({{"name", preset.name}, {"input", report::to_json(preset.layout)}, {"heads", preset.heads}, {"head_dim", preset.head_dim}, {"ladders", ladders(preset)}});
  }
  Json algorithms = Json::array();
  for (const ScheduleAlgorithm* algorithm : schedule_algorithms()) algorithms.push_back(algorithm->name);
  Json result = {{"devices", devices}, {"presets", presets}, {"algorithms", algorithms}};
  put_answer(flags.output, reply, JsonAnswer("names", Json::object(), std::move(result)));
  return kExitDone;
}

}  // namespace

Command names_lesson();
Command names_lesson() {
  Command command{.name = "names", .summary = "Devices, presets and algorithms"};
  Options<NamesFlags> rows;
  rows.include(output_rows(), &NamesFlags::output);
  bind(command, rows, run_names);
  return command;
}

}  // namespace natten_sim::cli
