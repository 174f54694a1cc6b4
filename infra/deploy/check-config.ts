/**
 * The checks that need nothing but wrangler.toml, the operator's own variables and the Worker's rules for variables. No value
 * of a variable is ever part of a finding. Pure.
 */
import ipaddr from "ipaddr.js";
import { isAddressAllowed } from "../../shared/network/ssrf.ts";
import { type Finding, findingOf } from "./finding.ts";
import { driftOf, type WorkerConfig } from "./worker-config.ts";

/** The platform's limits for a Worker of a paid plan (developers.cloudflare.com/workers/platform/limits, 2026-11). */
const VARIABLES_MAX = 128;
const VARIABLE_MAX_BYTES = 5 * 1024;

/** Variables with credentials: they are secrets of the Worker, and must not be in wrangler.toml. */
const CREDENTIALS = [
  "GATEWAY_ADMIN_TOKEN",
  "GATEWAY_ADMIN_TOKEN_OLD",
  "GATEWAY_INTERNAL_TOKEN",
  "GATEWAY_INTERNAL_TOKEN_OLD",
  "GATEWAY_ENCRYPTION_KEY",
  "GATEWAY_ENCRYPTION_KEYS_OLD",
  "GATEWAY_API_KEY_PEPPER",
  "GATEWAY_API_KEY_PEPPERS_OLD",
  "GATEWAY_REDIS_TOKEN",
  "GATEWAY_CLICKHOUSE_PASSWORD",
  "GATEWAY_OTEL_HEADERS",
  "OTEL_EXPORTER_OTLP_HEADERS",
];

/** Variables that the Worker needs, and that would default to its own machine if unset. */
const ADDRESSES = ["GATEWAY_REDIS_URL", "GATEWAY_CLICKHOUSE_URL", "GATEWAY_INTERNAL_BASE_URL"];

/** Both planes have to have the same text; what one has that leaves it out. */
const OF_BOTH_PLANES = { GATEWAY_CELLS: "", GATEWAY_CLICKHOUSE_DB: "gateway" };

/** Without these two the control service and the Worker would hash and open other secrets than each other. */
const KEYS_OF_BOTH_PLANES = ["GATEWAY_ENCRYPTION_KEY", "GATEWAY_API_KEY_PEPPER"];

type Variables = Readonly<Record<string, string | undefined>>;

/** The Worker's own rules for its variables (edge/env.ts). */
export interface WorkerRules {
  /** The names of the variables that the Worker reads. */
  readonly names: readonly string[];
  /** The faults of the variables, by name and without values; null if there are none. */
  check(variables: Readonly<Record<string, string>>): string | null;
}

/** What {@link checkConfig} checks. */
export interface ConfigFacts {
  readonly environment: string;
  readonly top: WorkerConfig;
  readonly config: WorkerConfig;
  /** The operator's variables: those of the control service, and the values of the Worker's secrets if they are known. */
  readonly own: Variables;
  readonly rules: WorkerRules;
  /** The newest compatibility date that the runtime of the tests knows, `YYYY-MM-DD`. */
  readonly runtimeDate: string;
  /** Today in UTC, `YYYY-MM-DD`. */
  readonly today: string;
}

/** Checks the configuration of an environment. */
export function checkConfig(facts: ConfigFacts): readonly Finding[] {
  const { environment, top, config } = facts;
  const drift = driftOf(top, config).map(
    (name) => `${name} of env.${environment} differs from the top level, which was tested: make them equal`,
  );
  const sizes = limitProblems(config);
  return [
    ...findingOf("environment", drift, `${environment}, the Worker ${config.worker}`),
    ...findingOf("compatibility", dateProblems(facts), config.compatibilityDate),
    ...findingOf("variables", variableProblems(facts), `${Object.keys(config.vars).length} in wrangler.toml`),
    ...findingOf("limits", sizes, `${bindingCount(config)} of ${VARIABLES_MAX} variables and secrets`),
  ];
}

