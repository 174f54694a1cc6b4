/**
 * Digests of the secrets that all instances of a cluster must have alike (docs/cluster.md#secrets-that-all-share). The control service
 * keeps those of the first instance in the database and refuses an instance whose own differ. Pure.
 */
import { createHmac } from "node:crypto";

const LABEL = "gateway-shared-secret";

/** What an instance was started with. */
export interface SharedSecrets {
  /** Of the cluster: 32 bytes or more that are in no database, so that nobody can try secrets out against the digests. */
  readonly clusterKey: string;
  readonly adminToken: string;
  readonly internalToken: string | undefined;
  /** Whether the instance serves the console. */
  readonly dashboard: boolean;
  readonly variables: Readonly<Record<string, string>>;
}

const OF_ALL = ["GATEWAY_API_KEY_PEPPER", "GATEWAY_ENCRYPTION_KEY"];
const OF_CONSOLE = ["DASHBOARD_PASSWORD", "DASHBOARD_SESSION_SECRET"];

/** The digests as `GATEWAY_SHARED_SECRETS` has them: `name=hex`, separated by commas. A secret that is not set has one too. */
export function secretDigests({ clusterKey, adminToken, internalToken, dashboard, variables }: SharedSecrets): string {
  const secrets: Readonly<Record<string, string | undefined>> = {
    // In each digest is the key; in its own there is nothing else.
    GATEWAY_CLUSTER_KEY: undefined,
    GATEWAY_ADMIN_TOKEN: adminToken,
    GATEWAY_INTERNAL_TOKEN: internalToken,
    ...Object.fromEntries([...OF_ALL, ...(dashboard ? OF_CONSOLE : [])].map((name) => [name, variables[name]])),
  };
  return Object.entries(secrets)
    .map(([name, secret]) => `${name}=${digestOf(clusterKey, name, secret)}`)
    .join(",");
}

function digestOf(clusterKey: string, name: string, secret: string | undefined): string {
  return createHmac("sha256", clusterKey)
    .update(JSON.stringify([LABEL, name, secret ?? null]))
    .digest("hex");
}
