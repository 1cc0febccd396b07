#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <natten_sim/io/catalog.hpp>
#include <natten_sim/validate/compare/comparison.hpp>

#include "places.hpp"

namespace natten_sim::test {

/// The recordings that are shipped and their comparison in closed form, each made once a test program.

inline const std::vector<validate::Recording>& shipped_recordings() {
  static const std::vector<validate::Recording> all =
      validate::read_recordings(std::string(natten_sim::test::kSourceDir) + "/data/recordings");
  return all;
}

/// Suites whose models take from 3 to 250 ms a point. They are compared whole in nightly tests.
inline bool is_slow(const std::string& suite) {
  static const std::set<std::string> slow = {"backward",  "backward-costs", "backward-masks", "backward-spread",
                                             "gna",       "gna-costs",      "gna-extra",      "schedules",
                                             "second-gpu-gna", "backward-sections", "sections-draw"};
  return slow.contains(suite) || suite.starts_with("msda") || suite.starts_with("scatter");
}

/// All of them, of slow suites every 48th row.
inline const std::vector<validate::Recording>& quick_recordings() {
  static const std::vector<validate::Recording> quick = [] {
    std::vector<validate::Recording> made = shipped_recordings();
    for (validate::Recording& recording : made) {
      if (!is_slow(recording.head.suite)) continue;
      std::vector<validate::RecordedRow> kept;
      for (std::size_t i = 0; i < recording.rows.size(); i += 48) kept.push_back(recording.rows[i]);
      recording.rows = kept;
    }
    return made;
  }();
  return quick;
}

inline validate::Comparison compare_closed(const std::vector<validate::Recording>& recordings) {
  return validate::compare(recordings, validate::builtin_suites(), builtin_catalog().devices);
}
inline const validate::Comparison& quick_comparison() {
  static const validate::Comparison made = compare_closed(quick_recordings());
  return made;
}
/// Takes two minutes.
inline const validate::Comparison& whole_comparison() {
  static const validate::Comparison made = compare_closed(shipped_recordings());
  return made;
}

}  // namespace natten_sim::test
