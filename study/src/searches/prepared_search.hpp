#pragma once

#include <cstdint>
#include <optional>

#include "searches/search_times.hpp"

namespace natten_sim::study {

/// A question's space and times, worked out once and searched under one set of constraints after another.
class PreparedSearch {
 public:
  /// The question wishes for no recall. `context` outlives this. @throws as search()
  PreparedSearch(const SearchQuestion& question, const Context& context);

  /// The question with every default filled in, what is excluded, and why there are no times: no candidates yet.
  [[nodiscard]] const SearchAnswer& known() const noexcept { return known_; }

  /// What search() answers to the question with these constraints and so many rows.
  [[nodiscard]] SearchAnswer answer(const SearchConstraints& constraints, std::optional<std::int64_t> top);

 private:
  const Context& context_;
  SearchAnswer known_;
  SearchSpace space_;
  std::optional<OffsetTables> tables_;  ///< of the question, until they are read
  std::optional<SearchTimes> times_;  ///< by Objective::kTime
};

}  // namespace natten_sim::study
