#pragma once

#include <cctype>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <natten_sim/report/draw/svg.hpp>

/// A small strict reader of XML, for tests of pictures: no namespaces, no processing instructions.
namespace natten_sim::test {

struct Element {
  std::string name;
  std::map<std::string, std::string> attributes;
  std::string text;  ///< directly inside, with references resolved
  [[nodiscard]] double number(const std::string& attribute, double otherwise = 0) const {
    const auto found = attributes.find(attribute);
    return found == attributes.end() ? otherwise : std::stod(found->second);
  }
};

class XmlReader {
 public:
  /// All elements in the order they open. @throws std::runtime_error when the text is not well formed.
  static std::vector<Element> read(std::string_view text) {
    XmlReader reader(text);
    reader.run();
    return std::move(reader.elements_);
  }

 private:
  explicit XmlReader(std::string_view text) : rest_(text) {}

  void require(bool holds, const std::string& what) const {
    if (!holds) throw std::runtime_error(what + " before: " + std::string(rest_.substr(0, 60)));
  }
  bool skip(std::string_view expected) {
    if (!rest_.starts_with(expected)) return false;
    rest_.remove_prefix(expected.size());
    return true;
  }
  std::string name() {
    std::size_t size = 0;
    while (size < rest_.size() && (std::isalnum(static_cast<unsigned char>(rest_[size])) != 0 ||
                                   std::string_view("-_:").find(rest_[size]) != std::string_view::npos))
      ++size;
    require(size > 0, "no name");
    const std::string result(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return result;
  }
  void blanks() {
    while (!rest_.empty() && std::isspace(static_cast<unsigned char>(rest_.front())) != 0)
      rest_.remove_prefix(1);
  }
  /// Up to one of `ends`.
  std::string value(std::string_view ends) {
    std::string result;
    while (!rest_.empty() && ends.find(rest_.front()) == std::string_view::npos) {
      const auto c = static_cast<unsigned char>(rest_.front());
      require(c >= 0x20 || c == '\n' || c == '\t', "a control character");
      require(c != '<', "a bare <");
      if (c != '&') {
        result += rest_.front();
        rest_.remove_prefix(1);
      } else if (skip("&amp;")) {
        result += '&';
      } else if (skip("&lt;")) {
        result += '<';
      } else if (skip("&gt;")) {
        result += '>';
      } else if (skip("&quot;")) {
        result += '"';
      } else if (skip("&#39;")) {
        result += '\'';
      } else {
        require(false, "an unknown reference");
      }
    }
    return result;
  }
  void open_tag() {
    Element element{name(), {}, {}};
    for (blanks(); !rest_.starts_with(">") && !rest_.starts_with("/>"); blanks()) {
      const std::string key = name();
      require(skip("=\""), "an attribute without a quoted value");
      require(element.attributes.emplace(key, value("\"")).second, "an attribute twice");
      require(skip("\""), "an open quote");
    }
    const bool closed = skip("/>");
    require(closed || skip(">"), "an open tag");
    if (!closed) open_.push_back(elements_.size());
    elements_.push_back(std::move(element));
  }
  void run() {
    skip("<!DOCTYPE html>\n");
    while (!rest_.empty()) {
      if (skip("</")) {
        require(!open_.empty() && name() == elements_[open_.back()].name && skip(">"), "a wrong closing tag");
        open_.pop_back();
      } else if (skip("<")) {
        require(elements_.empty() || !open_.empty(), "a second root");
        open_tag();
      } else {
        const std::string text = value("<");
        if (open_.empty()) {
          require(text == "\n", "text outside the root");
        } else {
          elements_[open_.back()].text += text;
        }
      }
    }
    require(open_.empty() && !elements_.empty(), "an unclosed tag");
  }

  std::string_view rest_;
  std::vector<Element> elements_;
  std::vector<std::size_t> open_;
};

inline std::vector<Element> read_xml(std::string_view text) { return XmlReader::read(text); }

inline std::size_t count_of(const std::vector<Element>& elements, const std::string& name,
                            const std::string& with_class = {}) {
  std::size_t count = 0;
  for (const Element& each : elements) {
    const auto found = each.attributes.find("class");
    const std::string classes = found == each.attributes.end() ? "" : " " + found->second + " ";
    if (each.name == name &&
        (with_class.empty() || classes.find(" " + with_class + " ") != std::string::npos))
      ++count;
  }
  return count;
}

struct Label {
  std::string text;
  draw::Box box;
};

/// What a picture without panels writes, and where by the estimate of text_width.
inline std::vector<Label> labels_of(std::string_view svg) {
  std::vector<Label> labels;
  for (const Element& each : read_xml(svg)) {
    if (each.name != "text") continue;
    const auto anchor = each.attributes.find("text-anchor");
    const draw::TextStyle style{.size = each.number("font-size", 12),
                                .anchor = anchor == each.attributes.end() ? draw::Anchor::kStart
                                          : anchor->second == "end"       ? draw::Anchor::kEnd
                                                                          : draw::Anchor::kMiddle,
                                .bold = each.attributes.contains("font-weight")};
    labels.push_back({each.text, draw::text_box(each.number("x"), each.number("y"), each.text, style)});
  }
  return labels;
}

/// "first / second" for each two labels that overprint, and "text / border" for one that leaves the picture.
inline std::vector<std::string> overprints(const draw::Picture& picture) {
  const std::vector<Label> labels = labels_of(picture.svg);
  std::vector<std::string> found;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const draw::Box& box = labels[i].box;
    if (box.x < 0 || box.y < 0 || box.right() > picture.width || box.bottom() > picture.height)
      found.push_back(labels[i].text + " / border");
    for (std::size_t j = 0; j < i; ++j)
      if (box.overlaps(labels[j].box)) found.push_back(labels[j].text + " / " + labels[i].text);
  }
  return found;
}

}  // namespace natten_sim::test
