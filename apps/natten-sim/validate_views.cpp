#include "validate_views.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include <natten_sim/core/error.hpp>
#include <natten_sim/validate/order_study.hpp>
#include <natten_sim/validate/regime_map.hpp>

#include "report_text.hpp"

namespace natten_sim::cli {
namespace {

using namespace natten_sim::validate;
using Table = std::vector<std::vector<std::string>>;

Json optional_json(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }
Json optional_json(const std::optional<std::int64_t>& value) { return value ? Json(*value) : Json(nullptr); }

std::string cell(const std::optional<double>& value, const char* format, double scale = 1) {
  return value ? fmt::format(fmt::runtime(format), scale * *value) : "-";
}
std::string cell(const std::optional<std::int64_t>& value) { return value ? std::to_string(*value) : "-"; }

const char* mask_text(bool causal) { return causal ? "causal" : "full"; }

void append(Table& table, std::string& text, const std::string& title) {
  text += (text.empty() ? "" : "\n") + title + "\n" + text_table(table);
}

// --- This kernel beside PyTorch's backends -----------------------------------------------------------------

RegimeMap map_of(const std::string& folder) {
  const std::vector<SdpaRecording> theirs = read_sdpa_recordings(folder);
  std::optional<RegimeMap> map;
  for (const Recording& ours : read_recordings(folder)) {
    if (ours.head.suite != "tiles") continue;
    for (const SdpaRecording& each : theirs) {
      if (each.device.name != ours.head.device.name || each.driver != ours.head.driver) continue;
      if (map) throw InvalidParameter("recorded", folder, "recordings of one device for this view");
      map = regime_map(ours, each);
    }
  }
  if (map && map->cells.empty()) throw InvalidParameter("recorded", folder, "recordings with points");
  if (map) return *map;
  throw InvalidParameter("recorded", folder,
                         "a recording of the suite tiles and one of scripts/time_pytorch_sdpa.py, of one "
                         "device and driver");
}

Json heat_map_row(const RegimeMap& map, const RegimeCell& cell) {
  const Throughput own = cell.own_throughput();
  Json row = {{"device", map.device},
              {"head_dim", cell.problem.head_dim},
              {"heads", cell.problem.heads},
              {"dtype", kernels::to_string(cell.problem.dtype)},
              {"causal", cell.problem.causal},
              {"tokens", cell.problem.tokens},
              {"tflops", optional_json(own.tflops)},
              {"tiles", cell.best ? Json(cell.own[*cell.best].tiles) : Json(nullptr)},
              {"status", own.status}};
  for (std::size_t b = 0; b < sdpa_backends().size(); ++b) {
    const std::string& name = sdpa_backends()[b];
    row[name + "_tflops"] = optional_json(cell.backends.at(b).tflops);
    row[name + "_status"] = cell.backends[b].status;
    row["of_" + name] = optional_json(cell.ratio(b));
  }
  return row;
}

std::string heat_map_text(const RegimeMap& map) {
  std::string text =
      "TFLOP/s of this kernel with its best tiles, and its percentage of PyTorch's backends\n" + map.device +
      ", driver " + map.driver + ", " + map.framework + "\n";
  std::string group;
  Table table;
  const auto flush = [&] {
    if (!table.empty()) append(table, text, group);
    table.clear();
  };
  for (const RegimeCell& cell_of : map.cells) {
    const std::string name =
        std::string(kernels::to_string(cell_of.problem.dtype)) + ", " + mask_text(cell_of.problem.causal);
    if (name != group) {
      flush();
      group = name;
      table.push_back({"head dim", "tokens", "TFLOP/s", "tiles"});
      for (const std::string& backend : sdpa_backends()) table.back().push_back("% of " + backend);
    }
    const Throughput own = cell_of.own_throughput();
    table.push_back({std::to_string(cell_of.problem.head_dim), std::to_string(cell_of.problem.tokens),
                     own.tflops ? fmt::format("{:.0f}", *own.tflops) : own.status,
                     cell_of.best ? cell_of.own[*cell_of.best].tiles : "-"});
    for (std::size_t b = 0; b < sdpa_backends().size(); ++b) {
      const std::optional<double> ratio = cell_of.ratio(b);
      table.back().push_back(ratio ? fmt::format("{:.0f}", 100 * *ratio) : cell_of.backends[b].status);
    }
  }
  flush();
  return text;
}

ValidateView heat_map_view(const std::string& folder) {
  const RegimeMap map = map_of(folder);
  ValidateView view;
  for (const RegimeCell& cell_of : map.cells) view.rows.push_back(heat_map_row(map, cell_of));
  view.empty_row = heat_map_row(map, map.cells.at(0));
  view.text = heat_map_text(map);
  view.svg = svg_heat_map(map);
  return view;
}

Json sensitivity_row(const TilesSensitivity& row) {
  return {{"head_dim", row.head_dim},   {"causal", row.causal},        {"band", row.band},
          {"tiles", row.tiles},         {"cells", row.cells},          {"best", row.best},
          {"mean_loss", row.mean_loss}, {"worst_loss", row.worst_loss}};
}

ValidateView sensitivity_view(const std::string& folder) {
  ValidateView view;
  view.empty_row = sensitivity_row({});
  Table table = {{"head dim", "mask", "context", "tiles", "best in", "of", "mean loss", "worst loss"}};
  for (const TilesSensitivity& row : tiles_sensitivity(map_of(folder))) {
    view.rows.push_back(sensitivity_row(row));
    table.push_back({std::to_string(row.head_dim), mask_text(row.causal), row.band, row.tiles,
                     std::to_string(row.best), std::to_string(row.cells),
                     fmt::format("{:.1f}%", 100 * row.mean_loss),
                     fmt::format("{:.1f}%", 100 * row.worst_loss)});
  }
  append(table, view.text,
         "What tiles lose against the best of each length and dtype; short: up to 2048 tokens");
  return view;
}

Json decision_row(const Decision& row) {
  return {{"head_dim", row.head_dim},
          {"dtype", kernels::to_string(row.dtype)},
          {"causal", row.causal},
          {"from_tokens", row.from_tokens},
          {"to_tokens", row.to_tokens},
          {"fastest", row.fastest},
          {"fastest_tflops", row.fastest_tflops},
          {"of_auto", optional_json(row.of_auto)},
          {"tiles", row.tiles},
          {"own_least", optional_json(row.own_least)},
          {"own_most", optional_json(row.own_most)}};
}

ValidateView decisions_view(const std::string& folder) {
  ValidateView view;
  view.empty_row = decision_row({});
  Table table = {
      {"head dim", "dtype", "mask", "tokens", "fastest", "TFLOP/s", "auto reaches", "our tiles", "reach"}};
  for (const Decision& row : decisions(map_of(folder))) {
    view.rows.push_back(decision_row(row));
    const std::string tokens = row.from_tokens == row.to_tokens
                                   ? std::to_string(row.to_tokens)
                                   : fmt::format("{}..{}", row.from_tokens, row.to_tokens);
    const std::string reach = !row.own_least ? "-"
                              : *row.own_most - *row.own_least < 0.005
                                  ? fmt::format("{:.0f}%", 100 * *row.own_most)
                                  : fmt::format("{:.0f}..{:.0f}%", 100 * *row.own_least, 100 * *row.own_most);
    table.push_back({std::to_string(row.head_dim), kernels::to_string(row.dtype), mask_text(row.causal),
                     tokens, row.fastest, fmt::format("{:.0f}", row.fastest_tflops),
                     cell(row.of_auto, "{:.0f}%", 100), row.tiles, reach});
  }
  append(table, view.text, "The fastest kernel, what PyTorch's own choice and our best tiles reach of it");
  return view;
}

// --- What the order of K and V does ------------------------------------------------------------------------

/// A curve and where it was recorded.
struct PlacedCurve {
  std::string device;
  OrderCurve curve;
  Parting parting;
};
struct Curves {
  std::vector<PlacedCurve> placed;

