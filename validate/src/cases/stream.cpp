#include <algorithm>
#include <array>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/io/strict_object.hpp>
#include <natten_sim/validate/cases/registry.hpp>
#include <natten_sim/validate/cases/stream.hpp>

#include "device_number.hpp"

namespace natten_sim::validate {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
constexpr std::int64_t kStepsPerMib = kMiB / kernels::kStreamStepBytes;
constexpr std::int64_t kMaxLagMib = std::int64_t{1} << 18;  // 2^24 steps
constexpr std::int64_t kMaxBesideMib = std::int64_t{1} << 20;

/// Whether the SMs of `partition`, or every other one of them (`odd`), lag.
bool lags(StreamGroups groups, std::int32_t partition, bool odd) {
  if (groups == StreamGroups::kMixed) return odd;
  return groups == StreamGroups::kByPartition && partition != 0;
}

bool reads(StreamReaderSet readers, std::int32_t partition) {
  return readers == StreamReaderSet::kAll || partition == 0;
}

const char* words_of(StreamGroups groups) {
  return groups == StreamGroups::kByPartition ? "by partition" : to_string(groups);
}

Point read_stream(const StrictObject& fields) {
  StreamCase stream;
  stream.buffer_mib = fields.integer("buffer_mib", {1, 1 << 20});
  stream.passes = fields.integer32_or("passes", stream.passes);
  stream.ctas = fields.integer32_or("ctas", stream.ctas);
  stream.order = parse_name_among(fields.text("order"), kernels::stream_orders());
  stream.step_cycles = fields.integer_or("step_cycles", stream.step_cycles);
  stream.readers = parse_name<StreamReaderSet>(fields.text_or("readers", to_string(stream.readers)));
  stream.groups = parse_name<StreamGroups>(fields.text_or("groups", to_string(stream.groups)));
  stream.lag_mib = fields.integer_or("lag_mib", stream.lag_mib);
  stream.beside_mib = fields.integer_or("beside_mib", stream.beside_mib);
  require_valid(stream);
  return stream;
}

kernels::StreamProblem problem_of(const StreamCase& stream, std::int32_t sms) {
  return {stream.buffer_mib * kMiB, stream.passes, stream.ctas == 0 ? sms : stream.ctas, stream.order,
          stream.step_cycles};
}

/// Delays that the point asks for; empty where all SMs read together. @throws HardwareAbsent on a GPU with
/// one partition.
std::vector<std::int32_t> delays_on(Bench& bench, const StreamCase& stream) {
  if (!stream.tells_sms_apart()) return {};
  const kernels::SmPartitions& partitions = bench.partitions();
  if (partitions.partitions < 2) {
    throw HardwareAbsent("an L2 of two partitions",
                         bench.gpu().name + " shows one: all SMs reach all addresses equally soon");
  }
  return sm_delays(stream, partitions.partition);
}

/// Launches the stream into `sums` each time.
Launch launch_into(const kernels::StreamProblem& problem, const kernels::DeviceBuffer& buffer,
                   kernels::DeviceBuffer sums, const std::vector<std::int32_t>& delays) {
  if (delays.empty()) return [=]() mutable { kernels::launch_stream(problem, buffer, sums); };
  const kernels::DeviceBuffer on_gpu = kernels::stream_delays(delays);
  return [=]() mutable { kernels::launch_stream(problem, buffer, sums, &on_gpu); };
}

/// Shape of the device's L2; none where the profile lacks a part of it.
std::optional<L2Shape> l2_shape(const Device& device) {
  const DeviceL2& l2 = device.l2;
  if (!l2.effective_bytes || !l2.partitions || !l2.ways) return std::nullopt;
  return L2Shape{l2.effective_bytes->value, l2.partitions->value, l2.ways->value};
}

/// Groups of SMs that read. So few CTAs that all are near one partition are its SMs.
std::vector<StreamReaders> readers_on(const StreamCase& stream, const Device& device, const L2Shape& shape) {
  const std::optional<std::int32_t> few =
      stream.ctas > 0 ? only_partition(device, stream.ctas) : std::nullopt;
  return few ? std::vector<StreamReaders>{{*few, 0}} : reading_groups(stream, shape.partitions);
}

/// Sectors that the CTAs load. Where one partition reads, as many SMs are near each.
void add_sectors(const StreamCase& stream, const Device& device, std::vector<Prediction>& predictions) {
  std::int64_t ctas = stream.ctas == 0 ? number(device, device.sms, "sms") : stream.ctas;
  if (stream.readers == StreamReaderSet::kOnePartition) {
    if (!device.l2.partitions) return;
    ctas /= device.l2.partitions->value;
  }
  const auto loaded =
      static_cast<double>(stream.buffer_mib * kMiB) * stream.passes * static_cast<double>(ctas);
  const std::int64_t sector_bytes = number(device, device.l2.sector_bytes, "l2_sector_bytes");
  predictions.push_back({"l2_read_sectors", "every load", loaded / static_cast<double>(sector_bytes), false});
}

/// DRAM reads and what crosses between partitions: SMs in step in front of the L2. At full speed they are not
/// in step, and what crosses is not predicted.
void add_reads(const StreamCase& stream, const Device& device, std::vector<Prediction>& predictions) {
  constexpr std::int64_t kMaxSteps = std::int64_t{1} << 22;  // of all passes: half a second
  const std::optional<L2Shape> shape = l2_shape(device);
  PartitionedStream walk;
  walk.step_bytes = kernels::kStreamStepBytes;
  walk.steps = stream.buffer_mib * kMiB / walk.step_bytes;
  walk.passes = stream.passes;
  walk.sawtooth = stream.order == KvOrder::kSawtooth;
  if (!shape || walk.steps > kMaxSteps / walk.passes) return;
  walk.readers = readers_on(stream, device, *shape);
  const std::int64_t sector_bytes = number(device, device.l2.sector_bytes, "l2_sector_bytes");
  const PartitionedStreamReads reads = read_in_step(walk, sector_bytes, *shape);
  constexpr const char* kModel = "L2 partitions, readers in step";
  predictions.push_back({"dram_read_bytes", kModel, static_cast<double>(reads.dram_bytes), false});
  if (stream.step_cycles == 0) return;
  predictions.push_back(
      {"l2_fabric_sectors", kModel, static_cast<double>(reads.fabric_bytes / sector_bytes), false});
}

}  // namespace

