#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

#include <natten_sim/core/error.hpp>
#include <natten_sim/models/fit/levenberg_marquardt.hpp>
#include <natten_sim/models/tiles/tile_time.hpp>

namespace natten_sim {
namespace {

/// Deviation of a cell: what the model leaves out.
constexpr double kCellSigma = 0.08;
constexpr double kExponentialsAClock = 16, kExponentialsAClockSm103 = 32;

using GroupKey = std::pair<TensorIssue, Walk>;
using KernelKey = std::tuple<std::string, TensorIssue, Walk>;

GroupKey group_of(const TileCell& cell) { return {cell.issue, cell.pass}; }
KernelKey kernel_of(const TileCell& cell) { return {cell.kernel, cell.issue, cell.pass}; }

const CostPrior& prior_of(const std::vector<CostPrior>& priors, const std::string& name) {
  const auto found =
      std::find_if(priors.begin(), priors.end(), [&](const CostPrior& prior) { return prior.name == name; });
  if (found == priors.end()) throw InvalidParameter("priors", "without " + name, "all of them");
  return *found;
}

std::string name_in_pass(const char* name, Walk pass) {
  return std::string(name) + (pass == Walk::kForward ? "_forward" : "_backward");
}

double sum_us(const TileCell& cell, double tensor, double element) {
  return tensor * cell.tensor_us + element * cell.element_us;
}

/// Fitted numbers are factors on their priors: tensor and element of each group, then one a kernel.
class TileModel {
 public:
  TileModel(const std::vector<TileCell>& cells, const std::vector<CostPrior>& priors) : priors_(priors) {
    for (const TileCell& cell : cells) {
      if (!(cell.us > 0)) continue;
      cells_.push_back(&cell);
      groups_.try_emplace(group_of(cell), groups_.size());
      kernels_.try_emplace(kernel_of(cell), kernels_.size());
    }
    if (cells_.empty()) throw InvalidParameter("cells", "0", "1 measured cell or more");
  }

  [[nodiscard]] TileFit solve() const {
    LevenbergMarquardtProblem problem;
    problem.model = [&](const std::vector<double>& factors) { return residuals(factors); };
    const std::size_t size = 2 * groups_.size() + kernels_.size();
    problem.starts = {std::vector<double>(size, 1.0)};
    problem.observed.assign(cells_.size() + size, 0.0);
    problem.derivative_step = 1e-4;
    return fit_of(levenberg_marquardt(problem).parameters);
  }

 private:
  [[nodiscard]] std::vector<double> residuals(const std::vector<double>& given) const {
    std::vector<double> factors = given;
    for (double& factor : factors) factor = std::max(factor, 1e-3);
    std::vector<double> values;
    for (const TileCell* cell : cells_) {
      const std::size_t group = 2 * groups_.at(group_of(*cell));
      const double tensor = prior(*cell, "tensor").value * factors[group];
      const double element = prior(*cell, "element").value * factors[group + 1];
      const double predicted =
          factors[2 * groups_.size() + kernels_.at(kernel_of(*cell))] * sum_us(*cell, tensor, element);
      const double z = std::log(predicted / cell->us) / kCellSigma;
      values.push_back(std::copysign(std::sqrt(2 * (std::sqrt(1 + z * z) - 1)), z));
    }
    for (const auto& [key, at] : groups_) {
      values.push_back(std::log(factors[2 * at]) / prior_of(priors_, name_in_pass("tensor", key.second)).spread);
      values.push_back(std::log(factors[2 * at + 1]) / prior_of(priors_, name_in_pass("element", key.second)).spread);
    }
    const double spread = prior_of(priors_, "kernel").spread;
    for (std::size_t i = 2 * groups_.size(); i < factors.size(); ++i) values.push_back(std::log(factors[i]) / spread);
    return values;
  }

  [[nodiscard]] const CostPrior& prior(const TileCell& cell, const char* name) const {
    return prior_of(priors_, name_in_pass(name, cell.pass));
  }

  [[nodiscard]] TileFit fit_of(const std::vector<double>& factors) const {
    TileFit fit;
    for (const auto& [key, at] : groups_)
      fit.constants.push_back({key.first, key.second,
                               prior_of(priors_, name_in_pass("tensor", key.second)).value * factors[2 * at],
                               prior_of(priors_, name_in_pass("element", key.second)).value * factors[2 * at + 1]});
    for (const auto& [key, at] : kernels_)
      fit.factors.push_back(
          {std::get<0>(key), std::get<1>(key), std::get<2>(key), factors[2 * groups_.size() + at]});
    return fit;
  }

