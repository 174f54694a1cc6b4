/**
 * The doctor: composes the examinations of what it was told of, runs them beside each other, and checks what only shows
 * when parts are compared. It changes nothing but one name in the key-value store, which it removes.
 */
import { ANALYTICS, analyticsExamination } from "./analytics-examination.ts";
import { examineBackups } from "./backups.ts";
import { oneForEachCause } from "./causes.ts";
import { cellExamination } from "./cell-examination.ts";
import { certificateExamination } from "./certificate-examination.ts";
import { checkClocks } from "./clocks.ts";
import { DATABASE, databaseExamination } from "./database-examination.ts";
import type { DoctorEnv } from "./doctor-env.ts";
import { edgeExamination, partOfEdge } from "./edge-examination.ts";
import { type Examination, runExaminations } from "./examination.ts";
import { type DoctorFinding, findingsOf } from "./finding.ts";
import { KEY_VALUE, keyValueExamination } from "./key-value-examination.ts";
import { CONTROL, managementExamination } from "./management-examination.ts";
import { METRICS, metricsExamination } from "./metrics-examination.ts";
import { checkReleases } from "./releases.ts";
import { type TlsEndpoint, tlsEndpointOf } from "./tls-endpoint.ts";

/** What is examined. */
export interface Installation {
  readonly env: DoctorEnv;
  readonly adminUrl: string;
  /** Null if there is none. */
  readonly adminToken: string | null;
  /** Null: it is where the variables say, else beside the admin listener. */
  readonly metricsUrl: string | null;
  /** Addresses of the data plane in addition to those of the variables. */
  readonly edgeUrls: readonly string[];
  /** TLS endpoints in addition to those of the addresses. */
  readonly tlsEndpoints: readonly TlsEndpoint[];
  /** Null: nobody said where backups are. */
  readonly backups: { readonly folder: string; readonly maxAgeHours: number } | null;
  /** The release of this program. */
  readonly release: string;
  /** The page that says what to do about each kind of attention. */
  readonly runbooks: string;
  /** For each examination. */
  readonly withinMs: number;
}

const METRICS_PORT = 9091;
/** Hosts of a listener that takes connections to every address of its machine. */
const EVERY_ADDRESS: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);

/** Every finding: those of single parts first, then clocks and releases. Never rejects. */
export async function diagnose(installation: Installation): Promise<readonly DoctorFinding[]> {
  const examined = await runExaminations(examinationsOf(installation), installation.withinMs);
  const { backups, release } = installation;
  return [
    ...oneForEachCause(examined.flatMap(({ findings }) => findings)),
    ...untold(installation),
    ...(backups === null ? [] : examineBackups(backups, Date.now())),
    ...checkClocks(examined.flatMap(({ clocks = [] }) => clocks)),
    ...checkReleases(release, once(examined.flatMap(({ releases = [] }) => releases))),
  ];
}

function examinationsOf({
  env,
  adminUrl,
  adminToken,
  metricsUrl,
  edgeUrls,
  ...more
}: Installation): readonly Examination[] {
  const { databaseUrl, redis, clickhouse, declaredSlots } = env;
  const edges = [...new Set([...env.edgeUrls, ...edgeUrls])];
  const behind = env.edgeUrls.length === 1 ? env.edgeUrls.map(partOfEdge) : [];
  const addresses: readonly (readonly [part: string, address: string | null | undefined])[] = [
    [CONTROL, adminUrl],
    [METRICS, metricsUrl],
    ...edges.map((edge) => [partOfEdge(edge), edge] as const),
    [DATABASE, databaseUrl],
    [KEY_VALUE, redis?.url],
    [ANALYTICS, clickhouse?.url],
  ];
  const endpoints = [
    ...addresses.flatMap(([of, address]) => {
      const endpoint = typeof address === "string" ? tlsEndpointOf(address) : null;
      return endpoint === null ? [] : [{ endpoint, of: [of] }];
    }),
    ...more.tlsEndpoints.map((endpoint) => ({ endpoint, of: [] })),
  ];
  const different = Map.groupBy(endpoints, ({ endpoint: { host, port } }) => `${host}:${port}`);
  return [
    managementExamination({ url: adminUrl, token: adminToken, runbooks: more.runbooks, withinMs: more.withinMs }),
    metricsExamination({
      url: metricsUrl ?? metricsAt(adminUrl, env.metricsListen),
      isGiven: metricsUrl !== null || env.metricsListen !== null,
    }),
    ...(adminToken === null ? [] : [cellExamination({ url: adminUrl, token: adminToken, declaredSlots, behind })]),
    ...edges.map(edgeExamination),
    ...(databaseUrl === undefined ? [] : [databaseExamination(databaseUrl, more.withinMs)]),
    ...(redis === undefined ? [] : [keyValueExamination(redis, more.withinMs)]),
    ...(clickhouse === undefined ? [] : [analyticsExamination(clickhouse, more.withinMs)]),
    ...[...different.values()].flatMap((same) => {
      const [first] = same;
      return first === undefined
        ? []
        : [
            certificateExamination(
              first.endpoint,
              same.flatMap(({ of }) => of),
            ),
          ];
    }),
  ];
}

/** The metrics listener of the variable, else the usual one, beside the admin listener. */
function metricsAt(adminUrl: string, listen: DoctorEnv["metricsListen"]): string {
  const url = new URL("./", adminUrl);
  url.protocol = "http:";
  url.port = String(listen?.port ?? METRICS_PORT);
  if (listen !== null && !EVERY_ADDRESS.has(listen.host))
    url.hostname = listen.host.includes(":") ? `[${listen.host}]` : listen.host;
  return url.href;
}

/** The stores that the doctor is not told of: a line each, so that nobody takes silence for health. */
function untold({ env }: Installation): readonly DoctorFinding[] {
  const told = [
    { part: DATABASE, value: env.databaseUrl, variable: "GATEWAY_DATABASE_URL" },
    { part: KEY_VALUE, value: env.redis, variable: "GATEWAY_REDIS_URL" },
    { part: ANALYTICS, value: env.clickhouse, variable: "GATEWAY_CLICKHOUSE_URL" },
  ];
  return told.flatMap(({ part, value, variable }) => {
    if (value !== undefined) return [];
    const fix = `run the doctor where ${variable} is set as for the control service`;
    return [findingsOf(part).skipped("reachable", `${variable} is not set here`, fix)];
  });
}

/** The control service says its release in two places. */
function once<T extends { readonly part: string; readonly version: string }>(samples: readonly T[]): readonly T[] {
  return [...new Map(samples.map((sample) => [`${sample.part} ${sample.version}`, sample])).values()];
}
