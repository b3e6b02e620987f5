package world;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;

/** Builds state: input is produced, the application consumes all of it and stops. */
final class Build {
  private Build() {}

  static Map<String, Object> run(Args args) throws Exception {
    App app = new App(args);
    long start = System.nanoTime();
    new Input(app, args).produce((int) args.number("first", 0), (int) args.number("records", 1000));
    long produced = System.nanoTime();
    app.start(null, Duration.ofSeconds(240));
    long running = System.nanoTime();
    new Idle(app).await(Duration.ofSeconds(240));
    long idle = System.nanoTime();
    if (args.get("halt", "no").equals("yes")) {
      Runtime.getRuntime().halt(9);
    }
    app.close();
    Map<String, Object> report = new LinkedHashMap<>();
    report.put("kafka", App.version());
    report.put("produceMillis", (produced - start) / 1_000_000);
    report.put("startMillis", (running - produced) / 1_000_000);
    report.put("consumeMillis", (idle - running) / 1_000_000);
    report.put("closeMillis", (System.nanoTime() - idle) / 1_000_000);
    return report;
  }
}
