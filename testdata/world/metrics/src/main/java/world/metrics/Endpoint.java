package world.metrics;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.micrometer.core.instrument.binder.kafka.KafkaStreamsMetrics;
import io.micrometer.core.instrument.config.MeterFilter;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.kafka.common.metrics.KafkaMetric;
import org.apache.kafka.common.telemetry.internals.MetricKey;
import org.apache.kafka.common.telemetry.internals.TelemetryMetricNamingConvention;
import org.apache.kafka.streams.KafkaStreams;

/**
 * Shows the metrics of the application that was started last, below {@code http://127.0.0.1:${world.metrics.port}}: {@code
 * /micrometer} by Micrometer's own binder, {@code /telemetry} with the names that Kafka's own class gives the metrics that
 * clients push (KIP-714), written as OpenTelemetry's Prometheus exporter writes names.
 */
public final class Endpoint implements Consumer<KafkaStreams> {
  private static KafkaStreams streams;

  @Override
  public void accept(KafkaStreams started) {
    synchronized (Endpoint.class) {
      boolean serving = streams != null;
      streams = started;
      if (serving) {
        return;
      }
    }
    try {
      int port = Integer.getInteger("world.metrics.port");
      HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 0);
      serve(server, "/micrometer", accept -> micrometer(latest(), accept));
      serve(server, "/telemetry", accept -> telemetry(latest()));
      server.start();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static synchronized KafkaStreams latest() {
    return streams;
  }

  private static void serve(HttpServer server, String path, Function<String, String> page) {
    server.createContext(
        path,
        (HttpExchange exchange) -> {
          String accept = exchange.getRequestHeaders().getFirst("Accept");
          boolean open = accept != null && accept.startsWith("application/openmetrics-text");
          byte[] body;
          try {
            body = page.apply(accept).getBytes(StandardCharsets.UTF_8);
          } catch (RuntimeException | Error e) {
            e.printStackTrace(); // the server would only close the connection
            exchange.sendResponseHeaders(500, -1);
            return;
          }
          exchange
              .getResponseHeaders()
              .set("Content-Type", open ? "application/openmetrics-text; version=1.0.0; charset=utf-8" : "text/plain; version=0.0.4; charset=utf-8");
          exchange.sendResponseHeaders(200, body.length);
          exchange.getResponseBody().write(body);
          exchange.close();
        });
  }

  private static String micrometer(KafkaStreams streams, String accept) {
    PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    // Kafka Streams 4.0 and newer say -1 at level DEBUG: no counter, and Micrometer fails with the whole page.
    registry.config().meterFilter(MeterFilter.denyNameStartsWith("kafka.stream.state.number.open.files"));
    try (KafkaStreamsMetrics binder = new KafkaStreamsMetrics(streams)) {
      binder.bindTo(registry);
      return registry.scrape(accept == null ? "text/plain" : accept);
    }
  }

  private static String telemetry(KafkaStreams streams) {
    var naming = TelemetryMetricNamingConvention.getClientTelemetryMetricNamingStrategy("org.apache.kafka");
    Map<String, String> families = new TreeMap<>();
    streams
        .metrics()
        .forEach(
            (name, metric) -> {
              if (metric.metricValue() instanceof Number && metric instanceof KafkaMetric) {
                MetricKey key = naming.metricKey(name);
                String family = key.name().replaceAll("[^a-zA-Z0-9_]", "_");
                String labels =
                    key.tags().entrySet().stream()
                        .map(tag -> tag.getKey().replaceAll("[^a-zA-Z0-9_]", "_") + "=\"" + tag.getValue() + "\"")
                        .sorted()
                        .collect(Collectors.joining(",", "{", "}"));
                String type = family.endsWith("_total") ? "counter" : "gauge";
                families.merge(family, "# TYPE " + family + " " + type + "\n" + family + labels + " " + number(metric.metricValue()), (all, one) -> all + one.substring(one.indexOf('\n')));
              }
            });
    return String.join("\n", families.values()) + "\n";
  }

  private static String number(Object value) {
    double number = ((Number) value).doubleValue();
    return Double.isNaN(number) ? "NaN" : Double.isInfinite(number) ? (number > 0 ? "+Inf" : "-Inf") : Double.toString(number);
  }
}
