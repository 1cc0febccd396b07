#include "commands/rows/mask_answer.hpp"

#include <natten_sim/report/closing.hpp>
#include <natten_sim/report/mask_report.hpp>
#include <natten_sim/report/pictures.hpp>

#include "cli/described.hpp"
#include "cli/estimates.hpp"
#include "cli/picture_file.hpp"
#include "cli/table_file.hpp"
#include "commands/rows/mask_values.hpp"

namespace natten_sim::cli {

int answer_mask(const study::MaskQuestion& question, const study::Context& context, const OutputFlags& output,
                Reply& reply) {
  if (answered_by_estimate(output, reply, "mask", options_of<study::MaskQuestion>().echo(question),
                           study::estimate(question, context)))
    return kExitDone;
  const study::MaskAnswer answer = study::count_mask(question, context);
  std::optional<report::Closing> closing;
  if (output.conclusion) closing = report::closing_of(answer);
  AnswerBody body;
  if (output.json) {
    report::Json result = report::mask_result(answer);
    report::add_closing(closing, result);
    body = JsonAnswer("mask", options_of<study::MaskQuestion>().echo(answer.question), std::move(result));
  } else if (output.csv) {
    body = report::mask_rows(answer);
  } else {
    body = report::mask_report(answer) + report::closing_text(closing);
  }
  put_answer(output, reply, std::move(body),
             {drawn(output, report::mask_pictures(), answer, context),
              tabled(output, [&] { return report::mask_rows(answer); })});
  return kExitDone;
}

}  // namespace natten_sim::cli
