/**
 * The control service as an administrator reaches it: whether it answers, which release and schema it runs, whether the
 * token is accepted, whether it reaches its stores, and what it says that somebody has to act on.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { rotationSchema } from "../../../shared/schema/rotation.ts";
import { runbookOf } from "../../alerts/alert-kinds.ts";
import { type GatewayClient, gatewayClient } from "../../api/client/client.ts";
import { fetchLimited, shaped } from "./answers.ts";
import { clockFromDate } from "./clocks.ts";
import type { Examination } from "./examination.ts";
import { type Examined, findingsOf, type LinkedFinding, type Links } from "./finding.ts";
import { rotationFindings } from "./rotation-findings.ts";
import { unreachable } from "./unreachable.ts";

export const CONTROL = "control service";

const { ok, warning, failure, skipped } = findingsOf(CONTROL);
/** Kinds of attention that mean that requests fail now (docs/rules/attention.md#kinds). */
const SERIOUS = new Set(["cell_unreachable", "model_down"]);
/** Its database and its analytics store as it reaches them itself. */
export const ITS_DATABASE = "database of the control service";
export const ITS_ANALYTICS = "analytics store of the control service";

const versionAnswer = z.object({ version: z.string() });
const aboutAnswer = z.object({ schema_version: z.number().int() });
const attentionAnswer = z.array(
  z.object({ kind: z.string(), entity_id: z.string().optional(), name: z.string(), detail: z.string() }),
);
const MIGRATIONS = join(import.meta.dirname, "../../db/migrations");

/** Entries of the list, as the service limits it. */
const ITEMS_MAX = 200;
const STORES = ["analytics store", ITS_ANALYTICS];
/** What the doctor sees in another place as well. */
const ALSO_SEEN: Readonly<Record<string, (name: string) => Links>> = {
  cell_unreachable: (cell) => ({ symptomOf: [`cell ${cell}`] }),
  provisioner_held: () => ({ cause: "provisioner held" }),
  provision_failed: () => ({ cause: "managed models that cannot be started" }),
  backup_failed: () => ({ cause: "scheduled backup" }),
  sync_pending: () => ({ cause: "changes that wait", symptomOf: ["outbox"] }),
  usage_waiting: (cell) => ({ symptomOf: [...STORES, `rows that wait in cell ${cell}`] }),
  usage_refused: (cell) => ({ symptomOf: [`rows that are refused of cell ${cell}`] }),
};

interface ManagementAccess {
  readonly url: string;
  /** Null if there is none. */
  readonly token: string | null;
  /** Where the tables of what to do are. */
  readonly runbooks: string;
  /** For the whole examination. */
  readonly withinMs: number;
}

/** The part of the time that is left to a store before the service is said not to reach it: both parts fit into the whole. */
const STORE_SHARE = 0.4;

/** The Management API: `version` without a token, the rest with it. */
export function managementExamination({ url, token, runbooks, withinMs }: ManagementAccess): Examination {
  return {
    part: CONTROL,
    run: async (signal) => {
      const client = gatewayClient({ url, token: token ?? "", actor: "cli", fetch: fetchLimited });
      const first = await versionOf(client, signal);
      if (first.client === null) return first.examined;
      if (token === null) {
        const fix = "set GATEWAY_ADMIN_TOKEN: it is needed to read limits, cells and what needs attention";
        return added(first.examined, [skipped("token", "no admin token is given", fix)]);
      }
      return added(
        first.examined,
        await withToken(first.client, signal, { runbooks, storeMs: withinMs * STORE_SHARE }),
      );
    },
  };
}

function added(examined: Examined, findings: readonly LinkedFinding[]): Examined {
  return { ...examined, findings: [...examined.findings, ...findings] };
}

/** The first answer; `client` is null when there is none to continue with. */
async function versionOf(
  client: GatewayClient,
  signal: AbortSignal,
): Promise<{ client: GatewayClient | null; examined: Examined }> {
  const sentMs = Date.now();
  try {
    const { data, response } = await client.GET("/api/v1/version", { signal });
    const gotMs = Date.now();
    const told = versionAnswer.safeParse(data).data;
    if (told === undefined) {
      const fix = "--url (GATEWAY_ADMIN_BASE_URL) must be the admin listener, not the data plane or a proxy's page";
      const finding = failure("reachable", `answered ${response.status}, not as a control service`, fix);
      return { client: null, examined: { findings: [finding] } };
    }
    return {
      client,
      examined: {
        findings: [ok("reachable", `answers in ${gotMs - sentMs} ms`)],
        clocks: clockFromDate(CONTROL, response.headers.get("date"), sentMs, gotMs),
        releases: [{ part: CONTROL, version: told.version }],
      },
    };
  } catch (error) {
    const { detail, fix } = unreachable(error);
    return { client: null, examined: { findings: [failure("reachable", detail, fix)] } };
  }
}

