#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include <Eigen/QR>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/models/fit/levenberg_marquardt.hpp>

namespace natten_sim {
namespace {

using Vector = Eigen::VectorXd;
using Matrix = Eigen::MatrixXd;

constexpr int kMaxIterations = 60;
constexpr double kMaxDamping = 1e8;
constexpr double kSmallestStep = 1e-6;
/// Relative decrease of the sum of squares in one iteration below which the search ends.
constexpr double kSmallestDecrease = 1e-6;
/// Columns of unit length that differ by less count as one direction.
constexpr double kRankThreshold = 1e-6;

std::vector<double> values_of(const Vector& vector) { return {vector.begin(), vector.end()}; }

void require_valid(const LevenbergMarquardtProblem& problem) {
  if (problem.observed.empty()) throw InvalidParameter("observed", "0 values", "1 or more");
  if (problem.starts.empty()) throw InvalidParameter("starts", "0", "1 or more");
  if (!(problem.derivative_step > 0) || !std::isfinite(problem.derivative_step)) {
    throw InvalidParameter("derivative_step", std::to_string(problem.derivative_step),
                           "a finite number above 0");
  }
  for (const double value : problem.observed) {
    if (!std::isfinite(value)) throw InvalidParameter("observed", std::to_string(value), "finite numbers");
  }
  for (const std::vector<double>& start : problem.starts) {
    if (start.empty() || start.size() != problem.starts.front().size()) {
      throw InvalidParameter("starts", std::to_string(start.size()) + " parameters",
                             "1 or more, as many in every start");
    }
    for (const double value : start) {
      if (!(value >= 0) || !std::isfinite(value))
        throw InvalidParameter("starts", std::to_string(value), "finite numbers, 0 or more");
    }
  }
}

class Solver {
 public:
  explicit Solver(const LevenbergMarquardtProblem& problem)
      : problem_(problem),
        observed_(Eigen::Map<const Vector>(problem.observed.data(),
                                           static_cast<Eigen::Index>(problem.observed.size()))) {}

  struct Point {
    Vector parameters;
    Vector residuals;
    [[nodiscard]] double squares() const { return residuals.squaredNorm(); }
  };

  Point at(const Vector& parameters) {
    ++evaluations_;
    const std::vector<double> values = problem_.model(values_of(parameters));
    if (values.size() != problem_.observed.size()) {
      throw InvalidParameter("model", std::to_string(values.size()) + " values",
                             std::to_string(problem_.observed.size()) + ", as many as observed");
    }
    for (const double value : values) {
      if (!std::isfinite(value)) throw InvalidParameter("model", std::to_string(value), "finite values");
    }
    return {parameters,
            Eigen::Map<const Vector>(values.data(), static_cast<Eigen::Index>(values.size())) - observed_};
  }

  /// Central differences; one-sided where a parameter is nearer to 0 than the step.
  Matrix derivatives(const Point& point) {
    Matrix jacobian(point.residuals.size(), point.parameters.size());
    for (Eigen::Index j = 0; j < point.parameters.size(); ++j) {
      Vector below = point.parameters, above = point.parameters;
      above[j] += problem_.derivative_step;
      below[j] = std::max(0.0, below[j] - problem_.derivative_step);
      jacobian.col(j) = (at(above).residuals - at(below).residuals) / (above[j] - below[j]);
    }
    return jacobian;
  }

  /// The damped step that lowers the sum of squares; none when no damping gives one.
  std::optional<Point> improve(const Point& point, double& damping) {
    Matrix jacobian = derivatives(point);
    const Vector gradient = jacobian.transpose() * point.residuals;
    for (Eigen::Index j = 0; j < gradient.size(); ++j) {
      if (point.parameters[j] == 0 && gradient[j] > 0) jacobian.col(j).setZero();  // held at its bound
    }
    const Eigen::Index rows = jacobian.rows(), columns = jacobian.cols();
    for (; damping <= kMaxDamping; damping *= 10) {
      Matrix damped = Matrix::Zero(rows + columns, columns);
      damped.topRows(rows) = jacobian;
      for (Eigen::Index j = 0; j < columns; ++j) {
        const double length = jacobian.col(j).norm();
        damped(rows + j, j) = std::sqrt(damping) * (length > 0 ? length : 1);
      }
      Vector target = Vector::Zero(rows + columns);
      target.head(rows) = -point.residuals;
      const Vector step = damped.colPivHouseholderQr().solve(target);
      const Vector moved = (point.parameters + step).cwiseMax(0.0);
      if ((moved - point.parameters).norm() < kSmallestStep) return std::nullopt;
      Point candidate = at(moved);
      if (candidate.squares() < point.squares()) {
        damping = std::max(damping / 10, 1e-9);
        return candidate;
      }
    }
    return std::nullopt;
  }

  Point descend(const std::vector<double>& start) {
    Point point = at(Eigen::Map<const Vector>(start.data(), static_cast<Eigen::Index>(start.size())));
    double damping = 1e-3;
    for (int iteration = 0; iteration < kMaxIterations; ++iteration) {
      poll_now();
      std::optional<Point> better = improve(point, damping);
      if (!better) break;
      const bool settled = point.squares() - better->squares() <= kSmallestDecrease * point.squares();
      point = std::move(*better);
      if (settled) break;
    }
    return point;
  }

  LevenbergMarquardtFit describe(const Point& point) {
    LevenbergMarquardtFit fit;
    fit.parameters = values_of(point.parameters);
    fit.predicted = values_of(observed_ + point.residuals);
    const Eigen::Index rows = point.residuals.size(), columns = point.parameters.size();
    fit.rms_error = std::sqrt(point.squares() / static_cast<double>(rows));
    Matrix jacobian = derivatives(point);
    Vector length(columns);
    for (Eigen::Index j = 0; j < columns; ++j) {
      length[j] = jacobian.col(j).norm();
      if (length[j] > 0) jacobian.col(j) /= length[j];
    }
    Eigen::ColPivHouseholderQR<Matrix> qr(jacobian);
    qr.setThreshold(kRankThreshold);
    fit.rank = static_cast<std::int32_t>(qr.rank());
    if (fit.rank == columns && rows > columns) {
      const Matrix inverse = qr.matrixR()
                                 .topLeftCorner(columns, columns)
                                 .triangularView<Eigen::Upper>()
                                 .solve(Matrix::Identity(columns, columns));
      const double variance = point.squares() / static_cast<double>(rows - columns);
      fit.standard_errors.resize(static_cast<std::size_t>(columns));
      for (Eigen::Index i = 0; i < columns; ++i) {
        const Eigen::Index j = qr.colsPermutation().indices()[i];
        fit.standard_errors[static_cast<std::size_t>(j)] =
            std::sqrt(variance) * inverse.row(i).norm() / length[j];
      }
    }
    fit.evaluations = evaluations_;
    return fit;
  }

 private:
  const LevenbergMarquardtProblem& problem_;
  Vector observed_;
  std::int64_t evaluations_ = 0;
};

}  // namespace

LevenbergMarquardtFit levenberg_marquardt(const LevenbergMarquardtProblem& problem) {
  require_valid(problem);
  Solver solver(problem);
  std::optional<Solver::Point> best;
  for (const std::vector<double>& start : problem.starts) {
    Solver::Point found = solver.descend(start);
    if (!best || found.squares() < best->squares()) best = std::move(found);
  }
  return solver.describe(*best);
}

}  // namespace natten_sim
