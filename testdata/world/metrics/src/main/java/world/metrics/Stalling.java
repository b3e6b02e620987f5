package world.metrics;

import java.util.Map;
import java.util.Set;
import org.apache.kafka.streams.state.RocksDBConfigSetter;
import org.rocksdb.CompactionStyle;
import org.rocksdb.Options;
import org.rocksdb.RateLimiter;

/**
 * Three stores that are in trouble, with memtables so small that a test's worth of records fills them: {@code ts-kv} flushes
 * so slowly that writes stand still; {@code plain-kv} has levels and never compacts, so that what waits for compaction grows;
 * {@code nolog-kv} never compacts either, and is as Kafka Streams makes it otherwise.
 */
public final class Stalling implements RocksDBConfigSetter {
  private static final long FLUSHED_PER_SECOND = 24 << 10;

  private RateLimiter limiter;

  @Override
  public void setConfig(String store, Options options, Map<String, Object> configs) {
    if (!Set.of("ts-kv", "plain-kv", "nolog-kv").contains(store)) {
      return;
    }
    options.setWriteBufferSize(16 << 10);
    switch (store) {
      case "ts-kv":
        limiter = new RateLimiter(FLUSHED_PER_SECOND);
        options.setRateLimiter(limiter);
        options.setMaxWriteBufferNumber(2);
        break;
      case "plain-kv":
        options.setCompactionStyle(CompactionStyle.LEVEL);
        options.setDisableAutoCompactions(true);
        break;
      default:
        options.setDisableAutoCompactions(true);
    }
  }

  @Override
  public void close(String store, Options options) {
    if (limiter != null) {
      limiter.close();
    }
  }
}
