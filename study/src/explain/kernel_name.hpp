#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace natten_sim::study {

/// A demangled kernel name in one spelling: casts and wrappers of constants are gone, `true` and `false` are
/// 1 and 0, and there are no blanks.
///
///     f<(int)128, (bool)0, cute::C<(int)64>, true>   f<128,0,64,1>
[[nodiscard]] std::string plain_name(std::string_view name);

/// The arguments of the first template of `plain` whose name ends in `name`; empty: there is none.
///
///     template_arguments("g<f<128,tuple<1,2>>,0>", "f")   {"128", "tuple<1,2>"}
[[nodiscard]] std::vector<std::string> template_arguments(std::string_view plain, std::string_view name);

/// The number that `text` is, 0 or more; none: it is something else.
[[nodiscard]] std::optional<std::int64_t> number_of(std::string_view text);

/// The first `AxBxC..` of `count` numbers in `text`; empty: there is none.
[[nodiscard]] std::vector<std::int64_t> shape_in(std::string_view text, std::size_t count);

/// The number behind the first `label` that a number follows: number_behind("head_dim128", "head_dim") = 128.
[[nodiscard]] std::optional<std::int64_t> number_behind(std::string_view text, std::string_view label);

}  // namespace natten_sim::study
