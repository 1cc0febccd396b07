#include "tiles/axis_tokens.hpp"

#include <natten_sim/core/cancellation.hpp>

#include <algorithm>

namespace natten_sim {

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
