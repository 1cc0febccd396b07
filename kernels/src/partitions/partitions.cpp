#include <algorithm>
#include <cmath>
#include <string>

#include <natten_sim/kernels/partitions/partitions.hpp>

namespace natten_sim::kernels {
namespace {

constexpr double kLeastCorrelation = 0.5;
constexpr double kLeastSeparation = 1.1;

using Rows = std::vector<std::vector<double>>;

void require_valid(const Rows& latencies) {
  if (latencies.empty() || latencies.front().empty())
    throw InvalidParameter("latencies", "none", "one SM and one address or more");
  for (const std::vector<double>& row : latencies) {
    if (row.size() != latencies.front().size()) {
      throw InvalidParameter("latencies", std::to_string(row.size()) + " addresses",
                             std::to_string(latencies.front().size()) + " of each SM");
    }
    for (const double cycles : row) {
      if (!(cycles > 0) || !std::isfinite(cycles))
        throw InvalidParameter("latencies", std::to_string(cycles), "positive numbers of cycles");
    }
  }
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

/// Without the means of addresses, then of SMs.
Rows centred(Rows rows) {
  for (std::size_t address = 0; address < rows.front().size(); ++address) {
    double sum = 0;
    for (const auto& row : rows) sum += row[address];
    for (auto& row : rows) row[address] -= sum / static_cast<double>(rows.size());
  }
  for (auto& row : rows) {
    const double level = mean(row);
    for (double& value : row) value -= level;
  }
  return rows;
}

/// -1 .. 1; 0 where one of them does not vary.
double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += a[i] * b[i];
    aa += a[i] * a[i];
    bb += b[i] * b[i];
  }
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
}

/// The partition whose SMs reach an address sooner is its home.
void measure_distance(const Rows& latencies, SmPartitions& found) {
  double near = 0, far = 0;
  for (std::size_t address = 0; address < latencies.front().size(); ++address) {
    double sum[2] = {0, 0}, sms[2] = {0, 0};
    for (std::size_t sm = 0; sm < latencies.size(); ++sm) {
      sum[found.partition[sm]] += latencies[sm][address];
      sms[found.partition[sm]] += 1;
    }
    near += std::min(sum[0] / sms[0], sum[1] / sms[1]);
    far += std::max(sum[0] / sms[0], sum[1] / sms[1]);
  }
  found.near_cycles = near / static_cast<double>(latencies.front().size());
  found.far_cycles = far / static_cast<double>(latencies.front().size());
}

}  // namespace

SmPartitions partitions_of(const Rows& latencies) {
  require_valid(latencies);
  const Rows rest = centred(latencies);
  SmPartitions two;
  two.partitions = 2;
  bool separate = true;
  for (const std::vector<double>& row : rest) {
    const double like_first = correlation(rest.front(), row);
    separate = separate && std::abs(like_first) >= kLeastCorrelation;
    two.partition.push_back(like_first < 0 ? 1 : 0);
  }
  separate = separate && std::find(two.partition.begin(), two.partition.end(), 1) != two.partition.end();
  if (separate) {
    measure_distance(latencies, two);
    if (two.far_cycles >= kLeastSeparation * two.near_cycles) return two;
  }
  SmPartitions one;
  one.partition.assign(latencies.size(), 0);
  std::vector<double> levels;
  for (const auto& row : latencies) levels.push_back(mean(row));
  one.near_cycles = one.far_cycles = mean(levels);
  return one;
}

}  // namespace natten_sim::kernels
