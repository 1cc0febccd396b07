// What the H100's profile says of its L2, worked out again from what was recorded on it, and the predictions
// that were frozen before its points were measured.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <natten_sim/io/catalog.hpp>
#include <natten_sim/io/files.hpp>
#include <natten_sim/io/json_text.hpp>
#include <natten_sim/validate/record/recording.hpp>

#include "catch.hpp"
#include "places.hpp"

namespace second_gpu_test {

using namespace natten_sim;

const std::string kData = std::string(natten_sim::test::kSourceDir) + "/data/";

Json read_json(const std::string& file) { return parse_json(read_text("data", kData + file)); }

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 != 0 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

/// Milliseconds of 8 cyclic passes over so many MiB at full speed.
double full_speed_ms(const Json& stream, int mib) {
  for (const Json& row : stream.at("rows")) {
    const Json& point = row.at("point");
    if (point.at("buffer_mib") == mib && point.at("order").text() == "cyclic" && point.at("step_cycles") == 0)
      return row.at("time_ms").at("median").get<double>();
  }
  FAIL("no such row");
  return 0;
}

TEST_CASE("the H100's effective capacity is what sawtooth scans of it keep") {
  // Of B bytes that are read up and down in 8 passes, an LRU cache of C misses B + 7 (B - C).
  const Json stream = read_json("recordings/nvidia-h100-stream.json");
  std::vector<double> capacities;
  for (const Json& row : stream.at("rows")) {
    const Json& point = row.at("point");
    const auto mib = point.at("buffer_mib").get<double>();
    if (point.at("order").text() != "sawtooth" || point.at("step_cycles") != 1000 || mib < 32) continue;
    const double passes = row.at("counters").at("dram_read_bytes").at("median").get<double>() / mib / 1048576;
    capacities.push_back(mib * (1 - (passes - 1) / 7));
  }
  REQUIRE(capacities.size() == 10);
  const auto [least, most] = std::minmax_element(capacities.begin(), capacities.end());
  CHECK(*most - *least < 0.1);  // MiB: one number fits all buffers
  const Device& h100 = builtin_catalog().device("h100");
  CHECK(static_cast<double>(h100.l2.effective_bytes->value) / 1048576 ==
        Approx(median(capacities)).epsilon(1e-6));
}

TEST_CASE("the H100's bandwidths are the H200's by the ratio of their times") {
  const Json ours = read_json("recordings/nvidia-h100-stream.json");
  const Json theirs = read_json("recordings/nvidia-h200-stream.json");
  const auto& h100 = builtin_catalog().device("h100").l2;
  const auto& h200 = builtin_catalog().device("h200").l2;
  CHECK(h100.hit_bytes_per_s->value / h200.hit_bytes_per_s->value ==
        Approx(full_speed_ms(theirs, 16) / full_speed_ms(ours, 16)).epsilon(1e-4));
  CHECK(h100.miss_bytes_per_s->value / h200.miss_bytes_per_s->value ==
        Approx(full_speed_ms(theirs, 128) / full_speed_ms(ours, 128)).epsilon(1e-4));
}

TEST_CASE("the H100's launch runs are those of half of its full launches of a CTA an SM") {
  const Json order = read_json("launch-order/nvidia-h100.json");
  const auto near = order.at("partition_of_sm").get<std::string>();
  CHECK(std::count(near.begin(), near.end(), '0') == 66);
  CHECK(std::count(near.begin(), near.end(), '1') == 66);
  const auto& runs = builtin_catalog().device("h100").launch_runs->value;
  int full = 0, alike = 0;
  for (const Json& launch : order.at("launches")) {
    if (launch.at("ctas") != 132 || launch.at("shared_kib") != 200) continue;
    std::vector<std::int32_t> seen;
    for (const Json& sm : launch.at("sm"))
      seen.push_back(near[static_cast<std::size_t>(sm.get<int>())] - '0');
    ++full;
    alike += seen == partitions_in_launch_order(runs, 132) ? 1 : 0;
  }
  CHECK(full == 6);
  CHECK(alike == 3);
}

/// Points with full and with causal masks of a file of predictions, and how many of them the timed model has
/// within a tenth and within a quarter of what was measured. No model of today is asked.
struct Held {
  int full = 0, full_within = 0, causal = 0, causal_within = 0;
};
Held held(const std::string& predictions, const std::string& recorded) {
  const Json frozen = read_json("predictions/" + predictions);
  const validate::Recording recording =
      validate::parse_recording(read_text("recording", kData + "recordings/" + recorded), recorded);
  Held result;
  for (const validate::RecordedRow& row : recording.rows) {
    const std::string key = validate::key_of(row.point);
    for (const Json& prediction : frozen.at("rows")) {
      if (prediction[0].text() != key || prediction[1].text() != "dram_read_bytes") continue;
      if (prediction[2].text() != "timed wavefronts") continue;
      const double off =
          std::abs(prediction[3].get<double>() / row.counters.at("dram_read_bytes").spread.median - 1);
      const bool causal = key.find(" causal") != std::string::npos;
      (causal ? result.causal : result.full) += 1;
      if (causal) result.causal_within += off <= 0.25 ? 1 : 0;
      if (!causal) result.full_within += off <= 0.1 ? 1 : 0;
    }
  }
  return result;
}

TEST_CASE("of the 300 points frozen for the H100, full masks held and causal ones did not") {
  const Held first = held("h100_second_gpu.json", "nvidia-h100-second-gpu.json");
  CHECK(first.full == 142);
  CHECK(first.causal == 158);
  CHECK(first.full_within == 126);   // 88.7%
  CHECK(first.causal_within == 52);  // 32.9%
}

TEST_CASE("of the 99 fresh points, frozen with paces in cycles, 71% of the causal ones held") {
  const Held fresh = held("h100_fresh.json", "nvidia-h100-second-gpu-fresh.json");
  CHECK(fresh.full == 30);
  CHECK(fresh.causal == 69);
  CHECK(fresh.full_within == 28);    // 93.3%
  CHECK(fresh.causal_within == 49);  // 71.0%; 75% was the aim
}

TEST_CASE(
    "of the 81 neighborhoods frozen for the H100, 78 times held, 3.9% off on average, and 57 of 71 reads") {
  const Json frozen = read_json("predictions/h100_gna.json");
  const std::string file = "nvidia-h100-second-gpu-gna.json";
  const validate::Recording recording =
      validate::parse_recording(read_text("recording", kData + "recordings/" + file), file);
  int times = 0, times_within = 0, reads = 0, reads_within = 0, counted = 0;
  double off_in_all = 0, worst = 0;
  for (const validate::RecordedRow& row : recording.rows) {
    const std::string key = validate::key_of(row.point);
    for (const Json& prediction : frozen.at("rows")) {
      if (prediction[0].text() != key) continue;
      const std::string counter = prediction[1].text();
      const double measured = counter == "launch_time_ns" ? row.timing->milliseconds.median * 1e6
                                                          : row.counters.at(counter).spread.median;
      const double off = std::abs(prediction[3].get<double>() / measured - 1);
      if (counter == "launch_time_ns") {
        ++times;
        times_within += off <= 0.1 ? 1 : 0;
        off_in_all += off;
        worst = std::max(worst, off);
      } else if (prediction[2].text() == "timed wavefronts") {
        ++reads;
        reads_within += off <= 0.25 ? 1 : 0;
      } else if (counter == "l2_read_sectors") {
        counted += off <= 0.001 ? 1 : 0;
      }
    }
  }
  CHECK(times == 81);
  CHECK(times_within == 78);
  CHECK(off_in_all / times < 0.0396);  // 4% was the aim
  CHECK(worst < 0.1161);               // 10%
  CHECK(reads == 71);
  CHECK(reads_within == 57);
  CHECK(counted == 81);
}

}  // namespace second_gpu_test
