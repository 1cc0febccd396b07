// What `reuse` answers is what `validate` judges: for every recorded point, the question that its parameters
// describe is asked by the device's name, as the program asks it, and compared with the case's predictions.
#include <map>
#include <string>

#include <natten_sim/core/names.hpp>
#include <natten_sim/study/reuse.hpp>
#include <natten_sim/validate/cases/attention.hpp>
#include <natten_sim/validate/cases/stream.hpp>
#include <natten_sim/validate/record/kernel_pace.hpp>
#include <natten_sim/validate/record/recording.hpp>

#include "catch.hpp"
#include "shipped_recordings.hpp"

namespace reuse_prediction_test {

using namespace natten_sim;
using namespace natten_sim::validate;

std::int64_t whole(const Parameter& parameter) { return std::get<std::int64_t>(parameter.value); }

/// The parameters of a recorded point by name.
std::map<std::string, Parameter> named(const Point& point) {
  std::map<std::string, Parameter> all;
  for (const Parameter& parameter : point->parameters()) all.emplace(parameter.name, parameter);
  return all;
}

std::string text_of(const std::map<std::string, Parameter>& all, const char* name) {
  return std::get<std::string>(all.at(name).value);
}

study::ReuseQuestion attention_question(const Point& point, std::int64_t sms) {
  const std::map<std::string, Parameter> all = named(point);
  study::AttentionSubject subject;
  subject.seqlen = Extents{whole(all.at("tokens"))};
  subject.causal = std::get<bool>(all.at("causal").value);
  subject.batch = whole(all.at("batch"));
  subject.heads = whole(all.at("heads"));
  subject.heads_kv = whole(all.at("heads_kv"));
  subject.head_dim = whole(all.at("head_dim"));
  subject.dtype = parse_name<Dtype>(text_of(all, "dtype"));
  subject.q_tile = Extents{whole(all.at("q_tile"))};
  subject.kv_tile = Extents{whole(all.at("kv_tile"))};
  subject.schedule = parse_name<CtaSchedule>(text_of(all, "schedule"));
  subject.longest_first = std::get<bool>(all.at("last_q_tile_first").value);
  subject.ctas_per_sm = whole(all.at("ctas_per_sm"));
  // Some SMs: that many CTAs. Otherwise all that fit, which is the study's default.
  if (all.contains("ctas")) subject.workers = std::min(whole(all.at("ctas")), sms * *subject.ctas_per_sm);
  study::ReuseQuestion question;
  question.subject = subject;
  question.order = parse_name<KvOrder>(text_of(all, "order"));
  return question;
}

study::ReuseQuestion stream_question(const Point& point) {
  const std::map<std::string, Parameter> all = named(point);
  study::StreamSubject subject;
  subject.bytes = whole(all.at("buffer_mib")) << 20;
  subject.passes = whole(all.at("passes"));
  if (whole(all.at("ctas")) != 0) subject.workers = whole(all.at("ctas"));
  study::ReuseQuestion question;
  question.subject = subject;
  question.order = parse_name<KvOrder>(text_of(all, "order"));
  return question;
}

study::ReuseResult answer_on(const std::string& device, study::ReuseQuestion question) {
  static const study::Context context = study::default_context();
  question.device = device;
  return study::reuse(question, context).results.front().first;
}

/// Predictions of one model by counter.
std::map<std::string, double> of_model(const std::vector<Prediction>& predictions, const std::string& word,
                                       bool with) {
  std::map<std::string, double> values;
  for (const Prediction& prediction : predictions) {
    if ((prediction.model == word) == with) values[prediction.counter] = prediction.value;
  }
  return values;
}

TEST_CASE("what reuse answers in closed form is what validate judges, on every recorded point") {
  int attention = 0, streams = 0, reads = 0;
  for (const Recording& recording : test::shipped_recordings()) {
    const std::string name = recording.head.device.profile;
    const Device device = study::default_context().catalog.device(name);
    for (const RecordedRow& row : recording.rows) {
      INFO(key_of(row.point));
      const bool is_attention = row.point.as<AttentionCase>() != nullptr;
      const auto* const stream = row.point.as<StreamCase>();
      if (!is_attention && (stream == nullptr || stream->tells_sms_apart())) continue;
      ++(is_attention ? attention : streams);
      const study::ReuseResult answer = answer_on(
          name, is_attention ? attention_question(row.point, device.sms->value) : stream_question(row.point));
      const auto judged = of_model(predict(row.point, device), "L2 partitions, readers in step", false);
      CHECK(judged.at("l2_read_sectors") ==
            static_cast<double>(answer.sectors.total - answer.sectors.o.value_or(0)));
      if (!is_attention) continue;  // reads of streams are those of the L2's partitions and ways
      // Few CTAs may all be near one partition of the L2, of which the closed form knows nothing.
      const std::int64_t ctas = row.point.as<AttentionCase>()->variant.resident_ctas(device.sms->value);
      const bool told = answer.dram_read_bytes.has_value() && !only_partition(device, ctas);
      CHECK(judged.contains("dram_read_bytes") == told);
      if (!answer.dram_read_bytes || !judged.contains("dram_read_bytes")) continue;
      ++reads;
      CHECK(judged.at("dram_read_bytes") == static_cast<double>(*answer.dram_read_bytes));
    }
  }
  CHECK(attention > 900);
  CHECK(streams > 50);
  CHECK(reads > 500);
}

TEST_CASE("what reuse answers in time at a kernel's pace is what validate judges") {
  int judged_points = 0;
  for (const Recording& recording : test::shipped_recordings()) {
    const std::string name = recording.head.device.profile;
    const Device device = study::default_context().catalog.device(name);
    for (const RecordedRow& row : recording.rows) {
      const auto* const point = row.point.as<AttentionCase>();
      constexpr std::int64_t kMaxTokens = 16384;  // of all heads: a moment each
      if (point == nullptr ||
          point->problem.tokens * point->problem.heads * point->problem.batch > kMaxTokens)
        continue;
      const auto timed = timed_run(device, point->problem, point->variant);
      if (!timed) continue;
      INFO(key_of(row.point));
      study::ReuseQuestion question = attention_question(row.point, device.sms->value);
      question.method = *timed;
      const study::ReuseResult answer = answer_on(name, question);
      const auto judged = of_model(predict(row.point, device, Fidelity::kTimed), "timed wavefronts", true);
      CHECK(judged.at("dram_read_bytes") == static_cast<double>(answer.dram_read_bytes.value()));
      CHECK(judged.at("l2_fabric_sectors") == static_cast<double>(answer.fabric_sectors.value()));
      ++judged_points;
    }
  }
  CHECK(judged_points > 20);
}

}  // namespace reuse_prediction_test
