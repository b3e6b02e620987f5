package world;

import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.TopologyDescription;

/** What describe() prints beside what its objects say. */
final class Described {
  private Described() {}

  static Map<String, Object> of(Topology topology) {
    List<Object> subtopologies = new ArrayList<>();
    TopologyDescription description = topology.describe();
    for (TopologyDescription.Subtopology s : description.subtopologies()) {
      subtopologies.add(subtopology(s.id(), false, s.nodes()));
    }
    for (TopologyDescription.GlobalStore g : description.globalStores()) {
      subtopologies.add(subtopology(g.id(), true, List.of(g.source(), g.processor())));
    }
    Map<String, Object> out = new LinkedHashMap<>();
    out.put("text", description.toString());
    out.put("objects", subtopologies);
    return out;
  }

  private static Map<String, Object> subtopology(int id, boolean global, Collection<TopologyDescription.Node> nodes) {
    Map<String, Object> out = new LinkedHashMap<>();
    out.put("id", id);
    out.put("global", global);
    out.put("nodes", nodes.stream().map(Described::node).collect(Collectors.toList()));
    return out;
  }

  private static Map<String, Object> node(TopologyDescription.Node n) {
    Map<String, Object> out = new LinkedHashMap<>();
    out.put("name", n.name());
    out.put("next", names(n.successors()));
    out.put("prev", names(n.predecessors()));
    if (n instanceof TopologyDescription.Source) {
      TopologyDescription.Source source = (TopologyDescription.Source) n;
      out.put("kind", "source");
      if (source.topicPattern() != null) {
        out.put("pattern", source.topicPattern().toString());
      } else {
        out.put("topics", new TreeSet<>(source.topicSet()));
      }
    } else if (n instanceof TopologyDescription.Processor) {
      out.put("kind", "processor");
      out.put("stores", new TreeSet<>(((TopologyDescription.Processor) n).stores()));
    } else {
      TopologyDescription.Sink sink = (TopologyDescription.Sink) n;
      out.put("kind", "sink");
      if (sink.topic() != null) {
        out.put("topics", List.of(sink.topic()));
      } else {
        out.put("extractor", sink.topicNameExtractor().toString());
      }
    }
    return out;
  }

  private static TreeSet<String> names(Collection<TopologyDescription.Node> nodes) {
    return nodes.stream().map(TopologyDescription.Node::name).collect(Collectors.toCollection(TreeSet::new));
  }
}
