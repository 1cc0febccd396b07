#include <algorithm>
#include <iterator>
#include <limits>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/topological_sort.hpp>

#include <natten_sim/core/cancellation.hpp>
#include <natten_sim/sim/schedules/schedule_dag.hpp>

#include "schedules/schedule_costs.hpp"

namespace natten_sim {
namespace {

struct Weight {
  double time = 0;
};
using Graph =
    boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS, boost::no_property, Weight>;

/// Nodes of a task: compute starts, result handed over, reduction starts, reduction ends.
enum NodeKind : std::size_t { kComputeStart, kHanded, kReduceStart, kReduceEnd, kNodesOfTask };

class DagBuilder {
 public:
  DagBuilder(const BackwardProblem& problem, const BackwardCosts& costs, const BackwardSchedule& schedule,
             const std::vector<std::int32_t>& worker)
      : problem_(problem),
        costs_(costs),
        schedule_(schedule),
        worker_(worker),
        kv_tiles_(static_cast<std::size_t>(problem.mask.kv_tiles)) {
    launch_of_.resize(schedule.chains.size());
    std::size_t nodes = 0;
    for (std::size_t launch = 0; launch < schedule.chains.size(); ++launch) {
      poll();
      first_node_.push_back(nodes);
      launch_of_[chain_id(schedule.chains[launch].head, schedule.chains[launch].kv_tile)] = launch;
      nodes += 2 + schedule.chains[launch].q_order.size() * kNodesOfTask +
               (reduces_kv(launch) ? 2 * static_cast<std::size_t>(costs.kv_turns()) : 0);
    }
    graph_ = Graph(nodes);
    add_chain_edges();
    add_worker_edges();
    add_order_edges();
  }

  DagSolution solve() const {
    const std::size_t nodes = boost::num_vertices(graph_);
    std::vector<std::size_t> order;
    order.reserve(nodes);
    try {
      boost::topological_sort(graph_, std::back_inserter(order));  // sinks first
    } catch (const boost::not_a_dag&) {
      throw DeadlockError("the orders of chains, workers and dQ reductions close a cycle");
    }
    std::vector<double> earliest(nodes, 0.0);
    for (auto node = order.rbegin(); node != order.rend(); ++node) {
      poll();
      for (const auto& edge : boost::make_iterator_range(boost::in_edges(*node, graph_))) {
        earliest[*node] =
            std::max(earliest[*node], earliest[boost::source(edge, graph_)] + graph_[edge].time);
      }
    }
    DagSolution solution;
    for (double time : earliest) solution.makespan = std::max(solution.makespan, time);
    std::vector<double> latest(nodes, solution.makespan);
    for (const std::size_t node : order) {
      poll();
      for (const auto& edge : boost::make_iterator_range(boost::out_edges(node, graph_))) {
        latest[node] = std::min(latest[node], latest[boost::target(edge, graph_)] - graph_[edge].time);
      }
    }
    for (std::size_t launch = 0; launch < schedule_.chains.size(); ++launch) {
      for (std::size_t task = 0; task < schedule_.chains[launch].q_order.size(); ++task) {
        poll();
        const double start = earliest[node_of(launch, task, kComputeStart)];
        const std::size_t end = node_of(launch, task, kReduceEnd);
        solution.tasks.push_back({start, start + compute_cost(launch, task),
                                  earliest[node_of(launch, task, kReduceStart)], earliest[end]});
        solution.slack.push_back(latest[end] - earliest[end]);
      }
    }
    trace_critical_path(earliest, solution);
    return solution;
  }

 private:
  [[nodiscard]] std::size_t chain_id(std::int32_t head, std::int32_t kv_tile) const {
    return static_cast<std::size_t>(head) * kv_tiles_ + static_cast<std::size_t>(kv_tile);
  }
  [[nodiscard]] bool reduces_kv(std::size_t launch) const {
    return problem_.heads_per_kv_head > 1 && !schedule_.chains[launch].q_order.empty();
  }
  [[nodiscard]] std::size_t node_of(std::size_t launch, std::size_t task, NodeKind kind) const {
    return first_node_[launch] + 1 + task * kNodesOfTask + kind;
  }
  /// A chain's nodes: its begin, four a task, its close behind the epilogue, and two a turn of dK/dV.
  [[nodiscard]] std::size_t begin_of(std::size_t launch) const { return first_node_[launch]; }
  [[nodiscard]] std::size_t close_of(std::size_t launch) const {
    return first_node_[launch] + 1 + schedule_.chains[launch].q_order.size() * kNodesOfTask;
  }
  [[nodiscard]] std::size_t kv_start(std::size_t launch, std::int32_t turn) const {
    return close_of(launch) + 1 + 2 * static_cast<std::size_t>(turn);
  }
  [[nodiscard]] std::size_t kv_end(std::size_t launch, std::int32_t turn) const {
    return kv_start(launch, turn) + 1;
  }
  [[nodiscard]] std::size_t chain_end(std::size_t launch) const {
    return reduces_kv(launch) ? kv_end(launch, costs_.kv_turns() - 1) : close_of(launch);
  }
  /// Where a task passes the turn of its dQ tile on.
  [[nodiscard]] std::size_t release_of(std::size_t launch, std::size_t task) const {
    const bool last = task + 1 == schedule_.chains[launch].q_order.size();
    return costs_.release == TurnRelease::kAtOnce || last ? node_of(launch, task, kReduceEnd)
                                                          : node_of(launch, task + 1, kReduceStart);
  }
  [[nodiscard]] double compute_cost(std::size_t launch, std::size_t task) const {
    const ScheduledChain& chain = schedule_.chains[launch];
    return problem_.mask.at(chain.q_order[task], chain.kv_tile) == TileWork::kPartial ? costs_.compute_partial
                                                                                      : costs_.compute;
  }
  void add(std::size_t from, std::size_t to, double time) { boost::add_edge(from, to, Weight{time}, graph_); }

