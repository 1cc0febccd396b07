#include <algorithm>
#include <cmath>
#include <variant>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/study/estimate.hpp>

namespace natten_sim::study {
namespace {

/// Numbers of the rows of one stretch, phases, tables.
constexpr double kOfEveryScatter = 600e3;

/// The table of counts by row (RowTally): an entry of 24 bytes per row that receives something, twice as many
/// places as entries, half as many again while it grows; at most an array of 20 bytes per row and the last table.
double tally_bytes(double rows, double distinct) {
  constexpr double kEntry = 24, kOfArray = 20, kSmallTable = 65536, kTouched = 0.125;
  if (rows <= kSmallTable) return (kOfArray + kTouched) * rows;
  double places = 4096;
  while (2 * distinct > places) {
    if (2 * places * kEntry >= rows * kOfArray) return places * kEntry + (kOfArray + kTouched) * rows;
    places *= 2;
  }
  return 1.5 * places * kEntry + kTouched * rows;
}

/// Sum of k^-s from `first` to `last`, by its integral.
double power_sum(double first, double last, double s) {
  if (last < first) return 0;
  const double a = first - 0.5, b = last + 0.5;
  return s == 1 ? std::log(b / a) : (std::pow(b, 1 - s) - std::pow(a, 1 - s)) / (1 - s);
}

/// Rows that are drawn at least once, on average: all whose expected updates are one or more, and of the others
/// as many as their expected updates.
double drawn_rows(const IndexDistribution& distribution, double rows, double updates) {
  if (const auto* hot = std::get_if<HotRows>(&distribution))
    return std::min({static_cast<double>(hot->count), rows, updates});
  const auto* zipf = std::get_if<ZipfRows>(&distribution);
  if (zipf == nullptr || zipf->exponent == 0) return -rows * std::expm1(-updates / rows);
  const double s = zipf->exponent, all = power_sum(1, rows, s);
  const double often = std::clamp(std::pow(updates / all, 1 / s), 1.0, rows);
  return std::min({rows, updates, often + updates / all * power_sum(often + 1, rows, s)});
}

}  // namespace

std::optional<Estimate> estimate(const ScatterQuestion& question) {
  if (std::holds_alternative<GivenRows>(question.source) && !question.updates) return std::nullopt;
  const auto rows = static_cast<double>(question.rows);
  const auto updates = static_cast<double>(question.updates.value_or(kGeneratedUpdates));
  const auto* drawn = std::get_if<IndexDistribution>(&question.source);
  const bool zipf = drawn != nullptr && std::holds_alternative<ZipfRows>(*drawn);
  const std::int64_t row_bytes = checked_multiply(question.width, element_bytes(question.dtype), "row_bytes");
  Estimate estimate;
  estimate.steps = updates;
  if (zipf) estimate.steps += 3 * rows;
  if (question.details.addresses && row_bytes % 4 != 0) estimate.steps += rows;
  estimate.bytes = kOfEveryScatter +
                   tally_bytes(rows, drawn != nullptr ? drawn_rows(*drawn, rows, updates) : std::min(rows, updates));
  if (zipf) estimate.bytes += 12 * rows;
  estimate.option = "rows";
  estimate.value = std::to_string(question.rows);
  return estimate;
}

Estimate estimate(const MsdaQuestion& question, const Context& context) {
  const MsdaCache cache = msda_cache(question, context);
  const MsdaConfig& config = question.config;
  const auto pixels = static_cast<double>(config.batch * pixels_per_image(config));
  const double rows = pixels * static_cast<double>(config.heads);
  const double queries = static_cast<double>(config.batch * queries_per_image(config) * config.heads);
  const double samples = queries * static_cast<double>(config.levels() * config.points);
  const auto orders = static_cast<double>(question.orders.size());
  const double granules = std::ceil(rows / static_cast<double>(cache.rows_per_granule));
  // Whether each granule was fetched, and, where not all fit, the list of those in the cache.
  const double of_cache = granules * (static_cast<double>(cache.capacity_granules) >= granules ? 1 : 10);
  constexpr double kSeenBy = 4, kTouched = 0.125, kCorners = 4;
  const double of_pass = of_cache + kSeenBy * rows + tally_bytes(rows, -rows * std::expm1(-kCorners * samples / rows));
  Estimate estimate;
  estimate.steps = orders * samples;
  estimate.bytes = std::min(orders, static_cast<double>(context.threads)) * of_pass + (orders + 1) * kTouched * rows;
  estimate.option = "workload";
  estimate.value = config.name;
  return estimate;
}

}  // namespace natten_sim::study
