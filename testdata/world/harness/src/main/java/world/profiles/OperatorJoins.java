package world.profiles;

import java.time.Duration;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.GlobalKTable;
import org.apache.kafka.streams.kstream.JoinWindows;
import org.apache.kafka.streams.kstream.Joined;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Named;
import org.apache.kafka.streams.kstream.ValueJoiner;
import org.apache.kafka.streams.state.Stores;

/** Joins of streams and tables of all kinds. */
final class OperatorJoins {
  private static final ValueJoiner<String, String, String> JOIN = (x, y) -> x + y;

  private OperatorJoins() {}

  static void streams(StreamsBuilder b, String prefix, Names names) {
    KStream<String, String> l = b.stream(prefix + "l", names.consumed());
    KStream<String, String> r = b.stream(prefix + "r", names.consumed());
    KStream<String, String> moved = l.selectKey((k, v) -> v);
    JoinWindows w = JoinWindows.ofTimeDifferenceAndGrace(Duration.ofMinutes(1), Duration.ZERO);
    l.join(r, JOIN, w, names.streamJoined("inner", true)).to(prefix + "out", names.produced());
    l.leftJoin(r, JOIN, w, names.streamJoined("left", true)).to(prefix + "out", names.produced());
    l.outerJoin(r, JOIN, w, names.streamJoined("outer", true)).to(prefix + "out", names.produced());
    moved.join(r, JOIN, w, names.streamJoined("moved", false)).to(prefix + "out", names.produced());
    moved.leftJoin(r.selectKey((k, v) -> v), JOIN, w, names.streamJoined("both", true)).to(prefix + "out", names.produced());
    l.outerJoin(moved, JOIN, w, names.streamJoined("right", true)).to(prefix + "out", names.produced());
    l.join(l, JOIN, w, names.streamJoined("self", true)).to(prefix + "out", names.produced());
  }

  static void tables(StreamsBuilder b, String prefix, Names names) {
    KTable<String, String> x =
        names.given
            ? b.table(prefix + "x", names.consumed().withName("x-in"), names.store("x-store"))
            : b.table(prefix + "x", names.consumed());
    KTable<String, String> y = b.table(prefix + "y", names.consumed());
    GlobalKTable<String, String> g =
        names.given
            ? b.globalTable(prefix + "g", names.consumed(), names.store("global"))
            : b.globalTable(prefix + "g", names.consumed());
    x.join(y, JOIN, names.as("join"), names.store("joined")).toStream().to(prefix + "out", names.produced());
    x.leftJoin(y, JOIN, names.as("left"), names.store("lefts"));
    x.outerJoin(y, JOIN, names.as("outer"), names.store("outers"));
    x.join(y, v -> v, JOIN, names.tableJoined("fk"), names.store("fk-out")).toStream().to(prefix + "out", names.produced());
    x.leftJoin(y, v -> v, JOIN, names.tableJoined("fk-left")).toStream().to(prefix + "out", names.produced());
    KStream<String, String> s = b.stream(prefix + "s", names.consumed());
    KTable<String, String> versioned =
        b.table(
            prefix + "v",
            names.consumed(),
            Materialized.<String, String>as(Stores.persistentVersionedKeyValueStore("versions", Duration.ofHours(1)))
                .withKeySerde(Profile.STRING)
                .withValueSerde(Profile.STRING));
    Joined<String, String, String> grace = names.joined("grace").withGracePeriod(Duration.ofMinutes(1));
    s.join(versioned, JOIN, grace).to(prefix + "out", names.produced());
    s.selectKey((k, v) -> v).leftJoin(x, JOIN, names.joined("enrich")).to(prefix + "out", names.produced());
    s.join(g, (k, v) -> k, JOIN, names.as("lookup")).leftJoin(g, (k, v) -> k, JOIN).to(prefix + "out", names.produced());
    // The Processor API below the DSL: a store of its own, and a global one.
    b.addStateStore(Operators.kv("papi"));
    KStream<String, String> stateful =
        names.given
            ? s.process(Operators.Forward::new, Named.as("stateful"), "papi")
            : s.process(Operators.Forward::new, "papi");
    stateful.to(prefix + "out", names.produced());
    b.addGlobalStore(
        Operators.kv("papi-global").withLoggingDisabled(), prefix + "pg", names.consumed(), Operators.Ends::new);
  }
}
