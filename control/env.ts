/**
 * The control service's configuration, from the environment only (specification "Limits", decisions §41). A missing or
 * malformed variable stops the start with its name and the fix; values are never printed.
 */
import { z } from "zod";
import { isCidr } from "../shared/ssrf.ts";

/** Raised by {@link parseEnv}: one line that names every offending variable. */
export class EnvError extends Error {
  override readonly name = "EnvError";
}

export interface Listen {
  readonly host: string;
  readonly port: number;
}

export interface ControlEnv {
  readonly adminListen: Listen;
  readonly metricsListen: Listen;
  readonly adminToken: string;
  readonly internalToken: string;
  readonly databaseUrl: string;
  readonly redisUrl: string;
  readonly redisToken: string;
  readonly clickhouse: { readonly url: string; readonly db: string; readonly user: string; readonly password: string };
  readonly encryptionKey: string | undefined;
  readonly apiKeyPepper: string | undefined;
  readonly ssrf: { readonly blockPrivate: boolean; readonly allowedCidrs: readonly string[] };
  /** The control service's own cell, and every cell that configuration is pushed to. */
  readonly cell: string;
  readonly cells: readonly { readonly cell: string; readonly url: string }[];
  /** Started by the launcher: exit when it goes. */
  readonly parentWatch: boolean;
}

const TRUTHY = ["1", "true", "yes", "on"];
const FALSY = ["0", "false", "no", "off"];

const text = (fallback: string) =>
  z
    .string()
    .transform((value) => value.trim() || fallback)
    .prefault("");
const secret = z
  .string()
  .transform((value) => (value === "" ? undefined : value))
  .optional();
const flag = z
  .string()
  .transform((value, context) => {
    const word = value.trim().toLowerCase();
    if (word === "" || FALSY.includes(word)) return false;
    if (TRUTHY.includes(word)) return true;
    context.addIssue({ code: "custom", message: "must be 1, true, yes, on, 0, false, no or off" });
    return z.NEVER;
  })
  .prefault("");
const webUrl = (fallback: string) =>
  text(fallback).refine((value) => URL.canParse(value) && /^https?:/.test(value), "must be an http or https URL");

const listen = (fallback: string) =>
  text(fallback).transform((value, context): Listen => {
    const match = /^(\[[0-9a-fA-F:]+\]|[^:]+):(\d{1,5})$/.exec(value);
    const port = Number(match?.[2]);
    if (match?.[1] !== undefined && port <= 65_535) return { host: match[1].replace(/^\[|\]$/g, ""), port };
    context.addIssue({ code: "custom", message: "must be host:port" });
    return z.NEVER;
  });

const cellName = z.string().regex(/^[a-z0-9-]{1,32}$/, "must match ^[a-z0-9-]{1,32}$");
const cellsSchema = z
  .array(z.looseObject({ cell: cellName, url: z.string().refine((value) => URL.canParse(value)) }))
  .min(1);

const schema = z.object({
  GATEWAY_ADMIN_LISTEN: listen("0.0.0.0:9180"),
  GATEWAY_METRICS_LISTEN: listen("0.0.0.0:9091"),
  GATEWAY_ADMIN_TOKEN: z
    .string({ error: "is required: set it to a long random text" })
    .min(1, "is required: set it to a long random text"),
  GATEWAY_INTERNAL_TOKEN: secret,
  GATEWAY_DATABASE_URL: text("postgres://gateway:gateway@127.0.0.1:5432/gateway").refine(
    (value) => value.startsWith("pglite:") || /^postgres(ql)?:\/\//.test(value),
    "must be a postgres:// URL or pglite:<folder>",
  ),
  GATEWAY_REDIS_URL: webUrl("http://127.0.0.1:8079"),
  GATEWAY_REDIS_TOKEN: text(""),
  GATEWAY_CLICKHOUSE_URL: webUrl("http://127.0.0.1:8123"),
  GATEWAY_CLICKHOUSE_DB: text("gateway").refine(
    (value) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(value),
    "must be an identifier",
  ),
  GATEWAY_CLICKHOUSE_USER: text("default"),
  GATEWAY_CLICKHOUSE_PASSWORD: text(""),
  GATEWAY_ENCRYPTION_KEY: secret.refine(
    (value) => value === undefined || Buffer.from(value, "base64").length === 32,
    "must be base64 of 32 bytes, for example from: openssl rand -base64 32",
  ),
  GATEWAY_API_KEY_PEPPER: secret,
  GATEWAY_BLOCK_PRIVATE_NETWORKS: flag,
  GATEWAY_ALLOWED_PRIVATE_CIDRS: text("")
    .transform((value) =>
      value
        .split(",")
        .map((item) => item.trim())
        .filter((item) => item !== ""),
    )
    .refine((items) => items.every(isCidr), "must be a comma-separated list of CIDRs"),
  GATEWAY_CELL: text("local").pipe(cellName),
  GATEWAY_CELLS: secret.transform((value, context) => {
    if (value === undefined) return null;
    const cells = cellsSchema.safeParse(readJson(value));
    if (cells.success) return cells.data.map(({ cell, url }) => ({ cell, url }));
    context.addIssue({ code: "custom", message: "must be a JSON array of {cell, url, ...}" });
    return z.NEVER;
  }),
  GATEWAY_EDGE_BASE_URL: webUrl("http://127.0.0.1:8080"),
  GATEWAY_PARENT_WATCH: flag,
});

/** Validates the environment. Throws EnvError. */
export function parseEnv(variables: Readonly<Record<string, string | undefined>>): ControlEnv {
  const result = schema.safeParse(variables);
  if (!result.success)
    throw new EnvError(result.error.issues.map((issue) => `${issue.path.join(".")} ${issue.message}`).join("; "));
  const env = result.data;
  return {
    adminListen: env.GATEWAY_ADMIN_LISTEN,
    metricsListen: env.GATEWAY_METRICS_LISTEN,
    adminToken: env.GATEWAY_ADMIN_TOKEN,
    internalToken: env.GATEWAY_INTERNAL_TOKEN ?? env.GATEWAY_ADMIN_TOKEN,
    databaseUrl: env.GATEWAY_DATABASE_URL,
    redisUrl: env.GATEWAY_REDIS_URL,
    redisToken: env.GATEWAY_REDIS_TOKEN,
    clickhouse: {
      url: env.GATEWAY_CLICKHOUSE_URL,
      db: env.GATEWAY_CLICKHOUSE_DB,
      user: env.GATEWAY_CLICKHOUSE_USER,
      password: env.GATEWAY_CLICKHOUSE_PASSWORD,
    },
    encryptionKey: env.GATEWAY_ENCRYPTION_KEY,
    apiKeyPepper: env.GATEWAY_API_KEY_PEPPER,
    ssrf: { blockPrivate: env.GATEWAY_BLOCK_PRIVATE_NETWORKS, allowedCidrs: env.GATEWAY_ALLOWED_PRIVATE_CIDRS },
    cell: env.GATEWAY_CELL,
    cells: env.GATEWAY_CELLS ?? [{ cell: env.GATEWAY_CELL, url: env.GATEWAY_EDGE_BASE_URL }],
    parentWatch: env.GATEWAY_PARENT_WATCH,
  };
}

function readJson(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    return null;
  }
}
