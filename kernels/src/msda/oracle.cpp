#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>

#include <natten_sim/core/error.hpp>
#include <natten_sim/core/random_bits.hpp>
#include <natten_sim/kernels/msda/oracle.hpp>

#include "gpu/number_bits.hpp"

namespace natten_sim::kernels::msda {
namespace {

constexpr std::size_t kGuardBytes = 4096;
constexpr std::uint8_t kPoison = 0xA5;

/// Half the distance of a type's smallest numbers: what a rounding loses at most where numbers are tiny.
double tiny_of(Dtype dtype) { return dtype == Dtype::kFp16 ? std::ldexp(1.0, -25) : std::ldexp(1.0, -134); }

double unit_of(Dtype dtype) { return std::ldexp(1.0, -significand_bits(dtype)); }

/// One corner of a sample that lies inside its level.
struct Corner {
  std::size_t row = 0;                         ///< first element of its row of values
  double share = 0, along_x = 0, along_y = 0;  ///< weight, and its derivatives by the location
};

/// One sample: where its parameters are, the row of its output, its corners.
struct Sample {
  std::size_t number = 0, output_row = 0;
  std::int64_t edge = 0;  ///< the longer one of its level
  std::vector<Corner> corners;
};

std::vector<Corner> corners_at(const Problem& problem, std::int64_t image, std::int64_t head,
                               const MsdaLevel& level, double location_x, double location_y) {
  const auto width = static_cast<double>(level.width), height = static_cast<double>(level.height);
  const double x = location_x * width - 0.5, y = location_y * height - 0.5;
  if (!(x > -1 && y > -1 && x < width && y < height)) return {};
  std::vector<Corner> corners;
  for (int corner = 0; corner < 4; ++corner) {
    const auto column = static_cast<std::int64_t>(std::floor(x)) + corner % 2;
    const auto row = static_cast<std::int64_t>(std::floor(y)) + corner / 2;
    if (column < 0 || column >= level.width || row < 0 || row >= level.height) continue;
    // A corner's weight falls linearly from 1 at its pixel to 0 at the neighbours.
    const double across = 1 - std::abs(x - static_cast<double>(column));
    const double down = 1 - std::abs(y - static_cast<double>(row));
    const std::int64_t pixel = image * problem.pixels() + level.first + row * level.width + column;
    corners.push_back({static_cast<std::size_t>((pixel * problem.heads + head) * problem.head_channels),
                       across * down, (corner % 2 != 0 ? width : -width) * down,
                       (corner / 2 != 0 ? height : -height) * across});
  }
  return corners;
}

void for_each(const Problem& problem, const HostInputs& inputs,
              const std::function<void(const Sample&)>& visit) {
  Sample sample;
  for (std::int64_t image = 0; image < problem.batch; ++image) {
    for (std::int64_t query = 0; query < problem.queries; ++query) {
      for (std::int64_t head = 0; head < problem.heads; ++head) {
        const std::int64_t row = (image * problem.queries + query) * problem.heads + head;
        sample.output_row = static_cast<std::size_t>(row * problem.head_channels);
        for (const MsdaLevel& level : problem.levels) {
          sample.edge = std::max(level.height, level.width);
          for (std::int64_t point = 0; point < problem.points; ++point, ++sample.number) {
            sample.corners = corners_at(problem, image, head, level, inputs.locations[2 * sample.number],
                                        inputs.locations[2 * sample.number + 1]);
            visit(sample);
          }
        }
      }
    }
  }
}

HostOutputs zeros(const Problem& problem) {
  const auto element = static_cast<std::size_t>(element_bytes(problem.dtype));
  const TensorBytes bytes = tensor_bytes(problem);
  const auto samples = static_cast<std::size_t>(problem.samples());
  return {std::vector<double>(bytes.output / element), std::vector<double>(bytes.values / element),
          std::vector<double>(2 * samples), std::vector<double>(samples)};
}

/// Sums of products over all samples.
enum class Terms {
  kAsTheyAre,
  kMagnitudes,
  kMagnitudesOfSlack  ///< those of kMagnitudes with the largest error of a corner's share in place of the
                      ///< share
};

HostOutputs sums(const Problem& problem, const HostInputs& inputs, Terms terms) {
  HostOutputs out = zeros(problem);
  const auto size = [terms](double value) { return terms == Terms::kAsTheyAre ? value : std::abs(value); };
  for_each(problem, inputs, [&](const Sample& sample) {
    const double weight = size(inputs.weights[sample.number]);
    for (Corner corner : sample.corners) {
      if (terms == Terms::kMagnitudesOfSlack) {
        // A position in a level of w pixels is off by at most half a spacing of w.
        const double slack = 4 * static_cast<double>(sample.edge) * unit_of(Dtype::kFp32);
        corner.share = slack;
        corner.along_x = corner.along_y = slack * static_cast<double>(sample.edge);
      }
      double dot = 0;
      for (std::size_t k = 0; k < static_cast<std::size_t>(problem.head_channels); ++k) {
        const double value = size(inputs.values[corner.row + k]);
        const double above = size(inputs.output_gradient[sample.output_row + k]);
        out.output[sample.output_row + k] += weight * corner.share * value;
        out.value_gradient[corner.row + k] += weight * corner.share * above;
        dot += value * above;
      }
      out.weight_gradient[sample.number] += corner.share * dot;
      out.location_gradient[2 * sample.number] += weight * size(corner.along_x) * dot;
      out.location_gradient[2 * sample.number + 1] += weight * size(corner.along_y) * dot;
    }
  });
  return out;
}

/// Updates of each element of the value's gradient.
std::vector<double> updates_of(const Problem& problem, const HostInputs& inputs) {
  std::vector<double> updates(inputs.values.size());
  for_each(problem, inputs, [&](const Sample& sample) {
    for (const Corner& corner : sample.corners) {
      for (std::size_t k = 0; k < static_cast<std::size_t>(problem.head_channels); ++k)
        ++updates[corner.row + k];
    }
  });
  return updates;
}

/// A location of a level: quarters of a pixel, or anywhere but within 1/32 of where the pixels around it
/// change, up to two pixels outside. Those of a first query lie `far` away.
double draw_location(std::int64_t edge, CheckValues kind, bool far, std::uint64_t bits) {
  const auto pixels = static_cast<std::uint64_t>(edge + 4);
  const double pixel = static_cast<double>(static_cast<std::int64_t>(bits % pixels)) - 2 + (far ? 1000 : 0);
  const double part = kind == CheckValues::kIntegers ? static_cast<double>(bits >> 32 & 3) / 4
                                                     : (1 + 30 * random_unit(random_bits(bits, 1))) / 32;
  return (pixel + 0.5 + part) / static_cast<double>(edge);
}

double draw_number(CheckValues kind, std::uint64_t bits) {
  return kind == CheckValues::kIntegers ? (bits % 2 == 0 ? 1 : -1) : 2 * random_unit(bits) - 1;
}

std::vector<double> draw_numbers(std::size_t count, CheckValues kind, std::uint64_t seed) {
  std::vector<double> numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = draw_number(kind, random_bits(seed, i));
  return numbers;
}

std::vector<double> draw_locations(const Problem& problem, CheckValues kind, std::uint64_t seed) {
  std::vector<double> locations(static_cast<std::size_t>(2 * problem.samples()));
  const auto of_query = static_cast<std::size_t>(problem.heads * std::ssize(problem.levels) * problem.points);
  for (std::size_t sample = 0; sample < locations.size() / 2; ++sample) {
    const std::size_t number = sample / static_cast<std::size_t>(problem.points) % problem.levels.size();
    const MsdaLevel& level = problem.levels[number];
    const bool far = problem.queries > 1 && sample < of_query;
    locations[2 * sample] = draw_location(level.width, kind, far, random_bits(seed, 2 * sample));
    locations[2 * sample + 1] = draw_location(level.height, kind, false, random_bits(seed, 2 * sample + 1));
  }
  return locations;
}

/// A shuffle (Fisher and Yates) of each image's queries.
std::vector<std::int32_t> draw_order(const Problem& problem, std::uint64_t seed) {
  std::vector<std::int32_t> order;
  for (std::int64_t image = 0; image < problem.batch; ++image) {
    std::vector<std::int32_t> queries(static_cast<std::size_t>(problem.queries));
    std::iota(queries.begin(), queries.end(), 0);
    for (std::size_t i = queries.size(); i > 1; --i)
      std::swap(queries[i - 1], queries[random_bits(seed + static_cast<std::uint64_t>(image), i) % i]);
    order.insert(order.end(), queries.begin(), queries.end());
  }
  return order;
}

/// One output on the GPU between poisoned guards, poisoned itself before the launch.
class Guarded {
 public:
  Guarded(Dtype dtype, std::size_t count)
      : dtype_(dtype),
        bytes_(count * static_cast<std::size_t>(element_bytes(dtype))),
        buffer_(bytes_ + 2 * kGuardBytes) {
    buffer_.fill(kPoison);
  }
  [[nodiscard]] Dtype dtype() const { return dtype_; }
  [[nodiscard]] void* data() const { return static_cast<char*>(buffer_.data()) + kGuardBytes; }
  /// Reads back; `intact` becomes false where a guard was overwritten.
  [[nodiscard]] std::vector<double> numbers(bool& intact) const {
    std::vector<std::uint8_t> all(buffer_.bytes());
    buffer_.copy_to_host(all.data(), all.size());
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(kGuardBytes);
    const auto end = begin + static_cast<std::ptrdiff_t>(bytes_);
    const auto poisoned = [](std::uint8_t byte) { return byte == kPoison; };
    intact = intact && std::all_of(all.begin(), begin, poisoned) && std::all_of(end, all.end(), poisoned);
    return decoded(dtype_, {begin, end});
  }

