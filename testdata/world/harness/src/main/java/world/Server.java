package world;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Runs commands from standard input, several at once, in one JVM: starting JVMs and loading classes would cost more than
 * the commands.
 *
 * <p>A request is a line {@code id TAB command TAB word TAB word…}, each word URL-encoded. A reply is a line {@code id TAB
 * ok TAB json} or {@code id TAB error TAB json}, in order of completion. Whatever else is printed goes to standard error.
 * The process ends with its input.
 */
final class Server {
  private final PrintStream replies;

  private Server(PrintStream replies) {
    this.replies = replies;
  }

  static void serve() throws IOException {
    PrintStream replies = new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
    System.setOut(System.err);
    Server server = new Server(replies);
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      String request = line;
      Thread thread = new Thread(() -> server.answer(request));
      thread.setDaemon(true);
      thread.start();
    }
    // Whoever asked is gone: nobody waits for a clean end of what still runs.
    Runtime.getRuntime().halt(0);
  }

  private void answer(String line) {
    List<String> words = new ArrayList<>(Arrays.asList(line.split("\t")));
    words.replaceAll(word -> URLDecoder.decode(word, StandardCharsets.UTF_8));
    String id = words.get(0);
    try {
      reply(id, "ok", Main.run(words.get(1), words.subList(2, words.size())));
    } catch (Throwable e) {
      e.printStackTrace();
      reply(id, "error", Json.write(reasons(e)));
    }
  }

  private static String reasons(Throwable e) {
    StringBuilder text = new StringBuilder(e.toString());
    for (Throwable cause = e.getCause(); cause != null; cause = cause.getCause()) {
      text.append("; because of ").append(cause);
    }
    return text.toString();
  }

  private void reply(String id, String status, String json) {
    synchronized (replies) {
      replies.println(id + "\t" + status + "\t" + json);
    }
  }
}
