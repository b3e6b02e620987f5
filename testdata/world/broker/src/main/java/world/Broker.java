package world;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Starts a single-node Kafka: {@code Broker <server.properties> <log dir> <cluster id> [format options]}.
 *
 * <p>An empty log directory is formatted first, in the same JVM, because a JVM start is most of the cost. The process
 * lives as long as its standard input: "stop" shuts down cleanly, and the end of the input ends the process at once, so
 * a test run that is killed leaves no broker behind.
 */
public final class Broker {
  private Broker() {}

  public static void main(String[] args) throws Exception {
    Path config = Path.of(args[0]);
    Path logs = Path.of(args[1]);
    if (!Files.exists(logs.resolve("meta.properties"))) {
      format(config, args[2], List.of(args).subList(3, args.length));
    }
    Thread control = new Thread(Broker::obey, "control");
    control.setDaemon(true);
    control.start();
    kafka.Kafka.main(new String[] {config.toString()});
  }

  private static void format(Path config, String clusterId, List<String> options) {
    List<String> command = new ArrayList<>(List.of("format", "-t", clusterId, "-c", config.toString()));
    command.addAll(options);
    int code = kafka.tools.StorageTool.execute(command.toArray(new String[0]), System.out);
    if (code != 0) {
      System.exit(code);
    }
  }

  private static void obey() {
    try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        if (line.equals("stop")) {
          System.exit(0);
        }
      }
    } catch (IOException e) {
      e.printStackTrace();
    }
    Runtime.getRuntime().halt(9);
  }
}
