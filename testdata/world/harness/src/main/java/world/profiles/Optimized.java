package world.profiles;

import java.util.List;
import java.util.Properties;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;

/**
 * An optimised topology, whose tables are restored from their source topics, and a global store that the application's own
 * processor fills.
 */
final class Optimized extends Profile {
  @Override
  List<Input> ownInputs() {
    return List.of(
        Input.of("t1", Kind.TABLE, 3),
        Input.of("t2", Kind.TABLE, 3),
        Input.of("s", Kind.STREAM, 2),
        Input.global("g", 2));
  }

  @Override
  public void configure(Properties config) {
    config.put(StreamsConfig.TOPOLOGY_OPTIMIZATION_CONFIG, StreamsConfig.OPTIMIZE);
  }

  @Override
  public Topology topology(String app, Properties config) {
    StreamsBuilder builder = builder(app, config);
    Consumed<String, String> consumed = Consumed.with(STRING, STRING);
    KTable<String, String> t1 = builder.table(app + "-t1", consumed, Aggregations.strings(named("src-tbl")));
    KTable<String, String> t2 = builder.table(app + "-t2", consumed);
    t1.join(t2, (x, y) -> x + "+" + y, Aggregations.strings(named("j")));
    KStream<String, String> stream =
        builder.stream(app + "-s", consumed).selectKey((key, value) -> key.substring(0, 3));
    stream.groupByKey(Grouped.with(STRING, STRING)).count(Aggregations.counts(named("c1")));
    stream.groupByKey(Grouped.with(STRING, STRING)).count();
    builder.addGlobalStore(
        Stores.keyValueStoreBuilder(Stores.persistentKeyValueStore(named("user-global")), STRING, STRING)
            .withLoggingDisabled(),
        app + "-g",
        consumed,
        Prefix::new);
    return builder.build(config);
  }

  /** Writes something else than the topic holds. */
  private final class Prefix implements Processor<String, String, Void, Void> {
    private KeyValueStore<String, String> store;

    @Override
    public void init(ProcessorContext<Void, Void> context) {
      store = context.getStateStore(named("user-global"));
    }

    @Override
    public void process(Record<String, String> record) {
      store.put(record.key(), record.value() == null ? null : "g:" + record.value());
    }
  }
}
