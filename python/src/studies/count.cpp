#include <natten_sim/report/count_report.hpp>
#include <natten_sim/report/tile_picture.hpp>
#include <natten_sim/study/count.hpp>

#include "setting_keywords.hpp"
#include "studies.hpp"
#include "study.hpp"

namespace natten_sim::python {

using study::CountAnswer;
using study::CountQuestion;

Keywords<CountQuestion> count_keywords() {
  using Q = CountQuestion;
  Keywords<Q> rows;
  rows.include(layout_keywords(), &Q::setting);
  rows.add("window", &Q::window, "Window, one size an axis [the whole axis: dense attention]");
  rows.add("stride", &Q::stride, "Stride, one an axis, at most the window [1]");
  rows.add("dilation", &Q::dilation, "Dilation, one an axis; window times dilation fits the axis [1]");
  rows.add("causal", &Q::causal, "One an axis [False]");
  rows.add("q_tile", &Q::q_tile, "Q tile in tokens, one size an axis [NATTEN's default of the backend]");
  rows.add("kv_tile", &Q::kv_tile, "KV tile in tokens, one size an axis [NATTEN's default of the backend]");
  rows.add("kv_tiling", &Q::kv_tiling,
           "KV tiles of the forward pass on a fixed grid (static) or from each Q tile's first key (dynamic) "
           "[the chosen backend's, or static]");
  rows.add("tiling", &Q::tiling, "Tiles as boxes of the layout (multi) or runs of the row-major sequence (single) [multi]");
  rows.include(backend_keywords(Echo::kAlways), &Q::setting);
  rows.include(workload_keywords(), &Q::setting);
  rows.add("kernel", &Q::kernel,
           "Kernel whose time is predicted: hopper-fna, blackwell-fna, cutlass-fna, flexattention, fmha or cudnn "
           "(dense) [what NATTEN runs on the device]",
           Echo::kWhenSet);
  rows.add("kernel_schedule", &Q::kernel_schedule,
           "How it takes Q tiles: cooperative (a grid) or pingpong (persistent) [cooperative]", Echo::kWhenSet);
  rows.add("backprop", &Q::backward, "Count the backward pass too: Q tiles walked per KV tile [False]", Echo::kNever);
  rows.add("backward_q_tile", &Q::backward_q_tile, "Q tile of the backward pass [NATTEN's default of the backend]",
           Echo::kWhenSet);
  rows.add("backward_kv_tile", &Q::backward_kv_tile,
           "KV tile of the backward pass [NATTEN's default of the backend]", Echo::kWhenSet);
  rows.add("backward_q_tiling", &Q::backward_q_tiling,
           "Q tiles of the backward pass on a fixed grid (static) or from each KV tile's first query (dynamic) "
           "[static, as in all of NATTEN's kernels]",
           Echo::kWhenSet);
  return rows;
}

namespace {

void bind_count(nb::module_& module) {
  bind(module, Study<CountQuestion, CountAnswer>{
                   .function = "count",
                   .type = "Count",
                   .schema = "count",
                   .doc = "Count exactly which pairs of Q and KV tiles an attention problem visits.\n\n"
                          "Counts are of one head and one batch element; FLOPs are of all of them. Only `input` "
                          "(or a `preset`)\nhas no default.",
                   .keywords = count_keywords(),
                   .answer = study::count,
                   .input = [](const Keywords<CountQuestion>& rows, const CountAnswer& answer) {
                     return rows.echo(answer.question);
                   },
                   .result = [](const CountAnswer& answer, const study::Context&) { return report::count_result(answer); },
                   .text = [](const CountAnswer& answer, const study::Context&) { return report::count_text(answer); },
                   .csv = [](const CountAnswer& answer, const study::Context&, const Json& input) {
                     return report::count_csv(input, answer);
                   },
                   .svg = [](const CountAnswer& answer, const study::Context&) {
                     return report::tile_svg(answer.forward.problem, {});
                   }});
}

}  // namespace

StudyBinder count_study();
StudyBinder count_study() { return bind_count; }

}  // namespace natten_sim::python