  const std::vector<CostPrior>& priors_;
  std::vector<const TileCell*> cells_;
  std::map<GroupKey, std::size_t> groups_;
  std::map<KernelKey, std::size_t> kernels_;
};

/// `hopper-fna` of `hopper-fna small`; fmha as fna.
std::string family_of(const std::string& kernel) {
  std::string family = kernel.substr(0, kernel.find(' '));
  const std::size_t dense = family.find("-fmha");
  return dense == std::string::npos ? family : family.substr(0, dense) + "-fna";
}

std::string name_of(const std::string& kernel) { return kernel.substr(0, kernel.find(' ')); }

/// Of products of one head dim, by tiles for that head dim.
bool one_head_dim(const TileCell& a, const TileCell& b) {
  return a.head_dim == b.head_dim || (a.computed_head_dim == b.computed_head_dim && a.largest_head_dim == b.largest_head_dim);
}

bool one_tile_size(const TileCell& a, const TileCell& b) {
  return a.q_tile_tokens == b.q_tile_tokens && a.kv_tile_tokens == b.kv_tile_tokens;
}

/// How near `source` is to `cell`; none: of another kernel or pass.
std::optional<TransferKind> nearness(const TileCell& cell, const TileCell& source) {
  if (cell.pass != source.pass || family_of(cell.kernel) != family_of(source.kernel)) return std::nullopt;
  if (cell.architecture != source.architecture) {
    if (name_of(cell.kernel) != name_of(source.kernel)) return std::nullopt;
    return one_head_dim(cell, source) ? TransferKind::kOtherArchitecture : TransferKind::kOtherArchitectureAndHeadDim;
  }
  if (name_of(cell.kernel) != name_of(source.kernel)) return TransferKind::kSiblingKernel;
  const bool here = cell.device == source.device;
  if (cell.head_dim == source.head_dim) return here ? TransferKind::kOtherTiles : TransferKind::kOtherDevice;
  if (!one_head_dim(cell, source) || !one_tile_size(cell, source)) return TransferKind::kOtherHeadDim;
  return here ? TransferKind::kSameProgram : TransferKind::kOtherDevice;
}

/// Smaller is nearer, among sources of one kind.
std::tuple<double, double, bool> distance(const TileCell& cell, const TileCell& source) {
  const auto apart = [](std::int64_t a, std::int64_t b) {
    return std::round(1e6 * std::abs(std::log(static_cast<double>(a) / static_cast<double>(b))));
  };
  return {apart(source.head_dim, cell.head_dim),
          apart(source.q_tile_tokens, cell.q_tile_tokens) + apart(source.kv_tile_tokens, cell.kv_tile_tokens),
          source.device != cell.device};
}

double error_of(const LeftOutCell& row, const std::vector<TileCell>& cells) {
  return std::expm1(std::abs(std::log(cells[row.cell].us / row.predicted_us)));
}

constexpr double kLevel = 0.9, kWidening = 1.5;

/// The 90% quantile for one more point (split conformal); widened for few.
double interval_of(std::vector<double> errors) {
  std::sort(errors.begin(), errors.end());
  const auto count = static_cast<std::int64_t>(errors.size());
  if (count < kFewestPoints) return kWidening * errors.back();
  const auto rank = static_cast<std::size_t>(std::ceil(kLevel * static_cast<double>(count + 1)));
  return errors[std::min(rank, errors.size()) - 1];
}

double share_inside(const std::vector<double>& errors) {
  std::int64_t inside = 0;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    std::vector<double> others = errors;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    if (!others.empty() && errors[i] <= interval_of(others)) ++inside;
  }
  return static_cast<double>(inside) / static_cast<double>(errors.size());
}

}  // namespace

TileCell tile_cell(const KernelPhysics& kernel, const PhysicalPass& pass, const PhysicalTiles& tiles,
                   const Device& device, std::int64_t head_dim, Dtype dtype) {
  if (!device.sms || !device.boost_clock_hz || !device.dense_bf16_flops_per_s)
    throw InvalidParameter("device", device.name, "a device whose SMs, boost clock and tensor rate are known");
  const double clock = device.boost_clock_hz->value;
  const double stated = device.dense_bf16_flops_per_s->value / device.sms->value / clock;
  double flops_a_clock = std::exp2(std::round(std::log2(stated)));
  constexpr double kHopper = 4096;  // H20 has a quarter, which mma.sync reaches
  if (kernel.issue == TensorIssue::kMmaSync && device.architecture == "sm90" && flops_a_clock >= kHopper)
    flops_a_clock *= kMmaSyncShare;
  if (element_bytes(dtype) == 1) flops_a_clock *= 2;
  constexpr std::int64_t kStep = 16;
  const std::int64_t computed =
      tiles.computed_head_dim > 0 ? tiles.computed_head_dim : (head_dim + kStep - 1) / kStep * kStep;
  const double pairs = static_cast<double>(tiles.q_tile_tokens) * static_cast<double>(tiles.kv_tile_tokens);
  TileCell cell{.kernel = kernel.kernel + (tiles.variant.empty() ? "" : " " + tiles.variant),
                .device = device.name,
                .architecture = device.architecture,
                .issue = kernel.issue,
                .pass = pass.pass,
                .head_dim = head_dim,
                .computed_head_dim = computed,
                .largest_head_dim = tiles.head_dim,
                .q_tile_tokens = tiles.q_tile_tokens,
                .kv_tile_tokens = tiles.kv_tile_tokens};
  const double uneven = head_dim < computed ? tiles.uneven : 1;
  cell.tensor_us = uneven * 1e6 * pass.products * 2 * pairs * static_cast<double>(computed) / flops_a_clock / clock;
  const double exponentials = device.architecture == "sm103" ? kExponentialsAClockSm103 : kExponentialsAClock;
  cell.element_us = uneven * 1e6 * pass.exponentials * pairs / exponentials / clock;
  return cell;
}

