import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Properties;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.TopologyDescription;
import org.apache.kafka.streams.kstream.*;
import org.apache.kafka.streams.kstream.internals.NamedInternal;
import org.apache.kafka.streams.processor.RecordContext;
import org.apache.kafka.streams.processor.TopicNameExtractor;
import org.apache.kafka.streams.processor.api.ContextualFixedKeyProcessor;
import org.apache.kafka.streams.processor.api.FixedKeyRecord;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;

/** Prints topologies of every operator as JSON: what describe() prints beside what its objects say. See README.md. */
class Describe {
  static final Serde<String> S = Serdes.String();

  public static void main(String[] args) {
    TreeMap<String, Topology> all = new TreeMap<>();
    dsl(all, "stateless", b -> stateless(b, false));
    dsl(all, "stateless-named", b -> stateless(b, true));
    dsl(all, "aggregations", b -> aggregations(b, false));
    dsl(all, "aggregations-named", b -> aggregations(b, true));
    dsl(all, "stream-joins", b -> streamJoins(b, false));
    dsl(all, "stream-joins-named", b -> streamJoins(b, true));
    dsl(all, "table-joins", b -> tableJoins(b, false));
    dsl(all, "table-joins-named", b -> tableJoins(b, true));
    all.put("processors", processors());
    System.out.println(
        all.entrySet().stream()
            .map(e -> "{\"name\":" + json(e.getKey()) + ",\n \"text\":" + json(e.getValue().describe().toString())
                + ",\n \"objects\":" + objects(e.getValue().describe()) + "}")
            .collect(Collectors.joining(",\n", "[\n", "\n]")));
  }

  static void dsl(TreeMap<String, Topology> all, String name, Consumer<StreamsBuilder> code) {
    StreamsBuilder builder = new StreamsBuilder();
    code.accept(builder);
    all.put(name, builder.build());
    Properties config = new Properties();
    config.put("topology.optimization", "all");
    config.put("application.id", "a");
    config.put("bootstrap.servers", "localhost:1");
    StreamsBuilder optimised = new StreamsBuilder(new org.apache.kafka.streams.TopologyConfig(new org.apache.kafka.streams.StreamsConfig(config)));
    code.accept(optimised);
    all.put(name + "-optimised", optimised.build(config));
  }

  /** A name, or none. */
  static Named as(boolean named, String name) {
    return named ? Named.as(name) : NamedInternal.empty();
  }

  static void stateless(StreamsBuilder b, boolean named) {
    KStream<String, String> s = named ? b.stream("in", Consumed.with(S, S).withName("source")) : b.stream(List.of("in", "in2"), Consumed.with(S, S));
    b.stream(Pattern.compile("^db\\.(a|b)\\.[a-z_]{2,}$"), Consumed.with(S, S)).foreach((k, x) -> {}, as(named, "each"));
    KStream<String, String> v =
        s.filter((k, x) -> true, as(named, "keep"))
            .filterNot((k, x) -> false, as(named, "drop"))
            .mapValues(x -> x, as(named, "values"))
            .flatMapValues(x -> List.of(x), as(named, "flat-values"))
            .peek((k, x) -> {}, as(named, "look"));
    KStream<String, String> t = named ? v.processValues(Values::new, Named.as("process-values")) : v.processValues(Values::new);
    t.print(named ? Printed.<String, String>toSysOut().withName("print") : Printed.toSysOut());
    KStream<String, String> rekeyed =
        t.map(KeyValue::pair, as(named, "map")).flatMap((k, x) -> List.of(KeyValue.pair(k, x)), as(named, "flat-map")).selectKey((k, x) -> x, as(named, "by-value"));
    KStream<String, String> spread =
        rekeyed.repartition(named ? Repartitioned.with(S, S).withName("spread") : Repartitioned.with(S, S)).merge(s, as(named, "merge"));
    (named ? spread.process(Forward::new, Named.as("forward")) : spread.process(Forward::new))
        .to(new Extractor(), named ? Produced.with(S, S).withName("anywhere") : Produced.with(S, S));
    BranchedKStream<String, String> split = named ? s.split(Named.as("split-")) : s.split();
    split.branch((k, x) -> true, Branched.withConsumer(x -> x.to("left", Produced.with(S, S)), named ? "left" : null)).defaultBranch();
    rekeyed.toTable(as(named, "table"), named ? Materialized.<String, String, KeyValueStore<org.apache.kafka.common.utils.Bytes, byte[]>>as("kept").withKeySerde(S).withValueSerde(S) : Materialized.with(S, S)).toStream(as(named, "stream")).to("out", Produced.with(S, S));
  }

  static <ST extends org.apache.kafka.streams.processor.StateStore> Materialized<String, String, ST> store(boolean named, String name) {
    Materialized<String, String, ST> m = named ? Materialized.as(name) : Materialized.with(S, S);
    return m.withKeySerde(S).withValueSerde(S);
  }

