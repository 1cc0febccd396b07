#include "cli/output.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include <natten_sim/core/error.hpp>
#include <natten_sim/report/draw/text.hpp>

namespace natten_sim::cli {

namespace {

/// Files that this run writes or has written.
std::set<std::string>& claimed_paths() {
  static std::set<std::string> paths;
  return paths;
}

/// Whether standard output of this thread has something in place of the answer.
thread_local bool answer_replaced = false;

/// "about 40 s", or minutes, hours or days when it is more than two of them.
std::string time_left(double seconds) {
  constexpr double kMinute = 60, kHour = 3600, kDay = 86400;
  if (seconds < 2 * kMinute) return fmt::format("about {:.0f} s", seconds);
  if (seconds < 2 * kHour) return fmt::format("about {:.0f} minutes", seconds / kMinute);
  if (seconds < 2 * kDay) return fmt::format("about {:.0f} hours", seconds / kHour);
  return fmt::format("about {:.0f} days", seconds / kDay);
}

}  // namespace

Options<OutputFlags> output_rows() {
  Options<OutputFlags> rows;
  rows.add("--json", &OutputFlags::json, {.help = "One JSON object on stdout", .echo = Echo::kNever});
  rows.add(
      "--csv", &OutputFlags::csv,
      {.help = "Comma-separated rows with a header on stdout", .echo = Echo::kNever, .excludes = {"json", "recall"}});
  rows.add("--output", &OutputFlags::output,
           {.value = "FILE",
            .help = "Write to FILE instead of stdout (complete or not at all)",
            .echo = Echo::kNever});
  rows.add("--color", &OutputFlags::color,
           {.value = "WHEN",
            .help = "Colours of help, errors and the closing sentence: auto (on a terminal, without NO_COLOR), "
                    "always or never [default]",
            .echo = Echo::kNever});
  rows.add("--quiet", &OutputFlags::quiet,
           {.help = "No notes and no progress on stderr", .echo = Echo::kNever});
  rows.add(std::string("--") + kOptionsFile, &OutputFlags::options_file,
           {.value = "FILE",
            .help = "Read options from a TOML file; the command line wins",
            .echo = Echo::kNever,
            .spellings = {{.flag = "--options", .old = true}}});
  rows.include(limit_rows(), &OutputFlags::limits);
  return rows.group(kOutputGroup);
}

Options<OutputFlags> conclusion_rows() {
  Options<OutputFlags> rows;
  rows.choose(std::string("--") + kNoConclusion, &OutputFlags::conclusion, false,
              {.help = "Leave out the closing sentence, and the questions that it asks of the model",
               .echo = Echo::kNever});
  return rows.group(kOutputGroup);
}

OutputSink::OutputSink(const std::optional<std::string>& path, Mode mode) : mode_(mode), stream_(stdout) {
  if (!path) return;
  if (path->empty() || *path == "-") {
    throw InvalidParameter("output file", "'" + *path + "'",
                           "the path of a file; answers go to standard output unless --output names one");
  }
  file_.emplace("output file", *path);
  if (file_->is_replaced() && !claimed_paths().insert(file_->path()).second)
    throw InvalidParameter("output file", *path, "a file of its own: another option writes this one");
  stream_ = file_->stream();
}

void OutputSink::fail() const {
  throw WriteError((file_ ? file_->path() : "standard output") + ": cannot write: " + std::strerror(errno));
}

void OutputSink::write(std::string_view text) {
  if (mode_ == Mode::kBuffered) {
    buffer_ += text;
  } else {
    put(text);
  }
}

void OutputSink::put(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stream_) != text.size()) fail();
}

void OutputSink::flush() {
  if (std::fflush(stream_) != 0) fail();
}

void OutputSink::commit() {
  const bool left_out = !file_ && std::exchange(answer_replaced, false);
  if (!left_out) put(buffer_);
  buffer_.clear();
  // The C library may have flushed by itself before, when standard input ran dry.
  if (std::fflush(stream_) != 0 || std::ferror(stream_) != 0) fail();
  if (file_ && !file_->commit()) fail();
}

