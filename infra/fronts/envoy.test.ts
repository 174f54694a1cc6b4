/**
 * infra/fronts/envoy.yaml, read but not run: Debian has no Envoy. Its fields exist, its references lead somewhere, and it
 * behaves like the fronts that are run (test/fronts).
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";

const read = (name: string): string => readFileSync(join(import.meta.dirname, name), "utf8");

type Fact = readonly [path: string, value: unknown];

/** Every value of a document with its path; `[]` is any entry of a list. */
function factsOf(value: unknown, path = ""): readonly Fact[] {
  if (Array.isArray(value)) return value.flatMap((each) => factsOf(each, `${path}[]`));
  const fields = typeof value === "object" && value !== null ? Object.entries(value) : [];
  return fields.length === 0 ? [[path, value]] : fields.flatMap(([name, each]) => factsOf(each, `${path}/${name}`));
}

const ANY = /./;
const BOOLEAN = /^(true|false)$/;
const SIZE = /^[1-9]\d*$/;
const WINDOW = /^(6553[5-9]|655[4-9]\d|65[6-9]\d\d|6[6-9]\d{3}|[7-9]\d{4}|\d{6,})$/;
const PORT = /^\d{2,5}$/;
const ADDRESS = /^(\d+\.){3}\d+$/;
const DURATION = /^\d+(\.\d+)?s$/;
const FILE = /^\//;
const typeOf = (message: string): RegExp => new RegExp(`^type\\.googleapis\\.com/envoy\\.${message}$`);

const LISTENER = "/static_resources/listeners[]";
const CHAIN = `${LISTENER}/filter_chains[]`;
const TLS = `${CHAIN}/transport_socket/typed_config/common_tls_context`;
const MANAGER = `${CHAIN}/filters[]/typed_config`;
const HOST = `${MANAGER}/route_config/virtual_hosts[]`;
const RETRY = `${HOST}/routes[]/route/retry_policy`;
const CLUSTER = "/static_resources/clusters[]";
const UPSTREAM = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions";
const OPTIONS = `${CLUSTER}/typed_extension_protocol_options/${UPSTREAM}`;
const ENDPOINT = `${CLUSTER}/load_assignment/endpoints[]/lb_endpoints[]/endpoint/address/socket_address`;