/** An answer that waits for a store; null: the store keeps it waiting for too long. */
async function inTime<T>(
  ask: (signal: AbortSignal) => Promise<T>,
  signal: AbortSignal,
  storeMs: number,
): Promise<T | null> {
  const late = AbortSignal.timeout(storeMs);
  try {
    return await ask(AbortSignal.any([signal, late]));
  } catch (error) {
    if (late.aborted && !signal.aborted) return null;
    throw error;
  }
}

async function withToken(
  client: GatewayClient,
  signal: AbortSignal,
  { runbooks, storeMs }: { readonly runbooks: string; readonly storeMs: number },
): Promise<readonly LinkedFinding[]> {
  const own = await inTime(async (late) => await client.GET("/api/v1/about", { signal: late }), signal, storeMs);
  if (own?.response.status === 401) {
    const fix = "set GATEWAY_ADMIN_TOKEN to the token that the control service was started with";
    return [failure("token", "the admin token is not accepted", fix)];
  }
  const accepted = ok("token", "the admin token is accepted");
  if (own === null || own.response.status === 503) {
    const fix = "bring the database back: the Management API answers 503 until then";
    const links = { cause: ITS_DATABASE, symptomOf: ["database"] };
    return [accepted, failure("reachable", "does not reach its database", fix, links)];
  }
  const { data: about, response } = own;
  if (about === undefined)
    return [accepted, failure("reachable", `answered ${response.status}`, "read the log of the control service")];
  const [analytics, attention, rotation] = await Promise.all([
    inTime(
      async (late) =>
        await client.GET("/api/v1/usage", {
          signal: late,
          params: { query: { since_ms: String(Date.now() - 60_000) } },
        }),
      signal,
      storeMs,
    ),
    client.GET("/api/v1/overview/attention", { signal }),
    client.GET("/api/v1/rotation", { signal }),
  ]);
  // an older control service has no such route
  const oldSecrets = rotationSchema.safeParse(rotation.data).data;
  return [
    accepted,
    schemaFinding(shaped(aboutAnswer, about).schema_version),
    analytics === null || analytics.response.status === 503
      ? failure(
          "reachable",
          analytics === null
            ? `got no answer from the analytics store (ClickHouse) within ${storeMs / 1000} s`
            : "does not reach the analytics store",
          analytics === null
            ? "check whether ClickHouse hangs or the network drops packets; --timeout sets a longer limit"
            : "check GATEWAY_CLICKHOUSE_URL, user and password",
          { cause: ITS_ANALYTICS, symptomOf: ["analytics store"] },
        )
      : ok("reachable", "reaches the analytics store"),
    ...(oldSecrets === undefined ? [] : rotationFindings(oldSecrets, { ok, warning })),
    ...attentionFindings(shaped(attentionAnswer, attention.data ?? []), runbooks),
  ];
}

function schemaFinding(version: number): LinkedFinding {
  const newest = Math.max(...readdirSync(MIGRATIONS).map((name) => Number.parseInt(name, 10) || 0));
  if (version === newest) return ok("schema", `the database has migration ${version}`);
  const detail = `the database has migration ${version}, this release ${newest}`;
  if (version > newest) return warning("schema", detail, "use the doctor of the running release");
  return warning("schema", detail, "start the control service of this release: it migrates its database");
}

/** An entry of the list; that of an alert is named by the alert's key, which commands and the list of alerts take. */
function attentionFindings(items: z.infer<typeof attentionAnswer>, runbooks: string): readonly LinkedFinding[] {
  if (items.length === 0) return [ok("attention", "nothing needs attention")];
  return items.slice(0, ITEMS_MAX).map(({ kind, entity_id: key = "", name: title, detail }) => {
    const isAlert = kind === "alert" && key !== "";
    const name = isAlert ? key : title;
    const ofKind = /^[a-z_]{1,40}$/.test(kind) ? `${runbooks}#${kind}` : `${runbooks} has every kind of this release`;
    const fix = isAlert ? runbookOf(key) : ofKind;
    return (SERIOUS.has(kind) ? failure : warning)(
      "attention",
      `${kind}: ${name}: ${detail}`,
      fix,
      Object.hasOwn(ALSO_SEEN, kind) ? ALSO_SEEN[kind]?.(name) : {},
    );
  });
}
