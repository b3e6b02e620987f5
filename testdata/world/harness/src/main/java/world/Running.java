package world;

import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Applications that run from one command to another, while others look at their directories. */
final class Running {
  /** By their directories: two instances of an application have one each. */
  private static final Map<Path, App> APPS = new ConcurrentHashMap<>();

  private Running() {}

  /** Starts an application and lets it run; its topics are made when they are not there. */
  static Map<String, Object> start(Args args) throws Exception {
    App app = new App(args);
    new Input(app, args).createTopics();
    app.start(null, Duration.ofSeconds(240));
    APPS.put(app.directory(), app);
    return Map.of("kafka", App.version(), "pid", ProcessHandle.current().pid());
  }

  /** Produces input as fast as the broker takes it, for an application that runs or will run. */
  static Map<String, Object> feed(Args args) throws Exception {
    int first = (int) args.number("first", 0);
    int records = (int) args.number("records", 1000);
    new Input(new App(args), args).produce(first, records);
    return Map.of("records", records);
  }

  /** Waits until the application has consumed its input, asks every store for its rows, and stops it. */
  static Map<String, Object> stop(Args args) throws Exception {
    App app = APPS.remove(new App(args).directory());
    long start = System.nanoTime();
    new Idle(app).await(Duration.ofSeconds(240));
    long idle = System.nanoTime();
    Map<String, Object> stores = app.answers();
    long queried = System.nanoTime();
    app.close();
    Map<String, Object> report = new LinkedHashMap<>();
    report.put("kafka", App.version());
    report.put("consumeMillis", (idle - start) / 1_000_000);
    report.put("closeMillis", (System.nanoTime() - queried) / 1_000_000);
    report.put("stores", stores);
    return report;
  }

  /** Stops an application without waiting for its input. */
  static Map<String, Object> close(Args args) {
    APPS.remove(new App(args).directory()).close();
    return Map.of("kafka", App.version());
  }
}
