package world.profiles;

import java.time.Duration;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KGroupedStream;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;

/** DSL aggregations into key-value stores, with repartitioning, adapters and a versioned table. */
final class Aggregations extends Profile {
  @Override
  List<Input> ownInputs() {
    return List.of(Input.of("in", Kind.STREAM, 2), Input.of("tbl", Kind.TABLE, 2));
  }

  @Override
  public Topology topology(String app, Properties config) {
    StreamsBuilder builder = builder(app, config);
    KStream<String, String> in = builder.stream(app + "-in", Consumed.with(STRING, STRING));
    KGroupedStream<String, String> byKey = in.groupByKey(Grouped.with(STRING, STRING));
    byKey.count(counts(named("cnt")));
    byKey.count(
        Materialized.<String, Long>as(Stores.inMemoryKeyValueStore(named("mem-cnt"))).withKeySerde(STRING).withValueSerde(LONG));
    // A plain store where the DSL wants a timestamped one: rows go through an adapter.
    byKey.count(
        Materialized.<String, Long>as(Stores.persistentKeyValueStore(named("adapter-cnt")))
            .withKeySerde(STRING)
            .withValueSerde(LONG));
    in.selectKey((key, value) -> value == null ? "null" : value.substring(0, Math.min(2, value.length())))
        .groupByKey(Grouped.<String, String>as(named("bypfx")).withKeySerde(STRING).withValueSerde(STRING))
        .reduce(Aggregations::greater);
    in.selectKey((key, value) -> key.substring(0, 2))
        .groupByKey(Grouped.with(STRING, STRING))
        .aggregate(() -> "", (key, value, old) -> value == null ? old : greater(old, value), Materialized.with(STRING, STRING));
    versionedTable(builder, app);
    byKey
        .cogroup((String key, String value, String old) -> value == null ? old : value)
        .aggregate(() -> "-", strings(named("cog")));
    in.toTable(strings(named("totable"))).toStream().to(app + "-out", Produced.with(STRING, STRING));
    return builder.build(config);
  }

  private void versionedTable(StreamsBuilder builder, String app) {
    KTable<String, String> table =
        builder.table(
            app + "-tbl",
            Consumed.with(STRING, STRING),
            Materialized.<String, String>as(Stores.persistentVersionedKeyValueStore(named("vtbl"), Duration.ofMinutes(30)))
                .withKeySerde(STRING)
                .withValueSerde(STRING));
    table
        .filter((key, value) -> value != null && !value.endsWith("3"), strings(named("flt")))
        .groupBy(
            (key, value) -> KeyValue.pair(value.substring(0, 2), value),
            Grouped.<String, String>as(named("tgrp")).withKeySerde(STRING).withValueSerde(STRING))
        .count(counts(named("tcnt")));
  }

  // Behind a repartition topic the order of records from different partitions is a race.
  private static String greater(String a, String b) {
    return a.compareTo(b) > 0 ? a : b;
  }

  static Materialized<String, Long, KeyValueStore<Bytes, byte[]>> counts(String store) {
    return Materialized.<String, Long, KeyValueStore<Bytes, byte[]>>as(store).withKeySerde(STRING).withValueSerde(LONG);
  }

  static Materialized<String, String, KeyValueStore<Bytes, byte[]>> strings(String store) {
    return Materialized.<String, String, KeyValueStore<Bytes, byte[]>>as(store)
        .withKeySerde(STRING)
        .withValueSerde(STRING);
  }
}
