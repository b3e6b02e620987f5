package world.profiles;

import java.util.List;
import java.util.Properties;
import java.util.regex.Pattern;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Branched;
import org.apache.kafka.streams.kstream.BranchedKStream;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Named;
import org.apache.kafka.streams.kstream.Printed;
import org.apache.kafka.streams.kstream.Repartitioned;
import org.apache.kafka.streams.processor.RecordContext;
import org.apache.kafka.streams.processor.TopicNameExtractor;
import org.apache.kafka.streams.processor.api.ContextualFixedKeyProcessor;
import org.apache.kafka.streams.processor.api.FixedKeyRecord;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;

/**
 * Every operator of the DSL, with names and without ({@code op-joins} and {@code op-joins-named}), and the Processor API.
 * What counts is the topology: these run without input. {@code --set topology.optimization=all} optimises them.
 */
final class Operators extends Profile {
  private final String group;
  private final Names names;

  Operators(String name) {
    names = new Names(name.endsWith("-named"));
    group = name.replaceFirst("^op-", "").replaceFirst("-named$", "");
  }

  @Override
  List<Input> ownInputs() {
    switch (group) {
      case "stateless":
        return List.of(Input.of("in", Kind.STREAM, 2), Input.of("in2", Kind.STREAM, 2), Input.of("db.a.x1", Kind.STREAM, 1));
      case "aggregations":
      case "windows":
        return List.of(Input.of("in", Kind.STREAM, 2), Input.of("table", Kind.TABLE, 3));
      case "stream-joins":
        return List.of(Input.of("l", Kind.SPARSE, 2), Input.of("r", Kind.SPARSE, 2));
      case "table-joins":
        return List.of(
            Input.of("x", Kind.TABLE, 2), Input.of("y", Kind.TABLE, 2), Input.of("v", Kind.TABLE, 2),
            Input.of("s", Kind.STREAM, 2), Input.global("g", 3), Input.global("pg", 1));
      case "processors":
        return List.of(
            Input.of("a", Kind.STREAM, 3), Input.of("topic1", Kind.STREAM, 3), Input.of("b", Kind.STREAM, 3), Input.of("y", Kind.STREAM, 1), Input.of("z", Kind.STREAM, 1),
            Input.global("g", 1));
      default: // op-odd has names that Kafka would refuse: it is described, never started
        return List.of();
    }
  }

  @Override
  public Topology topology(String app, Properties config) {
    StreamsBuilder builder = builder(app, config);
    switch (group) {
      case "stateless":
        stateless(builder, app + "-");
        break;
      case "aggregations":
        OperatorAggregations.plain(builder, app + "-", names);
        break;
      case "windows":
        OperatorAggregations.windowed(builder, app + "-", names);
        break;
      case "stream-joins":
        OperatorJoins.streams(builder, app + "-", names);
        break;
      case "table-joins":
        OperatorJoins.tables(builder, app + "-", names);
        break;
      case "processors":
        return processors(app + "-", "first", "shared");
      case "odd":
        return processors(app + "-", "second (of two)", "shared/1");
      default:
        throw new IllegalArgumentException("unknown profile op-" + group);
    }
    return builder.build(config);
  }

  private void stateless(StreamsBuilder b, String prefix) {
    KStream<String, String> s =
        names.given
            ? b.stream(prefix + "in", names.consumed().withName("source"))
            : b.stream(List.of(prefix + "in", prefix + "in2"), names.consumed());
    b.stream(Pattern.compile("^" + prefix + "db\\.(a|b)\\.[a-z0-9_]{2,}$"), names.consumed()).foreach((k, x) -> {}, names.as("each"));
    KStream<String, String> values =
        s.filter((k, x) -> true, names.as("keep"))
            .filterNot((k, x) -> false, names.as("drop"))
            .mapValues(x -> x, names.as("values"))
            .flatMapValues(x -> List.of(x), names.as("flat-values"))
            .peek((k, x) -> {}, names.as("look"));
    KStream<String, String> processed =
        names.given ? values.processValues(Values::new, Named.as("process-values")) : values.processValues(Values::new);
    processed.print(names.given ? Printed.<String, String>toSysOut().withName("print") : Printed.toSysOut());
    KStream<String, String> rekeyed =
        processed
            .map(KeyValue::pair, names.as("map"))
            .flatMap((k, x) -> List.of(KeyValue.pair(k, x)), names.as("flat-map"))
            .selectKey((k, x) -> x, names.as("by-value"));
    Repartitioned<String, String> spread = Repartitioned.with(STRING, STRING);
    KStream<String, String> merged =
        rekeyed.repartition(names.given ? spread.withName("spread") : spread).merge(s, names.as("merge"));
    rekeyed.repartition((names.given ? spread.withName("four") : spread).withNumberOfPartitions(4)).to(prefix + "out", names.produced());
    (names.given ? merged.process(Forward::new, Named.as("forward")) : merged.process(Forward::new))
        .to(new Extractor(), names.given ? names.produced().withName("anywhere") : names.produced());
    BranchedKStream<String, String> split = names.given ? s.split(Named.as("split-")) : s.split();
    split
        .branch((k, x) -> true, Branched.withConsumer(x -> x.to(prefix + "left", names.produced()), names.of("left")))
        .defaultBranch();
    rekeyed.toTable(names.as("table"), names.store("kept")).toStream(names.as("stream")).to(prefix + "out", names.produced());
    s.toTable(names.as("direct"), names.store("directly")).toStream((k, x) -> x).to(prefix + "out", names.produced());
  }

  private static Topology processors(String prefix, String odd, String shared) {
    Topology t = new Topology();
    t.addSource("s 1", prefix + "a", prefix + "b");
    t.addSource("s2", Pattern.compile(prefix + "topic[0-9]"));
    t.addProcessor(odd, Forward::new, "s 1", "s2");
    t.addProcessor("second", Forward::new, "s 1", odd);
    t.addProcessor("alone", Forward::new, "s2");
    t.addStateStore(kv(shared), odd, "alone");
    t.addStateStore(kv("own"), "second");
    t.addStateStore(kv("unlogged").withLoggingDisabled(), "second");
    t.addStateStore(kv("KSTREAM-AGGREGATE-STATE-STORE-0000000001"), odd);
    t.addSink("out", prefix + "c", odd, "second");
    t.addSink("anywhere", new Extractor(), "alone");
    t.addSource("other", prefix + "z");
    t.addProcessor("end", Forward::new, "other");
    t.addGlobalStore(
        kv("global").withLoggingDisabled(), "gs", STRING.deserializer(), STRING.deserializer(), prefix + "g", "gp", Ends::new);
    t.addSource("last", prefix + "y");
    t.addSink("copy", prefix + "x", "last");
    return t;
  }

  static StoreBuilder<KeyValueStore<String, String>> kv(String name) {
    return Stores.keyValueStoreBuilder(Stores.inMemoryKeyValueStore(name), STRING, STRING);
  }

  static final class Forward implements Processor<String, String, String, String> {
    @Override
    public void process(Record<String, String> record) {}
  }

  static final class Ends implements Processor<String, String, Void, Void> {
    @Override
    public void process(Record<String, String> record) {}
  }

  private static final class Values extends ContextualFixedKeyProcessor<String, String, String> {
    @Override
    public void process(FixedKeyRecord<String, String> record) {}
  }

  private static final class Extractor implements TopicNameExtractor<String, String> {
    @Override
    public String extract(String key, String value, RecordContext context) {
      return context.topic();
    }

    @Override
    public String toString() {
      return "anonymous extractor (topic is [recordContext.topic()]-[key])";
    }
  }
}
