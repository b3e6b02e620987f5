package world;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.processor.StateRestoreListener;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;

/**
 * How long Kafka Streams takes to restore the store "st" of application {@code --app} from nothing, with its default
 * configuration: {@code --bootstrap --app --state --partitions [--kind --retention-ms --mode --set --limit-seconds]}. The
 * topics {@code <app>-in} (empty) and {@code <app>-st-changelog} exist. Timed from the first partition's start to the last
 * one's end, so that joining the group does not count. Wants a JVM of its own: CPU time and memory are the process's.
 */
final class RestoreTime implements StateRestoreListener {
  private final CountDownLatch open;
  private final AtomicLong first = new AtomicLong();
  private final AtomicLong last = new AtomicLong();
  private final AtomicLong records = new AtomicLong();
  private final AtomicLong batches = new AtomicLong();
  private final AtomicLong cpuAtFirst = new AtomicLong();
  private final AtomicLong cpuAtLast = new AtomicLong();

  private RestoreTime(int partitions) {
    open = new CountDownLatch(partitions);
  }

  @Override
  public void onRestoreStart(TopicPartition partition, String store, long from, long to) {
    if (first.compareAndSet(0, System.nanoTime())) {
      cpuAtFirst.set(cpuNanos());
    }
  }

  @Override
  public void onBatchRestored(TopicPartition partition, String store, long end, long count) {
    records.addAndGet(count);
    batches.incrementAndGet();
  }

  @Override
  public void onRestoreEnd(TopicPartition partition, String store, long total) {
    last.set(System.nanoTime());
    cpuAtLast.set(cpuNanos());
    open.countDown();
  }

  static Map<String, Object> run(Args args) throws Exception {
    String app = args.get("app");
    Path directory = args.path("state").resolve(app);
    Handoff.delete(directory);
    Properties config = new Properties();
    config.put(StreamsConfig.APPLICATION_ID_CONFIG, app);
    config.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, args.get("bootstrap"));
    config.put(StreamsConfig.STATE_DIR_CONFIG, args.get("state"));
    if (args.get("mode", "alos").equals("eos")) {
      config.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
    }
    // Not part of a restore: the next run would wait for this one's session to end.
    config.put("main.consumer.session.timeout.ms", "6000");
    config.put("main.consumer.heartbeat.interval.ms", "1000");
    config.putAll(args.settings);
    Topology topology = topology(app, args.get("kind", "timestamped-kv"), args.number("retention-ms", 3_600_000));
    RestoreTime time = new RestoreTime((int) args.number("partitions", 1));
    KafkaStreams streams = new KafkaStreams(topology, config);
    streams.setGlobalStateRestoreListener(time);
    streams.start();
    boolean done = time.open.await(args.number("limit-seconds", 600), TimeUnit.SECONDS);
    long waited = System.nanoTime();
    streams.close(Duration.ofSeconds(120));
    if (!done) {
      throw new IllegalStateException("the restore of " + app + " did not end in time: " + streams.state());
    }
    return time.report(waited, directory);
  }

  private Map<String, Object> report(long waited, Path directory) throws IOException {
    double seconds = (last.get() - first.get()) / 1e9;
    Map<String, Object> report = new LinkedHashMap<>();
    report.put("kafka", App.version());
    report.put("records", records.get());
    report.put("batches", batches.get());
    report.put("restoreSeconds", seconds);
    report.put("closeSeconds", (System.nanoTime() - waited) / 1e9);
    report.put("restoreCpuSeconds", (cpuAtLast.get() - cpuAtFirst.get()) / 1e9);
    report.put("processCpuSeconds", cpuNanos() / 1e9);
    report.put("peakRssBytes", peakRssBytes());
    try (Stream<Path> walk = Files.walk(directory)) {
      List<Path> files = walk.filter(Files::isRegularFile).collect(Collectors.toList());
      long bytes = 0;
      for (Path file : files) {
        bytes += Files.size(file);
      }
      report.put("diskBytes", bytes);
      report.put("sstFiles", files.stream().filter(f -> f.toString().endsWith(".sst")).count());
    }
    return report;
  }

  private static Topology topology(String app, String kind, long retentionMs) {
    Topology topology = new Topology();
    topology.addSource("source", Serdes.Bytes().deserializer(), Serdes.ByteArray().deserializer(), app + "-in");
    topology.addProcessor("nothing", Nothing::new, "source");
    topology.addStateStore(store(kind, Duration.ofMillis(retentionMs)), "nothing");
    return topology;
  }

  /** Never gets a record. */
  private static final class Nothing implements Processor<Bytes, byte[], Void, Void> {
    @Override
    public void process(Record<Bytes, byte[]> record) {}
  }

  private static StoreBuilder<?> store(String kind, Duration retention) {
    Serde<Bytes> keys = Serdes.Bytes();
    Serde<byte[]> values = Serdes.ByteArray();
    Duration size = Duration.ofMinutes(1);
    switch (kind) {
      case "kv":
        return Stores.keyValueStoreBuilder(Stores.persistentKeyValueStore("st"), keys, values);
      case "timestamped-kv":
        return Stores.timestampedKeyValueStoreBuilder(
            Stores.persistentTimestampedKeyValueStore("st"), keys, values);
      case "window":
        return Stores.windowStoreBuilder(Stores.persistentWindowStore("st", retention, size, false), keys, values);
      case "timestamped-window":
        return Stores.timestampedWindowStoreBuilder(
            Stores.persistentTimestampedWindowStore("st", retention, size, false), keys, values);
      case "session":
        return Stores.sessionStoreBuilder(Stores.persistentSessionStore("st", retention), keys, values);
      case "versioned":
        return Stores.versionedKeyValueStoreBuilder(
            Stores.persistentVersionedKeyValueStore("st", retention), keys, values);
      default:
        throw new IllegalArgumentException("kind " + kind);
    }
  }

  private static long cpuNanos() {
    return ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
  }

  // 0 where there is no /proc.
  private static long peakRssBytes() throws IOException {
    Path status = Path.of("/proc/self/status");
    if (!Files.exists(status)) {
      return 0;
    }
    return Files.readAllLines(status).stream()
        .filter(line -> line.startsWith("VmHWM"))
        .mapToLong(line -> Long.parseLong(line.replaceAll("[^0-9]", "")) * 1024)
        .findFirst()
        .orElse(0);
  }
}
