#include <string>

#include <Eigen/Dense>

#include <natten_sim/core/error.hpp>
#include <natten_sim/models/fit/linear_fit.hpp>

namespace natten_sim {

std::vector<double> linear_fit(const std::vector<std::vector<double>>& rows,
                               const std::vector<double>& targets, const char* what) {
  if (rows.empty() || rows.size() < rows.front().size()) {
    throw InvalidParameter("points", std::to_string(rows.size()) + " " + what,
                           "at least as many points as constants");
  }
  Eigen::MatrixXd matrix(static_cast<Eigen::Index>(rows.size()),
                         static_cast<Eigen::Index>(rows.front().size()));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < rows[i].size(); ++j)
      matrix(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) = rows[i][j] / targets[i];
  }
  const Eigen::VectorXd solution = matrix.colPivHouseholderQr().solve(Eigen::VectorXd::Ones(matrix.rows()));
  return {solution.begin(), solution.end()};
}

}  // namespace natten_sim
