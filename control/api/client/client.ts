/**
 * The Management API as a typed client: paths, bodies and answers are those of the API document; their types are
 * generated and not committed (`npm run client`).
 */
import createClient, { type Client } from "openapi-fetch";
import type { components, paths } from "./schema.generated.ts";

/** Answers are JSON, also of lists that can be had in another form. */
type Answers = "application/json";

export type GatewayClient = Client<paths, Answers>;
export type Schemas = components["schemas"];

interface ClientOptions {
  /** Where the admin listener is. */
  readonly url: string;
  /** GATEWAY_ADMIN_TOKEN. */
  readonly token: string;
  /** Name in the audit log; the service's default is `admin`. */
  readonly actor?: string;
  readonly fetch?: (request: Request) => Promise<Response>;
}

/** A client; it rejects where the service does not answer, and answers `error` where it refuses. */
export function gatewayClient({ url, token, actor, fetch }: ClientOptions): GatewayClient {
  return createClient<paths, Answers>({
    baseUrl: url.replace(/\/+$/, ""),
    headers: {
      authorization: `Bearer ${token}`,
      ...(actor === undefined ? {} : { "x-gateway-audit-actor": actor }),
    },
    ...(fetch === undefined ? {} : { fetch }),
  });
}
