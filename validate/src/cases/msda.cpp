#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/msda_data.hpp>
#include <natten_sim/io/strict_object.hpp>
#include <natten_sim/kernels/msda/oracle.hpp>
#include <natten_sim/validate/cases/msda.hpp>
#include <natten_sim/validate/cases/registry.hpp>
#include <natten_sim/validate/compare/comparison.hpp>

#include "device_context.hpp"

namespace natten_sim::validate {
namespace {

using kernels::scatter_add::Path;

MsdaConfig config_called(const std::string& name) {
  static const std::vector<MsdaConfig> shipped =
      builtin_msda_configs();  // read once for all points of a suite
  std::vector<std::string> names;
  for (const MsdaConfig& config : shipped) {
    if (config.name == name) return config;
    names.push_back(config.name);
  }
  if (std::optional<MsdaConfig> spelt = msda_config_of_shape(name)) return *std::move(spelt);
  throw InvalidParameter("config", name, joined(names) + ", or a shape as B3_640x960_d256_L3_h8_p6_q900");
}

/// Whether the costs of an H200 were fitted to runs of this workload (data/msda-costs.json).
bool is_fitted_workload(const std::string& config) {
  static const std::set<std::string> fitted = {"B1_640_d256_L4",      "B2_1280_d256_L4",
                                               "B2_800x1333_d256_L2", "B2_800x1333_d256_L4",
                                               "B8_800x1333_d256_L4", "B2_800x1333_d256_L4_enc"};
  return fitted.contains(config);
}

Point read_msda(const StrictObject& fields) {
  MsdaCase point;
  point.config = config_called(fields.text("config"));
  point.phase = parse_name<MsdaPhase>(fields.text("phase"));
  point.tiling = parse_name<MsdaTiling>(fields.text_or("tiling", to_string(point.tiling)));
  point.dtype = parse_name<Dtype>(fields.text("dtype"));
  point.parameters_dtype = parse_name<Dtype>(fields.text_or("parameters", to_string(point.parameters_dtype)));
  point.path = parse_name<Path>(fields.text_or("path", to_string(point.path)));
  point.order = parse_name<QueryOrder>(fields.text_or("order", to_string(point.order)));
  point.sampling.offsets =
      parse_name<OffsetDistribution>(fields.text_or("offsets", to_string(point.sampling.offsets)));
  point.fitted = fields.boolean_or("fitted", is_fitted_workload(point.config.name));
  require_valid(point.problem());
  return point;
}

/// What is counted once for all that share it.
template <typename Key, typename Value>
class Kept {
 public:
  template <typename Make>
  const Value& of(const Key& key, Make&& make) {
    const auto found = kept_.find(key);
    return found != kept_.end() ? found->second : kept_.emplace(key, make()).first->second;
  }

 private:
  std::map<Key, Value> kept_;
};

const MsdaTraffic& traffic_of(const study::MsdaQuestion& question, const study::Context& context) {
  static Kept<std::tuple<std::string, QueryOrder, OffsetDistribution, std::int64_t, std::int64_t>,
              MsdaTraffic>
      kept;
  const MsdaCache cache = msda_cache(question, context);
  const QueryOrder order = question.orders.front();
  return kept.of({question.config.name, order, question.sampling.offsets, cache.capacity_granules,
                  cache.rows_per_granule},
                 [&] { return simulate_msda(question.config, question.sampling, order, cache); });
}

const std::vector<float>& locations_of(const MsdaConfig& config, const MsdaSampling& sampling) {
  static Kept<std::pair<std::string, OffsetDistribution>, std::vector<float>> kept;
  return kept.of({config.name, sampling.offsets}, [&] { return sample_locations(config, sampling); });
}

const std::vector<std::int32_t>& dispatch_of(const MsdaConfig& config, QueryOrder order) {
  static Kept<std::pair<std::string, QueryOrder>, std::vector<std::int32_t>> kept;
  return kept.of({config.name, order}, [&] {
    std::vector<std::int32_t> all;
    const MsdaSampling sampling;
    for (std::int64_t image = 0; image < config.batch; ++image) {
      const auto one = permutation(order, reference_points(config, sampling, image), sampling.seed);
      all.insert(all.end(), one.begin(), one.end());
    }
    return all;
  });
}

/// Memory of one launch.
struct MsdaMemoryOnGpu {
  kernels::DeviceBuffer values, locations, weights, order, output, output_gradient, value_gradient,
      location_gradient, weight_gradient, scratch;

