package world.profiles;

import java.time.Duration;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.EmitStrategy;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KGroupedStream;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Named;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.SessionWindows;
import org.apache.kafka.streams.kstream.SlidingWindows;
import org.apache.kafka.streams.kstream.Suppressed;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.WindowStore;

/** DSL windows: tumbling, sliding and sessions, emitted on update and on close, and a suppression. */
final class WindowAggregations extends Profile {
  private static final Duration MINUTE = Duration.ofMinutes(1);
  private static final Duration GRACE = Duration.ofMinutes(5);
  private static final Duration RETENTION = MINUTE.plus(GRACE);

  @Override
  List<Input> ownInputs() {
    return List.of(Input.of("in", Kind.STREAM, 2));
  }

  @Override
  public Topology topology(String app, Properties config) {
    StreamsBuilder builder = builder(app, config);
    KGroupedStream<String, String> byKey =
        builder.stream(app + "-in", Consumed.with(STRING, STRING))
            .filter((key, value) -> value != null, Named.as("nonnull"))
            .groupByKey(Grouped.with(STRING, STRING));
    TimeWindows tumbling = TimeWindows.ofSizeAndGrace(MINUTE, GRACE);
    SlidingWindows sliding = SlidingWindows.ofTimeDifferenceAndGrace(MINUTE, GRACE);
    SessionWindows sessions = SessionWindows.ofInactivityGapAndGrace(Duration.ofSeconds(90), GRACE);
    EmitStrategy onClose = EmitStrategy.onWindowClose();

    byKey.windowedBy(tumbling)
        .count(windows(named("win-cnt")))
        .suppress(Suppressed.untilWindowCloses(Suppressed.BufferConfig.unbounded()).withName(named("sup")))
        .toStream((key, value) -> key.key() + "@" + key.window().start())
        .to(app + "-out", Produced.with(STRING, LONG));
    byKey.windowedBy(tumbling).emitStrategy(onClose).count(windows(named("win-emit")));
    byKey.windowedBy(sliding).count(windows(named("slide")));
    byKey.windowedBy(sliding).emitStrategy(onClose).count(windows(named("slide-emit")));
    byKey.windowedBy(sessions).count(sessions(named("sess")));
    byKey.windowedBy(sessions).emitStrategy(onClose).count(sessions(named("sess-emit")));
    byKey.windowedBy(tumbling)
        .count(
            Materialized.<String, Long>as(Stores.persistentWindowStore(named("adapter-win"), RETENTION, MINUTE, false))
                .withKeySerde(STRING)
                .withValueSerde(LONG));
    byKey.windowedBy(tumbling)
        .count(
            Materialized.<String, Long>as(Stores.inMemoryWindowStore(named("mem-win"), RETENTION, MINUTE, false))
                .withKeySerde(STRING)
                .withValueSerde(LONG));
    return builder.build(config);
  }

  private static Materialized<String, Long, WindowStore<Bytes, byte[]>> windows(String store) {
    return Materialized.<String, Long, WindowStore<Bytes, byte[]>>as(store).withKeySerde(STRING).withValueSerde(LONG);
  }

  private static Materialized<String, Long, SessionStore<Bytes, byte[]>> sessions(String store) {
    return Materialized.<String, Long, SessionStore<Bytes, byte[]>>as(store).withKeySerde(STRING).withValueSerde(LONG);
  }
}
