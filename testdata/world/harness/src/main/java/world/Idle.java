package world;

import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
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

  Idle(App app) {
    this.app = app;
  }

  /**
   * What it reads, as the cluster calls it, and whether that is an internal topic: the group may have offsets of an earlier
   * release's topics as well.
   */
  private Map<String, Boolean> reads(Set<String> topics) {
    String prefix = app.id + "-"; // describe() names internal topics without it
    Map<String, Boolean> reads = new HashMap<>();
    for (TopologyDescription.Subtopology part : app.topology.describe().subtopologies()) {
      for (TopologyDescription.Node node : part.nodes()) {
        if (!(node instanceof TopologyDescription.Source)) {
          continue;
        }
        TopologyDescription.Source source = (TopologyDescription.Source) node;
        for (String topic : topics) {
          if (source.topicPattern() != null ? source.topicPattern().matcher(topic).matches() : source.topicSet().contains(topic)) {
            reads.put(topic, false);
          } else if (source.topicPattern() == null
              && topic.startsWith(prefix)
              && source.topicSet().contains(topic.substring(prefix.length()))) {
            reads.put(topic, true);
          }
        }
      }
    }
    return reads;
  }

  void await(Duration limit) throws Exception {
    long end = System.nanoTime() + limit.toNanos();
    Map<TopicPartition, Long> last = Map.of();
    long quietSince = System.nanoTime();
    try (Admin admin = app.admin()) {
      Map<String, Boolean> reads = reads(admin.listTopics().names().get());
      while (System.nanoTime() < end) {
        Map<TopicPartition, Long> committed = committed(admin, reads);
        if (lag(admin, reads, committed) > 0 || !committed.equals(last)) {
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

  private Map<TopicPartition, Long> committed(Admin admin, Map<String, Boolean> reads) throws Exception {
    Map<TopicPartition, Long> committed = new HashMap<>();
    admin
        .listConsumerGroupOffsets(app.id)
        .partitionsToOffsetAndMetadata()
        .get()
        .forEach(
            (partition, offset) -> {
              if (offset != null && reads.containsKey(partition.topic())) {
                committed.put(partition, offset.offset());
              }
            });
    return committed;
  }

  private long lag(Admin admin, Map<String, Boolean> reads, Map<TopicPartition, Long> committed) throws Exception {
    Map<TopicPartition, OffsetSpec> wanted = new HashMap<>();
    for (TopicDescription topic : admin.describeTopics(reads.keySet()).allTopicNames().get().values()) {
      topic.partitions().forEach(p -> wanted.put(new TopicPartition(topic.name(), p.partition()), OffsetSpec.latest()));
    }
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
              boolean marked = exactlyOnce && reads.get(partition.topic()) && committed.containsKey(partition);
              lag[0] += Math.max(0, behind - (marked ? 2 : 0));
            });
    return lag[0];
  }
}
