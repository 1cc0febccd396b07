#include "reuse_numbers.hpp"

#include <variant>

namespace natten_sim::report {

std::string walked_order(const study::ReuseResult& result) {
  return result.order ? study::name_of(*result.order) : "trace";
}

std::optional<std::int64_t> noncompulsory(const study::ReuseResult& result) {
  if (!result.miss_sectors) return std::nullopt;
  return *result.miss_sectors - result.cold_sectors;
}

std::optional<double> reduction(const std::optional<std::int64_t>& first,
                                const std::optional<std::int64_t>& second) {
  if (!first || !second || *first == 0) return std::nullopt;
  return 1.0 - static_cast<double>(*second) / static_cast<double>(*first);
}

const study::SeqlenSweep* sweep_of(const study::ReuseAnswer& answer) {
  const auto* attention = std::get_if<study::AttentionSubject>(&answer.question.subject);
  return attention == nullptr ? nullptr : std::get_if<study::SeqlenSweep>(&attention->seqlen);
}

}  // namespace natten_sim::report
