package org.apache.kafka.streams.state.internals;

import java.io.File;
import java.io.PrintStream;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.*;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.internals.InternalProcessorContext;
import org.apache.kafka.streams.processor.internals.metrics.StreamsMetricsImpl;
import org.rocksdb.*;

/**
 * Writes what the real RocksDBVersionedStore.restoreBatch makes of random changelogs, one JSON line per case:
 * history retention, segment interval, records [key, timestamp, value], ends of the batches, resulting rows.
 * Lies in Kafka Streams' own package because restoreBatch is package-private. To make the vectors again, with the
 * jars of kafka-streams (4.0.2 and 4.4.0 give the same rows) and its dependencies on the class path:
 *   javac -d out VersionedVectors.java
 *   java -cp out:... org.apache.kafka.streams.state.internals.VersionedVectors 120 versioned-vectors.jsonl
 */
public class VersionedVectors {
  static final HexFormat HEX = HexFormat.of();

  public static void main(String[] args) throws Exception {
    int cases = Integer.parseInt(args[0]);
    PrintStream out = new PrintStream(args[1]);
    for (int seed = 0; seed < cases; seed++) out.println(run(seed));
    out.close();
  }

  /** The constructor gained parameters over the releases. */
  static StreamsMetricsImpl metrics() throws Exception {
    var c = StreamsMetricsImpl.class.getConstructors()[0];
    Object[] a = new Object[c.getParameterCount()];
    for (int i = 0; i < a.length; i++) {
      Class<?> t = c.getParameterTypes()[i];
      a[i] = t == Metrics.class ? new Metrics() : t == Time.class ? Time.SYSTEM : t == String.class ? "x" : null;
    }
    return (StreamsMetricsImpl) c.newInstance(a);
  }

  static String run(int seed) throws Exception {
    Random r = new Random(seed);
    Path dir = Files.createTempDirectory("vectors");
    long history = 900, interval = new long[] {300, 70, 2000}[r.nextInt(3)];
    int n = 60 + r.nextInt(120), step = 2 + r.nextInt(80), limit = new int[] {1, 5, 40, 1000}[r.nextInt(4)];
    RocksDBVersionedStore store = new RocksDBVersionedStore("s", "rocksdb", history, interval);
    Map<String, Object> config = new HashMap<>(Map.of("metrics.recording.level", "INFO"));
    StreamsMetricsImpl metrics = metrics();
    StateStoreContext context = (StateStoreContext) Proxy.newProxyInstance(VersionedVectors.class.getClassLoader(),
        new Class<?>[] {InternalProcessorContext.class}, (proxy, method, a) -> switch (method.getName()) {
          case "taskId" -> new TaskId(0, 0);
          case "metrics" -> metrics;
          case "stateDir" -> dir.toFile();
          case "appConfigs" -> config;
          case "currentSystemTimeMs" -> 0L;
          default -> null;
        });
    store.init(context, store);
    StringBuilder json = new StringBuilder("{\"history\":" + history + ",\"interval\":" + interval + ",\"records\":[");
    List<ConsumerRecord<byte[], byte[]>> batch = new ArrayList<>();
    List<Integer> ends = new ArrayList<>();
    long now = 10_000;
    int left = 1 + r.nextInt(limit);
    for (int i = 0; i < n; i++) {
      now += r.nextInt(step);
      long ts = r.nextInt(3) == 0 ? Math.max(0, now - r.nextInt(20 * step)) : now;
      byte[] key = {(byte) ('a' + r.nextInt(4))};
      byte[] value = r.nextInt(4) == 0 ? null : Arrays.copyOf(("v" + i).getBytes(), r.nextInt(3));
      if (i > 0) json.append(',');
      json.append("[\"" + HEX.formatHex(key) + "\"," + ts + "," + (value == null ? "null" : "\"" + HEX.formatHex(value) + "\"") + "]");
      batch.add(new ConsumerRecord<>("t", 0, i, ts, TimestampType.CREATE_TIME, 1, value == null ? -1 : value.length, key, value,
          new RecordHeaders(), Optional.empty()));
      if (--left == 0 || i == n - 1) {
        store.restoreBatch(batch);
        batch.clear();
        ends.add(i + 1);
        left = 1 + r.nextInt(limit);
      }
    }
    store.flush();
    store.close();
    json.append("],\"ends\":" + ends + ",\"rows\":{");
    String path = new File(dir.toFile(), "rocksdb/s").getPath();
    List<byte[]> families;
    try (Options o = new Options()) { families = RocksDB.listColumnFamilies(o, path); }
    List<ColumnFamilyDescriptor> descriptors = new ArrayList<>();
    for (byte[] f : families) descriptors.add(new ColumnFamilyDescriptor(f));
    List<ColumnFamilyHandle> handles = new ArrayList<>();
    try (DBOptions o = new DBOptions(); RocksDB db = RocksDB.openReadOnly(o, path, descriptors, handles); RocksIterator it = db.newIterator(handles.get(0))) {
      boolean first = true;
      for (it.seekToFirst(); it.isValid(); it.next()) {
        json.append((first ? "\"" : ",\"") + HEX.formatHex(it.key()) + "\":\"" + HEX.formatHex(it.value()) + "\"");
        first = false;
      }
      for (ColumnFamilyHandle h : handles) h.close();
    }
    try (var files = Files.walk(dir)) { files.sorted(Comparator.reverseOrder()).forEach(f -> f.toFile().delete()); }
    return json.append("}}").toString();
  }
}
