#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <natten_sim/kernels/attention.hpp>
#include <natten_sim/validate/stream_point.hpp>

namespace natten_sim::validate {

/// What is run and measured: points (a kernel with all its parameters), collected in suites that state which
/// counters are read, which deviation of a prediction is tolerated, and which misses are known. Suites are
/// data (data/validation.json): a sweep lists values of parameters and stands for their product.

struct AttentionPoint {
  kernels::AttentionProblem problem;
  kernels::AttentionVariant variant;
};

using Point = std::variant<StreamPoint, AttentionPoint>;

/// One line that names the point and nothing else: equal for equal points, the identity in recordings.
/// "attention b1 h1/1 s16384 d128 bf16 causal 128x64x2 2 CTAs persistent cyclic".
[[nodiscard]] std::string key_of(const Point& point);

/// A point in words, `name=value` each, with the names of data/validation.json: for kernels of others, so
/// tiles need not be ones that are built. @throws InvalidParameter, MalformedData naming the word.
[[nodiscard]] Point parse_point_words(const std::vector<std::string>& words);

/// Points of which errors are stated together: "stream cyclic, paced", "attention full cyclic".
[[nodiscard]] std::string group_of(const Point& point);

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
  std::vector<std::string> counters;  ///< labels; read together in one pass
  bool timed = true;                  ///< whether times are measured too
  bool paced = false;                 ///< whether the pace of CTAs is measured too
  std::vector<Point> points;
  std::vector<Tolerance> tolerances;
  std::vector<KnownMiss> known_misses;
};

/// From the format of data/validation.json; strict keys, no point twice in a suite. @throws MalformedData.
[[nodiscard]] std::vector<Suite> parse_suites(std::string_view json, const std::string& where);

/// What ships with the program.
[[nodiscard]] const std::vector<Suite>& builtin_suites();

/// @throws UnknownName with the closest name.
[[nodiscard]] const Suite& find_suite(const std::vector<Suite>& suites, const std::string& name);

}  // namespace natten_sim::validate