  void add_chain_edges() {
    const auto stages = static_cast<std::size_t>(costs_.writer_stages);
    const double reduce = costs_.reduce + (schedule_.dq_order.empty() ? 0.0 : costs_.per_tile_tax);
    for (std::size_t launch = 0; launch < schedule_.chains.size(); ++launch) {
      const std::size_t tasks = schedule_.chains[launch].q_order.size();
      for (std::size_t task = 0; task < tasks; ++task) {
        poll();
        add(node_of(launch, task, kComputeStart), node_of(launch, task, kHanded), compute_cost(launch, task));
        add(node_of(launch, task, kHanded), node_of(launch, task, kReduceStart), 0);
        add(node_of(launch, task, kReduceStart), node_of(launch, task, kReduceEnd), reduce);
        if (task + 1 < tasks) {
          add(node_of(launch, task, stages == 0 ? kReduceEnd : kHanded),
              node_of(launch, task + 1, kComputeStart), 0);
          add(node_of(launch, task, kReduceEnd), node_of(launch, task + 1, kReduceStart), 0);
        }
        if (stages > 0 && task >= stages)
          add(node_of(launch, task - stages, kReduceEnd), node_of(launch, task, kHanded), 0);
      }
      if (tasks > 0) {
        add(begin_of(launch), node_of(launch, 0, kComputeStart), costs_.prologue);
        add(node_of(launch, tasks - 1, kReduceEnd), close_of(launch), stages == 0 ? costs_.epilogue : 0);
        if (stages > 0) add(node_of(launch, tasks - 1, kHanded), close_of(launch), costs_.epilogue);
      } else {
        add(begin_of(launch), close_of(launch), costs_.early_exit);
      }
      if (reduces_kv(launch)) add_kv_edges(launch);
    }
  }

  void add_kv_edges(std::size_t launch) {
    const ScheduledChain& chain = schedule_.chains[launch];
    for (std::int32_t turn = 0; turn < costs_.kv_turns(); ++turn) {
      add(turn == 0 ? close_of(launch) : kv_end(launch, turn - 1), kv_start(launch, turn), 0);
      add(kv_start(launch, turn), kv_end(launch, turn), costs_.kv_turn());
      if (schedule_.dkv_order == DkvOrder::kUnordered || chain.head % problem_.heads_per_kv_head == 0)
        continue;
      const std::size_t before = launch_of_[chain_id(chain.head - 1, chain.kv_tile)];
      add(kv_end(before, turn), kv_start(launch, turn), handoff(costs_, worker_[before], worker_[launch]));
    }
  }

  void add_worker_edges() {
    std::vector<std::size_t> last(static_cast<std::size_t>(problem_.workers),
                                  std::numeric_limits<std::size_t>::max());
    for (std::size_t launch = 0; launch < schedule_.chains.size(); ++launch) {
      poll();
      if (schedule_.chains[launch].q_order.empty() && costs_.early_exit == 0) continue;
      std::size_t& before = last[static_cast<std::size_t>(worker_[launch])];
      if (before != std::numeric_limits<std::size_t>::max()) add(chain_end(before), begin_of(launch), 0);
      before = launch;
    }
  }

  void add_order_edges() {
    const auto q_tiles = static_cast<std::size_t>(problem_.mask.q_tiles);
    std::vector<std::size_t> position(schedule_.chains.size() * q_tiles, 0);  // of a Q tile in its chain
    for (std::size_t launch = 0; launch < schedule_.chains.size(); ++launch) {
      poll();
      const std::vector<std::int32_t>& q_order = schedule_.chains[launch].q_order;
      for (std::size_t task = 0; task < q_order.size(); ++task)
        position[launch * q_tiles + static_cast<std::size_t>(q_order[task])] = task;
    }
    for (std::size_t cell = 0; cell < schedule_.dq_order.size(); ++cell) {
      poll();
      const auto head = static_cast<std::int32_t>(cell / q_tiles);
      const std::vector<std::int32_t>& order = schedule_.dq_order[cell];
      for (std::size_t i = 1; i < order.size(); ++i) {
        const std::size_t from = launch_of_[chain_id(head, order[i - 1])],
                          to = launch_of_[chain_id(head, order[i])];
        add(release_of(from, position[from * q_tiles + cell % q_tiles]),
            node_of(to, position[to * q_tiles + cell % q_tiles], kReduceStart),
            handoff(costs_, worker_[from], worker_[to]));
      }
    }
  }

