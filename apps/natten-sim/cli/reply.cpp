#include "cli/reply.hpp"

#include <utility>

#include <natten_sim/core/error.hpp>
#include <natten_sim/core/version.hpp>
#include <natten_sim/io/json_text.hpp>
#include <natten_sim/report/draw/text.hpp>
#include <natten_sim/report/json.hpp>

#include "cli/picture_file.hpp"
#include "cli/table_file.hpp"

namespace natten_sim::cli {
namespace {

class TreeFields final : public ResultFields {
 public:
  explicit TreeFields(Json tree) : tree_(std::move(tree)) {}
  [[nodiscard]] Json tree() const override { return tree_; }
  [[nodiscard]] std::string text() const override { return json_text(tree_); }

 private:
  Json tree_;
};

std::string text_of(const AnswerBody& body) {
  if (const auto* answer = std::get_if<JsonAnswer>(&body)) return answer->text();
  if (const auto* rows = std::get_if<report::Rows>(&body)) return report::csv_text(*rows);
  return std::get<std::string>(body);
}

}  // namespace

JsonAnswer::JsonAnswer(std::string subcommand, Json input, Json result)
    : JsonAnswer(std::move(subcommand), std::move(input), std::make_shared<TreeFields>(std::move(result))) {}

JsonAnswer::JsonAnswer(std::string subcommand, Json input, std::shared_ptr<const ResultFields> result)
    : subcommand_(std::move(subcommand)), input_(std::move(input)), result_(std::move(result)) {}

std::string JsonAnswer::text() const { return report::envelope(subcommand_, input_, result_->tree()); }

std::string JsonAnswer::line(const std::string& id) const {
  std::string text = id.empty() ? "{" : "{\"id\":" + id + ",";
  text += "\"schema\":\"" + report::schema_name(subcommand_) + "\",\"version\":" + json_text(version());
  text += ",\"input\":" + json_text(input_);
  text += ",\"result\":" + result_->text();
  return text + "}\n";
}

void Reply::keep(AnswerBody body) {
  if (auto* answer = std::get_if<JsonAnswer>(&body)) kept_ = std::move(*answer);
}

JsonAnswer Reply::take() {
  if (!kept_)
    throw InvalidParameter("options", "of an answer in text", "options whose answer is what --json prints");
  return *std::exchange(kept_, std::nullopt);
}

AnswerSink::AnswerSink(const OutputFlags& flags, Reply& reply) : flags_(flags), reply_(reply) {
  if (!reply.is_kept()) sink_.emplace(flags.output, OutputSink::Mode::kBuffered);
}

void AnswerSink::put(AnswerBody body, const Exhibits& exhibits) {
  if (flags_.table && !exhibits.table) throw InvalidParameter("table", *flags_.table, "an answer that has rows");
  if (exhibits.picture) write_picture(*flags_.picture, fitted(flags_, *exhibits.picture));
  if (exhibits.table) write_table(flags_, *exhibits.table);
  if (!sink_) return reply_.keep(std::move(body));
  sink_->write(emphasised(flags_, draw::printable(text_of(body))));
  sink_->commit();
}

void put_answer(const OutputFlags& flags, Reply& reply, AnswerBody body, const Exhibits& exhibits) {
  AnswerSink(flags, reply).put(std::move(body), exhibits);
}

}  // namespace natten_sim::cli
