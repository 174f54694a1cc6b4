/**
 * Digests of the secrets that must be equal on all instances of a cluster (docs/cluster.md#secrets-that-all-share). The control
 * service keeps those of the first instance in the database and refuses an instance whose own differ. Pure.
 */
import { createHmac } from "node:crypto";
import { envOldSecrets } from "../../shared/env/env-fields.ts";

const LABEL = "gateway-shared-secret";

/** The secrets that an instance was started with. */
export interface SharedSecrets {
  /**
   * The cluster's own key: 32 bytes or more that are in no database, so that nobody can test guessed secrets against the
   * digests.
   */
  readonly clusterKey: string;
  readonly adminToken: string;
  readonly internalToken: string | undefined;
  /** Accepted too. */
  readonly adminTokenOld: string | undefined;
  readonly internalTokenOld: string | undefined;
  /** Whether the instance serves the console. */
  readonly dashboard: boolean;
  readonly variables: Readonly<Record<string, string>>;
}

const OF_CONSOLE = ["DASHBOARD_PASSWORD", "DASHBOARD_SESSION_SECRET"];

/**
 * The digests as `GATEWAY_SHARED_SECRETS` has them: `name=hex`, separated by commas. A secret that is not set has one too.
 * Digests of accepted old values follow the digest of the current value: `name=hex+hex`.
 */
export function secretDigests({ clusterKey, dashboard, variables, ...tokens }: SharedSecrets): string {
  const withOld = (name: string, old: string) => [variables[name], ...envOldSecrets.parse(variables[old] ?? "")];
  const secrets: Readonly<Record<string, readonly (string | undefined)[]>> = {
    // Each digest includes the key; the key's own digest includes nothing else.
    GATEWAY_CLUSTER_KEY: [undefined],
    GATEWAY_ADMIN_TOKEN: [tokens.adminToken, ...optional(tokens.adminTokenOld)],
    GATEWAY_INTERNAL_TOKEN: [tokens.internalToken, ...optional(tokens.internalTokenOld)],
    GATEWAY_API_KEY_PEPPER: withOld("GATEWAY_API_KEY_PEPPER", "GATEWAY_API_KEY_PEPPERS_OLD"),
    GATEWAY_ENCRYPTION_KEY: withOld("GATEWAY_ENCRYPTION_KEY", "GATEWAY_ENCRYPTION_KEYS_OLD"),
    ...Object.fromEntries((dashboard ? OF_CONSOLE : []).map((name) => [name, [variables[name]]])),
  };
  return Object.entries(secrets)
    .map(([name, values]) => `${name}=${values.map((value) => digestOf(clusterKey, name, value)).join("+")}`)
    .join(",");
}

function digestOf(clusterKey: string, name: string, secret: string | undefined): string {
  return createHmac("sha256", clusterKey)
    .update(JSON.stringify([LABEL, name, secret ?? null]))
    .digest("hex");
}

function optional(value: string | undefined): readonly string[] {
  return value === undefined ? [] : [value];
}
