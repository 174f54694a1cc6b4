/**
 * The console's configuration (docs/rules/console.md#variables). Without any of its variables there is no console; with
 * one of them the required ones must be there.
 */
import { z } from "zod";
import { envErrorText, envOptionalWebUrl, envText } from "../../shared/env-fields.ts";
import { EnvError, type Listen, listenField } from "../kernel/env-field.ts";

/** A provider of sign-ins. */
export interface OidcProvider {
  /** A part of paths, and of every identity that comes from this provider. */
  readonly id: string;
  /** What the button says. */
  readonly name: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Separated by spaces. */
  readonly scopes: string;
}

export interface DashboardEnv {
  /** Null: the first free port from 3000 on, on 127.0.0.1. */
  readonly listen: Listen | null;
  /** The origin under which browsers reach the console; null: that of each request. */
  readonly publicOrigin: string | null;
  /** In lower case. */
  readonly adminEmail: string;
  readonly password: string;
  readonly sessionSecret: string;
  /** Origins of writes besides the console's own; `*`: all. */
  readonly trustedOrigins: readonly string[];
  readonly providers: readonly OidcProvider[];
}

const NAMES = [
  "GATEWAY_DASHBOARD_LISTEN",
  "DASHBOARD_ADMIN_EMAIL",
  "DASHBOARD_PASSWORD",
  "DASHBOARD_SESSION_SECRET",
  "DASHBOARD_PUBLIC_URL",
  "OIDC_PROVIDERS",
] as const;

const LOOPBACK = /^(127(\.\d+){3}|localhost|\[::1\])$/;

/** A token that crosses a network must not be readable on it. */
const isIssuer = (text: string): boolean =>
  URL.canParse(text) && (new URL(text).protocol === "https:" || isLoopback(text));

/** True for an http address on this machine. */
export function isLoopback(text: string): boolean {
  const { protocol, hostname } = new URL(text);
  return protocol === "http:" && LOOPBACK.test(hostname);
}

const shortText = (max: number) => z.string().trim().min(1).max(max);

const providersSchema = z
  .array(
    z.object({
      id: z.string().regex(/^(?!local$)[a-z0-9-]{1,32}$/),
      name: shortText(100),
      issuer: z.string().refine(isIssuer),
      client_id: shortText(1000),
      client_secret: shortText(4000),
      scopes: z
        .string()
        .trim()
        .refine((scopes) => scopes.split(/\s+/).includes("openid"))
        .default("openid email profile"),
    }),
  )
  .refine((providers) => new Set(providers.map(({ id }) => id)).size === providers.length);

const PROVIDERS =
  "must be a JSON array of {id (a-z 0-9 -, not local), name, issuer (https), client_id, client_secret, scopes with openid}, each id once";

const providers = envText("[]").transform((text, context): readonly OidcProvider[] => {
  const parsed = providersSchema.safeParse(jsonOf(text));
  if (parsed.success)
    return parsed.data.map(({ client_id, client_secret, ...rest }) => ({
      ...rest,
      clientId: client_id,
      clientSecret: client_secret,
    }));
  context.addIssue({ code: "custom", message: PROVIDERS });
  return z.NEVER;
});

const trustedOrigins = envText("")
  .transform((text) =>
    text
      .split(",")
      .map((origin) => origin.trim().replace(/\/$/, ""))
      .filter((origin) => origin !== ""),
  )
  .refine(
    (origins) =>
      origins.every((origin) => origin === "*" || (URL.canParse(origin) && new URL(origin).origin === origin)),
    "must be origins such as https://ops.example.org, separated by commas, or *",
  );

const required = (min: number) =>
  z.string({ error: `is required: at least ${min} characters` }).min(min, `must have at least ${min} characters`);

const schema = z.object({
  GATEWAY_DASHBOARD_LISTEN: listenField("127.0.0.1:3000"),
  DASHBOARD_ADMIN_EMAIL: z
    .string({ error: "is required: the email address of the admin" })
    .trim()
    .toLowerCase()
    .check(z.email("must be an email address")),
  DASHBOARD_PASSWORD: required(8),
  DASHBOARD_SESSION_SECRET: required(32),
  DASHBOARD_PUBLIC_URL: envOptionalWebUrl,
  TRUSTED_ORIGINS: trustedOrigins,
  OIDC_PROVIDERS: providers,
});

/** The configuration; null: no variable of the console is set. Throws EnvError, which names every wrong variable. */
export function parseDashboardEnv(variables: Readonly<Record<string, string | undefined>>): DashboardEnv | null {
  if (NAMES.every((name) => (variables[name] ?? "").trim() === "")) return null;
  const result = schema.safeParse(variables);
  if (!result.success) throw new EnvError(envErrorText(result.error));
  const env = result.data;
  return {
    listen: (variables["GATEWAY_DASHBOARD_LISTEN"] ?? "").trim() === "" ? null : env.GATEWAY_DASHBOARD_LISTEN,
    publicOrigin: env.DASHBOARD_PUBLIC_URL === null ? null : new URL(env.DASHBOARD_PUBLIC_URL).origin,
    adminEmail: env.DASHBOARD_ADMIN_EMAIL,
    password: env.DASHBOARD_PASSWORD,
    sessionSecret: env.DASHBOARD_SESSION_SECRET,
    trustedOrigins: env.TRUSTED_ORIGINS,
    providers: env.OIDC_PROVIDERS,
  };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
