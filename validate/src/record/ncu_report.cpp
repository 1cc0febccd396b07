#include <bit>
#include <cstring>
#include <optional>

#include <natten_sim/core/error.hpp>
#include <natten_sim/validate/record/ncu_report.hpp>

#include "profile_metrics.hpp"

namespace natten_sim::validate {
namespace {

// A report is a mark, a header, and blocks. Lengths are 32 bits, little-endian; everything else is in the
// wire format of protocol buffers, whose field numbers are published with Nsight Compute (extras/FileFormat).
constexpr std::string_view kMark("NVR\0", 4);
constexpr std::size_t kMaxNames = std::size_t{1} << 20;  // of metrics; reports have some thousands

struct Block {  // of BlockHeader
  static constexpr std::uint64_t kSources = 1, kResults = 2, kStrings = 4, kPayload = 5;
};
struct Result {  // of ProfileResult
  static constexpr std::uint64_t kMangled = 5, kFunction = 6, kDemangled = 7, kGrid = 10, kBlock = 11,
                                 kMetrics = 13;
};

/// A part of the file that knows where it stands, for errors.
class Bytes {
 public:
  Bytes(std::string_view bytes, std::size_t offset, const std::string& where)
      : bytes_(bytes), offset_(offset), where_(&where) {}

  [[nodiscard]] bool empty() const { return at_ == bytes_.size(); }
  [[nodiscard]] std::string_view rest() const { return bytes_.substr(at_); }

  Bytes take(std::uint64_t size) {
    if (size > bytes_.size() - at_) fail("a part of " + std::to_string(size) + " bytes that is cut off");
    Bytes part(bytes_.substr(at_, size), offset_ + at_, *where_);
    at_ += size;
    return part;
  }
  std::uint64_t fixed(std::size_t size) {
    const std::string_view part = take(size).bytes_;
    std::uint64_t value = 0;
    for (std::size_t i = size; i-- > 0;) value = value << 8 | static_cast<unsigned char>(part[i]);
    return value;
  }
  /// A part behind its length of 32 bits.
  Bytes sized() { return take(fixed(4)); }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::uint64_t byte = fixed(1);
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    fail("a number of more than ten bytes");
  }

  [[noreturn]] void fail(const std::string& what,
                         const std::string& accepted = "a report as Nsight Compute writes it") const {
    throw MalformedData(*where_ + ", byte " + std::to_string(offset_ + at_), what, accepted);
  }

