package world.profiles;

import java.time.Duration;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.kstream.internals.SessionWindow;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.TimestampedKeyValueStore;
import org.apache.kafka.streams.state.TimestampedWindowStore;
import org.apache.kafka.streams.state.ValueAndTimestamp;
import org.apache.kafka.streams.state.VersionedKeyValueStore;
import org.apache.kafka.streams.state.WindowStore;

/** Processor API: one store of every kind that {@link Stores} makes, each fed with every record. */
final class StoreKinds extends Profile {
  private static final Duration RETENTION = Duration.ofMinutes(20);
  private static final Duration HISTORY = Duration.ofMinutes(30);
  private static final Duration WINDOW = Duration.ofMinutes(1);

  @Override
  List<Input> ownInputs() {
    return List.of(Input.of("in", Kind.STREAM, 2));
  }

  @Override
  public Topology topology(String app, Properties config) {
    Topology topology = processors(app);
    topology.addSource("src", STRING.deserializer(), STRING.deserializer(), app + "-in");
    topology.addProcessor("fan", Fan::new, "src");
    for (StoreBuilder<?> store : stores()) {
      topology.addStateStore(store, "fan");
    }
    topology.addSink("snk", app + "-out", STRING.serializer(), STRING.serializer(), "fan");
    return topology;
  }

  private List<StoreBuilder<?>> stores() {
    return List.of(
        Stores.keyValueStoreBuilder(Stores.persistentKeyValueStore(named("plain-kv")), STRING, STRING),
        Stores.keyValueStoreBuilder(Stores.inMemoryKeyValueStore(named("mem-kv")), STRING, STRING),
        Stores.keyValueStoreBuilder(Stores.lruMap(named("lru-kv"), 20), STRING, STRING),
        Stores.keyValueStoreBuilder(Stores.persistentKeyValueStore(named("nolog-kv")), STRING, STRING).withLoggingDisabled(),
        Stores.timestampedKeyValueStoreBuilder(Stores.persistentTimestampedKeyValueStore(named("ts-kv")), STRING, STRING),
        Stores.versionedKeyValueStoreBuilder(
            Stores.persistentVersionedKeyValueStore(named("versioned"), HISTORY), STRING, STRING),
        Stores.windowStoreBuilder(
            Stores.persistentWindowStore(named("plain-win"), RETENTION, WINDOW, false), STRING, STRING),
        Stores.windowStoreBuilder(Stores.persistentWindowStore(named("dup-win"), RETENTION, WINDOW, true), STRING, STRING),
        Stores.timestampedWindowStoreBuilder(
            Stores.persistentTimestampedWindowStore(named("ts-win"), RETENTION, WINDOW, false), STRING, STRING),
        Stores.sessionStoreBuilder(Stores.persistentSessionStore(named("session"), RETENTION), STRING, STRING));
  }

  private final class Fan implements Processor<String, String, String, String> {
    private ProcessorContext<String, String> context;
    private KeyValueStore<String, String> plain;
    private KeyValueStore<String, String> memory;
    private KeyValueStore<String, String> unlogged;
    private KeyValueStore<String, String> lru;
    private TimestampedKeyValueStore<String, String> timestamped;
    private VersionedKeyValueStore<String, String> versioned;
    private WindowStore<String, String> window;
    private WindowStore<String, String> duplicates;
    private TimestampedWindowStore<String, String> timestampedWindow;
    private SessionStore<String, String> session;

    @Override
    public void init(ProcessorContext<String, String> context) {
      this.context = context;
      plain = context.getStateStore(named("plain-kv"));
      memory = context.getStateStore(named("mem-kv"));
      unlogged = context.getStateStore(named("nolog-kv"));
      lru = context.getStateStore(named("lru-kv"));
      timestamped = context.getStateStore(named("ts-kv"));
      versioned = context.getStateStore(named("versioned"));
      window = context.getStateStore(named("plain-win"));
      duplicates = context.getStateStore(named("dup-win"));
      timestampedWindow = context.getStateStore(named("ts-win"));
      session = context.getStateStore(named("session"));
    }

    @Override
    public void process(Record<String, String> record) {
      String key = record.key();
      String value = record.value();
      long ts = record.timestamp();
      long start = ts - ts % WINDOW.toMillis();
      ValueAndTimestamp<String> stamped = value == null ? null : ValueAndTimestamp.make(value, ts);
      plain.put(key, value);
      memory.put(key, value);
      unlogged.put(key, value);
      lru.put(key, value);
      timestamped.put(key, stamped);
      versioned.put(key, value, ts);
      window.put(key, value, start);
      duplicates.put(key, value, start);
      timestampedWindow.put(key, stamped, start);
      session.put(new Windowed<>(key, new SessionWindow(start, start + 30000)), value);
      context.forward(record);
    }
  }
}
