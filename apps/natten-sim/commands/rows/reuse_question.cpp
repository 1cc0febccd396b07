// Flags of all subjects and methods become the one of each that a question has.
#include <fmt/format.h>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/trace.hpp>

#include "commands/rows/reuse_flags.hpp"

namespace natten_sim::cli {

using study::AttentionSubject;
using study::ReuseQuestion;

namespace {

study::ReuseSubject subject_of(const ReuseFlags& flags) {
  if (flags.trace) {
    return study::TraceSubject{.name = *flags.trace,
                               .feed = [path = *flags.trace](const auto& visit, const auto& progress) {
                                 read_trace(path, visit, progress);
                               }};
  }
  if (flags.stream_bytes) {
    study::StreamSubject subject = flags.stream;
    subject.bytes = *flags.stream_bytes;
    subject.workers = flags.workers;
    return subject;
  }
  if (!flags.seqlen && !flags.sweep)
    throw InvalidParameter("seqlen", "not given", "--seqlen N, --sweep, --stream-bytes or --trace");
  AttentionSubject subject = flags.attention;
  if (flags.sweep) {
    subject.seqlen = *flags.sweep;
  } else {
    subject.seqlen = *flags.seqlen;
  }
  if (!subject.q_tile) subject.q_tile = flags.tile;
  if (!subject.kv_tile) subject.kv_tile = flags.tile;
  subject.workers = flags.workers;
  return subject;
}

study::ReuseMethod method_of(const ReuseFlags& flags) {
  const Fidelity fidelity = flags.fidelity.value_or(flags.trace ? Fidelity::kLru : Fidelity::kClosedForm);
  const auto needs = [&](const char* option, bool given, Fidelity needed) {
    if (!given || fidelity == needed) return;
    throw InvalidParameter(option, fmt::format("with --fidelity {}", to_string(fidelity)),
                           fmt::format("--fidelity {}", to_string(needed)));
  };
  needs("ways", flags.ways.has_value(), Fidelity::kLru);
  needs("granularity", flags.granularity.has_value(), Fidelity::kLru);
  needs("sample", flags.sample.has_value(), Fidelity::kLru);
  needs("jitter", flags.jitter.has_value(), Fidelity::kTimed);
  if (flags.sample && flags.ways)
    throw InvalidParameter("sample", "given together with --ways", "one of the two");
  if (fidelity == Fidelity::kTimed) return study::TimedRun{flags.jitter};
  if (fidelity == Fidelity::kClosedForm) return study::ClosedForm{};
  study::LruReplay replay;
  if (flags.granularity) replay.granularity = *flags.granularity;
  if (flags.sample) replay.cache = study::SampledLru{*flags.sample};
  if (flags.ways) {
    study::SetAssociative sets = flags.sets;
    sets.ways = *flags.ways;
    replay.cache = sets;
  }
  return replay;
}

}  // namespace

ReuseQuestion question_of(const ReuseFlags& flags) {
  ReuseQuestion question = flags.question;
  question.method = method_of(flags);
  question.subject = subject_of(flags);
  return question;
}

}  // namespace natten_sim::cli
