/**
 * The console's configuration (docs/rules/console.md#variables). Without any of its variables there is no console; with
 * one of them the required ones must be there.
 */
import { z } from "zod";
import { planeVariables } from "../../shared/catalogues/plane-variables.ts";
import { envErrorText, envOptionalWebUrl, envOrigins, envText, envWebUrl } from "../../shared/env/env-fields.ts";
import { strictVariables } from "../../shared/env/unknown-variables.ts";
import { adminBaseUrlField, EnvError, type Listen, listenField, requiredField } from "../kernel/env-field.ts";
import { type TrustedProxies, trustedProxiesField } from "../kernel/trusted-proxies.ts";

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
  /** Whether an email counts that the provider does not call verified. */
  readonly allowUnverifiedEmail: boolean;
  /** The claim that names the groups of who signs in; null: the provider's groups give nothing. */
  readonly groupsClaim: string | null;
}

export interface DashboardEnv {
  /** Null: the first free port from 3000 on, on 127.0.0.1. */
  readonly listen: Listen | null;
  /** The origin under which browsers reach the console; null: it listens on loopback, and is reached there. */
  readonly publicOrigin: string | null;
  /** The proxies before the console. */
  readonly trustedProxies: TrustedProxies;
  /** The numbers of this machine's users that run fronts; null: users of services. */
  readonly frontUsers: readonly number[] | null;
  /** In lower case. */
  readonly adminEmail: string;
  readonly password: string;
  readonly sessionSecret: string;
  /** Origins of writes other than the console's own; `*`: all. */
  readonly trustedOrigins: readonly string[];
  readonly providers: readonly OidcProvider[];
  /** Under which people reach the data plane, for the commands that pages show; without a slash at its end. */
  readonly proxyBaseUrl: string;
  /** Under which the console itself reaches the data plane, without a slash at its end. */
  readonly proxyOwnUrl: string;
  /** Where the admins' Grafana has the gateway's dashboard, without a slash at its end; null: no page links to it. */
  readonly grafanaUrl: string | null;
}

/**
 * The admin's email when no variable says it: it passes as one, and nobody has it, neither at a mail server nor at a
 * provider of sign-ins.
 */
export const DEFAULT_ADMIN_EMAIL = "admin@localhost.localdomain";

const NAMES = [
  "GATEWAY_DASHBOARD_LISTEN",
  "DASHBOARD_ADMIN_EMAIL",
  "DASHBOARD_PASSWORD",
  "DASHBOARD_SESSION_SECRET",
  "DASHBOARD_PUBLIC_URL",
  "OIDC_PROVIDERS",
] as const;

const LOOPBACK = /^(127(\.\d+){3}|localhost|\[?::1\]?)$/;

/** A token that crosses a network must not be readable on it. */
const isIssuer = (text: string): boolean =>
  URL.canParse(text) && (new URL(text).protocol === "https:" || isLoopback(new URL(text)));

/** True for an http address on this machine. */
export function isLoopback({ protocol, hostname }: URL): boolean {
  return protocol === "http:" && LOOPBACK.test(hostname);
}

const shortText = (max: number) => z.string().trim().min(1).max(max);

const PROVIDER_ID = /^(?!local$)[a-z0-9-]{1,32}$/;

const providersSchema = z
  .array(
    z.strictObject({
      id: z.string().regex(PROVIDER_ID),
      name: shortText(100),
      issuer: z.string().refine(isIssuer),
      client_id: shortText(1000),
      client_secret: shortText(4000),
      scopes: z
        .string()
        .trim()
        .refine((scopes) => scopes.split(/\s+/).includes("openid"))
        .default("openid email profile"),
      allow_unverified_email: z.boolean().default(false),
      groups_claim: shortText(200).optional(),
    }),
  )
  .refine((providers) => new Set(providers.map(({ id }) => id)).size === providers.length);

const PROVIDERS =
  "must be a JSON array of {id (a-z 0-9 -, not local), name, issuer (https), client_id, client_secret, scopes with openid, allow_unverified_email, groups_claim}, each id once";

const providers = envText("[]").transform((text, context): readonly OidcProvider[] => {
  const given = jsonOf(text);
  const parsed = providersSchema.safeParse(given);
  if (parsed.success)
    return parsed.data.map(({ client_id, client_secret, allow_unverified_email, groups_claim = null, ...rest }) => ({
      ...rest,
      clientId: client_id,
      clientSecret: client_secret,
      allowUnverifiedEmail: allow_unverified_email,
      groupsClaim: groups_claim,
    }));
  context.addIssue({ code: "custom", message: `${PROVIDERS}${wrongMember(given, parsed.error)}` });
  return z.NEVER;
});

