package world;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TopologyDescription;

/** Waits until an application has consumed and committed everything, its repartition topics included. */
final class Idle {
  /** Longer than the commit interval, so that a commit would have been seen. */
  private static final Duration QUIET = Duration.ofMillis(1500);

  private final App app;
  private final Set<String> inputs;
  private final List<TopologyDescription.Source> sources = new ArrayList<>();

  Idle(App app) {
    this.app = app;
    this.inputs =
        app.profile.inputs().stream()
            .filter(input -> !input.global)
            .map(input -> app.topics + "-" + input.suffix)
            .collect(Collectors.toSet());
    app.topology.describe().subtopologies().stream()
        .flatMap(part -> part.nodes().stream())
        .filter(node -> node instanceof TopologyDescription.Source)
        .forEach(node -> sources.add((TopologyDescription.Source) node));
  }

  /** Whether the application reads a topic: the group may have offsets of an earlier release's topics as well. */
  private boolean reads(String topic) {
    for (TopologyDescription.Source source : sources) {
      boolean matches =
          source.topicPattern() != null
              ? source.topicPattern().matcher(topic).matches()
              : source.topicSet().stream().anyMatch(name -> topic.equals(name) || topic.equals(app.id + "-" + name));
      if (matches) {
        return true;
      }
    }
    return false;
  }

  void await(Duration limit) throws Exception {
    long end = System.nanoTime() + limit.toNanos();
    Map<TopicPartition, Long> last = Map.of();
    long quietSince = System.nanoTime();
    try (Admin admin = app.admin()) {
      while (System.nanoTime() < end) {
        Map<TopicPartition, Long> committed = committed(admin);
        if (lag(admin, committed) > 0 || !committed.equals(last)) {
          quietSince = System.nanoTime();
        } else if (System.nanoTime() - quietSince > QUIET.toNanos()) {
          return;
        }
        last = committed;
        Thread.sleep(150);
      }
    }
    throw new IllegalStateException("application " + app.id + " was not idle after " + limit);
  }

  private Map<TopicPartition, Long> committed(Admin admin) throws Exception {
    Map<TopicPartition, Long> committed = new HashMap<>();
    admin
        .listConsumerGroupOffsets(app.id)
        .partitionsToOffsetAndMetadata()
        .get()
        .forEach(
            (partition, offset) -> {
              if (offset != null && reads(partition.topic())) {
                committed.put(partition, offset.offset());
              }
            });
    return committed;
  }

  private long lag(Admin admin, Map<TopicPartition, Long> committed) throws Exception {
    Map<TopicPartition, OffsetSpec> wanted = new HashMap<>();
    Set<TopicPartition> partitions = new HashSet<>(committed.keySet());
    for (TopicDescription topic : admin.describeTopics(inputs).allTopicNames().get().values()) {
      topic.partitions().forEach(p -> partitions.add(new TopicPartition(topic.name(), p.partition())));
    }
    partitions.forEach(partition -> wanted.put(partition, OffsetSpec.latest()));
    boolean exactlyOnce =
        StreamsConfig.EXACTLY_ONCE_V2.equals(app.config.get(StreamsConfig.PROCESSING_GUARANTEE_CONFIG));
    long[] lag = {0};
    admin
        .listOffsets(wanted)
        .all()
        .get()
        .forEach(
            (partition, end) -> {
              long behind = end.offset() - committed.getOrDefault(partition, 0L);
              // A repartition topic of an exactly-once application ends with a transaction's marker.
              long markers = exactlyOnce && !inputs.contains(partition.topic()) ? 2 : 0;
              lag[0] += Math.max(0, behind - markers);
            });
    return lag[0];
  }
}
