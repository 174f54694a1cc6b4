/**
 * Digests of the secrets that all instances of a cluster must have alike (docs/cluster.md#secrets-that-all-share). The control service
 * keeps those of the first instance in the database and refuses an instance whose own differ. Pure.
 */
import { createHmac } from "node:crypto";
import { envOldSecrets } from "../../shared/env/env-fields.ts";

const LABEL = "gateway-shared-secret";

/** What an instance was started with. */
export interface SharedSecrets {
  /** Of the cluster: 32 bytes or more that are in no database, so that nobody can try secrets out against the digests. */
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
 * The digests as `GATEWAY_SHARED_SECRETS` has them: `name=hex`, separated by commas. A secret that is not set has one too. Those of
 * old values that the instance accepts follow their secret's own: `name=hex+hex`.
 */
export function secretDigests({ clusterKey, dashboard, variables, ...tokens }: SharedSecrets): string {
  const withOld = (name: string, old: string) => [variables[name], ...envOldSecrets.parse(variables[old] ?? "")];
  const secrets: Readonly<Record<string, readonly (string | undefined)[]>> = {
    // In each digest is the key; in its own there is nothing else.
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