/** The provider, by its id or its place, and the member that is wrong; nothing if the list itself is. */
function wrongMember(given: unknown, { issues: [first] }: z.ZodError): string {
  const [at, member] = first?.path ?? [];
  if (first === undefined || typeof at !== "number") return "";
  const { id } = ((given as readonly unknown[])[at] ?? {}) as { readonly id?: unknown };
  const provider = typeof id === "string" && PROVIDER_ID.test(id) ? `provider '${id}'` : `provider ${at + 1}`;
  if (first.code === "unrecognized_keys") return `; ${provider} has the unknown member '${first.keys[0]}'`;
  return `; wrong: ${provider}${member === undefined ? "" : `, ${String(member)}`}`;
}

/** Numbers, not names: a container has other names than its machine. */
const frontUsers = envText("")
  .refine(
    (text) => /^(\d{1,10}(\s*,\s*\d{1,10})*)?$/.test(text),
    "must be numbers of users, such as 33,998 (`id -u caddy`)",
  )
  .transform((text): readonly number[] | null => (text === "" ? null : text.split(",").map(Number)));

const DATABASE =
  "must be the postgres:// URL of the gateway's database: only the control service can open an embedded one";

/** Every address of a machine, where nobody can go. */
const UNSPECIFIED = /^(0\.0\.0\.0|\[::\])$/;

/** True for the URL of an origin that a browser can open. */
function isPublicOrigin(text: string): boolean {
  const { pathname, hostname } = new URL(text);
  return pathname === "/" && !UNSPECIFIED.test(hostname);
}

const required = (min: number) =>
  z
    .string({ error: `is required: at least ${min} characters` })
    .min(min, `must have at least ${min} characters`)
    .meta({ values: `at least ${min} characters`, default: "required" });

/** The variables of the console, in the control service and alone. */
const dashboardVariables = {
  GATEWAY_DASHBOARD_LISTEN: listenField("127.0.0.1:3000")
    .meta({ default: "`127.0.0.1:3000`, or the next free port" })
    .describe("Address on which the console listens."),
  DASHBOARD_ADMIN_EMAIL: envText(DEFAULT_ADMIN_EMAIL)
    .pipe(z.string().toLowerCase().check(z.email("must be an email address")))
    .meta({ values: "an email address" })
    .describe("Email address of the console's built-in admin, who signs in with `DASHBOARD_PASSWORD`."),
  DASHBOARD_PASSWORD: required(8).describe("Password of the console's built-in admin."),
  DASHBOARD_SESSION_SECRET: required(32).describe(
    "Secret that signs the console's session cookies. Changing it signs everyone out.",
  ),
  DASHBOARD_PUBLIC_URL: envOptionalWebUrl
    .refine(
      (url) => url === null || isPublicOrigin(url),
      "must be an origin that browsers can open, such as https://console.example.org: no path, not 0.0.0.0",
    )
    .meta({ default: "the loopback address in the browser's URL" })
    .describe(
      "URL at which browsers reach the console. Required if the console listens off loopback or is behind a front. Used for redirects, the origin check and `Secure` cookies.",
    ),
  TRUSTED_ORIGINS: envOrigins.describe("Other origins from which the console accepts writes."),
  OIDC_PROVIDERS: providers
    .meta({ values: "a JSON array", default: "none" })
    .describe("OIDC [providers](docs/rules/console.md#providers) for signing in to the console."),
  GATEWAY_PROXY_BASE_URL: envWebUrl("http://localhost:8080")
    .transform((url) => url.replace(/\/+$/, ""))
    .meta({ values: "an http or https URL" })
    .describe(
      "URL at which users reach the data plane. The console shows it in commands, its playground uses it, and MCP clients that sign in get it.",
    ),
  GATEWAY_TRUSTED_PROXIES: trustedProxiesField,
  GATEWAY_TRUSTED_PROXY_USERS: frontUsers
    .meta({ values: "numbers of users, separated by commas", default: "users of services" })
    .describe(
      "Users of this machine whose [front](docs/tls-and-fronts.md#fronts-on-the-same-machine) the console believes, if that calls from a trusted address of this machine. Root and the gateway's own user are always believed.",
    ),
  GATEWAY_PROXY_OWN_URL: envOptionalWebUrl
    .meta({ default: "`GATEWAY_PROXY_BASE_URL`" })
    .describe("URL at which the console's server reaches the data plane. `npm start` with TLS sets it."),
  GATEWAY_GRAFANA_URL: envOptionalWebUrl.describe(
    "URL of a Grafana with the [dashboard](docs/watch.md#prometheus-and-grafana). The console links to it for admins.",
  ),
};