  [[nodiscard]] std::vector<OrderCurve> curves() const {
    std::vector<OrderCurve> all;
    for (const PlacedCurve& each : placed) all.push_back(each.curve);
    return all;
  }
};

/// The profile of the recorded GPU. One of another size (a slice) or of no profile has no predictions, but
/// is shown all the same: an empty profile.
Device device_of(const Recording& recording, const std::vector<Device>& devices) {
  for (const Device& device : devices) {
    if (device.name != recording.head.device.profile) continue;
    const DeviceValue* const sms = find_value(device, "sms");
    if (sms == nullptr || sms->value == static_cast<double>(recording.head.device.sms)) return device;
  }
  return {};
}

std::vector<Recording> chosen(const std::string& folder, const std::vector<Suite>& suites) {
  std::vector<Recording> recordings;
  for (Recording& recording : read_recordings(folder)) {
    if (std::any_of(suites.begin(), suites.end(),
                    [&](const Suite& suite) { return suite.name == recording.head.suite; })) {
      recordings.push_back(std::move(recording));
    }
  }
  return recordings;
}

Curves curves_of(const std::string& folder, const std::vector<Suite>& suites,
                 const std::vector<Device>& devices) {
  Curves all;
  for (const Recording& recording : chosen(folder, suites)) {
    if (recording.head.suite == "stream" || recording.head.suite == "tiles") continue;
    const Device device = device_of(recording, devices);
    for (const OrderCurve& curve : order_curves(recording, device)) {
      all.placed.push_back({recording.head.device.name, curve, parting_of(curve, device)});
    }
  }
  if (all.placed.empty()) {
    throw InvalidParameter(
        "recorded", folder,
        "recordings with cyclic and sawtooth at three lengths or more (suites sawtooth, reuse)");
  }
  return all;
}

Json misses_row(const PlacedCurve& at, const OrderedPoint& point) {
  return {{"device", at.device},
          {"configuration", at.curve.name},
          {"tokens", point.tokens},
          {"kv_bytes", point.kv_bytes},
          {"cyclic_misses", optional_json(point.cyclic_misses)},
          {"cyclic_predicted", optional_json(point.cyclic_predicted)},
          {"sawtooth_misses", optional_json(point.sawtooth_misses)},
          {"sawtooth_predicted", optional_json(point.sawtooth_predicted)},
          {"saving", optional_json(point.measured_saving())},
          {"saving_predicted", optional_json(point.predicted_saving())}};
}

ValidateView misses_view(const Curves& all) {
  ValidateView view;
  view.empty_row = misses_row({}, {});
  for (const PlacedCurve& at : all.placed) {
    Table table = {
        {"tokens", "K and V, MiB", "cyclic", "predicted", "sawtooth", "predicted", "saving", "predicted"}};
    for (const OrderedPoint& p : at.curve.points) {
      view.rows.push_back(misses_row(at, p));
      table.push_back(
          {std::to_string(p.tokens), fmt::format("{:.1f}", static_cast<double>(p.kv_bytes) / (1 << 20)),
           cell(p.cyclic_misses, "{:.3f}"), cell(p.cyclic_predicted, "{:.3f}"),
           cell(p.sawtooth_misses, "{:.3f}"), cell(p.sawtooth_predicted, "{:.3f}"),
           cell(p.measured_saving(), "{:.1f}%", 100), cell(p.predicted_saving(), "{:.1f}%", 100)});
    }
    append(table, view.text, "DRAM reads over the compulsory ones, " + at.device + ", " + at.curve.name);
  }
  view.svg = svg_charts(miss_charts(all.curves()), 2);
  return view;
}

Json throughput_row(const PlacedCurve& at, const OrderedPoint& point) {
  std::optional<double> gain;
  if (point.cyclic_tflops && point.sawtooth_tflops) gain = *point.sawtooth_tflops / *point.cyclic_tflops - 1;
  return {{"device", at.device},
          {"configuration", at.curve.name},
          {"tokens", point.tokens},
          {"cyclic_tflops", optional_json(point.cyclic_tflops)},
          {"sawtooth_tflops", optional_json(point.sawtooth_tflops)},
          {"gain", optional_json(gain)}};
}

ValidateView throughput_view(const Curves& all) {
  ValidateView view;
  view.empty_row = throughput_row({}, {});
  for (const PlacedCurve& at : all.placed) {
    Table table = {{"tokens", "cyclic", "sawtooth", "gain"}};
    for (const OrderedPoint& p : at.curve.points) {
      const Json row = throughput_row(at, p);
      view.rows.push_back(row);
      table.push_back(
          {std::to_string(p.tokens), cell(p.cyclic_tflops, "{:.1f}"), cell(p.sawtooth_tflops, "{:.1f}"),
           row["gain"].is_null() ? "-" : fmt::format("{:+.1f}%", 100 * row["gain"].get<double>())});
    }
    append(table, view.text, "TFLOP/s, " + at.device + ", " + at.curve.name);
  }
  const std::vector<Chart> charts = throughput_charts(all.curves());
  if (!charts.empty()) view.svg = svg_charts(charts, 2);
  return view;
}

Json parting_row(const PlacedCurve& at) {
  const Parting& parting = at.parting;
  return {{"device", at.device},
          {"configuration", at.curve.name},
          {"last_together", optional_json(parting.last_together)},
          {"first_apart", optional_json(parting.first_apart)},
          {"predicted_together", optional_json(parting.predicted_together)},
          {"predicted_apart", optional_json(parting.predicted_apart)},
          {"predicted_tokens", optional_json(parting.predicted_tokens)}};
}

ValidateView parting_view(const Curves& all) {
  ValidateView view;
  view.empty_row = parting_row({});
  Table table = {
      {"configuration", "together at", "apart at", "predicted together", "apart", "from tokens", "device"}};
  for (const PlacedCurve& at : all.placed) {
    view.rows.push_back(parting_row(at));
    const Parting& p = at.parting;
    table.push_back({at.curve.name, cell(p.last_together), cell(p.first_apart), cell(p.predicted_together),
                     cell(p.predicted_apart), cell(p.predicted_tokens), at.device});
  }
  append(table, view.text, "Where a sawtooth begins to save more than 5% of the DRAM reads of a cyclic walk");
  return view;
}

// --- Few SMs -----------------------------------------------------------------------------------------------

Json active_row(const std::string& device, const ActiveSmsPoint& point) {
  return {{"device", device},
          {"sms", point.sms},
          {"dram_hit_rate", point.dram_hit_rate},
          {"l2_hit_rate", optional_json(point.l2_hit_rate)},
          {"one_minus_1_over_sms", point.lockstep},
          {"predicted_dram_hit_rate", optional_json(point.predicted)},
          {"misses", point.misses}};
}

ValidateView active_view(const std::vector<Recording>& recordings, const std::vector<Device>& devices) {
  ValidateView view;
  view.empty_row = active_row({}, {});
  std::vector<Chart> charts;
  Table table = {
      {"SMs", "L2 hit rate", "1 - 1/SMs", "DRAM hit rate", "predicted", "reads / compulsory", "device"}};
  for (const Recording& recording : recordings) {
    const std::vector<ActiveSmsPoint> points = active_sms(recording, device_of(recording, devices));
    if (points.empty()) continue;
    for (const ActiveSmsPoint& p : points) {
      view.rows.push_back(active_row(recording.head.device.name, p));
      table.push_back({std::to_string(p.sms), cell(p.l2_hit_rate, "{:.4f}"),
                       fmt::format("{:.4f}", p.lockstep), fmt::format("{:.4f}", p.dram_hit_rate),
                       cell(p.predicted, "{:.4f}"), fmt::format("{:.2f}", p.misses),
                       recording.head.device.name});
    }
    for (Chart& chart : active_sms_charts(points, stream_capacities(recording))) charts.push_back(chart);
  }
  if (!charts.empty()) view.svg = svg_charts(charts, 2);
  append(table, view.text, "Hit rates of sectors that L1s load, over the SMs at work (one CTA each)");
  return view;
}

Json capacity_row(const std::string& device, const StreamCapacity& each) {
  return {
      {"device", device}, {"sms", each.sms}, {"buffer_mib", each.buffer_mib}, {"kept_mib", each.kept_mib}};
}

ValidateView capacity_view(const std::vector<Recording>& recordings) {
  ValidateView view;
  view.empty_row = capacity_row({}, {});
  std::map<std::pair<std::string, std::int64_t>, std::map<std::int64_t, std::string>> cells;
  std::map<std::int64_t, bool> buffers;
  for (const Recording& recording : recordings) {
    for (const StreamCapacity& each : stream_capacities(recording)) {
      view.rows.push_back(capacity_row(recording.head.device.name, each));
      cells[{recording.head.device.name, each.sms}][each.buffer_mib] = fmt::format("{:.1f}", each.kept_mib);
      buffers[each.buffer_mib] = true;
    }
  }
  Table table = {{"SMs"}};
  for (const auto& [mib, there] : buffers) table.front().push_back(fmt::format("of {}", mib));
  table.front().emplace_back("device");
  for (const auto& [at, kept] : cells) {
    table.push_back({std::to_string(at.second)});
    for (const auto& [mib, there] : buffers) table.back().push_back(kept.contains(mib) ? kept.at(mib) : "-");
    table.back().push_back(at.first);
  }
  append(table, view.text,
         "MiB that the L2 keeps of a paced sawtooth stream, over the SMs at work and the buffer");
  return view;
}

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text)
    safe += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  return safe;
}

}  // namespace

