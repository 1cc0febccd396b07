#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <natten_sim/core/parallel.hpp>
#include <natten_sim/io/json_text.hpp>
#include <natten_sim/study/msda.hpp>
#include <natten_sim/validate/published/published_row.hpp>

#include "published/known_deviation.hpp"

namespace natten_sim::validate {

/// How far ours / published may be from 1.
struct RatioGoal {
  double tolerance = 0;
  bool is_factor = false;  ///< the inverse counts the same: half is as far off as twice
};

/// One number of a table beside ours.
struct RatioCell {
  std::string figure, item;
  double published = 0, ours = 0;
  RatioGoal goal;
  bool fitted = false;  ///< a constant of this project was fitted to it
  std::string note = "";
  const char* unit = "ms";
  MsdaFacts facts = {};
  bool by_construction = false;
  std::string series = "", axis = "";  ///< where a picture shows it
  std::optional<double> at = std::nullopt;
};

/// Judged by the goal.
[[nodiscard]] PublishedRow ratio_row(RatioCell cell);

/// What a cell of a table asks.
struct MsdaCell {
  std::string config, device;
  MsdaPhase phase = MsdaPhase::kForward;
  MsdaTiling tiling = MsdaTiling::kBlock;
  Dtype dtype = Dtype::kBf16, accumulator = Dtype::kBf16;
  QueryOrder order = QueryOrder::kLinear;
};

/// The tables of data/msda-paper.json, and answers for their cells. Traffic is simulated once for the cells
/// that differ in constants alone.
class MsdaTables {
 public:
  explicit MsdaTables(const study::Context& context);

  /// @throws InvalidParameter for a name that the paper does not use.
  [[nodiscard]] const MsdaConfig& config(const std::string& name) const;
  /// The catalog's name of a card of the paper.
  [[nodiscard]] std::string device(const std::string& card) const { return published_["devices"][card]; }
  [[nodiscard]] const Catalog& catalog() const { return context_.catalog; }
  [[nodiscard]] const Json& table(const std::string& name) const { return published_.at(name); }
  /// The number of a table with columns, in the row that starts with `row`.
  [[nodiscard]] double value(const std::string& table, const std::string& row,
                             const std::string& column) const;
  [[nodiscard]] ContentionPrediction predict(const ContentionPoint& point) const;
  /// The one pass that `cell` asks for.
  [[nodiscard]] study::MsdaAnswer answer(const MsdaCell& cell);
  [[nodiscard]] study::MsdaPass pass(const MsdaCell& cell) { return answer(cell).passes.front(); }

  /// Simulates what the cells need, each once, by the threads of the context.
  void simulate_ahead(const std::vector<MsdaCell>& cells, const ProgressFunction& progress);

  /// A miss with a written reason becomes a known one.
  void add(RatioCell cell);

  std::vector<PublishedRow> rows;  ///< so far

 private:
  using Key = std::tuple<std::string, std::int64_t, std::int64_t, QueryOrder>;
  [[nodiscard]] static Key key(const MsdaCell& cell, const MsdaCache& cache);
  [[nodiscard]] study::MsdaQuestion question_of(const MsdaCell& cell) const;
  using Traffic = std::map<Key, MsdaTraffic>;
  [[nodiscard]] Traffic simulate(const MsdaCell& cell) const;

  Json published_;
  study::Context context_;
  std::vector<MsdaConfig> configs_;
  std::vector<KnownDeviation> known_deviations_;
  Traffic traffic_;
};

}  // namespace natten_sim::validate
