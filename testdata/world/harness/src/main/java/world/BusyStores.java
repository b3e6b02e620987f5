package world;

import java.util.Map;
import org.apache.kafka.streams.state.RocksDBConfigSetter;
import org.rocksdb.Options;

/**
 * Memtables so small that a test's worth of records flushes them many times, and compactions as soon as there are two
 * files: files come and go all the time.
 */
public final class BusyStores implements RocksDBConfigSetter {
  @Override
  public void setConfig(String store, Options options, Map<String, Object> configs) {
    options.setWriteBufferSize(64 << 10);
    options.setLevel0FileNumCompactionTrigger(2);
    options.setDeleteObsoleteFilesPeriodMicros(100_000);
  }

  @Override
  public void close(String store, Options options) {}
}
