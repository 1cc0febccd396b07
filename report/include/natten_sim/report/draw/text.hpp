#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace natten_sim::draw {

/// Text of pictures and pages: the one escaper, and how wide a text will be.
///
///     svg += "<text>" + escape(label) + "</text>";
///     if (text_width(label, 12) < room) ...
///     for (const std::string& line : wrapped(title, 600, 14)) ...
///
/// Widths are estimates in pixels from the advance widths of DejaVu Sans, one of the widest fonts that
/// "sans-serif" stands for, so that text which fits by the estimate fits in narrower fonts as well.

/// Safe as XML or HTML text and between quotes of an attribute: `& < > " '` as references; invalid UTF-8
/// and the characters that XML 1.0 forbids or discourages (controls, surrogates, non-characters) as U+FFFD.
/// Tab and line feed stay; a carriage return becomes a space. O(size).
[[nodiscard]] std::string escape(std::string_view text);

/// Valid UTF-8 without control characters, as `escape` makes it, but without references.
[[nodiscard]] std::string printable(std::string_view text);

/// Estimated width in pixels at a font size in pixels.
[[nodiscard]] double text_width(std::string_view text, double size, bool bold = false);

/// `text`, or as much of its beginning as fits `width` with an ellipsis behind it.
[[nodiscard]] std::string shortened(std::string_view text, double width, double size, bool bold = false);

/// Lines of at most `width` pixels, broken at spaces; a longer word is cut. No text: no line.
[[nodiscard]] std::vector<std::string> wrapped(std::string_view text, double width, double size,
                                               bool bold = false);

}  // namespace natten_sim::draw