/** Off loopback a request's own `Host` would be the only hint at the console's address, and any client can write one. */
const hasPublicUrl = (env: {
  readonly GATEWAY_DASHBOARD_LISTEN: Listen;
  readonly DASHBOARD_PUBLIC_URL: string | null;
}) => env.DASHBOARD_PUBLIC_URL !== null || LOOPBACK.test(env.GATEWAY_DASHBOARD_LISTEN.host);
const NO_PUBLIC_URL = {
  path: ["DASHBOARD_PUBLIC_URL"],
  error: "is required while GATEWAY_DASHBOARD_LISTEN is not on loopback: the URL at which browsers reach the console",
};

const schema = z.object(dashboardVariables).refine(hasPublicUrl, NO_PUBLIC_URL);

/** The configuration; null: no variable of the console is set. Throws EnvError, which names every wrong variable. */
export function parseDashboardEnv(variables: Readonly<Record<string, string | undefined>>): DashboardEnv | null {
  if (NAMES.every((name) => (variables[name] ?? "").trim() === "")) return null;
  const result = schema.safeParse(variables);
  if (!result.success) throw new EnvError(envErrorText(result.error));
  return dashboardEnv(result.data, variables);
}

/** The configuration of a console that is a process of its own. */
export interface StandaloneEnv {
  readonly dashboard: DashboardEnv;
  /** The origin of the Management API, and what is before its path. Without a slash at its end. */
  readonly adminBaseUrl: string;
  readonly adminToken: string;
  readonly databaseUrl: string;
  /** How long a browser may take nothing of its answer; 0: for ever. */
  readonly stalledReaderMs: number;
}

/** The variables of a console that is a process of its own. */
export const standaloneVariables = {
  ...strictVariables,
  ...dashboardVariables,
  GATEWAY_STALLED_READER_SECS: planeVariables.GATEWAY_STALLED_READER_SECS,
  GATEWAY_ADMIN_BASE_URL: adminBaseUrlField,
  GATEWAY_ADMIN_TOKEN: requiredField("is required: the admin token of the gateway"),
  DATABASE_URL: z
    .string({ error: "is required: the postgres:// URL of the gateway's database" })
    .trim()
    .refine((url) => /^postgres(ql)?:$/.test(URL.parse(url)?.protocol ?? ""), DATABASE)
    .meta({ values: "a `postgres://` URL", default: "required" })
    .describe("The gateway's PostgreSQL database, for a standalone console."),
};

const standaloneSchema = z.object(standaloneVariables).refine(hasPublicUrl, NO_PUBLIC_URL);

/** The same of a console that runs alone (docs/rules/console.md#alone). Throws EnvError, which names every wrong variable. */
export function parseStandaloneEnv(variables: Readonly<Record<string, string | undefined>>): StandaloneEnv {
  const result = standaloneSchema.safeParse(variables);
  if (!result.success) throw new EnvError(envErrorText(result.error));
  const env = result.data;
  return {
    dashboard: dashboardEnv(env, variables),
    adminBaseUrl: env.GATEWAY_ADMIN_BASE_URL,
    adminToken: env.GATEWAY_ADMIN_TOKEN,
    databaseUrl: env.DATABASE_URL,
    stalledReaderMs: env.GATEWAY_STALLED_READER_SECS * 1000,
  };
}

function dashboardEnv(
  env: z.infer<typeof schema>,
  variables: Readonly<Record<string, string | undefined>>,
): DashboardEnv {
  return {
    listen: (variables["GATEWAY_DASHBOARD_LISTEN"] ?? "").trim() === "" ? null : env.GATEWAY_DASHBOARD_LISTEN,
    publicOrigin: env.DASHBOARD_PUBLIC_URL === null ? null : new URL(env.DASHBOARD_PUBLIC_URL).origin,
    trustedProxies: env.GATEWAY_TRUSTED_PROXIES,
    frontUsers: env.GATEWAY_TRUSTED_PROXY_USERS,
    adminEmail: env.DASHBOARD_ADMIN_EMAIL,
    password: env.DASHBOARD_PASSWORD,
    sessionSecret: env.DASHBOARD_SESSION_SECRET,
    trustedOrigins: env.TRUSTED_ORIGINS,
    providers: env.OIDC_PROVIDERS,
    proxyBaseUrl: env.GATEWAY_PROXY_BASE_URL,
    proxyOwnUrl: env.GATEWAY_PROXY_OWN_URL ?? env.GATEWAY_PROXY_BASE_URL,
    grafanaUrl: env.GATEWAY_GRAFANA_URL,
  };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