  static void aggregations(StreamsBuilder b, boolean named) {
    KStream<String, String> s = b.stream("in", Consumed.with(S, S));
    KGroupedStream<String, String> direct = s.groupByKey(Grouped.with(S, S));
    KGroupedStream<String, String> moved = s.groupBy((k, v) -> v, named ? Grouped.with("moved", S, S) : Grouped.with(S, S));
    Reducer<String> last = (x, y) -> y;
    for (KGroupedStream<String, String> g : List.of(direct, moved)) {
      String p = g == direct ? "d-" : "m-";
      g.reduce(last, as(named, p + "reduce"), store(named, p + "reduced"));
      g.aggregate(() -> "", (k, v, a) -> v, as(named, p + "aggregate"), store(named, p + "aggregated")).toStream().to("out", Produced.with(S, S));
      KTable<Windowed<String>, String> windowed =
          g.windowedBy(TimeWindows.ofSizeAndGrace(Duration.ofMinutes(1), Duration.ZERO)).reduce(last, as(named, p + "window"), store(named, p + "windowed"));
      KTable<Windowed<String>, String> final_ = windowed.suppress(named ? Suppressed.<Windowed>untilWindowCloses(Suppressed.BufferConfig.unbounded()).withName(p + "final") : Suppressed.untilWindowCloses(Suppressed.BufferConfig.unbounded()));
      final_.toStream((k, v) -> k.key()).to("out", Produced.with(S, S));
      g.windowedBy(SessionWindows.ofInactivityGapWithNoGrace(Duration.ofMinutes(1))).reduce(last, as(named, p + "session"), store(named, p + "sessions"));
      g.windowedBy(SlidingWindows.ofTimeDifferenceWithNoGrace(Duration.ofMinutes(1))).reduce(last, as(named, p + "slide"), store(named, p + "slides"));
    }
    KGroupedStream<String, String> other = s.groupBy((k, v) -> v, named ? Grouped.with("other", S, S) : Grouped.with(S, S));
    direct.<String>cogroup((k, v, a) -> v).cogroup(other, (k, v, a) -> v).aggregate(() -> "", as(named, "cogroup"), store(named, "cogrouped"));
    KTable<String, String> t = b.table("table", Consumed.with(S, S));
    t.filter((k, v) -> true).mapValues(v -> v)
        .groupBy(KeyValue::pair, named ? Grouped.with("table-group", S, S) : Grouped.with(S, S))
        .reduce(last, last, as(named, "table-reduce"), store(named, "table-reduced"));
  }

  static void streamJoins(StreamsBuilder b, boolean named) {
    KStream<String, String> l = b.stream("l", Consumed.with(S, S));
    KStream<String, String> r = b.stream("r", Consumed.with(S, S));
    KStream<String, String> m = l.selectKey((k, v) -> v);
    ValueJoiner<String, String, String> joiner = (x, y) -> x + y;
    JoinWindows w = JoinWindows.ofTimeDifferenceAndGrace(Duration.ofMinutes(1), Duration.ZERO);
    l.join(r, joiner, w, streamJoined(named, "inner", true)).to("out", Produced.with(S, S));
    l.leftJoin(r, joiner, w, streamJoined(named, "left", true)).to("out", Produced.with(S, S));
    l.outerJoin(r, joiner, w, streamJoined(named, "outer", true)).to("out", Produced.with(S, S));
    m.join(r, joiner, w, streamJoined(named, "moved", false)).to("out", Produced.with(S, S));
    l.join(l, joiner, w, streamJoined(named, "self", true)).to("out", Produced.with(S, S));
  }

  static StreamJoined<String, String, String> streamJoined(boolean named, String name, boolean stores) {
    StreamJoined<String, String, String> j = StreamJoined.with(S, S, S);
    if (named) {
      j = j.withName(name);
    }
    return named && stores ? j.withStoreName(name) : j;
  }

  static void tableJoins(StreamsBuilder b, boolean named) {
    KTable<String, String> x = named ? b.table("x", Consumed.with(S, S).withName("x-in"), store(true, "x-store")) : b.table("x", Consumed.with(S, S));
    KTable<String, String> y = b.table("y", Consumed.with(S, S));
    GlobalKTable<String, String> g = named ? b.globalTable("g", Consumed.with(S, S), store(true, "global")) : b.globalTable("g", Consumed.with(S, S));
    ValueJoiner<String, String, String> joiner = (p, q) -> p + q;
    x.join(y, joiner, as(named, "join"), store(named, "joined")).toStream().to("out", Produced.with(S, S));
    x.leftJoin(y, joiner, as(named, "left"), store(named, "lefts"));
    x.outerJoin(y, joiner, as(named, "outer"), store(named, "outers"));
    TableJoined<String, String> fk = named ? TableJoined.as("fk") : TableJoined.with(null, null);
    x.join(y, v -> v, joiner, fk, store(named, "fk-out")).toStream().to("out", Produced.with(S, S));
    x.leftJoin(y, v -> v, joiner, named ? TableJoined.as("fk-left") : TableJoined.with(null, null)).toStream().to("out", Produced.with(S, S));
    KStream<String, String> s = b.stream("s", Consumed.with(S, S));
    KTable<String, String> versioned =
        b.table("v", Consumed.with(S, S), Materialized.<String, String>as(Stores.persistentVersionedKeyValueStore("versions", Duration.ofHours(1))).withKeySerde(S).withValueSerde(S));
    Joined<String, String, String> grace = Joined.with(S, S, S, named ? "grace" : null, Duration.ofMinutes(1));
    s.join(versioned, joiner, grace).to("out", Produced.with(S, S));
    s.selectKey((k, v) -> v).leftJoin(x, joiner, Joined.with(S, S, S, named ? "enrich" : null)).to("out", Produced.with(S, S));
    s.join(g, (k, v) -> k, joiner, as(named, "lookup")).leftJoin(g, (k, v) -> k, joiner).to("out", Produced.with(S, S));
  }