function dateProblems({ config, runtimeDate, today }: ConfigFacts): readonly string[] {
  const { compatibilityDate: date } = config;
  if (date > runtimeDate)
    return [`${date} is later than ${runtimeDate}, the newest date that the tested runtime knows`];
  return date > today ? [`${date} is in the future: the platform refuses it`] : [];
}

function variableProblems({ environment, config, own, rules }: ConfigFacts): readonly string[] {
  const { vars, secrets } = config;
  const at = `[env.${environment}.vars]`;
  const unknown = Object.keys(vars).filter((name) => !rules.names.includes(name));
  const open = CREDENTIALS.filter((name) => vars[name] !== undefined);
  const missing = ADDRESSES.filter((name) => (vars[name] ?? "").trim() === "");
  const local = ADDRESSES.filter((name) => isOfOneMachine(vars[name] ?? ""));
  const clear = ADDRESSES.filter((name) => /^http:/i.test((vars[name] ?? "").trim()) && !local.includes(name));
  const differing = Object.entries(OF_BOTH_PLANES)
    .filter(([name, unset]) => (own[name] || unset) !== (vars[name] || unset))
    .map(([name]) => name);
  // The control service may reach the store at an address of its own network, which is then not among the variables here.
  const [ours, workers] = [own["GATEWAY_CLICKHOUSE_URL"], vars["GATEWAY_CLICKHOUSE_URL"]];
  if (ours !== undefined && workers !== undefined && ours !== workers) differing.push("GATEWAY_CLICKHOUSE_URL");
  const oneSided = KEYS_OF_BOTH_PLANES.filter((name) => (own[name] ?? "") !== "" && !secrets.includes(name));
  const known = Object.fromEntries(secrets.flatMap((name) => (own[name] === undefined ? [] : [[name, own[name]]])));
  // Missing variables have their own finding.
  const placeholders = Object.fromEntries(missing.map((name) => [name, "https://unset.invalid"]));
  const malformed = rules.check({ ...vars, ...placeholders, ...known });
  return [
    ...unknown.map((name) => `${name} is not a variable of the Worker: correct or remove it in ${at}`),
    ...open.map((name) => `${name} is set in ${at}: remove it there and set it as a secret`),
    ...missing.map((name) => `${name} is not set in ${at}: the Worker would look for it on its own machine`),
    ...local.map((name) => `${name} is an address of one machine or private network: the platform cannot reach it`),
    ...clear.map((name) => `${name} is not an https address: its credentials would cross the internet unencrypted`),
    ...differing.map(
      (name) => `${name} of the Worker differs from that of the control service: both need the same value`,
    ),
    ...oneSided.map((name) => `${name} is set here and not in env.${environment}.secrets: both planes need the same`),
    ...(malformed === null ? [] : [malformed]),
  ];
}

/** True for loopback, private networks and names without a domain: a Worker on the platform has no way there. */
function isOfOneMachine(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const hostname = new URL(address).hostname.replace(/^\[(.*)\]$/, "$1");
  if (ipaddr.isValid(hostname)) return !isAddressAllowed(hostname, { blockPrivate: true, allowedCidrs: [] });
  return !hostname.replace(/\.$/, "").includes(".");
}

function bindingCount({ vars, secrets }: WorkerConfig): number {
  return new Set([...Object.keys(vars), ...secrets]).size;
}

function limitProblems(config: WorkerConfig): readonly string[] {
  const count = bindingCount(config);
  const large = Object.entries(config.vars).filter(([, value]) => Buffer.byteLength(value) > VARIABLE_MAX_BYTES);
  return [
    ...large.map(([name]) => `${name} is larger than the ${VARIABLE_MAX_BYTES} bytes that the platform allows`),
    ...(count > VARIABLES_MAX ? [`${count} variables and secrets: the platform allows ${VARIABLES_MAX}`] : []),
  ];
}
