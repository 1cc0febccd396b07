#include <algorithm>
#include <iterator>
#include <utility>

#include <natten_sim/core/error.hpp>

#include "commands.hpp"
#include "output.hpp"
#include "reuse_report.hpp"

namespace natten_sim::cli {
namespace {

/// One cell of the table of predictions: batch 1, bf16, everything else from the kernel and the device.
struct PredictionCell {
  const char* kernel;
  std::int64_t seqlen;
  std::int64_t head_dim;
  std::int64_t heads;
  bool causal;

  /// Proportional to the tiles that are simulated.
  [[nodiscard]] double work() const {
    return static_cast<double>(seqlen) * static_cast<double>(seqlen * heads) * (causal ? 0.5 : 1.0);
  }
};

std::vector<PredictionCell> prediction_cells() {
  std::vector<PredictionCell> cells;
  for (const char* kernel : {"fa2", "cudnn"}) {
    for (const std::int64_t seqlen : {16384, 32768, 65536, 98304, 131072, 196608, 262144}) {
      for (const std::int64_t head_dim : {64, 128}) {
        for (const std::int64_t heads : {1, 4}) {
          for (const bool causal : {false, true}) cells.push_back({kernel, seqlen, head_dim, heads, causal});
        }
      }
    }
  }
  return cells;
}

constexpr const char* kPredictionOptions[] = {"device", "device-file", "l2-bytes", "jitter"};

std::int64_t predicted_dram_read_bytes(const Arguments& arguments, const PredictionCell& cell) {
  Arguments request;
  for (const char* option : kPredictionOptions) {
    if (arguments.has(option)) request.set(option, arguments.values(option));
  }
  request.set("device", {arguments.text("device", "h200")});
  request.set("kernel", {cell.kernel});
  request.set("seqlen", {std::to_string(cell.seqlen)});
  request.set("dim", {std::to_string(cell.head_dim)});
  request.set("heads", {std::to_string(cell.heads)});
  request.set("dtype", {"bf16"});
  request.set("fidelity", {"timed"});
  if (cell.causal) request.set("causal", {});
  return timed_dram_read_bytes(read_reuse_request(request), {});
}

void refuse_beside_predictions(const Arguments& arguments) {
  std::vector<std::string> refused = {"csv"};
  for (const OptionSpec& option : reuse_options()) {
    const std::string name = option.name();
    const bool taken = std::find(std::begin(kPredictionOptions), std::end(kPredictionOptions), name) !=
                       std::end(kPredictionOptions);
    if (name != "predictions" && !taken) refused.push_back(name);
  }
  for (const std::string& name : refused) {
    if (arguments.has(name))
      throw InvalidParameter("--" + name, "given together with --predictions", "one of the two");
  }
}

int print_predictions(const Arguments& arguments) {
  refuse_beside_predictions(arguments);
  const std::vector<PredictionCell> cells = prediction_cells();
  double work = 0, done = 0;
  for (const PredictionCell& cell : cells) work += cell.work();
  ProgressBar bar("simulating", arguments.has("quiet"));
  OutputSink sink(output_path(arguments), OutputSink::Mode::kBuffered);
  std::string text;
  for (const PredictionCell& cell : cells) {
    const Json row = {
        {"kernel", cell.kernel},     {"seqlen", cell.seqlen},
        {"head_dim", cell.head_dim}, {"heads", cell.heads},
        {"causal", cell.causal},     {"dram_read_bytes", predicted_dram_read_bytes(arguments, cell)}};
    text += (text.empty() ? "[\n  " : ",\n  ") + row.dump();
    done += cell.work();
    bar.show(done / work);
  }
  bar.clear();
  sink.write(text + "\n]\n");
  sink.commit();
  return kExitDone;
}

ReusePair answer_pair(const ReuseRequest& request, const Progress& progress) {
  ReusePair pair;
  pair.seqlen = request.problem.mask.empty() ? 0 : request.problem.mask[0].length;
  pair.first = answer_reuse(request, request.order, progress);
  if (request.compare) pair.second = answer_reuse(request, *request.compare, progress);
  return pair;
}

std::vector<ReusePair> answer_all(const ReuseRequest& request, ProgressBar& bar) {
  if (!request.sweep) return {answer_pair(request, bar.callback())};
  std::vector<ReusePair> pairs;
  const SeqlenSweep& sweep = *request.sweep;
  for (std::int64_t i = 0; i <= (sweep.hi - sweep.lo) / sweep.step; ++i) {
    const std::int64_t seqlen = sweep.lo + i * sweep.step;
    pairs.push_back(answer_pair(with_seqlen(request, seqlen), {}));
    bar.show(static_cast<double>(seqlen) / static_cast<double>(sweep.hi));
  }
  return pairs;
}

std::optional<ReusePicture> chosen_picture(const Arguments& arguments, const ReuseRequest& request) {
  if (!arguments.has("picture")) {
    if (request.sweep) return ReusePicture::kSweep;
    return arguments.has("svg") && !arguments.has("csv") ? std::optional(ReusePicture::kHistogram)
                                                         : std::nullopt;
  }
  const std::string name = arguments.text("picture");
  if (!arguments.has("svg") && !arguments.has("csv"))
    throw InvalidParameter("picture", name, "together with --svg FILE or --csv");
  if ((name == "sweep") != request.sweep.has_value())
    throw InvalidParameter("picture", name,
                           request.sweep ? "sweep, with --sweep" : "histogram or curve, without --sweep");
  return name == "sweep"   ? ReusePicture::kSweep
         : name == "curve" ? ReusePicture::kCurve
                           : ReusePicture::kHistogram;
}

Json result_json(const ReuseRequest& request, const std::vector<ReusePair>& pairs) {
  if (!request.sweep) return reuse_fields(pairs.front());
  Json rows = Json::array();
  for (const ReusePair& pair : pairs) {
    Json row = {{"seqlen", pair.seqlen}};
    row.update(reuse_fields(pair));
    rows.push_back(row);
  }
  return {{"sweep", rows}};
}

void say_capacity(const ReuseRequest& request, const Arguments& arguments) {
  if (!request.device || arguments.has("l2-bytes")) return;
  if (find_value(*request.device, "l2_effective_bytes") != nullptr) return;
  const Notes notes(arguments);
  notes.note(request.capacity_bytes
                 ? "the effective capacity of " + request.device->name +
                       " is not known: the whole L2 is assumed"
                 : "the L2 of " + request.device->name + " is not known: no misses without --l2-bytes");
}

int run_reuse(const Arguments& arguments) {
  if (arguments.has("predictions")) return print_predictions(arguments);
  const ReuseRequest request = read_reuse_request(arguments);
  if (arguments.has("svg") && arguments.has("output") && arguments.text("svg") == arguments.text("output"))
    throw InvalidParameter("svg", arguments.text("svg"), "another file than --output");
  const std::optional<ReusePicture> picture = chosen_picture(arguments, request);
  ProgressBar bar("simulating", arguments.has("quiet"));
  const std::vector<ReusePair> pairs = answer_all(request, bar);
  bar.clear();
  std::string svg;
  if (arguments.has("svg")) svg = reuse_svg(request, pairs, picture.value_or(ReusePicture::kHistogram));
  std::string text;
  if (arguments.has("json")) {
    text = envelope("reuse", reuse_input(request), result_json(request, pairs));
  } else if (arguments.has("csv")) {
    text = reuse_csv(request, pairs, picture);
  } else {
    text = request.sweep ? sweep_text(request, pairs) : reuse_text(request, pairs.front());
  }
  say_capacity(request, arguments);
  OutputSink sink(output_path(arguments), OutputSink::Mode::kBuffered);
  if (arguments.has("svg")) write_file(arguments.text("svg"), svg);
  sink.write(text);
  sink.commit();
  return kExitDone;
}

}  // namespace

Command reuse_command() {
  Command command;
  command.name = "reuse";
  command.summary = "Predict the sectors, L2 misses and DRAM bytes of an attention kernel";
  command.options = reuse_options();
  for (const OptionSpec& option : output_options()) command.options.push_back(option);
  command.footer =
      "Examples:\n"
      "  natten-sim reuse -i 32768 -d 64 --tile 80 --json\n"
      "  natten-sim reuse -i 131072 -d 64 --tile 128 --device h200 --fidelity lru --compare sawtooth\n"
      "  natten-sim reuse --kernel fa2 -i 196608 -d 128 --causal --device h200 --fidelity timed\n"
      "  natten-sim reuse --stream-bytes 67108864 --passes 8 --device h200 --order sawtooth\n"
      "Exit codes: 0 done, 1 internal error, 2 bad input.";
  command.run = run_reuse;
  return command;
}

}  // namespace natten_sim::cli