namespace cases {

CaseKind stream();
CaseKind stream() {
  return {
      "stream",
      {"buffer_mib", "passes", "ctas", "order", "step_cycles", "readers", "groups", "lag_mib", "beside_mib"},
      read_stream};
}

}  // namespace cases

std::string StreamCase::key() const {
  return "stream " + std::to_string(buffer_mib) + " MiB x" + std::to_string(passes) + " " +
         (ctas == 0 ? "all SMs" : std::to_string(ctas) + " CTAs") + " " + to_string(order) +
         (step_cycles == 0 ? " full speed" : " paced " + std::to_string(step_cycles)) +
         (readers == StreamReaderSet::kAll ? "" : ", one partition") +
         (groups == StreamGroups::kTogether
              ? ""
              : std::string(", groups ") + words_of(groups) + " " + std::to_string(lag_mib) + " MiB apart") +
         (beside_mib == 0 ? "" : ", beside " + std::to_string(beside_mib) + " MiB");
}

std::string StreamCase::group() const {
  return std::string("stream ") + (step_cycles == 0 ? "full speed" : "paced") + " " + to_string(order) +
         (ctas == 0 ? "" : ", some SMs") + (readers == StreamReaderSet::kAll ? "" : ", one partition") +
         (groups == StreamGroups::kTogether ? "" : std::string(", groups ") + words_of(groups));
}

std::vector<Parameter> StreamCase::parameters() const {
  std::vector<Parameter> all = {{"kernel", "stream"},        {"buffer_mib", buffer_mib},
                                {"passes", passes},          {"ctas", ctas},
                                {"order", to_string(order)}, {"step_cycles", step_cycles}};
  if (readers != StreamReaderSet::kAll) all.push_back({"readers", to_string(readers)});
  if (groups != StreamGroups::kTogether) {
    all.push_back({"groups", to_string(groups)});
    all.push_back({"lag_mib", lag_mib});
  }
  if (beside_mib != 0) all.push_back({"beside_mib", beside_mib});
  return all;
}

std::vector<Prediction> StreamCase::predict(const Device& device, Fidelity) const {
  std::vector<Prediction> predictions;
  add_sectors(*this, device, predictions);
  add_reads(*this, device, predictions);
  return predictions;
}

Launch StreamCase::prepare(Bench& bench, std::uint64_t seed) const {
  const kernels::StreamProblem problem = problem_of(*this, bench.gpu().sms);
  const kernels::DeviceBuffer beside(static_cast<std::size_t>(beside_mib * kMiB));
  kernels::DeviceBuffer buffer(static_cast<std::size_t>(problem.bytes));
  kernels::fill_random(buffer, problem.bytes / 2, Dtype::kFp16, seed);
  const kernels::DeviceBuffer sums(static_cast<std::size_t>(problem.ctas) * 4);
  return launch_into(problem, buffer, sums, delays_on(bench, *this));
}

