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
import org.apache.kafka.streams.state.AggregationWithHeaders;
import org.apache.kafka.streams.state.SessionStoreWithHeaders;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.TimestampedKeyValueStoreWithHeaders;
import org.apache.kafka.streams.state.TimestampedWindowStoreWithHeaders;
import org.apache.kafka.streams.state.ValueTimestampHeaders;

/** Processor API: the stores that keep record headers. Needs Kafka Streams 4.3 or newer. */
final class HeadersStores extends Profile {
  private static final Duration RETENTION = Duration.ofMinutes(20);
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
    topology.addStateStore(
        Stores.timestampedKeyValueStoreWithHeadersBuilder(
            Stores.persistentTimestampedKeyValueStoreWithHeaders(named("h-kv")), STRING, STRING),
        "fan");
    topology.addStateStore(
        Stores.timestampedKeyValueStoreWithHeadersBuilder(Stores.inMemoryKeyValueStore(named("h-mem")), STRING, STRING),
        "fan");
    topology.addStateStore(
        Stores.timestampedWindowStoreWithHeadersBuilder(
            Stores.persistentTimestampedWindowStoreWithHeaders(named("h-win"), RETENTION, WINDOW, false), STRING, STRING),
        "fan");
    topology.addStateStore(
        Stores.sessionStoreWithHeadersBuilder(
            Stores.persistentSessionStoreWithHeaders(named("h-session"), RETENTION), STRING, STRING),
        "fan");
    topology.addSink("snk", app + "-out", STRING.serializer(), STRING.serializer(), "fan");
    return topology;
  }

  private final class Fan implements Processor<String, String, String, String> {
    private ProcessorContext<String, String> context;
    private TimestampedKeyValueStoreWithHeaders<String, String> persistent;
    private TimestampedKeyValueStoreWithHeaders<String, String> memory;
    private TimestampedWindowStoreWithHeaders<String, String> window;
    private SessionStoreWithHeaders<String, String> session;

    @Override
    public void init(ProcessorContext<String, String> context) {
      this.context = context;
      persistent = context.getStateStore(named("h-kv"));
      memory = context.getStateStore(named("h-mem"));
      window = context.getStateStore(named("h-win"));
      session = context.getStateStore(named("h-session"));
    }

    @Override
    public void process(Record<String, String> record) {
      String value = record.value();
      long start = record.timestamp() - record.timestamp() % WINDOW.toMillis();
      ValueTimestampHeaders<String> full =
          value == null ? null : ValueTimestampHeaders.make(value, record.timestamp(), record.headers());
      persistent.put(record.key(), full);
      memory.put(record.key(), full);
      window.put(record.key(), full, start);
      session.put(
          new Windowed<>(record.key(), new SessionWindow(start, start + 30000)),
          value == null ? null : AggregationWithHeaders.make(value, record.headers()));
      context.forward(record);
    }
  }
}
