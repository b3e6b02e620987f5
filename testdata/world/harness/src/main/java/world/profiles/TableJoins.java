package world.profiles;

import java.time.Duration;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.GlobalKTable;
import org.apache.kafka.streams.kstream.Joined;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.TableJoined;
import org.apache.kafka.streams.kstream.ValueJoiner;
import org.apache.kafka.streams.state.Stores;

/** Joins with tables: primary key, foreign key, a stream with a grace period, and a global table. */
final class TableJoins extends Profile {
  @Override
  List<Input> ownInputs() {
    return List.of(
        Input.of("t1", Kind.FOREIGN, 2),
        Input.of("t2", Kind.REFERENCED, 2),
        Input.of("s", Kind.STREAM, 2),
        Input.of("v", Kind.TABLE, 2),
        Input.global("g", 3));
  }

  @Override
  public Topology topology(String app, Properties config) {
    StreamsBuilder builder = builder(app, config);
    Consumed<String, String> consumed = Consumed.with(STRING, STRING);
    Produced<String, String> produced = Produced.with(STRING, STRING);
    ValueJoiner<String, String, String> joiner = (x, y) -> x + "+" + y;

    KTable<String, String> t1 = builder.table(app + "-t1", consumed, Aggregations.strings(named("t1")));
    KTable<String, String> t2 = builder.table(app + "-t2", consumed);
    t1.join(t2, joiner, Aggregations.strings(named("t1t2")));
    t1.leftJoin(
        t2, TableJoins::foreignKey, joiner, TableJoined.as(named("fkj")), Aggregations.strings(named("fk-out")));
    t1.join(t2, TableJoins::foreignKey, joiner).toStream().to(app + "-out", produced);

    KTable<String, String> versioned =
        builder.table(
            app + "-v",
            consumed,
            Materialized.<String, String>as(Stores.persistentVersionedKeyValueStore(named("vt"), Duration.ofMinutes(60)))
                .withKeySerde(STRING)
                .withValueSerde(STRING));
    KStream<String, String> stream = builder.stream(app + "-s", consumed);
    stream
        .join(
            versioned,
            joiner,
            Joined.<String, String, String>as(named("gj"))
                .withKeySerde(STRING)
                .withValueSerde(STRING)
                .withOtherValueSerde(STRING)
                .withGracePeriod(Duration.ofMinutes(10)))
        .to(app + "-out", produced);
    GlobalKTable<String, String> global = builder.globalTable(app + "-g", consumed, Aggregations.strings(named("gtbl")));
    stream.join(global, (key, value) -> key, joiner).to(app + "-out", produced);
    return builder.build(config);
  }

  private static String foreignKey(String value) {
    return value.substring(0, value.indexOf('|'));
  }
}
