package world;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Properties;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.function.Consumer;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.processor.StateRestoreListener;
import world.profiles.Profile;

/** One Kafka Streams application: its profile, its configuration and one run of it. */
final class App implements AutoCloseable {
  final String id;
  /** What the names of its input topics begin with. */
  final String topics;

  final String bootstrap;
  final Profile profile;
  final Properties config = new Properties();
  final Topology topology;

  /** Another instance of the application runs somewhere else. */
  private final boolean peer;

  private KafkaStreams streams;
  private volatile int turns;

  App(Args args) {
    id = args.get("app");
    bootstrap = args.get("bootstrap", "127.0.0.1:9092");
    topics = args.get("topics", id);
    peer = args.get("peer", "no").equals("yes");
    Set<String> keep = Set.of(args.get("keep", "").split(","));
    profile = Profile.of(args.get("profile"), args.get("suffix", ""), keep, (int) args.number("shift", 0));
    configure(args);
    profile.configure(config);
    topology = profile.topology(topics, config);
  }

  private void configure(Args args) {
    boolean exactlyOnce = args.get("mode", "alos").equals("eos");
    config.put(StreamsConfig.APPLICATION_ID_CONFIG, id);
    config.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
    config.put(StreamsConfig.STATE_DIR_CONFIG, args.get("state", "unused"));
    config.put(
        StreamsConfig.PROCESSING_GUARANTEE_CONFIG,
        exactlyOnce ? StreamsConfig.EXACTLY_ONCE_V2 : StreamsConfig.AT_LEAST_ONCE);
    config.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, "300");
    // Every update reaches the changelog: a cache would merge some, run by run differently.
    config.put("statestore.cache.max.bytes", "0");
    config.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, "1");
    config.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class.getName());
    config.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class.getName());
    config.put("auto.offset.reset", "earliest");
    if (!"streams".equals(args.settings.get("group.protocol"))) {
      config.put("session.timeout.ms", "10000");
    }
    config.putAll(args.settings);
  }

  Path directory() {
    return Path.of(config.getProperty(StreamsConfig.STATE_DIR_CONFIG), id);
  }

  Admin admin() {
    return Admin.create(Map.<String, Object>of("bootstrap.servers", bootstrap));
  }

  String describe() {
    return topology.describe().toString();
  }

  /** Starts the application and waits until it runs; the restore listener may be null. */
  void start(StateRestoreListener listener, Duration limit) throws Exception {
    expelMembers();
    streams = new KafkaStreams(topology, config);
    watch();
    streams.setUncaughtExceptionHandler(
        e -> {
          e.printStackTrace();
          return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
    streams.setStateListener((now, before) -> turns++);
    if (listener != null) {
      streams.setGlobalStateRestoreListener(listener);
    }
    long end = System.nanoTime() + limit.toNanos();
    streams.start();
    awaitRunning(end);
  }

  private void awaitRunning(long end) throws InterruptedException {
    while (streams.state() != KafkaStreams.State.RUNNING) {
      if (System.nanoTime() > end || streams.state() == KafkaStreams.State.ERROR) {
        throw new IllegalStateException("application " + id + " is " + streams.state());
      }
      Thread.sleep(20);
    }
  }

  /**
   * Everything that the stores answer. On a busy machine the group may come together once more after the start, and while it
   * does, stores answer nothing: then they are asked again.
   */
  Map<String, Object> answers() throws Exception {
    long end = System.nanoTime() + Duration.ofSeconds(60).toNanos();
    while (true) {
      awaitRunning(end);
      int before = turns;
      Map<String, Object> answers = new TreeMap<>();
      for (String store : profile.stores(topology)) {
        answers.put(store, new Query(streams, store).run());
      }
      if (turns == before && streams.state() == KafkaStreams.State.RUNNING) {
        return answers;
      }
    }
  }

  /** Shows the application to what the class path brings along: the endpoint of testdata/world/metrics. */
  @SuppressWarnings("unchecked")
  private void watch() {
    ServiceLoader.load(Consumer.class).forEach(watcher -> ((Consumer<KafkaStreams>) watcher).accept(streams));
  }

  /** Stops the application cleanly and leaves its group. */
  @Override
  public void close() {
    if (streams != null && !streams.close(Duration.ofSeconds(60))) {
      throw new IllegalStateException("application " + id + " did not stop");
    }
    expelMembers();
  }

  // Kafka Streams does not leave its group when it stops, and a halted one cannot; the next start would wait for the
  // session to end. Unless there is a peer, no other instance of the application exists, so whatever is in the group is gone.
  private void expelMembers() {
    if (peer) {
      return;
    }
    try (Admin admin = admin()) {
      admin.removeMembersFromConsumerGroup(id, new RemoveMembersFromConsumerGroupOptions()).all().get();
    } catch (ExecutionException e) {
      // The group does not exist yet, or it is not of the classic protocol: then the start waits.
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  /** The version of Kafka Streams on the class path. */
  static String version() {
    try (InputStream in = KafkaStreams.class.getResourceAsStream("/kafka/kafka-streams-version.properties")) {
      Properties properties = new Properties();
      properties.load(in);
      return properties.getProperty("version");
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }
}