CheckedPoint StreamCase::check(Bench& bench, std::uint64_t seed) const {
  const kernels::StreamProblem problem = problem_of(*this, bench.gpu().sms);
  const std::vector<std::int32_t> delays = delays_on(bench, *this);
  const auto idle = std::count(delays.begin(), delays.end(), kernels::kStreamIdle);
  kernels::DeviceBuffer buffer(static_cast<std::size_t>(problem.bytes));
  kernels::fill_random(buffer, problem.bytes / 2, Dtype::kBf16, seed);
  std::vector<std::uint32_t> words(static_cast<std::size_t>(problem.bytes / 4));
  buffer.copy_to_host(words.data(), words.size() * 4);
  const std::uint32_t expected = kernels::stream_oracle(problem, words);
  const std::vector<std::uint32_t> poison(static_cast<std::size_t>(problem.ctas), ~expected);
  kernels::DeviceBuffer sums(poison.size() * 4);
  sums.copy_from_host(poison.data(), poison.size() * 4);
  launch_into(problem, buffer, sums, delays)();
  std::vector<std::uint32_t> found(poison.size());
  sums.copy_to_host(found.data(), found.size() * 4);
  CheckedPoint checked;
  checked.ran = true;
  checked.passed = kernels::stream_sums_agree(found, expected, problem.ctas - idle);
  checked.error = checked.passed ? 0 : 1;
  return checked;
}

std::vector<Point> StreamCase::to_check(CheckLengths) const {
  constexpr std::int64_t kMaxMib = 7;
  StreamCase checked = *this;
  checked.buffer_mib = std::min(buffer_mib, kMaxMib);
  return {checked};
}

void StreamCase::get_ready(Bench& bench) const {
  if (tells_sms_apart()) (void)bench.partitions();  // latencies are best measured without a profiler
}

std::optional<Point> StreamCase::cyclic_partner() const {
  if (order != KvOrder::kSawtooth) return std::nullopt;
  StreamCase cyclic = *this;
  cyclic.order = KvOrder::kCyclic;
  return cyclic;
}

void require_valid(const StreamCase& stream) {
  kernels::require_valid(problem_of(stream, 1));
  if (stream.groups == StreamGroups::kTogether && stream.lag_mib != 0) {
    throw InvalidParameter("lag_mib", std::to_string(stream.lag_mib), "0 where groups are together", "0");
  }
  if (stream.groups != StreamGroups::kTogether && (stream.lag_mib < 1 || stream.lag_mib > kMaxLagMib)) {
    throw InvalidParameter("lag_mib", std::to_string(stream.lag_mib), "1.." + std::to_string(kMaxLagMib));
  }
  if (stream.beside_mib < 0 || stream.beside_mib > kMaxBesideMib) {
    throw InvalidParameter("beside_mib", std::to_string(stream.beside_mib),
                           "0.." + std::to_string(kMaxBesideMib), "0");
  }
  if (!stream.tells_sms_apart()) return;
  if (stream.readers == StreamReaderSet::kOnePartition && stream.groups == StreamGroups::kByPartition)
    throw InvalidParameter("groups", "by-partition", "together or mixed where one partition reads");
  if (stream.step_cycles == 0)
    throw InvalidParameter("step_cycles", "0", "1 or more where SMs are told apart", "1500");
  if (stream.ctas != 0) {
    throw InvalidParameter("ctas", std::to_string(stream.ctas), "0, one an SM, where SMs are told apart",
                           "0");
  }
}

std::vector<std::int32_t> sm_delays(const StreamCase& stream,
                                    const std::vector<std::int32_t>& partition_of_sm) {
  std::array<int, 2> seen = {0, 0};
  std::vector<std::int32_t> delays;
  for (const std::int32_t partition : partition_of_sm) {
    const bool odd = seen.at(static_cast<std::size_t>(partition))++ % 2 != 0;
    const std::int64_t lag = lags(stream.groups, partition, odd) ? stream.lag_mib * kStepsPerMib : 0;
    delays.push_back(reads(stream.readers, partition) ? static_cast<std::int32_t>(lag)
                                                      : kernels::kStreamIdle);
  }
  return delays;
}

std::vector<StreamReaders> reading_groups(const StreamCase& stream, std::int32_t partitions) {
  std::vector<StreamReaders> leading, lagging;
  for (std::int32_t partition = 0; partition < partitions; ++partition) {
    if (!reads(stream.readers, partition)) continue;
    if (!lags(stream.groups, partition, false)) leading.push_back({partition, 0});
    if (lags(stream.groups, partition, true)) lagging.push_back({partition, stream.lag_mib * kStepsPerMib});
  }
  leading.insert(leading.end(), lagging.begin(), lagging.end());
  return leading;
}

}  // namespace natten_sim::validate
