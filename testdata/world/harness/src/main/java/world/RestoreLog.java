package world;

import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.processor.StateRestoreListener;

/** What was restored, per store and changelog partition. A task that was wiped and restored again adds up. */
final class RestoreLog implements StateRestoreListener {
  private final Map<String, Map<String, Object>> partitions = new ConcurrentSkipListMap<>();

  @Override
  public void onRestoreStart(TopicPartition partition, String store, long from, long to) {
    Map<String, Object> entry = new LinkedHashMap<>();
    entry.put("topic", partition.topic());
    entry.put("partition", partition.partition());
    entry.put("store", store);
    entry.put("startingOffset", from);
    entry.put("endingOffset", to);
    entry.put("totalRestored", 0L);
    entry.put("starts", 1L);
    partitions.merge(
        partition + " " + store,
        entry,
        (old, now) -> {
          now.put("totalRestored", old.get("totalRestored"));
          now.put("starts", (long) old.get("starts") + 1);
          return now;
        });
  }

  @Override
  public void onBatchRestored(TopicPartition partition, String store, long end, long count) {
    // Counted batch by batch: an interrupted restore counts as well.
    partitions.computeIfPresent(
        partition + " " + store,
        (key, entry) -> {
          entry.put("totalRestored", (long) entry.get("totalRestored") + count);
          return entry;
        });
  }

  @Override
  public void onRestoreEnd(TopicPartition partition, String store, long total) {}

  long total() {
    return partitions.values().stream().mapToLong(entry -> (long) entry.get("totalRestored")).sum();
  }

  Collection<Map<String, Object>> partitions() {
    return partitions.values();
  }
}