 private:
  Dtype dtype_;
  std::size_t bytes_;
  DeviceBuffer buffer_;
};

DeviceBuffer on_gpu(Dtype dtype, const std::vector<double>& numbers) {
  const std::vector<std::uint8_t> bytes = encoded(dtype, numbers);
  DeviceBuffer buffer(bytes.size());
  buffer.copy_from_host(bytes.data(), bytes.size());
  return buffer;
}

/// Sums of 16ths must fit the significand of the type that they are added up in, whatever the order.
void require_exact(const Problem& problem, const HostInputs& inputs) {
  const std::vector<double> most = sums(problem, inputs, Terms::kMagnitudes).value_gradient;
  const double limit = std::ldexp(1.0, significand_bits(problem.dtype) - 4);
  if (*std::max_element(most.begin(), most.end()) <= limit) return;
  throw InvalidParameter("queries", std::to_string(problem.queries),
                         "so few that the sums of small integers are exact");
}

void judge(const char* name, CheckValues kind, const std::vector<double>& found,
           const std::vector<double>& expected, const std::vector<double>& bounds, Check& result) {
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double off = std::abs(found[i] - expected[i]);
    double error = off == 0 ? 0 : off / bounds[i];
    if (kind == CheckValues::kIntegers && off > 0) error = 1;
    if (std::isnan(off)) error = HUGE_VAL;
    if (error <= result.error) continue;
    result.error = error;
    result.worst = name;
  }
}

}  // namespace

