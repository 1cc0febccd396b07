#include <algorithm>
#include <cmath>
#include <limits>

#include <natten_sim/kernels/attention_backward/oracle.hpp>
#include <natten_sim/kernels/attention_forward/oracle.hpp>

namespace natten_sim::kernels::attention_backward {
namespace {

/// One query of one head, whose keys' tensors are those of its KV head.
struct QueryRow {
  const Problem& problem;
  const HostTensors& tensors;
  std::int64_t batch, head, kv_head, query;

  [[nodiscard]] double q(std::int64_t d) const { return at(tensors.q, problem.q, head, query, d); }
  [[nodiscard]] double d_o(std::int64_t d) const { return at(tensors.d_o, problem.o, head, query, d); }
  [[nodiscard]] double k(std::int64_t key, std::int64_t d) const {
    return at(tensors.k, problem.k, kv_head, key, d);
  }
  [[nodiscard]] double v(std::int64_t key, std::int64_t d) const {
    return at(tensors.v, problem.v, kv_head, key, d);
  }
  [[nodiscard]] bool sees(std::int64_t key) const {
    const std::int64_t distance = key - (query + problem.kv_tokens - problem.q_tokens);
    if (problem.pairs != nullptr && !problem.pairs->sees(query, key)) return false;
    return (!problem.mask.left || distance >= -*problem.mask.left) &&
           (!problem.mask.right || distance <= *problem.mask.right);
  }

 private:
  [[nodiscard]] double at(const std::vector<std::uint16_t>& tensor, const TensorStrides& strides,
                          std::int64_t of, std::int64_t token, std::int64_t d) const {
    return attention_forward::value_of_bits(
        tensor.at(
            static_cast<std::size_t>(batch * strides.batch + of * strides.head + token * strides.token + d)),
        problem.dtype);
  }
};

/// dO . V and Q . K of every key of a row, then softmax: P and dP - delta.
struct RowScores {
  std::vector<std::int64_t> keys;
  std::vector<double> probability, centred;
};

RowScores row_scores(const QueryRow& row) {
  RowScores made;
  double top = -std::numeric_limits<double>::infinity();
  for (std::int64_t key = 0; key < row.problem.kv_tokens; ++key) {
    if (!row.sees(key)) continue;
    double score = 0, product = 0;
    for (std::int64_t d = 0; d < row.problem.head_dim; ++d) {
      score += row.q(d) * row.k(key, d);
      product += row.d_o(d) * row.v(key, d);
    }
    made.keys.push_back(key);
    made.probability.push_back(score * row.problem.softmax_scale());
    made.centred.push_back(product);
    top = std::max(top, made.probability.back());
  }
  double sum = 0, delta = 0;
  for (double& p : made.probability) sum += p = std::exp(p - top);
  for (double& p : made.probability) p /= sum;
  for (std::size_t i = 0; i < made.keys.size(); ++i) delta += made.probability[i] * made.centred[i];
  for (double& value : made.centred) value -= delta;
  return made;
}

}  // namespace

HostGradients reference_on_host(const Problem& problem, const HostTensors& tensors) {
  require_valid(problem);
  const std::int64_t d = problem.head_dim, group = problem.heads / problem.heads_kv;
  HostGradients made;
  made.dq.assign(static_cast<std::size_t>(problem.batch * problem.heads * problem.q_tokens * d), 0.0);
  made.dk.assign(static_cast<std::size_t>(problem.batch * problem.heads_kv * problem.kv_tokens * d), 0.0);
  made.dv = made.dk;
  for (std::int64_t batch = 0; batch < problem.batch; ++batch) {
    for (std::int64_t head = 0; head < problem.heads; ++head) {
      for (std::int64_t query = 0; query < problem.q_tokens; ++query) {
        const QueryRow row{problem, tensors, batch, head, head / group, query};
        const RowScores scores = row_scores(row);
        const std::int64_t q_row = ((batch * problem.heads + head) * problem.q_tokens + query) * d;
        for (std::size_t i = 0; i < scores.keys.size(); ++i) {
          const std::int64_t key = scores.keys[i];
          const std::int64_t kv_row =
              ((batch * problem.heads_kv + head / group) * problem.kv_tokens + key) * d;
          const double p = scores.probability[i], ds = p * scores.centred[i] * problem.softmax_scale();
          for (std::int64_t column = 0; column < d; ++column) {
            made.dq[static_cast<std::size_t>(q_row + column)] += ds * row.k(key, column);
            made.dk[static_cast<std::size_t>(kv_row + column)] += ds * row.q(column);
            made.dv[static_cast<std::size_t>(kv_row + column)] += p * row.d_o(column);
          }
        }
      }
    }
  }
  return made;
}

}  // namespace natten_sim::kernels::attention_backward