namespace {

/// The closing sentence stands out.
std::string with_color(const std::string& text, const Palette& palette) {
  constexpr const char* kClosing = "\n\nIn short:";
  const std::size_t at = palette.colored() ? text.rfind(kClosing) : std::string::npos;
  if (at == std::string::npos) return text;
  const std::size_t begin = at + 2;
  const std::size_t end = text.find_last_not_of('\n') + 1;
  return text.substr(0, begin) + palette.paint(Emphasis::kHeading, text.substr(begin, end - begin)) +
         text.substr(end);
}

}  // namespace

std::string emphasised(const OutputFlags& flags, const std::string& text) {
  if (flags.output || flags.json || flags.csv) return text;
  return with_color(text, palette_of(stdout, flags.color));
}

void refuse_beyond_json(const std::string& option) {
  throw InvalidParameter(option, "given", "a run of the program: here are answers in JSON alone");
}

void write_output(const OutputFlags& flags, std::string_view text) {
  OutputSink sink(flags.output, OutputSink::Mode::kBuffered);
  sink.write(emphasised(flags, draw::printable(text)));
  sink.commit();
}

void write_in_place_of_answer(std::string_view text) {
  OutputSink sink(std::nullopt, OutputSink::Mode::kBuffered);
  sink.write(text);
  sink.commit();
  answer_replaced = true;
}

void write_file(const std::string& path, std::string_view text) {
  OutputSink sink(path, OutputSink::Mode::kStreamed);
  sink.write(text);
  sink.commit();
}

void print_remark(std::string_view text, const RemarkKind& kind) {
  const std::string label = remark_palette().paint(kind.emphasis, kind.label);
  std::fprintf(stderr, "natten-sim: %s%s\n", label.c_str(), draw::printable(text).c_str());
}

void Notes::note(const std::string& text) const {
  if (!quiet_) print_remark(text);
}

ProgressBar::ProgressBar(std::string label, bool quiet, std::string why)
    : label_(std::move(label)), why_(std::move(why)), enabled_(!quiet), terminal_(enabled_ && isatty(2) != 0) {}

ProgressBar::~ProgressBar() { clear(); }

void ProgressBar::clear() {
  if (drawn_) std::fprintf(stderr, "\r\033[K");
  drawn_ = false;
}

bool ProgressBar::is_due(double seconds) {
  if (terminal_) return seconds >= 1;
  if (seconds < next_line_s_) return false;
  while (next_line_s_ <= seconds) next_line_s_ *= 2;
  return true;
}

void ProgressBar::show(double fraction) {
  if (!enabled_) return;
  // The clock is looked at when something has changed, and now and then before anything has.
  const int permille = static_cast<int>(std::clamp(fraction, 0.0, 1.0) * 1000.0);
  const bool seldom = (calls_ & (calls_ + 1)) == 0;
  ++calls_;
  if (permille == permille_ && !seldom) return;
  permille_ = permille;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  if (!is_due(seconds)) return;
  if (!why_.empty()) print_remark(std::exchange(why_, {}));
  const std::string left =
      fraction > 0 && fraction < 1 ? ", " + time_left(seconds / fraction - seconds) + " left" : "";
  if (!terminal_) return print_remark(fmt::format("{}: {}%{}", label_, permille / 10, left));
  drawn_ = true;
  const std::string bar(static_cast<std::size_t>(permille / 40), '#');
  std::fprintf(stderr, "\r%s [%-25s] %3d%%%s\033[K", label_.c_str(), bar.c_str(), permille / 10,
               left.c_str());
}

std::function<void(double)> ProgressBar::callback() {
  if (!enabled_) return {};
  return [this](double fraction) { show(fraction); };
}

}  // namespace natten_sim::cli
