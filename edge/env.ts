/**
 * The Worker's configuration: its bindings, validated once per isolate (specification "Limits", decisions §41). A
 * malformed variable stops every request with a log line that names it; no variable turns a check off.
 */
import { z } from "zod";

/** What the platform hands to the Worker and its objects: text variables and object namespaces. */
export interface Bindings {
  readonly CELL: DurableObjectNamespace;
  readonly LEDGER: DurableObjectNamespace;
  readonly TENANT_BUDGET: DurableObjectNamespace;
  readonly [variable: `GATEWAY_${string}`]: string | undefined;
}

const TRUTHY = new Set(["1", "true", "yes", "on"]);
const FALSY = new Set(["0", "false", "no", "off"]);

const flag = (fallback: boolean) =>
  z
    .string()
    .transform((text, context) => {
      const value = text.trim().toLowerCase();
      if (value === "") return fallback;
      if (TRUTHY.has(value)) return true;
      if (FALSY.has(value)) return false;
      context.addIssue({ code: "custom", message: "must be 1, true, yes, on, 0, false, no or off" });
      return z.NEVER;
    })
    .prefault("");

const whole = (fallback: number, minimum = 1) =>
  z
    .string()
    .transform((text, context) => {
      if (text.trim() === "") return fallback;
      const value = Number(text);
      if (Number.isSafeInteger(value) && value >= minimum) return value;
      context.addIssue({ code: "custom", message: `must be a whole number of at least ${minimum}` });
      return z.NEVER;
    })
    .prefault("");

const text = (fallback: string) =>
  z
    .string()
    .transform((value) => value.trim() || fallback)
    .prefault("");
const secret = z
  .string()
  .transform((value) => (value === "" ? undefined : value))
  .optional();
const url = (fallback: string) =>
  text(fallback).refine((value) => URL.canParse(value) && /^https?:/.test(value), "must be an http or https URL");

const algorithm = z
  .string()
  .transform((value, context) => {
    switch (value.trim()) {
      case "":
      case "hierarchical":
      case "group":
      case "groups":
        return "hierarchical" as const;
      case "weighted":
        return "weighted" as const;
      default:
        context.addIssue({ code: "custom", message: "must be weighted or hierarchical" });
        return z.NEVER;
    }
  })
  .prefault("");

const encryptionKey = secret.refine((value) => {
  if (value === undefined) return true;
  try {
    return atob(value).length === 32;
  } catch {
    return false;
  }
}, "must be base64 of 32 bytes");

const schema = z.object({
  GATEWAY_CELL: text("local").refine((value) => /^[a-z0-9-]{1,32}$/.test(value), "must match ^[a-z0-9-]{1,32}$"),
  GATEWAY_REDIS_URL: url("http://127.0.0.1:8079"),
  GATEWAY_REDIS_TOKEN: text(""),
  GATEWAY_CLICKHOUSE_URL: url("http://127.0.0.1:8123"),
  GATEWAY_CLICKHOUSE_DB: text("gateway").refine(
    (value) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(value),
    "must be an identifier",
  ),
  GATEWAY_CLICKHOUSE_USER: text("default"),
  GATEWAY_CLICKHOUSE_PASSWORD: text(""),
  GATEWAY_API_KEY_PEPPER: secret,
  GATEWAY_ENCRYPTION_KEY: encryptionKey,
  GATEWAY_INTERNAL_TOKEN: secret,
  GATEWAY_UPSTREAM_BASE_URL: url("http://127.0.0.1:8081"),
  GATEWAY_UPSTREAM_TIMEOUT_SECS: whole(300),
  GATEWAY_GLOBAL_MAX_IN_FLIGHT: whole(256),
  GATEWAY_MAX_BODY_BYTES: whole(33_554_432),
  GATEWAY_LEDGER_SHARDS: whole(1),
  GATEWAY_SESSION_ID_DERIVATION: flag(true),
  GATEWAY_FAIRSHARE_ALGORITHM: algorithm,
});

/** The validated configuration of one isolate. */
export interface Env {
  readonly cell: string;
  readonly redis: { readonly url: string; readonly token: string };
  readonly clickhouse: ClickhouseEnv;
  readonly apiKeyPepper: string | undefined;
  readonly encryptionKey: string | undefined;
  readonly internalToken: string | undefined;
  readonly upstreamBaseUrl: string;
  readonly upstreamTimeoutMs: number;
  readonly globalMaxInFlight: number;
  readonly maxBodyBytes: number;
  readonly ledgerShards: number;
  readonly sessionIdDerivation: boolean;
  readonly fairshareAlgorithm: "weighted" | "hierarchical";
}

/** Where the analytics store answers. */
export interface ClickhouseEnv {
  readonly url: string;
  readonly db: string;
  readonly user: string;
  readonly password: string;
}

/** Raised by {@link parseEnv}; its message names each variable and what it must be, never its value. */
export class EnvError extends Error {
  override readonly name = "EnvError";
}

/** Validates text bindings. Throws EnvError. */
export function parseEnv(bindings: object): Env {
  const result = schema.safeParse(bindings);
  if (!result.success) {
    throw new EnvError(result.error.issues.map((issue) => `${issue.path.join(".")} ${issue.message}`).join("; "));
  }
  const value = result.data;
  return {
    cell: value.GATEWAY_CELL,
    redis: { url: value.GATEWAY_REDIS_URL, token: value.GATEWAY_REDIS_TOKEN },
    clickhouse: {
      url: value.GATEWAY_CLICKHOUSE_URL,
      db: value.GATEWAY_CLICKHOUSE_DB,
      user: value.GATEWAY_CLICKHOUSE_USER,
      password: value.GATEWAY_CLICKHOUSE_PASSWORD,
    },
    apiKeyPepper: value.GATEWAY_API_KEY_PEPPER,
    encryptionKey: value.GATEWAY_ENCRYPTION_KEY,
    internalToken: value.GATEWAY_INTERNAL_TOKEN,
    upstreamBaseUrl: value.GATEWAY_UPSTREAM_BASE_URL,
    upstreamTimeoutMs: value.GATEWAY_UPSTREAM_TIMEOUT_SECS * 1000,
    globalMaxInFlight: value.GATEWAY_GLOBAL_MAX_IN_FLIGHT,
    maxBodyBytes: value.GATEWAY_MAX_BODY_BYTES,
    ledgerShards: value.GATEWAY_LEDGER_SHARDS,
    sessionIdDerivation: value.GATEWAY_SESSION_ID_DERIVATION,
    fairshareAlgorithm: value.GATEWAY_FAIRSHARE_ALGORITHM,
  };
}
