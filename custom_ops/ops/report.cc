#include "ops/report.h"

namespace bnn::ops {

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return quoted + "\"";
}

void Append(std::string* list, const std::string& item) {
  *list += (list->empty() ? "" : ", ") + item;
}

std::string CreatedOf(const CreatedCounts& created, const std::string& kernel) {
  std::string counts;
  if (const auto found = created.find(kernel); found != created.end()) {
    for (const auto& [variant, count] : found->second) {
      Append(&counts, Quoted(variant) + ": " + std::to_string(count));
    }
  }
  return "{" + counts + "}";
}

std::string NodesCreated() {
  std::string nodes;
  for (const CreatedNode& node : ReadCreatedNodes()) {
    Append(&nodes, "{\"name\": " + Quoted(node.name) + ", \"kernel\": " + Quoted(node.kernel) +
                       ", \"variant\": " + Quoted(node.variant) +
                       ", \"few_variant\": " + Quoted(node.few_variant) +
                       ", \"few_positions\": " + std::to_string(node.few_positions) + "}");
  }
  return "[" + nodes + "]";
}

}  // namespace bnn::ops
