#include <fmt/format.h>

#include <natten_sim/report/draw/roofline.hpp>
#include <natten_sim/report/msda_report.hpp>

namespace natten_sim::report {

draw::Picture msda_roofline(const study::MsdaAnswer& answer) {
  const study::MsdaQuestion& question = answer.question;
  const study::MsdaPass& pass = answer.passes.front();
  const double flops = static_cast<double>(pass.flops);
  const std::string tiling = std::string(to_string(question.tiling)) + " tiling";
  draw::Roofline roofline{
      .heading = {"Roofline", fmt::format("{} {}, {}, {}", question.config.name, to_string(question.phase),
                                          tiling, question.device)},
      .bandwidths = {{"DRAM bandwidth", answer.profile.dram_bytes_per_ns}},
      .peaks = {{"fp32 peak", answer.profile.fp32_flops_per_ns}}};
  if (pass.flops > 0) {
    roofline.points.push_back({.label = tiling,
                               .intensity = flops / static_cast<double>(pass.bytes),
                               .rate = flops / pass.time.time_ns});
  }
  return draw::render(roofline);
}

}  // namespace natten_sim::report
