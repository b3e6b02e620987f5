import java.time.Duration;
import java.util.function.BiConsumer;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.*;
import org.apache.kafka.streams.state.Stores;

/**
 * Prints, for each call that names something, the topology without it and with it: what naming renumbers.
 * Run by TestRealNaming, which compares with naming.txt.
 */
class Naming {
    static final Serde<String> S = Serdes.String();
    static final Consumed<String, String> C = Consumed.with(S, S);

    /** generated is a name that the call replaces; x is the name in every call. */
    static void pair(String title, String generated, BiConsumer<StreamsBuilder, Boolean> build) {
        for (boolean named : new boolean[] {false, true}) {
            StreamsBuilder b = new StreamsBuilder();
            build.accept(b, named);
            b.stream("tail", C).groupBy((k, v) -> v).count(); // what is renumbered
            System.out.println((named ? "--- named\n" : "### " + title + " | " + generated + "\n") + b.build().describe());
        }
    }

    static Materialized<String, String, org.apache.kafka.streams.state.KeyValueStore<org.apache.kafka.common.utils.Bytes, byte[]>> mat(boolean named) {
        return named ? Materialized.as("x") : Materialized.with(S, S);
    }

    static KTable<String, String> table(StreamsBuilder b, String topic) {
        return b.table(topic, C, Materialized.as("table-" + topic));
    }

    static KStream<String, String> rekeyed(StreamsBuilder b, String topic) {
        return b.stream(topic, C).selectKey((k, v) -> v);
    }

    static StreamJoined<String, String, String> joined() {
        return StreamJoined.with(S, S, S);
    }