 private:
  std::string_view bytes_;
  std::size_t offset_ = 0;
  const std::string* where_;
  std::size_t at_ = 0;
};

/// Calls `visit(field, number, bytes)` for each field of a message: one of the two is of the field, by its
/// kind.
template <typename Visit>
void for_each_field(Bytes message, const Visit& visit) {
  while (!message.empty()) {
    const std::uint64_t key = message.varint();
    Bytes nothing = message.take(0);
    switch (key & 7) {
      case 0:
        visit(key >> 3, message.varint(), nothing);
        break;
      case 1:
        visit(key >> 3, message.fixed(8), nothing);
        break;
      case 2: {
        const std::uint64_t size = message.varint();
        visit(key >> 3, std::uint64_t{0}, message.take(size));
        break;
      }
      case 5:
        visit(key >> 3, message.fixed(4), nothing);
        break;
      default:
        message.fail("a field of kind " + std::to_string(key & 7));
    }
  }
}

std::array<std::int64_t, 3> three(const Bytes& message) {
  std::array<std::int64_t, 3> values{};
  for_each_field(message, [&](std::uint64_t field, std::uint64_t number, const Bytes&) {
    if (field >= 1 && field <= 3 && number < (std::uint64_t{1} << 32)) {
      values[field - 1] = static_cast<std::int64_t>(number);
    }
  });
  return values;
}

struct MetricValue {
  std::optional<double> number;
  std::string text;
};

/// One of: a text, a float, a double, 32 bits, 64 bits.
MetricValue value_in(const Bytes& message) {
  MetricValue value;
  for_each_field(message, [&](std::uint64_t field, std::uint64_t number, const Bytes& bytes) {
    if (field == 1) value.text = bytes.rest();
    if (field == 2) value.number = std::bit_cast<float>(static_cast<std::uint32_t>(number));
    if (field == 3) value.number = std::bit_cast<double>(number);
    if (field == 4 || field == 5) value.number = static_cast<double>(number);
  });
  return value;
}

void add_metric_result(const Bytes& message, const std::vector<std::string>& names, ProfiledLaunch& launch) {
  std::uint64_t name = names.size();
  MetricValue value;
  for_each_field(message, [&](std::uint64_t field, std::uint64_t number, const Bytes& bytes) {
    if (field == 1) name = number;
    if (field == 2) value = value_in(bytes);
  });
  if (name >= names.size()) return;
  constexpr double kMaxValue = 9e18;  // and so in 64 bits
  if (value.number && *value.number >= 0 && *value.number <= kMaxValue) {
    if (const auto metric = find_profile_metric(names[name]))
      store_metric(*metric, *value.number * metric->scale, launch);
    store_attribute(names[name], *value.number, launch);
  }
  if (!value.text.empty()) store_attribute_text(names[name], value.text, launch);
}

ProfiledLaunch launch_of(const Bytes& message, const std::vector<std::string>& names, std::size_t number) {
  ProfiledLaunch launch;
  launch.id = std::to_string(number);
  std::string mangled, function;
  for_each_field(message, [&](std::uint64_t field, std::uint64_t, const Bytes& bytes) {
    if (field == Result::kMangled) mangled = bytes.rest();
    if (field == Result::kFunction) function = bytes.rest();
    if (field == Result::kDemangled) launch.kernel = bytes.rest();
    if (field == Result::kGrid) launch.grid = three(bytes);
    if (field == Result::kBlock) launch.block = three(bytes);
    if (field == Result::kMetrics) add_metric_result(bytes, names, launch);
  });
  complete_metrics(launch);
  if (launch.kernel.empty()) launch.kernel = function.empty() ? mangled : function;
  return launch;
}

/// Sources come before results. Few bytes of a file must not become many of memory.
void read_payload(Bytes payload, std::uint64_t sources, std::uint64_t results,
                  const std::vector<std::string>& names, std::vector<ProfiledLaunch>& launches) {
  for (std::uint64_t i = 0; i < sources; ++i) (void)payload.sized();
  if (results > kMaxLaunches - launches.size())
    payload.fail(std::to_string(results) + " more results",
                 "at most " + std::to_string(kMaxLaunches) + " results");
  for (std::uint64_t i = 0; i < results; ++i) {
    const Bytes result = payload.sized();
    if (result.empty()) result.fail("an empty result");
    launches.push_back(launch_of(result, names, launches.size()));
  }
}

}  // namespace

bool is_ncu_report(std::string_view bytes) { return bytes.starts_with(kMark); }

std::vector<ProfiledLaunch> parse_ncu_report(std::string_view bytes, const std::string& where) {
  Bytes file(bytes, 0, where);
  if (!is_ncu_report(bytes)) file.fail("no mark of a report");
  (void)file.take(kMark.size());
  (void)file.sized();  // the header: a version
  std::vector<std::string> names;
  std::vector<ProfiledLaunch> launches;
  while (!file.empty()) {
    std::uint64_t sources = 0, results = 0, payload = 0;
    for_each_field(file.sized(), [&](std::uint64_t field, std::uint64_t number, const Bytes& part) {
      if (field == Block::kSources) sources = number;
      if (field == Block::kResults) results = number;
      if (field == Block::kPayload) payload = number;
      if (field != Block::kStrings) return;
      for_each_field(part, [&](std::uint64_t of_table, std::uint64_t, const Bytes& name) {
        if (of_table != 1) return;
        if (names.size() == kMaxNames)
          name.fail("more names of metrics", "at most " + std::to_string(kMaxNames) + " names");
        names.emplace_back(name.rest());
      });
    });
    read_payload(file.take(payload), sources, results, names, launches);
  }
  return launches;
}

std::vector<ProfiledLaunch> parse_ncu_profile(std::string_view bytes, const std::string& where,
                                              std::optional<DecimalMark> decimal) {
  return is_ncu_report(bytes) ? parse_ncu_report(bytes, where) : parse_ncu_csv(bytes, where, decimal);
}

}  // namespace natten_sim::validate