  static Topology processors() {
    Topology t = new Topology();
    t.addSource("s 1", "a", "b");
    t.addSource("s2", Pattern.compile("topic[0-9]"));
    t.addProcessor("first", Forward::new, "s 1", "s2");
    t.addProcessor("second (of two)", Forward::new, "s 1", "first");
    t.addProcessor("alone", Forward::new, "s2");
    t.addStateStore(kv("shared/1"), "first", "alone");
    t.addStateStore(kv("own"), "second (of two)");
    t.addStateStore(kv("KSTREAM-AGGREGATE-STATE-STORE-0000000001"), "first");
    t.addSink("out", "c", "first", "second (of two)");
    t.addSink("anywhere", new Extractor(), "alone");
    t.addSource("other", "z");
    t.addProcessor("end", Forward::new, "other");
    t.addGlobalStore(kv("global").withLoggingDisabled(), "gs", S.deserializer(), S.deserializer(), "g", "gp", Ends::new);
    t.addSource("last", "y");
    t.addSink("copy", "x", "last");
    return t;
  }

  static StoreBuilder<KeyValueStore<String, String>> kv(String name) {
    return Stores.keyValueStoreBuilder(Stores.inMemoryKeyValueStore(name), S, S);
  }

  static class Forward implements Processor<String, String, String, String> {
    public void process(Record<String, String> r) {}
  }

  static class Ends implements Processor<String, String, Void, Void> {
    public void process(Record<String, String> r) {}
  }

  static class Values extends ContextualFixedKeyProcessor<String, String, String> {
    public void process(FixedKeyRecord<String, String> r) {}
  }

  static class Extractor implements TopicNameExtractor<String, String> {
    public String extract(String k, String v, RecordContext c) {
      return c.topic();
    }

    public String toString() {
      return "anonymous extractor (topic is [recordContext.topic()]-[key])";
    }
  }

  static String objects(TopologyDescription d) {
    List<String> out = new ArrayList<>();
    for (TopologyDescription.Subtopology s : d.subtopologies()) {
      out.add(sub(s.id(), false, s.nodes().stream().map(Describe::node).collect(Collectors.toList())));
    }
    for (TopologyDescription.GlobalStore g : d.globalStores()) {
      out.add(sub(g.id(), true, List.of(node(g.source()), node(g.processor()))));
    }
    return "[\n  " + String.join(",\n  ", out) + "]";
  }

  static String sub(int id, boolean global, List<String> nodes) {
    return "{\"id\":" + id + ",\"global\":" + global + ",\"nodes\":[\n   " + String.join(",\n   ", nodes) + "]}";
  }

  static String node(TopologyDescription.Node n) {
    String s = "{\"name\":" + json(n.name()) + ",\"next\":" + names(n.successors()) + ",\"prev\":" + names(n.predecessors());
    if (n instanceof TopologyDescription.Source source) {
      s += ",\"kind\":\"source\"" + (source.topicPattern() != null ? ",\"pattern\":" + json(source.topicPattern().toString()) : ",\"topics\":" + list(source.topicSet()));
    } else if (n instanceof TopologyDescription.Processor processor) {
      s += ",\"kind\":\"processor\",\"stores\":" + list(processor.stores());
    } else if (n instanceof TopologyDescription.Sink sink) {
      s += ",\"kind\":\"sink\"" + (sink.topic() != null ? ",\"topics\":" + list(List.of(sink.topic())) : ",\"extractor\":" + json(sink.topicNameExtractor().toString()));
    }
    return s + "}";
  }

  static String names(Collection<TopologyDescription.Node> nodes) {
    return list(nodes.stream().map(TopologyDescription.Node::name).collect(Collectors.toList()));
  }

  static String list(Collection<String> names) {
    return new TreeSet<>(names).stream().map(Describe::json).collect(Collectors.joining(",", "[", "]"));
  }

  static String json(String s) {
    return '"' + s.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n") + '"';
  }
}