    public static void main(String[] args) {
        JoinWindows minute = JoinWindows.ofTimeDifferenceWithNoGrace(Duration.ofMinutes(1));
        TimeWindows tumbling = TimeWindows.ofSizeWithNoGrace(Duration.ofMinutes(1));
        pair("count", "KSTREAM-AGGREGATE-STATE-STORE-0000000002", (b, n) -> {
            var g = b.stream("in", C).groupBy((k, v) -> v);
            if (n) g.count(Materialized.as("x")); else g.count();
        });
        pair("count of windows", "KSTREAM-AGGREGATE-STATE-STORE-0000000002", (b, n) -> {
            var g = b.stream("in", C).groupBy((k, v) -> v).windowedBy(tumbling);
            if (n) g.count(Materialized.as("x")); else g.count();
        });
        pair("reduce", "KSTREAM-REDUCE-STATE-STORE-0000000001", (b, n) -> {
            var g = b.stream("in", C).groupByKey();
            if (n) g.reduce((u, v) -> v, Materialized.as("x")); else g.reduce((u, v) -> v);
        });
        pair("count of a grouped table", "KTABLE-AGGREGATE-STATE-STORE-0000000003", (b, n) -> {
            var g = table(b, "in").groupBy((k, v) -> KeyValue.pair(v, v));
            if (n) g.count(Materialized.as("x")); else g.count();
        });
        pair("cogroup", "COGROUPKSTREAM-AGGREGATE-STATE-STORE-0000000003", (b, n) -> {
            var g = b.stream("in", C).groupBy((k, v) -> v).cogroup((String k, String v, String a) -> v).cogroup(b.stream("in2", C).groupByKey(), (k, v, a) -> v);
            if (n) g.aggregate(() -> "", Materialized.as("x")); else g.aggregate(() -> "");
        });
        pair("table", "in-STATE-STORE-0000000000", (b, n) -> {
            var t = n ? b.table("in", C, Materialized.<String, String, org.apache.kafka.streams.state.KeyValueStore<org.apache.kafka.common.utils.Bytes, byte[]>>as("x")) : b.table("in", C);
            b.stream("in2", C).join(t, (u, v) -> v);
        });
        pair("globalTable", "in-STATE-STORE-0000000000", (b, n) -> {
            if (n) b.globalTable("in", C, Materialized.as("x")); else b.globalTable("in", C);
        });
        pair("toTable, its store", "KSTREAM-TOTABLE-STATE-STORE-0000000003", (b, n) ->
            b.stream("in2", C).join(b.stream("in", C).toTable(mat(n)), (u, v) -> v));
        pair("toTable, its repartition topic", "KSTREAM-TOTABLE-0000000002-repartition", (b, n) -> {
            if (n) rekeyed(b, "in").toTable(Named.as("x"), Materialized.as("y")); else rekeyed(b, "in").toTable(Materialized.as("y"));
        });
        pair("suppress", "KTABLE-SUPPRESS-STATE-STORE-0000000003", (b, n) -> {
            var s = Suppressed.untilWindowCloses(Suppressed.BufferConfig.unbounded());
            b.stream("in", C).groupByKey().windowedBy(tumbling).count(Materialized.as("w")).suppress(n ? s.withName("x") : s);
        });
        pair("join, its stores", "KSTREAM-JOINTHIS-0000000004-store", (b, n) ->
            b.stream("in", C).join(b.stream("in2", C), (u, v) -> v, minute, n ? joined().withStoreName("x") : joined()));
        pair("left join, its stores", "KSTREAM-JOINTHIS-0000000004-store", (b, n) ->
            b.stream("in", C).leftJoin(b.stream("in2", C), (u, v) -> v, minute, n ? joined().withStoreName("x") : joined()));
        pair("outer join, its stores", "KSTREAM-OUTERTHIS-0000000004-store", (b, n) ->
            b.stream("in", C).outerJoin(b.stream("in2", C), (u, v) -> v, minute, n ? joined().withStoreName("x") : joined()));
        pair("join, its repartition topics", "KSTREAM-KEY-SELECT-0000000001-repartition", (b, n) ->
            rekeyed(b, "in").join(rekeyed(b, "in2"), (u, v) -> v, minute, n ? joined().withName("x") : joined()));
        pair("join, one repartition topic, the right one", "KSTREAM-KEY-SELECT-0000000002-repartition", (b, n) ->
            b.stream("in", C).join(rekeyed(b, "in2"), (u, v) -> v, minute, n ? joined().withName("x") : joined()));
        pair("foreign-key join", "KTABLE-FK-JOIN-SUBSCRIPTION-STATE-STORE-0000000008", (b, n) -> {
            if (n) table(b, "in").join(table(b, "in2"), (String v) -> v, (u, v) -> v, TableJoined.as("x")); else table(b, "in").join(table(b, "in2"), (String v) -> v, (u, v) -> v);
        });
        pair("foreign-key join, its result", "KTABLE-FK-JOIN-OUTPUT-STATE-STORE-0000000018", (b, n) ->
            b.stream("in3", C).join(table(b, "in").join(table(b, "in2"), (String v) -> v, (u, v) -> v, mat(n)), (u, v) -> v));
        pair("stream-table join, its repartition topic", "KSTREAM-KEY-SELECT-0000000003-repartition", (b, n) -> {
            var t = table(b, "in2");
            if (n) rekeyed(b, "in").join(t, (u, v) -> v, Joined.as("x")); else rekeyed(b, "in").join(t, (u, v) -> v);
        });
        pair("stream-table join, its grace buffer", "KSTREAM-JOIN-0000000003-Buffer", (b, n) -> {
            KTable<String, String> t = b.table("in2", C, Materialized.as(Stores.persistentVersionedKeyValueStore("T", Duration.ofHours(1))));
            b.stream("in", C).join(t, (u, v) -> v, Joined.with(S, S, S, n ? "x" : null, Duration.ofMinutes(1)));
        });
        pair("repartition", "KSTREAM-REPARTITION-0000000001-repartition", (b, n) -> {
            if (n) b.stream("in", C).repartition(Repartitioned.as("x")); else b.stream("in", C).repartition();
        });
        pair("join of tables, its result", "KTABLE-MERGE-STATE-STORE-0000000005", (b, n) ->
            b.stream("in3", C).join(table(b, "in").join(table(b, "in2"), (u, v) -> v, mat(n)), (u, v) -> v));
    }
}
