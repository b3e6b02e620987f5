package world.profiles;

import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.TopologyConfig;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.KStream;

/** A kind of application: its input topics and its topology. Names of topics begin with the application id. */
public abstract class Profile {
  static final Serde<String> STRING = Serdes.String();
  static final Serde<Long> LONG = Serdes.Long();

  /** Appended to every name that the profile gives, except those it keeps: other names for the same topology. */
  private String suffix = "";

  private Set<String> keep = Set.of();

  /** When it is not 0, a further input with this many operators comes first, and all numbers are higher. */
  private int shift;

  private static final Pattern STORES = Pattern.compile("\\(stores: \\[([^\\]]*)\\]\\)");

  /** What an input topic holds. */
  public enum Kind {
    /** Events. */
    STREAM(false),
    /** Events of many keys, none null: joins of streams stay small. */
    SPARSE(false),
    /** Updates per key. */
    TABLE(true),
    /** A table whose values name a foreign key. */
    FOREIGN(true),
    /** The table those foreign keys refer to. */
    REFERENCED(true);

    /** Whether the topic is compacted. */
    public final boolean table;

    Kind(boolean table) {
      this.table = table;
    }
  }

  /** One input topic, {@code <application id>-<suffix>}. */
  public static final class Input {
    public final String suffix;
    public final Kind kind;
    public final int partitions;

    /** Whether a global store reads it: then the application's group commits nothing for it. */
    public final boolean global;

    Input(String suffix, Kind kind, int partitions, boolean global) {
      this.suffix = suffix;
      this.kind = kind;
      this.partitions = partitions;
      this.global = global;
    }

    static Input of(String suffix, Kind kind, int partitions) {
      return new Input(suffix, kind, partitions, false);
    }

    static Input global(String suffix, int partitions) {
      return new Input(suffix, Kind.TABLE, partitions, true);
    }
  }

  /** The profile of that name as a later release of its application might have it. */
  public static Profile of(String name, String suffix, Set<String> keep, int shift) {
    Profile profile = of(name);
    profile.suffix = suffix;
    profile.keep = keep;
    profile.shift = shift;
    return profile;
  }

  private static Profile of(String name) {
    switch (name) {
      case "papi":
        return new StoreKinds();
      case "papi-h":
        return headersStores();
      case "kv4":
        return new FourPartitions();
      case "agg":
        return new Aggregations();
      case "win":
        return new WindowAggregations();
      case "ssjoin":
        return new StreamJoins();
      case "tjoin":
        return new TableJoins();
      case "opt":
        return new Optimized();
      default:
        if (name.startsWith("op-")) {
          return new Operators(name);
        }
        throw new IllegalArgumentException("unknown profile " + name);
    }
  }

  // Compiled only for the versions that have such stores.
  private static Profile headersStores() {
    try {
      return (Profile) Class.forName("world.profiles.HeadersStores").getDeclaredConstructor().newInstance();
    } catch (ReflectiveOperationException e) {
      throw new IllegalArgumentException("stores with headers need Kafka Streams 4.3 or newer", e);
    }
  }

  abstract List<Input> ownInputs();

  /** The input topics, that of a shifted profile included. */
  public final List<Input> inputs() {
    if (shift == 0) {
      return ownInputs();
    }
    List<Input> all = new ArrayList<>(ownInputs());
    all.add(Input.of("extra", Kind.STREAM, 2));
    return all;
  }

  final String named(String name) {
    return keep.contains(name) ? name : name + suffix;
  }

  /** Adds the settings that belong to the profile. */
  public void configure(Properties config) {}

  /** The topology; names of its input topics begin with app. */
  public abstract Topology topology(String app, Properties config);

  final StreamsBuilder builder(String app, Properties config) {
    StreamsBuilder builder = new StreamsBuilder(new TopologyConfig(new StreamsConfig(config)));
    if (shift > 0) {
      KStream<String, String> extra = builder.stream(app + "-extra", Consumed.with(STRING, STRING));
      for (int i = 0; i < shift; i++) {
        extra = extra.peek((key, value) -> {});
      }
    }
    return builder;
  }

  final Topology processors(String app) {
    Topology topology = new Topology();
    if (shift > 0) {
      topology.addSource("extra", STRING.deserializer(), STRING.deserializer(), app + "-extra");
    }
    return topology;
  }

  /** The names of all stores that the topology describes. */
  public final TreeSet<String> stores(Topology topology) {
    TreeSet<String> names = new TreeSet<>();
    Matcher matcher = STORES.matcher(topology.describe().toString());
    while (matcher.find()) {
      for (String name : matcher.group(1).split(", ")) {
        if (!name.isEmpty()) {
          names.add(name);
        }
      }
    }
    return names;
  }
}