  [[nodiscard]] kernels::msda::Tensors tensors() const {
    return {values.data(),          locations.data(),
            weights.data(),         static_cast<const std::int32_t*>(order.data()),
            output.data(),          output_gradient.data(),
            value_gradient.data(),  location_gradient.data(),
            weight_gradient.data(), scratch.data()};
  }
};

std::int64_t elements_in(const kernels::DeviceBuffer& buffer, Dtype dtype) {
  return static_cast<std::int64_t>(buffer.bytes()) / element_bytes(dtype);
}

kernels::DeviceBuffer random_buffer(std::size_t bytes, Dtype dtype, std::uint64_t seed) {
  kernels::DeviceBuffer buffer(bytes);
  kernels::fill_random(buffer, elements_in(buffer, dtype), dtype, seed);
  return buffer;
}

MsdaMemoryOnGpu memory_for(const MsdaCase& point, std::uint64_t seed) {
  const kernels::msda::Problem problem = point.problem();
  const kernels::msda::TensorBytes bytes = tensor_bytes(problem);
  MsdaMemoryOnGpu memory;
  memory.values = random_buffer(bytes.values, problem.dtype, 4 * seed);
  memory.weights = random_buffer(bytes.weights, problem.parameters, 4 * seed + 1);
  const std::vector<float>& locations = locations_of(point.config, point.sampling);
  memory.locations = kernels::DeviceBuffer(locations.size() * sizeof(float));
  memory.locations.copy_from_host(locations.data(), memory.locations.bytes());
  if (problem.parameters != Dtype::kFp32) {
    kernels::DeviceBuffer narrower(bytes.locations);
    kernels::msda::narrow(problem.parameters, memory.locations, narrower, std::ssize(locations));
    kernels::synchronize();
    memory.locations = narrower;
  }
  if (point.order != QueryOrder::kLinear) {
    memory.order = kernels::DeviceBuffer(bytes.order);
    memory.order.copy_from_host(dispatch_of(point.config, point.order).data(), bytes.order);
  }
  memory.scratch = kernels::DeviceBuffer(std::max<std::size_t>(scratch_bytes(problem, point.phase), 16));
  if (point.phase == MsdaPhase::kForward) {
    memory.output = kernels::DeviceBuffer(bytes.output);
    return memory;
  }
  memory.output_gradient = random_buffer(bytes.output, problem.dtype, 4 * seed + 2);
  memory.value_gradient = kernels::DeviceBuffer(bytes.values);
  memory.location_gradient = kernels::DeviceBuffer(bytes.locations);
  memory.weight_gradient = kernels::DeviceBuffer(bytes.weights);
  return memory;
}

/// Levels of 16, 8, 4, 2, .. pixels an edge, on which sums of small integers are exact.
MsdaConfig small_config(const MsdaConfig& config) {
  MsdaConfig small = config;
  small.name = "small d" + std::to_string(config.channels) + " L" + std::to_string(config.levels()) + " h" +
               std::to_string(config.heads) + " p" + std::to_string(config.points);
  small.batch = 2;
  small.height = small.width = 16 * config.strides.front();
  small.queries = std::max<std::int64_t>(92 / config.points, 3);
  return small;
}

}  // namespace

namespace cases {

/// This project's multi-scale deformable attention.
CaseKind msda();
CaseKind msda() {
  return {"msda",
          {"config", "phase", "tiling", "dtype", "parameters", "path", "order", "offsets", "fitted"},
          read_msda};
}

}  // namespace cases

std::string MsdaCase::key() const {
  return "msda " + config.name + " " + to_string(phase) + " " + to_string(tiling) + " " + to_string(dtype) +
         (parameters_dtype != Dtype::kFp32 ? "-locations" : "") +
         (phase == MsdaPhase::kBackward ? std::string(" ") + to_string(path) : "") + " " + to_string(order) +
         (sampling.offsets != MsdaSampling{}.offsets ? std::string(" ") + to_string(sampling.offsets) : "");
}

std::string MsdaCase::group() const {
  return std::string("msda ") + to_string(phase) + " " + to_string(tiling) +
         (config.encoder() ? " encoder " : " decoder ") + (dtype == Dtype::kFp32 ? "fp32" : "half") +
         (phase == MsdaPhase::kBackward ? std::string(" ") + to_string(path) : "");
}

std::vector<Parameter> MsdaCase::parameters() const {
  std::vector<Parameter> all = {{"kernel", "msda"},
                                {"config", config.name},
                                {"phase", to_string(phase)},
                                {"tiling", to_string(tiling)},
                                {"dtype", to_string(dtype)}};
  if (parameters_dtype != Dtype::kFp32) all.push_back({"parameters", to_string(parameters_dtype)});
  if (phase == MsdaPhase::kBackward) all.push_back({"path", to_string(path)});
  all.push_back({"order", to_string(order)});
  if (sampling.offsets != MsdaSampling{}.offsets) all.push_back({"offsets", to_string(sampling.offsets)});
  if (fitted != is_fitted_workload(config.name)) all.push_back({"fitted", fitted});
  return all;
}

kernels::msda::Problem MsdaCase::problem() const {
  kernels::msda::Problem problem = kernels::msda::problem_of(config);
  problem.dtype = dtype;
  problem.parameters = parameters_dtype;
  problem.tiling = tiling;
  problem.path = path;
  return problem;
}

study::MsdaQuestion MsdaCase::question(const std::string& device) const {
  study::MsdaQuestion question;
  question.config = config;
  question.phase = phase;
  question.tiling = tiling;
  question.dtype = dtype;
  question.parameters = parameters_dtype;
  question.orders = {order};
  question.sampling = sampling;
  question.device = device;
  if (phase == MsdaPhase::kForward) return question;
  question.update = parse_name<MsdaUpdate>(to_string(path));
  question.accumulator = path == Path::kAccumulator ? Dtype::kFp32 : dtype;
  return question;
}

std::vector<Prediction> MsdaCase::predict(const Device& device, Fidelity) const {
  if (!device.msda_costs || !missing_for_contention(device).empty()) return {};
  const study::MsdaQuestion asked = question(device.name);
  const study::Context context = context_on(device);
  const study::MsdaAnswer answer = msda_from_traffic(asked, {traffic_of(asked, context)}, context);
  const study::MsdaPass& pass = answer.passes.front();
  constexpr const char* kModel = "msda, closed form";
  std::vector<Prediction> predictions = {
      {std::string(kLaunchTime), kModel, pass.time.time_ns, fitted},
      {"dram_read_bytes", kModel, static_cast<double>(pass.read_bytes), false}};
  if (!pass.updates || !study::construct_of(*asked.update, dtype)) return predictions;
  const ContentionPrediction& updates = pass.updates->prediction;
  const bool reduces = pass.updates->load.path == InstructionPath::kRed;
  predictions.push_back({reduces ? "l1_reduction_sectors" : "l1_atomic_sectors", kModel,
                         static_cast<double>(reduces ? updates.red_sectors : updates.atom_sectors), false});
  return predictions;
}

Launch MsdaCase::prepare(Bench& bench, std::uint64_t seed) const {
  const auto memory = std::make_shared<const MsdaMemoryOnGpu>(memory_for(*this, seed));
  return [gpu = bench.gpu(), all = problem(), pass = phase, memory] {
    kernels::msda::launch(gpu, all, pass, memory->tensors());
  };
}

CheckedPoint MsdaCase::check(Bench& bench, std::uint64_t seed) const {
  CheckedPoint checked;
  checked.ran = checked.passed = true;
  for (const auto kind : {kernels::msda::CheckValues::kIntegers, kernels::msda::CheckValues::kRandom}) {
    const kernels::msda::Check one = kernels::msda::check(bench.gpu(), problem(), kind, seed);
    checked.error = std::max(checked.error, one.error);
    checked.passed = checked.passed && one.passed;
    if (!one.passed) {
      checked.status = one.guards_intact ? one.worst : "wrote outside of its tensors";
      if (kind == kernels::msda::CheckValues::kIntegers) checked.status += ", integers";
    }
  }
  return checked;
}

std::vector<Point> MsdaCase::to_check(CheckLengths) const {
  MsdaCase checked = *this;
  checked.config = small_config(config);
  checked.phase = MsdaPhase::kBackward;  // a check runs both
  checked.order = QueryOrder::kLinear;   // and draws an order
  checked.sampling = {};                 // and locations
  return {checked};
}

}  // namespace natten_sim::validate
