#include "tiles/axis_tokens.hpp"

#include <natten_sim/core/cancellation.hpp>

#include <algorithm>

namespace natten_sim {

namespace {

/// Queries of each key of a cycle: from the first whose window ends after it to the last whose window begins at
/// or before it. Queries of the turn before and the turn after attend to keys of this one.
std::vector<TokenRange> queries_of_cycle(const AxisGroup& group) {
  std::vector<TokenRange> ranges;
  std::int64_t first = -group.length, end = -group.length;
  for (std::int64_t key = 0; key < group.length; ++key) {
    poll();
    while (unrolled_range(group, first).end <= key) ++first;
    while (unrolled_range(group, end).begin <= key) ++end;
    ranges.push_back({first, end});
  }
  return ranges;
}

}  // namespace

std::vector<TokenRange> met_tokens(const AxisGroup& group, Walk walk) {
  std::vector<TokenRange> ranges;
  ranges.reserve(static_cast<std::size_t>(group.length));
  if (walk == Walk::kForward) {
    for (std::int64_t query = 0; query < group.length; ++query) {
      poll();
      ranges.push_back(attended_range(group, query));
    }
    return ranges;
  }
  if (group.cyclic) return queries_of_cycle(group);
  // Windows begin and end no earlier than those of the query before: a key's queries follow one another, from
  // the first whose window ends behind it to the last whose window begins at or before it.
  ranges.assign(static_cast<std::size_t>(group.length), {group.length, 0});
  std::int64_t met_until = 0, left_until = 0;  // keys below: some query met them; no further query will
  const auto leave = [&](std::int64_t key, std::int64_t query) {
    TokenRange& queries = ranges[static_cast<std::size_t>(key)];
    if (queries.begin < group.length) queries.end = query;
  };
  for (std::int64_t query = 0; query < group.length; ++query) {
    poll();
    const TokenRange keys = attended_range(group, query);
    for (; left_until < keys.begin; ++left_until) leave(left_until, query);
    for (std::int64_t key = std::max(met_until, keys.begin); key < keys.end; ++key) {
      ranges[static_cast<std::size_t>(key)].begin = query;
    }
    met_until = std::max(met_until, keys.end);
  }
  for (; left_until < group.length; ++left_until) leave(left_until, group.length);
  return ranges;
}

}  // namespace natten_sim
