// A picture of `reuse` that the program does not have: the sectors of each operand as bars. This file is all
// there is to it.
#include <string>

#include <natten_sim/report/draw/histogram.hpp>
#include <natten_sim/report/reuse_picture.hpp>

namespace {

using namespace natten_sim;

draw::Picture draw_operands(const study::ReuseAnswer& answer) {
  const study::ReuseSectors& sectors = answer.results.front().first.sectors;
  draw::Histogram picture{.heading = {"Sectors of q, k, v and o", {}}};
  draw::BucketSeries bars{"sectors", {}};
  double at = 1;
  for (const auto& operand : {sectors.q, sectors.k, sectors.v, sectors.o}) {
    bars.buckets.push_back({at, at + 1, static_cast<double>(operand.value_or(0))});
    ++at;
  }
  picture.series.push_back(bars);
  return draw::render(picture);
}

std::string operands_csv(const study::ReuseAnswer& answer) {
  const study::ReuseSectors& sectors = answer.results.front().first.sectors;
  return "q,k,v,o\n" + std::to_string(*sectors.q) + "," + std::to_string(*sectors.k) + "," +
         std::to_string(*sectors.v) + "," + std::to_string(*sectors.o) + "\n";
}

[[maybe_unused]] const report::ReusePicture& kOperands =
    report::add_reuse_picture({.name = "operands",
                               .position = 25,
                               .what = "sectors by operand",
                               .draw = draw_operands,
                               .csv = operands_csv});

}  // namespace
