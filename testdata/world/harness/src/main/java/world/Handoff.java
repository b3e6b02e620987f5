package world;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Starts an application on the directory it finds, or on none, and reports what it restored and what its stores answer to
 * queries. A start that fails is a result too: the report's "error" says how.
 */
final class Handoff {
  private Handoff() {}

  static Map<String, Object> run(Args args, boolean wipe) throws Exception {
    App app = new App(args);
    if (wipe) {
      delete(app.directory());
    }
    RestoreLog log = new RestoreLog();
    String error = null;
    Map<String, Object> stores = new TreeMap<>();
    long start = System.nanoTime();
    long running = start;
    try {
      app.start(log, Duration.ofMillis(args.number("timeout", 120000)));
      running = System.nanoTime();
      if (!args.get("query", "yes").equals("no")) {
        stores = app.answers();
      }
      Thread.sleep(args.number("hold", 0));
    } catch (RuntimeException e) {
      error = e.toString();
    } finally {
      app.close();
    }
    Map<String, Object> report = new LinkedHashMap<>();
    report.put("kafka", App.version());
    report.put("error", error);
    report.put("startMillis", (running - start) / 1_000_000);
    report.put("totalRestored", log.total());
    report.put("partitions", log.partitions());
    report.put("stores", stores);
    return report;
  }

  static void delete(Path directory) throws IOException {
    if (!Files.exists(directory)) {
      return;
    }
    List<Path> paths;
    try (Stream<Path> walk = Files.walk(directory)) {
      paths = walk.sorted(Comparator.reverseOrder()).collect(Collectors.toList());
    }
    for (Path path : paths) {
      Files.delete(path);
    }
  }
}
