
#include "cli/output.hpp"
#include "commands/rows/reuse_flags.hpp"

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

/// What the flags leave open: the cell.
study::ReuseQuestion question_at(const ReuseFlags& flags, const PredictionCell& cell) {
  study::ReuseQuestion question;
  question.device = flags.parts.question.device.value_or(kPredictedDevice);
  question.capacity_bytes = flags.parts.question.capacity_bytes;
  question.method = study::TimedRun{flags.parts.jitter};
  question.subject = study::AttentionSubject{.seqlen = Extents{cell.seqlen},
                                             .causal = cell.causal,
                                             .heads = cell.heads,
                                             .head_dim = cell.head_dim,
                                             .dtype = Dtype::kBf16,
                                             .kernel = cell.kernel};
  return question;
}

}  // namespace

int print_predictions(const ReuseFlags& flags) {
  const study::Context context = make_context(flags.files);
  const std::vector<PredictionCell> cells = prediction_cells();
  double work = 0, done = 0;
  for (const PredictionCell& cell : cells) work += cell.work();
  ProgressBar bar("simulating", flags.output.quiet);
  OutputSink sink(flags.output.output, OutputSink::Mode::kBuffered);
  std::string text;
  for (const PredictionCell& cell : cells) {
    const study::ReuseAnswer answer = study::reuse(question_at(flags, cell), context);
    const Json row = {
        {"kernel", cell.kernel},     {"seqlen", cell.seqlen},
        {"head_dim", cell.head_dim}, {"heads", cell.heads},
        {"causal", cell.causal},     {"dram_read_bytes", *answer.results.front().first.dram_read_bytes}};
    text += (text.empty() ? "[\n  " : ",\n  ") + row.dump();
    done += cell.work();
    bar.show(done / work);
  }
  bar.clear();
  sink.write(text + "\n]\n");
  sink.commit();
  return kExitDone;
}

}  // namespace natten_sim::cli
