#include <algorithm>

#include <fmt/format.h>

#include <natten_sim/report/pictures.hpp>
#include <natten_sim/report/draw/chart.hpp>

namespace natten_sim::report {
namespace {

using study::ExplainAnswer;
using study::ExplainedKernel;

bool has_reads(const ExplainAnswer& answer) {
  return std::any_of(answer.kernels.begin(), answer.kernels.end(),
                     [](const ExplainedKernel& kernel) { return kernel.read.has_value(); });
}

draw::Picture draw_reads(const ExplainAnswer& answer, const study::Context&) {
  draw::DotPlot plot{.heading = {"DRAM reads", answer.device.value_or("")},
                     .value = {.label = "bytes read from DRAM", .unit = draw::Unit::kBytes},
                     .series = {"measured", "predicted", "Q, K and V once"}};
  std::vector<double> values;
  std::size_t number = 0;
  for (const ExplainedKernel& kernel : answer.kernels) {
    ++number;
    if (!kernel.read) continue;
    const study::ExplainedReads& read = *kernel.read;
    plot.rows.push_back({fmt::format("{}. {}", number, kernel.title),
                         {read.measured_bytes, read.predicted_bytes(), read.compulsory_bytes}});
    values.insert(values.end(), {read.predicted_bytes(), read.compulsory_bytes});
  }
  plot.value.scale = draw::scale_for(values);
  return picture_of(plot);
}

}  // namespace

const PictureKinds<ExplainAnswer>& explain_pictures() {
  static const PictureKinds<ExplainAnswer> kinds = {
      {.name = "reads",
       .what = "DRAM reads of each kernel: measured, predicted, and what cannot be saved",
       .draw = draw_reads,
       .fits = has_reads,
       .needs = "a kernel whose reads are predicted"}};
  return kinds;
}

}  // namespace natten_sim::report