HostOutputs oracle(const Problem& problem, const HostInputs& inputs) {
  require_valid(problem);
  return sums(problem, inputs, Terms::kAsTheyAre);
}

HostInputs draw_inputs(const Problem& problem, CheckValues kind, std::uint64_t seed) {
  const HostOutputs sizes = zeros(problem);
  HostInputs inputs;
  inputs.values = rounded(problem.dtype, draw_numbers(sizes.value_gradient.size(), kind, seed));
  inputs.output_gradient = rounded(problem.dtype, draw_numbers(sizes.output.size(), kind, seed + 1));
  inputs.weights = rounded(problem.parameters, draw_numbers(sizes.weight_gradient.size(), kind, seed + 2));
  inputs.locations = rounded(problem.parameters, draw_locations(problem, kind, seed + 3));
  inputs.order = draw_order(problem, seed + 4);
  return inputs;
}

HostOutputs error_bounds(const Problem& problem, const HostInputs& inputs) {
  HostOutputs bounds = sums(problem, inputs, Terms::kMagnitudes);
  const HostOutputs slack = sums(problem, inputs, Terms::kMagnitudesOfSlack);
  const double single = unit_of(Dtype::kFp32), value = unit_of(problem.dtype),
               parameter = unit_of(problem.parameters);
  const double tiny = tiny_of(problem.dtype), tiny_parameter = tiny_of(problem.parameters);
  const double samples = static_cast<double>(std::ssize(problem.levels) * problem.points);
  const double channels = static_cast<double>(problem.head_channels);
  const std::vector<double> updates = updates_of(problem, inputs);
  const bool wide = problem.path == scatter_add::Path::kAccumulator;
  const double more = problem.path == scatter_add::Path::kPrivate ? static_cast<double>(problem.copies) : 0;
  const auto widen = [](std::vector<double>& bound, const std::vector<double>& by, double relative,
                        double least) {
    for (std::size_t i = 0; i < bound.size(); ++i) bound[i] = 1.01 * (bound[i] * relative + by[i]) + least;
  };
  widen(bounds.output, slack.output, value + 8 * samples * single, tiny);
  widen(bounds.weight_gradient, slack.weight_gradient, parameter + 2 * channels * single, tiny_parameter);
  widen(bounds.location_gradient, slack.location_gradient, parameter + 2 * channels * single, tiny_parameter);
  for (std::size_t i = 0; i < updates.size(); ++i) {
    // Each update is rounded to the sum's type and then each addition; at the end the sum of the copies.
    const double added = (updates[i] + 2 + more) * (wide ? single : value);
    double& bound = bounds.value_gradient[i];
    bound = 1.01 * (bound * (added + value + 8 * single) + slack.value_gradient[i]) +
            (2 * updates[i] + more + 2) * tiny;
  }
  return bounds;
}

