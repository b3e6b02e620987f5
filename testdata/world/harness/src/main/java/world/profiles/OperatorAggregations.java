package world.profiles;

import java.time.Duration;
import java.util.List;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.EmitStrategy;
import org.apache.kafka.streams.kstream.KGroupedStream;
import org.apache.kafka.streams.kstream.KGroupedTable;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Named;
import org.apache.kafka.streams.kstream.Reducer;
import org.apache.kafka.streams.kstream.SessionWindows;
import org.apache.kafka.streams.kstream.SlidingWindows;
import org.apache.kafka.streams.kstream.Suppressed;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.kstream.ValueTransformerWithKey;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.processor.ProcessorContext;

/** Aggregations of streams and tables, plain and windowed, of keys that changed and of keys that did not. */
final class OperatorAggregations {
  private static final Reducer<String> LAST = (x, y) -> y;

  private OperatorAggregations() {}

  static void plain(StreamsBuilder b, String prefix, Names names) {
    KStream<String, String> s = b.stream(prefix + "in", names.consumed());
    KGroupedStream<String, String> direct = s.groupByKey(names.grouped("direct"));
    KGroupedStream<String, String> moved = s.groupBy((k, v) -> v, names.grouped("moved"));
    for (KGroupedStream<String, String> group : List.of(direct, moved)) {
      String p = group == direct ? "d-" : "m-";
      group.count(names.as(p + "count"), names.counts(p + "counted"));
      group.reduce(LAST, names.as(p + "reduce"), names.store(p + "reduced"));
      group
          .aggregate(() -> "", (k, v, a) -> v, names.as(p + "aggregate"), names.store(p + "aggregated"))
          .toStream()
          .to(prefix + "out", names.produced());
    }
    KGroupedStream<String, String> other = s.groupBy((k, v) -> v, names.grouped("other"));
    direct
        .<String>cogroup((k, v, a) -> v)
        .cogroup(other, (k, v, a) -> v)
        .aggregate(() -> "", names.as("cogroup"), names.store("cogrouped"));
    // Only the store has a name: it names the repartition topic, too.
    s.selectKey((k, v) -> v).groupByKey(names.grouped(null)).count(names.counts("by-store"));
    tables(b, prefix, names);
  }

  private static void tables(StreamsBuilder b, String prefix, Names names) {
    KTable<String, String> t = b.table(prefix + "table", names.consumed());
    KGroupedTable<String, String> group =
        t.filter((k, v) -> true).mapValues(v -> v).groupBy(KeyValue::pair, names.grouped("table-group"));
    group.reduce(LAST, LAST, names.as("table-reduce"), names.store("table-reduced"));
    group.count(names.as("table-count"), names.counts("table-counted"));
    group.aggregate(
        () -> "", (k, v, a) -> v, (k, v, a) -> a, names.as("table-aggregate"), names.store("table-aggregated"));
    t.filter((k, v) -> true, names.as("table-keep"), names.store("table-kept"));
    t.filterNot((k, v) -> false, names.as("table-drop"), names.store("table-dropped"));
    t.mapValues(v -> v, names.as("table-values"), names.store("table-mapped"));
    t.transformValues(Same::new, names.store("table-transformed"), names.given ? Named.as("table-transform") : names.as(""));
    t.suppress(names.suppressed(Suppressed.untilTimeLimit(Duration.ofMinutes(1), Suppressed.BufferConfig.maxRecords(9)), "late"))
        .toStream(names.as("late-stream"))
        .to(prefix + "out", names.produced());
    t.toStream((k, v) -> v, names.as("rekeyed")).groupByKey(names.grouped("of-table")).count(names.as("of-table-count"), names.counts("of-table-counts"));
  }

  @SuppressWarnings({"unchecked", "rawtypes"})
  static void windowed(StreamsBuilder b, String prefix, Names names) {
    KStream<String, String> s = b.stream(prefix + "in", names.consumed());
    TimeWindows minute = TimeWindows.ofSizeAndGrace(Duration.ofMinutes(1), Duration.ZERO);
    SessionWindows session = SessionWindows.ofInactivityGapWithNoGrace(Duration.ofMinutes(1));
    SlidingWindows slide = SlidingWindows.ofTimeDifferenceWithNoGrace(Duration.ofMinutes(1));
    KGroupedStream<String, String> direct = s.groupByKey(names.grouped("direct"));
    KGroupedStream<String, String> moved = s.groupBy((k, v) -> v, names.grouped("moved"));
    for (KGroupedStream<String, String> group : List.of(direct, moved)) {
      String p = group == direct ? "d-" : "m-";
      KTable<Windowed<String>, String> table =
          group.windowedBy(minute).reduce(LAST, names.as(p + "window"), names.store(p + "windowed"));
      Suppressed closed = Suppressed.untilWindowCloses(Suppressed.BufferConfig.unbounded());
      KTable<Windowed<String>, String> last = table.suppress(names.suppressed(closed, p + "final"));
      last.toStream((k, v) -> k.key()).to(prefix + "out", names.produced());
      group.windowedBy(session).reduce(LAST, names.as(p + "session"), names.store(p + "sessions"));
      group.windowedBy(slide).reduce(LAST, names.as(p + "slide"), names.store(p + "slides"));
      group.windowedBy(minute).emitStrategy(EmitStrategy.onWindowClose()).count(names.as(p + "emit"), names.counts(p + "emitted"));
    }
    KGroupedStream<String, String> other = s.groupBy((k, v) -> v, names.grouped("other"));
    direct.<String>cogroup((k, v, a) -> v).cogroup(other, (k, v, a) -> v)
        .windowedBy(minute).aggregate(() -> "", names.as("c-window"), names.store("c-windowed"));
    direct.<String>cogroup((k, v, a) -> v)
        .windowedBy(session).aggregate(() -> "", (k, x, y) -> y, names.as("c-session"), names.store("c-sessions"));
    direct.<String>cogroup((k, v, a) -> v)
        .windowedBy(slide).aggregate(() -> "", names.as("c-slide"), names.store("c-slides"));
  }

  private static final class Same implements ValueTransformerWithKey<String, String, String> {
    @Override
    public void init(ProcessorContext context) {}

    @Override
    public String transform(String key, String value) {
      return value;
    }

    @Override
    public void close() {}
  }
}
