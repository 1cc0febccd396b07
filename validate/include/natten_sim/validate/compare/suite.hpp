#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <natten_sim/validate/cases/case.hpp>
#include <natten_sim/validate/compare/score.hpp>

namespace natten_sim::validate {

/// A suite lists points that are measured together, the counters to read, the tolerated deviations of
/// predictions and the known misses. It is a file, data/suites/<suite>.json, in which a sweep lists values of
/// parameters and stands for their product.

/// A tolerated deviation for models and groups whose names contain `model` and `group`; empty names mean all.
/// It bounds by how much the larger of predicted / measured and its inverse exceeds 1, and for savings the
/// difference. The first entry that fits counts. Without
/// `score` each point is judged; with it all points that the entry fits are judged together: their score may
/// not fall below the stored one, and no known miss excuses any of them.
struct Tolerance {
  std::string counter;
  std::string model;
  std::string group;
  double relative = 0;
  std::optional<Score> score;
};

/// A miss that was investigated. Of the points whose key contains `point`, at most `points` may deviate from
/// that model by up to `worst`; any further one is a new miss. The first entry that fits counts.
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
  std::int64_t place = 0;             ///< place in lists, ascending; ties by name
  std::vector<std::string> counters;  ///< labels; read together in one pass
  bool timed = true;                  ///< whether times are measured too
  bool paced = false;                 ///< whether the pace of CTAs is measured too
  bool fitted = false;                ///< whether constants of the model were fitted to its points
  double rest = 0;                    ///< before each timed launch, in durations of a launch
  std::vector<Point> points;
  std::vector<Tolerance> tolerances;
  std::vector<KnownMiss> known_misses;
};

/// Reads the format of data/suites. Keys are strict, and no point may occur twice. @throws MalformedData.
[[nodiscard]] Suite parse_suite(std::string_view json, const std::string& where);

/// The suites that ship with the program and those that were registered (RegisteredSuite), by place and name.
[[nodiscard]] const std::vector<Suite>& builtin_suites();

/// Their names, in the same order, without making their points: help and completion need no more.
[[nodiscard]] std::vector<std::string> builtin_suite_names();

/// @throws UnknownName with the closest name.
[[nodiscard]] const Suite& find_suite(const std::vector<Suite>& suites, const std::string& name);

}  // namespace natten_sim::validate
