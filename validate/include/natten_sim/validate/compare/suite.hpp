#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <natten_sim/validate/cases/case.hpp>

namespace natten_sim::validate {

/// Points that are measured together, with which counters are read, which deviation of a prediction is
/// tolerated, and which misses are known. A suite is a file, data/suites/<suite>.json: a sweep lists values of
/// parameters and stands for their product.

/// A tolerated deviation (relative; of savings the difference) for models and groups whose names contain
/// `model` and `group` (empty: all of them). The first that fits counts.
struct Tolerance {
  std::string counter;
  std::string model;
  std::string group;
  double relative = 0;
};

/// A miss that was looked into: of the points whose key contains `point`, as many as `points` may deviate by
/// up to `worst` from that model. The first that fits counts. One more than that was not looked into.
struct KnownMiss {
  std::string counter;
  std::string model;
  std::string point;
  double worst = 0;
  std::size_t points = 0;  ///< in one recording
  std::string cause;
};

struct Suite {
  std::string name;
  std::string title;
  std::int64_t place = 0;             ///< in lists, ascending; those of one place by name
  std::vector<std::string> counters;  ///< labels; read together in one pass
  bool timed = true;                  ///< whether times are measured too
  bool paced = false;                 ///< whether the pace of CTAs is measured too
  std::vector<Point> points;
  std::vector<Tolerance> tolerances;
  std::vector<KnownMiss> known_misses;
};

/// From the format of data/suites; strict keys, no point twice. @throws MalformedData.
[[nodiscard]] Suite parse_suite(std::string_view json, const std::string& where);

/// What ships with the program, and what was registered besides (RegisteredSuite), by place and name.
[[nodiscard]] const std::vector<Suite>& builtin_suites();

/// @throws UnknownName with the closest name.
[[nodiscard]] const Suite& find_suite(const std::vector<Suite>& suites, const std::string& name);

}  // namespace natten_sim::validate