Check check(const GpuInfo& gpu, const Problem& problem, CheckValues kind, std::uint64_t seed) {
  const HostInputs inputs = draw_inputs(problem, kind, seed);
  const HostOutputs expected = oracle(problem, inputs), bounds = error_bounds(problem, inputs);
  if (kind == CheckValues::kIntegers) require_exact(problem, inputs);
  const DeviceBuffer values = on_gpu(problem.dtype, inputs.values);
  const DeviceBuffer locations = on_gpu(problem.parameters, inputs.locations);
  const DeviceBuffer weights = on_gpu(problem.parameters, inputs.weights);
  const DeviceBuffer above = on_gpu(problem.dtype, inputs.output_gradient);
  DeviceBuffer order(inputs.order.size() * sizeof(std::int32_t));
  order.copy_from_host(inputs.order.data(), order.bytes());
  DeviceBuffer scratch(std::max<std::size_t>(
      {scratch_bytes(problem, MsdaPhase::kForward), scratch_bytes(problem, MsdaPhase::kBackward), 16}));
  const Guarded output(problem.dtype, expected.output.size());
  const Guarded value_gradient(problem.dtype, expected.value_gradient.size());
  const Guarded location_gradient(problem.parameters, expected.location_gradient.size());
  const Guarded weight_gradient(problem.parameters, expected.weight_gradient.size());
  const Tensors tensors = {values.data(),          locations.data(),
                           weights.data(),         static_cast<const std::int32_t*>(order.data()),
                           output.data(),          above.data(),
                           value_gradient.data(),  location_gradient.data(),
                           weight_gradient.data(), scratch.data()};
  for (const MsdaPhase phase : {MsdaPhase::kForward, MsdaPhase::kBackward}) {
    scratch.fill(kPoison);
    launch(gpu, problem, phase, tensors);
    synchronize();
  }
  Check result;
  result.guards_intact = true;
  const auto compare = [&](const char* name, const Guarded& found, const std::vector<double>& sum,
                           const std::vector<double>& bound) {
    // Sums of integers are exact; what is stored of them is rounded once.
    judge(name, kind, found.numbers(result.guards_intact),
          kind == CheckValues::kIntegers ? rounded(found.dtype(), sum) : sum, bound, result);
  };
  compare("output", output, expected.output, bounds.output);
  compare("value_gradient", value_gradient, expected.value_gradient, bounds.value_gradient);
  compare("location_gradient", location_gradient, expected.location_gradient, bounds.location_gradient);
  compare("weight_gradient", weight_gradient, expected.weight_gradient, bounds.weight_gradient);
  result.passed =
      result.guards_intact && (kind == CheckValues::kIntegers ? result.error == 0 : result.error <= 1);
  return result;
}

}  // namespace natten_sim::kernels::msda
