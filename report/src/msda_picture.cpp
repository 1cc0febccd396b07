#include <fmt/format.h>

#include <natten_sim/report/draw/roofline.hpp>
#include <natten_sim/report/pictures.hpp>

#include "scatter_picture.hpp"

namespace natten_sim::report {
namespace {

using study::Context;
using study::MsdaAnswer;

draw::Picture draw_roofline(const MsdaAnswer& answer, const Context&) {
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

draw::Picture draw_histogram(const MsdaAnswer& answer, const Context&) {
  return collision_picture(answer.passes.front().traffic.collisions, answer.question.config.name);
}

draw::Picture draw_remedies(const MsdaAnswer& answer, const Context&) {
  return remedies_picture(*answer.passes.front().updates->remedies, answer.question.config.name);
}

bool is_backward(const MsdaAnswer& answer) { return answer.question.phase == MsdaPhase::kBackward; }
constexpr const char* kBackward = "a backward pass: a forward pass adds nothing";

}  // namespace

const PictureKinds<MsdaAnswer>& msda_pictures() {
  static const PictureKinds<MsdaAnswer> kinds = {
      {.name = "roofline", .what = "the pass under the device's roofline", .draw = draw_roofline},
      {.name = "histogram", .what = kHistogramDraws, .draw = draw_histogram, .fits = is_backward, .needs = kBackward},
      {.name = "remedies", .what = kRemediesDraw, .draw = draw_remedies, .fits = is_backward, .needs = kBackward}};
  return kinds;
}

}  // namespace natten_sim::report
