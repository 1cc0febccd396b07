#include <utility>

#include <natten_sim/core/error.hpp>

#include "commands.hpp"
#include "output.hpp"
#include "reuse_report.hpp"

namespace natten_sim::cli {
namespace {

constexpr const char* kPredictionKernels[] = {"fa2", "cudnn"};
constexpr std::int64_t kPredictionSeqlens[] = {16384, 32768, 65536, 98304, 131072, 196608, 262144};
constexpr std::int64_t kPredictionDims[] = {64, 128};
constexpr std::int64_t kPredictionHeads[] = {1, 4};

/// One cell of the table: batch 1, bf16, square sequence, everything else from the kernel and the device.
std::string prediction_row(const Arguments& arguments, const char* kernel, std::int64_t seqlen,
                           std::int64_t dim, std::int64_t heads, bool causal) {
  Arguments cell;
  for (const char* option : {"device-file", "l2-bytes", "jitter"}) {
    if (arguments.has(option)) cell.set(option, arguments.values(option));
  }
  cell.set("device", {arguments.text("device", "h200")});
  cell.set("kernel", {kernel});
  cell.set("seqlen", {std::to_string(seqlen)});
  cell.set("dim", {std::to_string(dim)});
  cell.set("heads", {std::to_string(heads)});
  cell.set("dtype", {"bf16"});
  cell.set("fidelity", {"timed"});
  if (causal) cell.set("causal", {});
  const Json row = {
      {"kernel", kernel}, {"seqlen", seqlen},
      {"head_dim", dim},  {"heads", heads},
      {"causal", causal}, {"dram_read_bytes", timed_dram_read_bytes(read_reuse_request(cell), {})}};
  return row.dump();
}

int print_predictions(const Arguments& arguments) {
  for (const OptionSpec& option : reuse_options()) {
    const std::string name = option.name();
    if (name == "predictions" || name == "device" || name == "device-file" || name == "l2-bytes" ||
        name == "jitter")
      continue;
    if (arguments.has(name))
      throw InvalidParameter("--" + name, "given together with --predictions", "one of the two");
  }
  if (arguments.has("csv"))
    throw InvalidParameter("--csv", "given together with --predictions", "one of the two");
  ProgressBar bar("simulating", arguments.has("quiet"));
  OutputSink sink(output_path(arguments), OutputSink::Mode::kBuffered);
  double done = 0, work = 0;
  std::string text = "[";
  for (int pass = 0; pass < 2; ++pass) {  // first the size of the work, then the work
    for (const char* kernel : kPredictionKernels) {
      for (const std::int64_t seqlen : kPredictionSeqlens) {
        for (const std::int64_t dim : kPredictionDims) {
          for (const std::int64_t heads : kPredictionHeads) {
            for (const bool causal : {false, true}) {
              const double size = static_cast<double>(seqlen) * static_cast<double>(seqlen) *
                                  static_cast<double>(heads) * (causal ? 0.5 : 1.0);
              if (pass == 0) {
                work += size;
                continue;
              }
              text += (text.size() == 1 ? "\n  " : ",\n  ") +
                      prediction_row(arguments, kernel, seqlen, dim, heads, causal);
              done += size;
              bar.show(done / work);
            }
          }
        }
      }
    }
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
