package world;

import java.util.Map;
import org.apache.kafka.streams.state.RocksDBConfigSetter;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.Cache;
import org.rocksdb.LRUCache;
import org.rocksdb.Options;

/** Stores that have hardly a block cache, and memtables so small that reads need it. */
public final class TinyCache implements RocksDBConfigSetter {
  private Cache cache;

  @Override
  public void setConfig(String store, Options options, Map<String, Object> configs) {
    options.setWriteBufferSize(64 << 10);
    cache = new LRUCache(1);
    BlockBasedTableConfig table = (BlockBasedTableConfig) options.tableFormatConfig();
    table.setBlockCache(cache);
    options.setTableFormatConfig(table);
  }

  @Override
  public void close(String store, Options options) {
    cache.close();
  }
}