  void trace_critical_path(const std::vector<double>& earliest, DagSolution& solution) const {
    if (earliest.empty()) return;
    std::size_t node =
        static_cast<std::size_t>(std::max_element(earliest.begin(), earliest.end()) - earliest.begin());
    // On to the last phase, where phases without duration end the schedule.
    for (bool moved = true; moved;) {
      moved = false;
      for (const auto& edge : boost::make_iterator_range(boost::out_edges(node, graph_))) {
        if (earliest[boost::target(edge, graph_)] != earliest[node]) continue;
        node = boost::target(edge, graph_);
        moved = true;
        break;
      }
    }
    for (bool at_source = false; !at_source;) {
      at_source = true;
      std::size_t before = node;
      for (const auto& edge : boost::make_iterator_range(boost::in_edges(node, graph_))) {
        const std::size_t source = boost::source(edge, graph_);
        if (earliest[source] + graph_[edge].time != earliest[node] || (!at_source && source > before))
          continue;
        before = source;
        at_source = false;
      }
      if (!at_source) append_step(before, node, earliest, solution);
      node = before;
    }
    std::reverse(solution.critical_path.begin(), solution.critical_path.end());
    // A phase without duration says something only where a handoff leads to it.
    std::vector<CriticalStep> kept;
    for (const CriticalStep& step : solution.critical_path) {
      if (step.end > step.start || step.start > (kept.empty() ? 0.0 : kept.back().end)) kept.push_back(step);
    }
    solution.critical_path = std::move(kept);
  }

  /// Whether a node is the start of a reduction, with which a chain may pass on its turn before.
  [[nodiscard]] bool releases(std::size_t launch, std::size_t node) const {
    return node > begin_of(launch) && node < close_of(launch) &&
           (node - node_of(launch, 0, kComputeStart)) % kNodesOfTask == kReduceStart;
  }

  /// A phase edge becomes a step, one without duration where a turn is passed on; order edges and handoffs
  /// lie between steps.
  void append_step(std::size_t from, std::size_t to, const std::vector<double>& earliest,
                   DagSolution& solution) const {
    const std::size_t launch =
        static_cast<std::size_t>(std::upper_bound(first_node_.begin(), first_node_.end(), from) -
                                 first_node_.begin()) -
        1;
    const std::size_t tasks = schedule_.chains[launch].q_order.size();
    CriticalStep step{static_cast<std::int32_t>(launch), 0, TaskPhase::kPrologue, earliest[from],
                      earliest[to]};
    if (tasks == 0) {  // an early exit
      if (to != close_of(launch)) return;
    } else if (to == close_of(launch) && from != to) {
      step.phase = TaskPhase::kEpilogue;
      step.task = static_cast<std::int32_t>(tasks - 1);
    } else if (releases(launch, from) && to != from + 1) {  // the turn that lets another chain go on
      step.phase = TaskPhase::kReduce;
      step.task = static_cast<std::int32_t>((from - node_of(launch, 0, kComputeStart)) / kNodesOfTask);
      step.end = step.start;
    } else if (to != from + 1 || from == close_of(launch)) {
      return;
    } else if (from > close_of(launch)) {
      if ((from - kv_start(launch, 0)) % 2 != 0) return;
      step.phase = TaskPhase::kReduceKv;
      step.task = static_cast<std::int32_t>(tasks - 1);
    } else if (from != begin_of(launch)) {
      const std::size_t offset = from - node_of(launch, 0, kComputeStart);
      const auto kind = static_cast<NodeKind>(offset % kNodesOfTask);
      if (kind != kComputeStart && kind != kReduceStart) return;
      step.phase = kind == kComputeStart ? TaskPhase::kCompute : TaskPhase::kReduce;
      step.task = static_cast<std::int32_t>(offset / kNodesOfTask);
    }
    solution.critical_path.push_back(step);
  }

  const BackwardProblem& problem_;
  const BackwardCosts& costs_;
  const BackwardSchedule& schedule_;
  const std::vector<std::int32_t>& worker_;
  std::size_t kv_tiles_;
  std::vector<std::size_t> first_node_;  // by launch
  std::vector<std::size_t> launch_of_;   // by chain id
  Graph graph_;
};

}  // namespace

DagSolution solve_schedule_dag(const BackwardProblem& problem, const BackwardCosts& costs,
                               const BackwardSchedule& schedule, const std::vector<std::int32_t>& worker) {
  require_valid(problem, schedule);
  require_valid_costs(problem, costs);
  if (worker.size() != schedule.chains.size()) {
    throw InvalidParameter("worker", std::to_string(worker.size()) + " workers",
                           std::to_string(schedule.chains.size()) + ", one a chain");
  }
  return DagBuilder(problem, costs, schedule, worker).solve();
}

}  // namespace natten_sim
