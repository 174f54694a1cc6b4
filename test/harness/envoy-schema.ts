/**
 * The part of Envoy's configuration (API v3) that infra/fronts/envoy.yaml uses, by the names and types of its messages. Envoy
 * itself refuses a field that it does not know; so does this.
 */
import { z } from "zod";

const duration = z.string().regex(/^\d+(?:\.\d+)?s$/);
const size = z.int().positive();
const socketAddress = z.strictObject({
  socket_address: z.strictObject({ address: z.union([z.ipv4(), z.ipv6()]), port_value: z.int().min(1).max(65_535) }),
});
/** A message behind `typed_config`: its type is named beside its fields. */
const typed = <Shape extends z.ZodRawShape>(name: string, shape: Shape) =>
  z.strictObject({ "@type": z.literal(`type.googleapis.com/envoy.${name}`), ...shape });
const file = z.strictObject({ filename: z.string().startsWith("/") });

const tls = typed("extensions.transport_sockets.tls.v3.DownstreamTlsContext", {
  common_tls_context: z.strictObject({
    alpn_protocols: z.array(z.enum(["h2", "http/1.1"])),
    tls_params: z.strictObject({ tls_minimum_protocol_version: z.enum(["TLSv1_2", "TLSv1_3"]) }),
    tls_certificates: z.array(z.strictObject({ certificate_chain: file, private_key: file })).min(1),
  }),
});

const virtualHost = z.strictObject({
  name: z.string(),
  domains: z.array(z.string()).min(1),
  routes: z.array(
    z.strictObject({
      match: z.strictObject({ prefix: z.string() }),
      route: z.strictObject({ cluster: z.string(), timeout: duration }),
    }),
  ),
});

const router = z.strictObject({
  name: z.literal("envoy.filters.http.router"),
  typed_config: typed("extensions.filters.http.router.v3.Router", { suppress_envoy_headers: z.boolean() }),
});

const MANAGER = "extensions.filters.network.http_connection_manager.v3.HttpConnectionManager";
const connectionManager = typed(MANAGER, {
  stat_prefix: z.string().min(1),
  codec_type: z.enum(["AUTO", "HTTP1", "HTTP2", "HTTP3"]),
  use_remote_address: z.boolean(),
  normalize_path: z.boolean(),
  merge_slashes: z.boolean(),
  path_with_escaped_slashes_action: z.enum([
    "KEEP_UNCHANGED",
    "REJECT_REQUEST",
    "UNESCAPE_AND_REDIRECT",
    "UNESCAPE_AND_FORWARD",
  ]),
  server_header_transformation: z.enum(["OVERWRITE", "APPEND_IF_ABSENT", "PASS_THROUGH"]),
  generate_request_id: z.boolean(),
  stream_idle_timeout: duration,
  request_timeout: duration,
  request_headers_timeout: duration,
  common_http_protocol_options: z.strictObject({ idle_timeout: duration }),
  http2_protocol_options: z.strictObject({
    max_concurrent_streams: size,
    initial_stream_window_size: z.int().min(65_535),
    initial_connection_window_size: z.int().min(65_535),
  }),
  route_config: z.strictObject({
    name: z.string(),
    request_headers_to_remove: z.array(z.string()),
    virtual_hosts: z.array(virtualHost).min(1),
  }),
  http_filters: z.tuple([router]),
});

/** Answers every request by itself. */
const refusingManager = typed(MANAGER, {
  stat_prefix: z.string().min(1),
  codec_type: z.enum(["AUTO", "HTTP1", "HTTP2", "HTTP3"]),
  request_headers_timeout: duration,
  route_config: z.strictObject({
    name: z.string(),
    virtual_hosts: z.tuple([
      z.strictObject({
        name: z.string(),
        domains: z.tuple([z.literal("*")]),
        routes: z.tuple([
          z.strictObject({
            match: z.strictObject({ prefix: z.literal("/") }),
            direct_response: z.strictObject({ status: z.int().min(200).max(599) }),
          }),
        ]),
      }),
    ]),
  }),
  http_filters: z.tuple([router]),
});

const listener = z.strictObject({
  name: z.string(),
  address: socketAddress,
  per_connection_buffer_limit_bytes: size,
  listener_filters: z.array(
    z.strictObject({
      name: z.literal("envoy.filters.listener.tls_inspector"),
      typed_config: typed("extensions.filters.listener.tls_inspector.v3.TlsInspector", {}),
    }),
  ),
  filter_chains: z.tuple([
    z.strictObject({
      transport_socket: z.strictObject({ name: z.literal("envoy.transport_sockets.tls"), typed_config: tls }),
      filters: z.tuple([
        z.strictObject({
          name: z.literal("envoy.filters.network.http_connection_manager"),
          typed_config: connectionManager,
        }),
      ]),
    }),
  ]),
});

/** Without TLS. */
const plainListener = z.strictObject({
  name: z.string(),
  address: socketAddress,
  filter_chains: z.tuple([
    z.strictObject({
      filters: z.tuple([
        z.strictObject({
          name: z.literal("envoy.filters.network.http_connection_manager"),
          typed_config: refusingManager,
        }),
      ]),
    }),
  ]),
});

const threshold = z.strictObject({ max_connections: size, max_pending_requests: size, max_requests: size });

const cluster = z.strictObject({
  name: z.string(),
  type: z.enum(["STATIC", "STRICT_DNS", "LOGICAL_DNS"]),
  connect_timeout: duration,
  per_connection_buffer_limit_bytes: size,
  typed_extension_protocol_options: z.strictObject({
    "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": typed(
      "extensions.upstreams.http.v3.HttpProtocolOptions",
      {
        common_http_protocol_options: z.strictObject({ max_requests_per_connection: size }),
        explicit_http_config: z.strictObject({ http_protocol_options: z.strictObject({}) }),
      },
    ),
  }),
  circuit_breakers: z.strictObject({ thresholds: z.array(threshold) }).optional(),
  load_assignment: z.strictObject({
    cluster_name: z.string(),
    endpoints: z.array(
      z.strictObject({
        lb_endpoints: z.array(z.strictObject({ endpoint: z.strictObject({ address: socketAddress }) })),
      }),
    ),
  }),
});

/** A bootstrap file with listeners and clusters. */
export const envoyBootstrap = z.strictObject({
  static_resources: z.strictObject({
    listeners: z.tuple([listener, plainListener]),
    clusters: z.array(cluster).min(1),
  }),
});