TileFit fit_tiles(const std::vector<TileCell>& cells, const std::vector<CostPrior>& priors) {
  return TileModel(cells, priors).solve();
}

double physical_us(const TileCell& cell, const TileFit& fit, const std::vector<CostPrior>& priors) {
  double tensor = prior_of(priors, name_in_pass("tensor", cell.pass)).value,
         element = prior_of(priors, name_in_pass("element", cell.pass)).value, factor = 1;
  for (const TileConstants& each : fit.constants) {
    if (each.issue == cell.issue && each.pass == cell.pass) tensor = each.tensor, element = each.element;
  }
  for (const KernelFactor& each : fit.factors) {
    if (each.kernel == cell.kernel && each.issue == cell.issue && each.pass == cell.pass) factor = each.factor;
  }
  return factor * sum_us(cell, tensor, element);
}

Transfer transfer_of(const TileCell& cell, const std::vector<TileCell>& cells, const TileFit& fit,
                     const std::vector<CostPrior>& priors) {
  Transfer transfer;
  std::optional<std::tuple<TransferKind, std::tuple<double, double, bool>>> best;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (!(cells[i].us > 0)) continue;
    const std::optional<TransferKind> kind = nearness(cell, cells[i]);
    if (!kind) continue;
    const std::tuple rank(*kind, distance(cell, cells[i]));
    if (best && rank > *best) continue;
    if (!best || rank < *best) transfer.sources.clear();
    best = rank;
    transfer.sources.push_back(i);
  }
  if (!best) {
    transfer.us = physical_us(cell, fit, priors);
    return transfer;
  }
  transfer.kind = std::get<0>(*best);
  TileFit alike = fit;  // what sets a kernel apart sets its sibling apart
  if (transfer.kind == TransferKind::kSiblingKernel) alike.factors.clear();
  transfer.us = physical_us(cell, alike, priors);
  double logs = 0;
  for (const std::size_t i : transfer.sources) logs += std::log(cells[i].us / physical_us(cells[i], alike, priors));
  transfer.us *= std::exp(logs / static_cast<double>(transfer.sources.size()));
  return transfer;
}

std::vector<LeftOutCell> leave_out_cells(const std::vector<TileCell>& cells, const std::vector<CostPrior>& priors) {
  std::vector<LeftOutCell> rows;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (!(cells[i].us > 0)) continue;
    for (const TransferKind kind : values_of<TransferKind>()) {
      std::vector<TileCell> kept;
      bool has_kind = kind == TransferKind::kPhysical;
      for (std::size_t j = 0; j < cells.size(); ++j) {
        const std::optional<TransferKind> near = nearness(cells[i], cells[j]);
        // Leaving a kernel out leaves out all its passes.
        const bool same_kernel = name_of(cells[i].kernel) == name_of(cells[j].kernel);
        if (j == i || (near && *near < kind) || (kind == TransferKind::kPhysical && same_kernel)) continue;
        has_kind = has_kind || near == kind;
        kept.push_back(cells[j]);
      }
      if (!has_kind) continue;
      const Transfer transfer = transfer_of(cells[i], kept, fit_tiles(kept, priors), priors);
      if (transfer.kind == kind) rows.push_back({kind, i, transfer.us});
    }
  }
  return rows;
}

std::vector<TransferError> transfer_errors(const std::vector<LeftOutCell>& rows, const std::vector<TileCell>& cells) {
  std::vector<TransferError> errors;
  double widest = 0;
  for (const TransferKind kind : values_of<TransferKind>()) {
    TransferError error{.kind = kind};
    std::vector<double> of_kind;
    for (const LeftOutCell& row : rows) {
      if (row.kind == kind) of_kind.push_back(error_of(row, cells));
    }
    error.points = static_cast<std::int64_t>(of_kind.size());
    for (const double each : of_kind) {
      error.mean += each / static_cast<double>(of_kind.size());
      error.worst = std::max(error.worst, each);
    }
    if (!of_kind.empty()) {
      error.interval = interval_of(of_kind);
      error.inside = share_inside(of_kind);
    }
    widest = std::max(widest, error.interval);
    errors.push_back(error);
  }
  for (TransferError& error : errors) {
    if (error.points == 0) error.interval = kWidening * widest;
  }
  return errors;
}

}  // namespace natten_sim
