#include <array>
#include <stdexcept>

#include <fmt/format.h>

#include <natten_sim/report/draw/html_page.hpp>
#include <natten_sim/report/draw/text.hpp>

namespace natten_sim::draw {
namespace {

struct Variable {
  const char* name;
  Paint paint;
};

/// The palette's colours as custom properties of one scheme.
std::string variables(Rgb Shade::*scheme) {
  const std::array<Variable, 6> all = {{{"ground", Paint::role(Role::kBackground)},
                                        {"text", Paint::role(Role::kText)},
                                        {"muted", Paint::role(Role::kMutedText)},
                                        {"line", Paint::role(Role::kGrid)},
                                        {"band", Paint::role(Role::kBand)},
                                        {"link", Paint::category(0)}}};
  std::string text;
  for (const Variable& each : all)
    text += fmt::format("--{}:{};", each.name, to_hex(each.paint.shade().*scheme));
  // Rows that stand out, of the diverging ramp: a miss that is known, a failure.
  return text + fmt::format("--warning:{};--failure:{}", to_hex(Paint::diverging(-0.2).shade().*scheme),
                            to_hex(Paint::diverging(-0.5).shade().*scheme));
}

constexpr std::string_view kStyle =
    "body{font:15px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;margin:2em auto;"
    "max-width:1240px;padding:0 1em;background:var(--ground);color:var(--text)}\n"
    "h1{font-size:1.6em}h2{font-size:1.25em;margin-top:2em}h3{font-size:1.05em}\n"
    "a{color:var(--link)}\n"
    "pre{background:var(--band);padding:.8em;overflow-x:auto;font-size:12px;line-height:1.35}\n"
    ".scroll{overflow-x:auto}\n"
    "table{border-collapse:collapse;font-size:13px;font-variant-numeric:tabular-nums}\n"
    "th,td{border-bottom:1px solid var(--line);padding:3px 10px;text-align:left;vertical-align:top}\n"
    "th{border-bottom:2px solid var(--muted);white-space:nowrap}\n"
    ".number{text-align:right;white-space:nowrap}\n"
    ".strong td{font-weight:bold}.warning td{background:var(--warning)}.failure td{background:var(--failure);"
    "font-weight:bold}\n"
    "figure{margin:1em 0;overflow-x:auto}figcaption{color:var(--muted);font-size:13px}\n"
    "figure>svg{max-width:100%;height:auto}\n";

std::string row_of(const std::vector<std::string>& cells, const char* tag, const std::vector<bool>& numeric) {
  std::string row;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const bool number = i < numeric.size() && numeric[i];
    row += fmt::format("<{0}{1}>{2}</{0}>", tag, number ? " class=\"number\"" : "", escape(cells[i]));
  }
  return row;
}

const char* class_of(RowTone tone) {
  switch (tone) {
    case RowTone::kPlain:
      return "";
    case RowTone::kStrong:
      return " class=\"strong\"";
    case RowTone::kWarning:
      return " class=\"warning\"";
    case RowTone::kFailure:
      return " class=\"failure\"";
  }
  return "";
}

}  // namespace

HtmlPage::HtmlPage(std::string_view title) : title_(title) {}

HtmlPage& HtmlPage::heading(std::string_view text, int level) {
  if (level < 2 || level > 4) throw std::invalid_argument("headings of a page have the levels 2 to 4");
  body_ += fmt::format("<h{0}>{1}</h{0}>\n", level, escape(text));
  return *this;
}

HtmlPage& HtmlPage::paragraph(std::string_view text) {
  body_ += "<p>" + escape(text) + "</p>\n";
  return *this;
}

HtmlPage& HtmlPage::preformatted(std::string_view text) {
  body_ += "<pre>" + escape(text) + "</pre>\n";
  return *this;
}

HtmlPage& HtmlPage::list(const std::vector<std::string>& items) {
  if (items.empty()) return *this;
  body_ += "<ul>\n";
  for (const std::string& item : items) body_ += "<li>" + escape(item) + "</li>\n";
  body_ += "</ul>\n";
  return *this;
}

HtmlPage& HtmlPage::table(const HtmlTable& table) {
  body_ += "<div class=\"scroll\"><table>\n<thead><tr>" + row_of(table.header, "th", table.numeric) +
           "</tr></thead>\n<tbody>\n";
  for (const TableRow& row : table.rows)
    body_ += fmt::format("<tr{}>", class_of(row.tone)) + row_of(row.cells, "td", table.numeric) + "</tr>\n";
  body_ += "</tbody></table></div>\n";
  return *this;
}

HtmlPage& HtmlPage::picture(const Picture& picture, std::string_view caption) {
  body_ += "<figure>\n" + picture.svg;
  if (!caption.empty()) body_ += "<figcaption>" + escape(caption) + "</figcaption>\n";
  body_ += "</figure>\n";
  return *this;
}

std::string HtmlPage::finish() && {
  const std::string title = escape(title_);
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
         "<meta name=\"viewport\" content=\"width=device-width\"/>\n"
         "<meta name=\"color-scheme\" content=\"light dark\"/>\n<title>" +
         title + "</title>\n<style>\n:root{" + variables(&Shade::light) +
         "}\n@media (prefers-color-scheme:dark){:root{" + variables(&Shade::dark) + "}}\n" +
         std::string(kStyle) + "</style>\n</head>\n<body>\n<h1>" + title + "</h1>\n" + body_ +
         "</body>\n</html>\n";
}

}  // namespace natten_sim::draw