/** The fields of Envoy's configuration (API v3) that the file has, by the names of its messages, and what they may be. */
const FIELDS: Readonly<Record<string, RegExp>> = {
  [`${LISTENER}/name`]: ANY,
  [`${LISTENER}/address/socket_address/address`]: ADDRESS,
  [`${LISTENER}/address/socket_address/port_value`]: PORT,
  [`${LISTENER}/per_connection_buffer_limit_bytes`]: SIZE,
  [`${LISTENER}/listener_filters[]/name`]: /^envoy\.filters\.listener\.tls_inspector$/,
  [`${LISTENER}/listener_filters[]/typed_config/@type`]: typeOf(
    "extensions.filters.listener.tls_inspector.v3.TlsInspector",
  ),
  [`${CHAIN}/transport_socket/name`]: /^envoy\.transport_sockets\.tls$/,
  [`${CHAIN}/transport_socket/typed_config/@type`]: typeOf("extensions.transport_sockets.tls.v3.DownstreamTlsContext"),
  [`${TLS}/alpn_protocols[]`]: /^(h2|http\/1\.1)$/,
  [`${TLS}/tls_params/tls_minimum_protocol_version`]: /^TLSv1_[23]$/,
  [`${TLS}/tls_certificates[]/certificate_chain/filename`]: FILE,
  [`${TLS}/tls_certificates[]/private_key/filename`]: FILE,
  [`${CHAIN}/filters[]/name`]: /^envoy\.filters\.network\.http_connection_manager$/,
  [`${MANAGER}/@type`]: typeOf("extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"),
  [`${MANAGER}/stat_prefix`]: ANY,
  [`${MANAGER}/codec_type`]: /^(AUTO|HTTP[123])$/,
  [`${MANAGER}/use_remote_address`]: BOOLEAN,
  [`${MANAGER}/normalize_path`]: BOOLEAN,
  [`${MANAGER}/merge_slashes`]: BOOLEAN,
  [`${MANAGER}/path_with_escaped_slashes_action`]:
    /^(KEEP_UNCHANGED|REJECT_REQUEST|UNESCAPE_AND_REDIRECT|UNESCAPE_AND_FORWARD)$/,
  [`${MANAGER}/server_header_transformation`]: /^(OVERWRITE|APPEND_IF_ABSENT|PASS_THROUGH)$/,
  [`${MANAGER}/generate_request_id`]: BOOLEAN,
  [`${MANAGER}/upgrade_configs[]/upgrade_type`]: /^websocket$/,
  [`${MANAGER}/stream_idle_timeout`]: DURATION,
  [`${MANAGER}/request_timeout`]: DURATION,
  [`${MANAGER}/request_headers_timeout`]: DURATION,
  [`${MANAGER}/common_http_protocol_options/idle_timeout`]: DURATION,
  [`${MANAGER}/http2_protocol_options/max_concurrent_streams`]: SIZE,
  [`${MANAGER}/http2_protocol_options/initial_stream_window_size`]: WINDOW,
  [`${MANAGER}/http2_protocol_options/initial_connection_window_size`]: WINDOW,
  [`${MANAGER}/route_config/name`]: ANY,
  [`${MANAGER}/route_config/request_headers_to_remove[]`]: ANY,
  [`${HOST}/name`]: ANY,
  [`${HOST}/domains[]`]: ANY,
  [`${HOST}/routes[]/match/prefix`]: FILE,
  [`${HOST}/routes[]/route/cluster`]: ANY,
  [`${HOST}/routes[]/route/timeout`]: DURATION,
  [`${HOST}/request_body_buffer_limit`]: SIZE,
  [`${RETRY}/retry_on`]: /^connect-failure$/,
  [`${RETRY}/host_selection_retry_max_attempts`]: SIZE,
  [`${RETRY}/retry_host_predicate[]/name`]: /^envoy\.retry_host_predicates\.previous_hosts$/,
  [`${RETRY}/retry_host_predicate[]/typed_config/@type`]: typeOf(
    "extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate",
  ),
  [`${HOST}/routes[]/direct_response/status`]: /^[2-5]\d\d$/,
  [`${MANAGER}/http_filters[]/name`]: /^envoy\.filters\.http\.router$/,
  [`${MANAGER}/http_filters[]/typed_config/@type`]: typeOf("extensions.filters.http.router.v3.Router"),
  [`${MANAGER}/http_filters[]/typed_config/suppress_envoy_headers`]: BOOLEAN,
  [`${CLUSTER}/name`]: ANY,
  [`${CLUSTER}/type`]: /^(STATIC|STRICT_DNS|LOGICAL_DNS)$/,
  [`${CLUSTER}/connect_timeout`]: DURATION,
  [`${CLUSTER}/per_connection_buffer_limit_bytes`]: SIZE,
  [`${OPTIONS}/@type`]: typeOf("extensions.upstreams.http.v3.HttpProtocolOptions"),
  [`${OPTIONS}/common_http_protocol_options/max_requests_per_connection`]: SIZE,
  [`${OPTIONS}/explicit_http_config/http_protocol_options`]: ANY,
  [`${CLUSTER}/circuit_breakers/thresholds[]/max_connections`]: SIZE,
  [`${CLUSTER}/circuit_breakers/thresholds[]/max_pending_requests`]: SIZE,
  [`${CLUSTER}/circuit_breakers/thresholds[]/max_requests`]: SIZE,
  [`${CLUSTER}/load_assignment/cluster_name`]: ANY,
  [`${ENDPOINT}/address`]: ADDRESS,
  [`${ENDPOINT}/port_value`]: PORT,
};

/** What Envoy would refuse in a text: fields that do not exist, or with a value of another type. */
const refusedIn = (text: string): readonly string[] =>
  factsOf(parse(text)).flatMap(([path, value]) => (FIELDS[path]?.test(String(value)) === true ? [] : [path]));

const facts = factsOf(parse(read("envoy.yaml")));
const at = (path: string): readonly unknown[] => facts.flatMap(([name, value]) => (name === path ? [value] : []));

