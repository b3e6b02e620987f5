package world;

import java.io.InputStream;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.admin.Admin;

/**
 * Real Kafka Streams applications, driven from outside: {@code Main <command> [--name value]…} runs one command and prints
 * its JSON, {@code Main serve} runs any number of them (see {@link Server}).
 *
 * <p>What every command of an application takes: {@code --bootstrap --app --profile --state [--mode alos|eos]
 * [--set key=value]…}. {@code --topics} is what the input topics' names begin with, instead of the id; {@code --suffix}
 * is appended to every name in the topology except those of {@code --keep a,b}, and {@code --shift N} puts N operators
 * before it, so that generated names and sub-topologies get higher numbers. {@code --peer yes}: another instance runs with
 * a directory of its own, so the members of the group are not put out of it. The commands:
 *
 * <ul>
 *   <li>{@code build} produces input, lets the application consume it and stop cleanly; {@code --records --first --base-ts},
 *       and {@code --halt yes} to die instead of stopping
 *   <li>{@code start}, {@code feed} with {@code --records --first --base-ts --step-ms}, {@code stop}: an application that runs meanwhile
 *   <li>{@code handoff} starts on the directory as it is and reports what was restored and what the stores answer
 *   <li>{@code restore} wipes the directory first: the application's own restore
 *   <li>{@code close} stops an application that was started, without waiting for its input
 *   <li>{@code describe} prints the topology, {@code described} its objects beside it
 *   <li>{@code dump-rows} writes every row below {@code --state} to {@code --out}, as {@link RowDump} says
 *   <li>{@code restore-time} is the benchmark of {@link RestoreTime}
 *   <li>{@code cluster-id} connects with the client properties file {@code --command-config}
 * </ul>
 */
public final class Main {
  private Main() {}

  public static void main(String[] args) throws Exception {
    if (args[0].equals("serve")) {
      Server.serve();
    } else {
      System.out.println(run(args[0], Arrays.asList(args).subList(1, args.length)));
    }
    System.exit(0);
  }

  /** Runs one command and returns its reply as JSON. */
  static String run(String command, List<String> words) throws Exception {
    Args args = new Args(words);
    switch (command) {
      case "build":
        return Json.write(Build.run(args));
      case "start":
        return Json.write(Running.start(args));
      case "feed":
        return Json.write(Running.feed(args));
      case "stop":
        return Json.write(Running.stop(args));
      case "handoff":
        return Json.write(Handoff.run(args, false));
      case "restore":
        return Json.write(Handoff.run(args, true));
      case "describe":
        return Json.write(new App(args).describe());
      case "described":
        return Json.write(Described.of(new App(args).topology));
      case "close":
        return Json.write(Running.close(args));
      case "dump-rows":
        return Json.write(RowDump.run(args.path("state"), args.path("out")));
      case "restore-time":
        return Json.write(RestoreTime.run(args));
      case "cluster-id":
        return Json.write(clusterId(args));
      default:
        throw new IllegalArgumentException("unknown command " + command);
    }
  }

  private static String clusterId(Args args) throws Exception {
    Properties config = new Properties();
    try (InputStream in = Files.newInputStream(args.path("command-config"))) {
      config.load(in);
    }
    config.put("default.api.timeout.ms", "60000");
    config.put("request.timeout.ms", "30000");
    try (Admin admin = Admin.create(config)) {
      return admin.describeCluster().clusterId().get();
    }
  }
}
