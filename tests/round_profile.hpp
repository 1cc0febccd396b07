#pragma once

#include <natten_sim/models/scatter/contention_fit.hpp>

namespace natten_sim::test {

/// A device with round numbers: issue 1 ns a warp, red 10 ns, cas 20 ns, 100 warps in flight, round trip 50
/// ns.
inline ContentionProfile round_profile() {
  ContentionProfile profile;
  profile.device = "round";
  profile.sms = 10;
  profile.dram_bytes_per_ns = 1000;
  profile.l2_bytes = 1e9;
  profile.warps_per_sm = 1000;
  profile.round_trip_ns = 50;
  profile.launch_ns = 7;
  profile.issue_red_ns = profile.issue_cas_ns = 1;
  profile.red_service_ns = 10;
  profile.cas_service_ns = 20;
  profile.warps_in_flight = 10;
  profile.slice_sectors_per_ns = 100;
  return profile;
}

}  // namespace natten_sim::test