describe("the configuration of Envoy", () => {
  it("has fields that exist, and each of them", () => {
    const two = read("envoy.yaml").replaceAll("#2 ", "");
    expect({ one: refusedIn(read("envoy.yaml")), two: refusedIn(two) }).toEqual({ one: [], two: [] });
    const had = new Set(factsOf(parse(two)).map(([path]) => path));
    expect(Object.keys(FIELDS).filter((path) => !had.has(path))).toEqual([]);
  });

  it("is refused with a field that does not exist, or in the wrong place", () => {
    const wrong = read("envoy.yaml").replace("stream_idle_timeout", "stream_timeout");
    const misplaced = read("envoy.yaml").replace(/^ +per_connection_buffer_limit_bytes: 32768$/m, "      admin: {}");
    expect({ wrong: refusedIn(wrong), misplaced: refusedIn(misplaced) }).toEqual({
      wrong: [`${MANAGER}/stream_timeout`],
      misplaced: [`${LISTENER}/admin`],
    });
  });

  it("leads each name to a cluster that exists, where the gateway listens by default", () => {
    const clusters = ["data_plane", "console"];
    expect({
      domains: at(`${HOST}/domains[]`).filter((domain) => !String(domain).includes("*")),
      routes: at(`${HOST}/routes[]/route/cluster`),
      clusters: at(`${CLUSTER}/name`),
      assigned: at(`${CLUSTER}/load_assignment/cluster_name`),
      addresses: at(`${ENDPOINT}/address`),
      ports: at(`${ENDPOINT}/port_value`),
    }).toEqual({
      domains: ["gateway.example.org", "console.example.org"],
      routes: clusters,
      clusters,
      assigned: clusters,
      addresses: ["127.0.0.1", "127.0.0.1"],
      ports: [8080, 3000],
    });
  });

  it("speaks HTTP/2 outside, ends no answer on its own, and says who connected", () => {
    expect({
      alpn_protocols: at(`${TLS}/alpn_protocols[]`),
      codec_types: at(`${MANAGER}/codec_type`),
      timeouts: at(`${HOST}/routes[]/route/timeout`),
      request_timeout: at(`${MANAGER}/request_timeout`),
      stream_idle_timeout: at(`${MANAGER}/stream_idle_timeout`),
      upgrades: at(`${MANAGER}/upgrade_configs[]/upgrade_type`),
      use_remote_address: at(`${MANAGER}/use_remote_address`),
    }).toEqual({
      alpn_protocols: ["h2", "http/1.1"],
      codec_types: ["AUTO", "AUTO"],
      timeouts: ["0s", "0s"],
      request_timeout: ["0s"],
      stream_idle_timeout: ["3600s"],
      upgrades: ["websocket"],
      use_remote_address: [true],
    });
  });

  it("answers plain HTTP with an error, and leads nobody on", () => {
    const plain = (parse(read("envoy.yaml")) as { static_resources: { listeners: unknown[] } }).static_resources
      .listeners[1];
    const routes = factsOf(plain).filter(([path]) =>
      /\/(domains\[\]|routes\[\]\/(route|direct_response)\/.*)$/.test(path),
    );
    expect(routes.map(([, value]) => value)).toEqual(["*", 400]);
  });

  it("has a connection for each request, and leaves paths as they are", () => {
    expect({
      max_requests_per_connection: at(`${OPTIONS}/common_http_protocol_options/max_requests_per_connection`),
      normalize_path: at(`${MANAGER}/normalize_path`),
      merge_slashes: at(`${MANAGER}/merge_slashes`),
      path_with_escaped_slashes_action: at(`${MANAGER}/path_with_escaped_slashes_action`),
    }).toEqual({
      max_requests_per_connection: [1, 1],
      normalize_path: [false],
      merge_slashes: [false],
      path_with_escaped_slashes_action: ["KEEP_UNCHANGED"],
    });
  });
});

it.each(["Caddyfile", "nginx.conf", "envoy.yaml"])("%s has the names and addresses of the others", (name) => {
  const text = read(name);
  for (const wanted of ["gateway.example.org", "console.example.org"]) expect(text).toContain(wanted);
  for (const port of [8080, 3000]) expect(text).toMatch(new RegExp(`127\\.0\\.0\\.1(?::|, port_value: )${port}\\b`));
  expect(text).not.toMatch(/x-real-ip|proxy_add_x_forwarded_for|flush_interval -/i);
});
