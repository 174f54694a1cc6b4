/**
 * Where TLS is spoken for an address, and what its clients trust. A database's URL is read by the driver itself, so that `sslmode`,
 * `sslrootcert` and `uselibpqcompat` mean here what they mean to the control service.
 */
import type { ConnectionOptions } from "node:tls";
import pg from "pg";

/** Where TLS is spoken, and how it starts. */
export interface TlsEndpoint {
  readonly host: string;
  readonly port: number;
  readonly startsWith: "tls" | "postgres";
  /** Absent: what this machine trusts, for that name. */
  readonly trust?: EndpointTrust;
}

/** What the clients of an endpoint trust. */
interface EndpointTrust {
  /** They do not look at the certificate. */
  readonly isAnything: boolean;
  /** With which they look at it. */
  readonly options: Pick<ConnectionOptions, "ca" | "checkServerIdentity">;
}

const PORTS: Readonly<Record<string, number>> = { "https:": 443, "rediss:": 6379 };

/** The endpoint of an address that is used with TLS; null for one that is used without, or that its client cannot read. */
export function tlsEndpointOf(address: string): TlsEndpoint | null {
  const url = URL.parse(address);
  if (url === null) return null;
  if (/^postgres(ql)?:$/.test(url.protocol)) return databaseEndpointOf(address);
  const port = PORTS[url.protocol];
  if (port === undefined) return null;
  return { host: url.hostname.replace(/^\[|\]$/g, ""), port: Number(url.port) || port, startsWith: "tls" };
}

function databaseEndpointOf(url: string): TlsEndpoint | null {
  const client = clientOf(url);
  if (client === null) return null;
  const { host, port } = client;
  // it is an object, whatever its type says, unless the URL only asks for TLS
  const ssl = client.ssl as boolean | ConnectionOptions;
  if (ssl === false || host.startsWith("/")) return null;
  const endpoint = { host, port, startsWith: "postgres" } as const;
  if (ssl === true) return endpoint;
  const { ca, checkServerIdentity, rejectUnauthorized } = ssl;
  const options = {
    ...(ca === undefined ? {} : { ca }),
    ...(checkServerIdentity === undefined ? {} : { checkServerIdentity }),
  };
  return { ...endpoint, trust: { isAnything: rejectUnauthorized === false, options } };
}

/** Null: the driver cannot read the URL or a file that it names, which the examination of the database tells. Nothing is connected. */
function clientOf(url: string): pg.Client | null {
  try {
    return new pg.Client({ connectionString: url });
  } catch {
    return null;
  }
}
