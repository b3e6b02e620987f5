package world;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.serialization.StringSerializer;
import world.profiles.Profile;

/**
 * Produces an application's input, the same for the same profile: skewed keys, out-of-order and late timestamps, null
 * values, headers. The topics are interleaved in time so that joins meet.
 */
final class Input {
  private static final String LETTERS = "abcdefghijklmnopqrstuvwxyz";

  private final App app;
  private final long baseTs;
  private final long stepMs;

  Input(App app, Args args) {
    this.app = app;
    this.baseTs = args.number("base-ts", 0);
    this.stepMs = args.number("step-ms", 2000);
  }

  /** Produces record numbers first … first + count - 1 to each input topic. */
  void produce(int first, int count) throws Exception {
    createTopics();
    Map<String, Object> config = new HashMap<>();
    config.put("bootstrap.servers", app.bootstrap);
    config.put("key.serializer", StringSerializer.class.getName());
    config.put("value.serializer", StringSerializer.class.getName());
    config.put("linger.ms", "20");
    config.put("request.timeout.ms", "30000");
    config.put("delivery.timeout.ms", "120000");
    List<Profile.Input> inputs = app.profile.inputs();
    List<Random> randoms = new ArrayList<>();
    for (int i = 0; i < inputs.size(); i++) {
      randoms.add(new Random(4200 + 17L * i));
    }
    AtomicReference<Exception> failure = new AtomicReference<>();
    try (KafkaProducer<String, String> producer = new KafkaProducer<>(config)) {
      for (int n = 0; n < first + count; n++) {
        for (int i = 0; i < inputs.size(); i++) {
          // Records before the first are made too, and not sent: the random numbers go on where they stopped.
          ProducerRecord<String, String> record = record(inputs.get(i), n, randoms.get(i));
          if (n >= first) {
            producer.send(record, (metadata, e) -> failure.compareAndSet(null, e));
          }
        }
      }
      producer.flush();
    }
    if (failure.get() != null) {
      throw failure.get();
    }
  }

  private ProducerRecord<String, String> record(Profile.Input input, int n, Random random) {
    int keys = input.kind == Profile.Kind.SPARSE ? 600 : 150;
    String key = String.format("k%03d", (int) (Math.pow(random.nextDouble(), 1.6) * keys));
    long ts = baseTs + n * stepMs + random.nextInt(30000) - 15000;
    if (random.nextInt(40) == 0) {
      ts -= 60000L * (1 + random.nextInt(15));
    }
    boolean delete = random.nextInt(10) == 0 && input.kind != Profile.Kind.SPARSE;
    String value = String.format("v%05d-%s%d", n, LETTERS.substring(0, random.nextInt(20)), random.nextInt(10));
    if (input.kind == Profile.Kind.FOREIGN) {
      value = String.format("f%02d|%s", random.nextInt(30), value);
    }
    if (input.kind == Profile.Kind.REFERENCED && random.nextBoolean()) {
      key = String.format("f%02d", random.nextInt(30));
    }
    ProducerRecord<String, String> record =
        new ProducerRecord<>(app.topics + "-" + input.suffix, null, ts, key, delete ? null : value);
    if (n % 3 == 0) {
      record.headers().add("trace", ("t" + n).getBytes(StandardCharsets.UTF_8));
    }
    if (n % 15 == 0) {
      record.headers().add("h2", new byte[] {0, 1, (byte) 0xff});
      record.headers().add("nul", null);
    }
    return record;
  }

  /** Creates the topics that are not there yet. */
  void createTopics() throws Exception {
    List<NewTopic> topics = new ArrayList<>();
    for (Profile.Input input : app.profile.inputs()) {
      NewTopic topic = new NewTopic(app.topics + "-" + input.suffix, Optional.of(input.partitions), Optional.empty());
      topics.add(topic.configs(Map.of("retention.ms", "-1", "cleanup.policy", input.kind.table ? "compact" : "delete")));
    }
    topics.add(new NewTopic(app.id + "-out", Optional.of(2), Optional.empty()).configs(Map.of("retention.ms", "-1")));
    try (Admin admin = app.admin()) {
      for (NewTopic topic : topics) {
        try {
          admin.createTopics(List.of(topic)).all().get();
        } catch (ExecutionException e) {
          if (!(e.getCause() instanceof TopicExistsException)) {
            throw e;
          }
        }
      }
      awaitTopics(admin, topics.stream().map(NewTopic::name).collect(Collectors.toList()));
    }
  }

  /** The controller has made the topics; a broker that is busy hears of them later, and the application asks it. */
  private static void awaitTopics(Admin admin, List<String> names) throws Exception {
    for (int attempt = 0; ; attempt++) {
      try {
        admin.describeTopics(names).allTopicNames().get();
        return;
      } catch (ExecutionException e) {
        if (!(e.getCause() instanceof UnknownTopicOrPartitionException) || attempt == 1200) {
          throw e;
        }
        Thread.sleep(50);
      }
    }
  }
}