ValidateView validate_view(const std::string& name, const std::string& folder,
                           const std::vector<Suite>& suites, const std::vector<Device>& devices) {
  if (name == "heat-map") return heat_map_view(folder);
  if (name == "sensitivity") return sensitivity_view(folder);
  if (name == "decisions") return decisions_view(folder);
  if (name == "active-sms" || name == "capacity") {
    ValidateView view = name == "capacity" ? capacity_view(chosen(folder, suites))
                                           : active_view(chosen(folder, suites), devices);
    if (view.rows.empty()) throw InvalidParameter("recorded", folder, "a recording of the suite active-sms");
    return view;
  }
  const Curves all = curves_of(folder, suites, devices);
  if (name == "misses") return misses_view(all);
  if (name == "throughput") return throughput_view(all);
  if (name == "parting") return parting_view(all);
  throw InvalidParameter("view", name, kValidateViews);
}

std::string validate_views_html(const std::string& folder, const std::vector<Suite>& suites,
                                const std::vector<Device>& devices) {
  std::string html;
  for (const std::string name : {"heat-map", "decisions", "sensitivity", "parting", "misses", "throughput",
                                 "active-sms", "capacity"}) {
    try {
      const ValidateView view = validate_view(name, folder, suites, devices);
      html += "<h2>" + name + "</h2>\n" + view.svg + "<pre>" + escaped(view.text) + "</pre>\n";
    } catch (const InvalidParameter&) {
      // The folder has no recordings for this view.
    }
  }
  return html;
}

}  // namespace natten_sim::cli
