/**
 * infra/fronts/envoy.yaml, read but not run: Debian has no Envoy. Its fields exist, its references lead somewhere, and it
 * does what the fronts that are run do (test/fronts).
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { envoyBootstrap } from "../../test/harness/envoy-schema.ts";

const read = (name: string): string => readFileSync(join(import.meta.dirname, name), "utf8");
const bootstrap = parse(read("envoy.yaml")) as unknown;
const { listeners, clusters } = envoyBootstrap.parse(bootstrap).static_resources;
const [chain] = listeners[0].filter_chains;
const manager = chain.filters[0].typed_config;
const hosts = manager.route_config.virtual_hosts;

describe("the configuration of Envoy", () => {
  it("is refused with a field that does not exist, or in the wrong place", () => {
    const wrong = parse(read("envoy.yaml").replace("stream_idle_timeout", "stream_timeout")) as unknown;
    const misplaced = parse(
      read("envoy.yaml").replace(/^ +per_connection_buffer_limit_bytes: 32768$/m, "      admin: {}"),
    ) as unknown;
    expect({
      wrong: envoyBootstrap.safeParse(wrong).success,
      misplaced: envoyBootstrap.safeParse(misplaced).success,
    }).toEqual({ wrong: false, misplaced: false });
  });

  it("leads each name to a cluster that exists, where the gateway listens by default", () => {
    const addressOf = (name: string) => {
      const found = clusters.find((cluster) => cluster.name === name);
      expect(found?.load_assignment.cluster_name).toBe(name);
      const { address, port_value } = found?.load_assignment.endpoints[0]?.lb_endpoints[0]?.endpoint.address
        .socket_address ?? { address: "", port_value: 0 };
      return `${address}:${port_value}`;
    };
    expect(hosts.map(({ domains, routes }) => [domains[0], addressOf(routes[0]?.route.cluster ?? "")])).toEqual([
      ["gateway.example.org", "127.0.0.1:8080"],
      ["console.example.org", "127.0.0.1:3000"],
    ]);
  });

  it("speaks HTTP/2 outside, ends no answer on its own, and says who connected", () => {
    const tls = chain.transport_socket.typed_config.common_tls_context;
    expect({ alpn_protocols: tls.alpn_protocols, codec_type: manager.codec_type }).toEqual({
      alpn_protocols: ["h2", "http/1.1"],
      codec_type: "AUTO",
    });
    expect(hosts.flatMap(({ routes }) => routes.map(({ route }) => route.timeout))).toEqual(["0s", "0s"]);
    expect({ request_timeout: manager.request_timeout, stream_idle_timeout: manager.stream_idle_timeout }).toEqual({
      request_timeout: "0s",
      stream_idle_timeout: "3600s",
    });
    expect(manager.use_remote_address).toBe(true);
  });

  it("answers plain HTTP with an error, and leads nobody on", () => {
    const plain = listeners[1].filter_chains[0].filters[0].typed_config.route_config.virtual_hosts[0];
    expect({ domains: plain.domains, status: plain.routes[0].direct_response.status }).toEqual({
      domains: ["*"],
      status: 400,
    });
  });

  it("has a connection for each request, and leaves paths as they are", () => {
    for (const { typed_extension_protocol_options: options } of clusters) {
      const { common_http_protocol_options } = options["envoy.extensions.upstreams.http.v3.HttpProtocolOptions"];
      expect(common_http_protocol_options.max_requests_per_connection).toBe(1);
    }
    expect({
      normalize_path: manager.normalize_path,
      merge_slashes: manager.merge_slashes,
      path_with_escaped_slashes_action: manager.path_with_escaped_slashes_action,
    }).toEqual({ normalize_path: false, merge_slashes: false, path_with_escaped_slashes_action: "KEEP_UNCHANGED" });
  });
});

it.each(["Caddyfile", "nginx.conf", "envoy.yaml"])("%s has the names and addresses of the others", (name) => {
  const text = read(name);
  for (const wanted of ["gateway.example.org", "console.example.org"]) expect(text).toContain(wanted);
  for (const port of [8080, 3000]) expect(text).toMatch(new RegExp(`127\\.0\\.0\\.1(?::|, port_value: )${port}\\b`));
  expect(text).not.toMatch(/x-real-ip|proxy_add_x_forwarded_for|flush_interval -/i);
});
