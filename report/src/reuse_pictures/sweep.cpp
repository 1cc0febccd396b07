#include <functional>

#include <natten_sim/report/reuse_picture.hpp>
#include <natten_sim/report/reuse_report.hpp>
#include <natten_sim/report/draw/chart.hpp>

#include "reuse_numbers.hpp"
#include "reuse_pictures.hpp"

namespace natten_sim::report::pictures {
namespace {

using study::ReuseAnswer;
using study::ReuseComparison;

draw::Picture draw_sweep(const ReuseAnswer& answer) {
  draw::CurvePlot picture{
      .heading = {"Misses and sectors over the sequence length", joined(reuse_subject(answer))},
      .x = {.label = "sequence length (tokens)", .unit = draw::Unit::kBinary},
      .y = {.label = "sectors", .scale = draw::Scale::kLog}};
  using Value = std::function<std::optional<std::int64_t>(const ReuseComparison&)>;
  const auto add = [&](const std::string& label, bool dashed, const Value& value) {
    draw::Series series{.label = label, .dashed = dashed};
    for (const ReuseComparison& at : answer.results) {
      const std::optional<std::int64_t> sectors = value(at);
      if (at.seqlen && sectors && *sectors > 0)
        series.points.push_back({static_cast<double>(*at.seqlen), static_cast<double>(*sectors)});
    }
    if (!series.points.empty()) picture.series.push_back(std::move(series));
  };
  const ReuseComparison& head = answer.results.front();
  add("misses, " + walked_order(head.first), false, [](const auto& at) { return at.first.miss_sectors; });
  if (head.second) {
    add("misses, " + walked_order(*head.second), false,
        [](const auto& at) { return at.second->miss_sectors; });
  }
  add("sectors", true, [](const auto& at) { return at.first.sectors.total; });
  add("cold", true, [](const auto& at) { return at.first.cold_sectors; });
  require_points(!picture.series.empty());
  if (head.first.first_noncompulsory_seqlen) {
    picture.marks = {
        {.at = static_cast<double>(*head.first.first_noncompulsory_seqlen), .label = "beyond capacity"}};
  }
  return picture_of(picture);
}

}  // namespace

ReusePicture sweep_picture();
ReusePicture sweep_picture() {
  return {
      .name = "sweep", .position = 30, .what = "misses over lengths", .of_sweep = true, .draw = draw_sweep};
}

}  // namespace natten_sim::report::pictures
