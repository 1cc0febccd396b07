#include <filesystem>

#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/conflict.hpp>
#include <natten_sim/io/files.hpp>
#include <natten_sim/io/permutations.hpp>
#include <natten_sim/io/trace.hpp>
#include <natten_sim/study/reuse_parts.hpp>

namespace natten_sim::study {
namespace {

void require_one_subject(const ReuseParts& parts) {
  const bool attention = parts.seqlen || parts.sweep || parts.attention.mask;
  if (!attention && !parts.stream_bytes && !parts.trace) {
    throw InvalidParameter("seqlen", "not given",
                           mention("seqlen") + " N, " + mention("sweep") + ", " + mention("stream-bytes") +
                               " or " + mention("trace"));
  }
  const auto alone = [](const char* subject, const char* other, bool together) {
    if (together) throw Conflict(mention(other), mention(subject));
  };
  alone("seqlen", "sweep", parts.seqlen && parts.sweep);
  const char* subject = parts.seqlen ? "seqlen" : parts.sweep ? "sweep" : "mask";
  alone(subject, "stream-bytes", attention && parts.stream_bytes);
  alone(subject, "trace", attention && parts.trace);
  alone("stream-bytes", "trace", parts.stream_bytes && parts.trace);
}

ReuseSubject subject_of(const ReuseParts& parts) {
  require_one_subject(parts);
  if (parts.trace) return trace_file(*parts.trace);
  if (parts.stream_bytes) {
    StreamSubject subject = parts.stream;
    subject.bytes = *parts.stream_bytes;
    subject.workers = parts.workers;
    return subject;
  }
  AttentionSubject subject = parts.attention;
  const std::size_t rank = parts.seqlen ? parts.seqlen->rank() : 1;
  if (parts.tile && parts.tile->rank() == 2 && rank == 1) {
    const std::string q = std::to_string((*parts.tile)[0]), kv = std::to_string((*parts.tile)[1]);
    throw InvalidParameter("tile", to_string(*parts.tile),
                           "one length for both tiles; a Q tile of " + q + " and a KV tile of " + kv + " are " +
                               mention("q-tile") + " " + q + " " + mention("kv-tile") + " " + kv);
  }
  if (parts.sweep) {
    subject.seqlen = *parts.sweep;
  } else {
    subject.seqlen = parts.seqlen.value_or(Extents{});
  }
  if (!subject.q_tile) subject.q_tile = parts.tile;
  if (!subject.kv_tile) subject.kv_tile = parts.tile;
  subject.workers = parts.workers;
  return launched_as_file(std::move(subject));
}

bool draws(const ReuseParts& parts) {
  return parts.sample || (parts.ways && parts.sets.replacement == Replacement::kRandom);
}

void require_parts_of(Fidelity fidelity, const ReuseParts& parts) {
  const auto needs = [&](const char* part, bool given, Fidelity needed) {
    if (!given || fidelity == needed) return;
    throw InvalidParameter(part, "with " + mention("fidelity") + " " + to_string(fidelity),
                           mention("fidelity") + " " + to_string(needed));
  };
  needs("ways", parts.ways.has_value(), Fidelity::kLru);
  needs("granularity", parts.granularity.has_value(), Fidelity::kLru);
  needs("sample", parts.sample.has_value(), Fidelity::kLru);
  needs("jitter", parts.jitter.has_value(), Fidelity::kTimed);
  if (parts.seed && fidelity != Fidelity::kTimed && !draws(parts)) {
    throw InvalidParameter(
        "seed", "given where nothing is drawn",
        mention("fidelity") + " timed, " + mention("sample") + " or " + mention("replacement") + " random");
  }
  if (parts.sample && parts.ways)
    throw Conflict(mention("sample"), mention("ways"));
}

ReuseMethod method_of(const ReuseParts& parts) {
  const Fidelity fidelity = parts.fidelity.value_or(default_fidelity(parts.trace.has_value()));
  require_parts_of(fidelity, parts);
  const std::uint64_t seed = parts.seed.value_or(0);
  if (fidelity == Fidelity::kTimed) return TimedRun{.jitter = parts.jitter, .seed = seed};
  if (fidelity == Fidelity::kClosedForm) return ClosedForm{};
  LruReplay replay;
  if (parts.granularity) replay.granularity = *parts.granularity;
  if (parts.sample) replay.cache = SampledLru{*parts.sample, seed};
  if (parts.ways) {
    SetAssociative sets = parts.sets;
    sets.ways = *parts.ways;
    sets.seed = seed;
    replay.cache = sets;
  }
  return replay;
}

void put_subject(const ReuseSubject& subject, ReuseParts& parts) {
  if (const auto* trace = std::get_if<TraceSubject>(&subject)) {
    parts.trace = trace->name;
  } else if (const auto* stream = std::get_if<StreamSubject>(&subject)) {
    parts.stream_bytes = stream->bytes;
    parts.stream = *stream;
    parts.workers = stream->workers;
  } else {
    parts.attention = std::get<AttentionSubject>(subject);
    parts.workers = parts.attention.workers;
    if (const auto* sweep = std::get_if<SeqlenSweep>(&parts.attention.seqlen)) {
      parts.sweep = *sweep;
    } else {
      parts.seqlen = std::get<Extents>(parts.attention.seqlen);
    }
  }
}

/// The default is left open, as in a question that says none.
void put_seed(std::uint64_t seed, ReuseParts& parts) {
  if (seed != 0) parts.seed = seed;
}

void put_method(const ReuseMethod& method, ReuseParts& parts) {
  parts.fidelity = fidelity_of(method);
  if (const auto* timed = std::get_if<TimedRun>(&method)) {
    parts.jitter = timed->jitter;
    put_seed(timed->seed, parts);
  }
  const auto* replay = std::get_if<LruReplay>(&method);
  if (replay == nullptr) return;
  if (parts.seqlen || parts.sweep) parts.granularity = replay->granularity;
  if (const auto* sample = std::get_if<SampledLru>(&replay->cache)) {
    parts.sample = sample->rate;
    put_seed(sample->seed, parts);
  }
  if (const auto* sets = std::get_if<SetAssociative>(&replay->cache)) {
    parts.ways = sets->ways;
    parts.sets = *sets;
    put_seed(sets->seed, parts);
  }
}

bool is_file(const std::string& path) {
  std::error_code unknown;
  return path == "-" ||
         (std::filesystem::exists(path, unknown) && !std::filesystem::is_directory(path, unknown));
}

}  // namespace

AttentionSubject launched_as_file(AttentionSubject subject) {
  const AttentionKernel* own = subject.kernel ? subject.kernel->own.get() : nullptr;
  if (own == nullptr) return subject;
  if (own->launch == LaunchOrder::kHeadsFirst) subject.launch = own->launch;
  if (own->longest_first) subject.longest_first = true;
  if (own->dtype) subject.dtype = *own->dtype;
  return subject;
}

ReuseQuestion question_of(const ReuseParts& parts) {
  ReuseQuestion question = parts.question;
  question.method = method_of(parts);
  question.subject = subject_of(parts);
  return question;
}

ReuseParts parts_of(const ReuseQuestion& question) {
  ReuseParts parts;
  parts.question = question;
  put_subject(question.subject, parts);
  if (question.method) put_method(*question.method, parts);
  if (!parts.ways) parts.question.line_bytes.reset();
  return parts;
}

TraceSubject trace_file(const std::string& path) {
  return {.name = path,
          .feed = [path](const auto& visit, const auto& progress) { read_trace(path, visit, progress); }};
}

std::vector<std::string> reuse_order_names() {
  std::vector<std::string> names = names_of<KvOrder>();
  names.emplace_back(kBestOrderName);
  return names;
}

ReuseOrder parse_reuse_order(const std::string& parameter, const std::string& text) {
  for (const KvOrder order : values_of<KvOrder>()) {
    if (text == to_string(order)) return order;
  }
  if (text == kBestOrderName) return BestOrder{};
  if (is_file(text))
    return OwnOrder{text, parse_permutations(read_text(parameter, text), parameter + " " + text)};
  const std::vector<std::string> names = reuse_order_names();
  throw UnknownName(parameter, text, closest_name(text, names), joined(names) + ", or a readable file; two at once with " + mention("compare") +
                        ", more with sweep reuse " + mention("over") + " order=cyclic,sawtooth");
}

}  // namespace natten_sim::study
