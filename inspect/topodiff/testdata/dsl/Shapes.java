import java.time.Duration;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.*;
import org.apache.kafka.streams.state.Stores;

/**
 * Run by TestRealShapes, which compares each shape with its file: Shapes base, base.txt.
 *
 * Prints the description of an application that keeps state in every way the
 * DSL has, without names: as it is ("base"), with a filter at its begin
 * ("shifted"), with that and the calls that give each thing the name it had
 * ("pinned"), and with a name for the filter instead ("named").
 */
public class Shapes {
    static boolean pinned;

    static <K, V, S extends org.apache.kafka.streams.processor.StateStore> Materialized<K, V, S> store(String name) {
        return pinned ? Materialized.as(name) : Materialized.with(null, null);
    }

    public static void main(String[] args) {
        boolean shifted = !args[0].equals("base");
        pinned = args[0].equals("pinned");
        StreamsBuilder b = new StreamsBuilder();
        KStream<String, String> in = b.stream("in");
        if (shifted) {
            in = args[0].equals("named") ? in.filter((k, v) -> true, Named.as("added")) : in.filter((k, v) -> true);
        }
        KStream<String, String> other = b.stream("other");

        // An aggregation behind a repartition topic that has the store's name.
        in.groupBy((k, v) -> v).count(store("KSTREAM-AGGREGATE-STATE-STORE-0000000004"));

        // A window with a suppression.
        in.groupByKey().windowedBy(TimeWindows.ofSizeWithNoGrace(Duration.ofMinutes(1))).count(store("KSTREAM-AGGREGATE-STATE-STORE-0000000010"))
            .suppress(Suppressed.untilWindowCloses(Suppressed.BufferConfig.unbounded())).toStream().foreach((k, v) -> { });

        // Tables: read, derived, joined, out of a stream.
        KTable<String, String> table = b.table("table", store("table-STATE-STORE-0000000016"));
        KTable<String, String> second = b.table("second", store("second-STATE-STORE-0000000019"));
        table.groupBy((k, v) -> new org.apache.kafka.streams.KeyValue<>(v, k)).count(store("KTABLE-AGGREGATE-STATE-STORE-0000000023"));
        table.leftJoin(second, v -> v, (l, r) -> l).toStream().foreach((k, v) -> { });

        // A stream joined with a table, repartitioned by its last operation.
        KeyValueMapper<String, String, String> byValue = (k, v) -> v;
        KStream<String, String> keyed = pinned ? in.selectKey(byValue, Named.as("KSTREAM-KEY-SELECT-0000000043")) : in.selectKey(byValue);
        keyed.join(second, (l, r) -> l).to("out");

        // Streams joined: the left one repartitioned by an operation of its own.
        JoinWindows windows = JoinWindows.ofTimeDifferenceWithNoGrace(Duration.ofMinutes(1));
        StreamJoined<String, String, String> joined = StreamJoined.with(Serdes.String(), Serdes.String(), Serdes.String());
        StreamJoined<String, String, String> inner = joined;
        StreamJoined<String, String, String> left = joined;
        if (pinned) {
            inner = inner.withThisStoreSupplier(window("KSTREAM-JOINTHIS-0000000051-store", windows))
                .withOtherStoreSupplier(window("KSTREAM-JOINOTHER-0000000052-store", windows));
            left = left.withThisStoreSupplier(window("KSTREAM-JOINTHIS-0000000057-store", windows))
                .withOtherStoreSupplier(window("KSTREAM-OUTEROTHER-0000000058-store", windows));
        }
        in.join(other, (l, r) -> l, windows, inner).to("out");
        in.leftJoin(other, (l, r) -> l, windows, left).to("out");

        // A table out of a stream, behind a repartition topic.
        KStream<String, String> again = other.selectKey(byValue);
        if (pinned) {
            again.toTable(Named.as("KSTREAM-TOTABLE-0000000062"));
        } else {
            again.toTable();
        }
        if (pinned) {
            other.repartition(Repartitioned.as("KSTREAM-REPARTITION-0000000067")).groupByKey().reduce((x, y) -> x, store("KSTREAM-REDUCE-STATE-STORE-0000000071"));
        } else {
            other.repartition().groupByKey().reduce((x, y) -> x);
        }

        Properties none = new Properties();
        System.out.print(b.build(none).describe());
    }

    static org.apache.kafka.streams.state.WindowBytesStoreSupplier window(String name, JoinWindows w) {
        return Stores.persistentWindowStore(name, Duration.ofMillis(w.size() + w.gracePeriodMs()), Duration.ofMillis(w.size()), true);
    }
}
