#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include <natten_sim/report/described.hpp>
#include <natten_sim/study/scatter.hpp>

namespace natten_sim::report {

// What atomic updates cost, in the answers of `atomics` and `msda`.

struct ScatterCostTold {
  const study::ScatterCost* cost;
  const ContentionProfile* profile;
};

template <typename... Members>
auto of_cost(Members... members) {
  return path(&ScatterCostTold::cost, members...);
}
template <typename... Members>
auto of_load(Members... members) {
  return of_cost(&study::ScatterCost::load, members...);
}
template <typename... Members>
auto of_prediction(Members... members) {
  return of_cost(&study::ScatterCost::prediction, members...);
}
/// Sectors that SMs send, as the L2 counts them.
inline auto in_l2(std::int64_t ContentionPrediction::*sectors) {
  return [sectors](const ScatterCostTold& told) {
    return std::llround(static_cast<double>(told.cost->prediction.*sectors) * told.profile->l2_sector_ratio);
  };
}
inline std::string instruction_name(const study::ScatterCost& cost) {
  return cost.instruction.value_or("forced");
}

template <typename Members>
void describe(Members& m, Of<Remedy>) {
  const auto interval = [](auto member) { return path(&Remedy::interval, member); };
  m.put("name", &Remedy::name, "Name of the remedy; as-is: none");
  m.put("time_ns", &Remedy::time_ns, "Predicted time");
  m.put("extra_bytes", &Remedy::extra_bytes, "Additional memory");
  m.put("bound", &Remedy::bound, "What takes most of the time");
  m.put("effort", &Remedy::effort, "What it asks for");
  m.put("construct", &Remedy::construct, "How the source adds; null: it does not add by atomics");
  m.put("low_ns", interval(&TimeInterval::least_ns), "Lower end of the interval; null: nobody judged it");
  m.put("high_ns", interval(&TimeInterval::most_ns), "Upper end of the interval; null: nobody judged it");
  m.put(
      "judged_runs",
      [](const Remedy& each) { return each.blind ? each.blind->points : decltype(each.blind->points)(0); },
      "Timed runs that judge it");
  m.put("median_ratio", path(&Remedy::blind, &BlindScore::median_ratio),
        "Median of how far off those predictions are, as a factor");
  m.put("worst_ratio", path(&Remedy::blind, &BlindScore::worst_ratio),
        "Worst of how far off those predictions are, as a factor");
}

// Members of a cost, in three groups with members of the whole answer between them.

template <typename Members>
void put_updates(Members& m) {
  m.put("updates", of_load(&ScatterLoad::updates), "Row updates");
  m.optional("addresses", of_cost(&study::ScatterCost::words), "Distinct 32-bit words that are updated");
}

template <typename Members>
void put_atomics(Members& m) {
  using P = ContentionPrediction;
  m.put("cas_retries", of_prediction(&P::cas_retries), "Compare-and-swap attempts that fail");
  m.object("sectors", "32-byte sectors that SMs send", [](auto& sectors) {
    sectors.put("atom", of_prediction(&P::atom_sectors), "By atomics that return a value");
    sectors.put("red", of_prediction(&P::red_sectors), "By reductions, which return none");
  });
  m.put("service_ns_per_update", of_prediction(&P::service_ns_per_update),
        "Time (ns) of one row update at the hottest address");
}

template <typename Members>
void put_cost_details(Members& m) {
  using P = ContentionPrediction;
  m.optional("remedies", of_cost(&study::ScatterCost::remedies), "What would be faster, the fastest first");
  m.object("l2_sectors", "Sectors as the L2 counts them", [](auto& sectors) {
    sectors.put("atom", in_l2(&P::atom_sectors), "By atomics that return a value");
    sectors.put("red", in_l2(&P::red_sectors), "By reductions, which return none");
  });
  m.object("bounds_ns", "Times of which the largest decides", [](auto& bounds) {
    bounds.put("hottest_address", of_prediction(&P::hottest_address_ns),
               "Updates of the hottest address, one after the other");
    bounds.put("slice_throughput", of_prediction(&P::slice_throughput_ns),
               "Reductions in the slices of the L2");
    bounds.put("issue", of_prediction(&P::issue_ns), "Instructions that the SMs issue");
    bounds.put("dram", of_prediction(&P::dram_ns), "Bytes to and from DRAM");
  });
  m.put("launch_ns", of_prediction(&P::launch_ns), "The launch");
  m.put("host_launch_ns", of_prediction(&P::host_launch_ns),
        "Part of it that an operator queued after others does not see");
  m.put("path", of_load(&ScatterLoad::path), "Kind of instruction");
  m.put("vector_width", of_load(&ScatterLoad::vector_width), "Elements per instruction of a thread");
  m.put("instruction", of_cost(&instruction_name), "Instruction; forced: another path was asked for");
  m.put("rows_touched", of_load(&ScatterLoad::rows_touched), "Distinct rows that are updated");
  m.put("serial_multiplicity", of_load(&ScatterLoad::serial_multiplicity),
        "Updates of the hottest row that follow each other");
  m.put("collapsed", of_prediction(&P::collapsed), "Whether all warps in flight pile up on one line");
  m.put("contenders", of_prediction(&P::contenders), "Warps in flight on the line of the hottest address");
  m.put("changing_share", of_prediction(&P::changing_share),
        "Share of additions that change their word, 0..1");
}

}  // namespace natten_sim::report
