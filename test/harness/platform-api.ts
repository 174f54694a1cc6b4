/**
 * The part of the account API of Cloudflare that wrangler asks for a deployment, over HTTP, with one account that has one Worker
 * or none. It remembers what was deployed, and refuses what it does not know. The real wrangler talks to it
 * (CLOUDFLARE_API_BASE_URL).
 */
import { randomUUID } from "node:crypto";
import { z } from "zod";
import { jsonAnswer, type SinkAnswer, type SinkRequest, startHttpSink } from "./http-sink.ts";

const ACCOUNT = { id: "0123456789abcdef0123456789abcdef", name: "Acme" };

interface PlatformVersion {
  readonly id: string;
  readonly created: string;
  /** Null: its upload gave none. */
  readonly tag: string | null;
  readonly migrationTag: string | null;
  readonly bindings: readonly { readonly name: string; readonly type: string }[];
  /** The bytes of the files of the upload, by content type. */
  readonly files: Readonly<Record<string, number>>;
}

export interface PlatformWorker {
  /** By name; the values that an upload brought. */
  readonly secrets: Record<string, string>;
  readonly versions: PlatformVersion[];
  /** The versions with traffic; none: it was never deployed. */
  traffic: readonly { readonly version_id: string; readonly percentage: number }[];
  /** The newest object migration that was applied. */
  migrationTag: string | null;
}

/** How the API is to behave, and what became of it. */
export interface PlatformState {
  /** The address of the signed-in person. */
  email: string;
  /** Null: the account has none. */
  worker: PlatformWorker | null;
  /** Requests that are refused: `POST /deployments`, below the Worker's path. */
  failing: {
    readonly request: string;
    readonly status: number;
    readonly code: number;
    readonly message: string;
  } | null;
  /** What was changed, in order. */
  readonly changes: string[];
  /** Called before a change is answered. */
  whileChanging: ((change: string) => Promise<void> | void) | null;
}

/** Starts it on loopback. `worker`: the only name that it knows. */
export async function startPlatformApi(worker: string, state: PlatformState) {
  /** `state`: the next one; a test sets it before it deploys. */
  const api = { state };
  const sink = await startHttpSink(async (asked) => await answer(api.state, worker, asked));
  return Object.assign(api, { url: `${sink.url}/client/v4`, close: sink.close });
}

const PAGE = { page: 1, per_page: 50, count: 1, total_count: 1, total_pages: 1 };
const said = (result: unknown): SinkAnswer =>
  jsonAnswer({ success: true, errors: [], messages: [], result, result_info: PAGE });
const refused = (status: number, code: number, message: string): SinkAnswer =>
  jsonAnswer({ success: false, errors: [{ code, message }], messages: [], result: null }, status);
const NO_WORKER = refused(404, 10007, "This Worker does not exist on your account.");

async function answer(
  state: PlatformState,
  name: string,
  { method, url, headers, bytes }: SinkRequest,
): Promise<SinkAnswer> {
  const path = new URL(url, "http://api").pathname.replace("/client/v4", "");
  const account = `/accounts/${ACCOUNT.id}/workers`;
  if (path === "/accounts") return said([ACCOUNT]);
  if (path === "/memberships") return said([{ id: "membership", account: ACCOUNT }]);
  if (path === "/user") return said({ id: "user", email: state.email });
  if (path === "/user/tokens/verify") return said({ id: "token", status: "active" });
  if (path === `${account}/subdomain`) return said({ subdomain: "acme" });
  if (path === `${account}/services/${name}`) return aboutService(state);
  if (path === `${account}/workers/${name}`)
    return said({ name, subdomain: { enabled: false, previews_enabled: false } });
  if (!path.startsWith(`${account}/scripts/${name}`)) return refused(404, 7003, `Could not route to ${path}`);
  const what = `${method} ${path.slice(`${account}/scripts/${name}`.length)}`;
  const { failing } = state;
  if (failing?.request === what) return refused(failing.status, failing.code, failing.message);
  return await ofScript(state, what, bytes, headers["content-type"] ?? "");
}

function aboutService({ worker }: PlatformState): SinkAnswer {
  if (worker === null) return NO_WORKER;
  const script = { tag: "tag", last_deployed_from: "wrangler", migration_tag: worker.migrationTag ?? undefined };
  return said({ default_environment: { environment: "production", script, script_tag: "tag" } });
}

async function ofScript(
  state: PlatformState,
  what: string,
  body: Buffer<ArrayBuffer>,
  type: string,
): Promise<SinkAnswer> {
  if (what === "PUT ") return await deployed(state, body, type);
  const { worker } = state;
  if (worker === null) return NO_WORKER;
  const version = /^GET \/versions\/(.+)$/.exec(what)?.[1];
  if (version !== undefined) {
    const found = worker.versions.find(({ id }) => id === version);
    return found === undefined ? refused(404, 10020, "Version not found") : said(versionText(found));
  }
  switch (what) {
    case "GET /deployments":
      return said({ deployments: worker.traffic.length === 0 ? [] : [deploymentText(worker)] });
    case "POST /deployments":
      return await divided(state, worker, body);
    case "POST /versions":
      return await uploaded(state, worker, body, type);
    case "GET /versions":
      return said({ items: worker.versions.map(versionText) });
    case "GET /secrets":
      return said(Object.keys(worker.secrets).map((name) => ({ name, type: "secret_text" })));
    case "PUT /domains/records":
      await change(state, "domains");
      return said({ previews_enabled: false });
    default:
      return UNCHANGING[what] ?? refused(404, 7003, `Could not route to ${what}`);
  }
}

/** What is the same whatever was deployed. */
const UNCHANGING: Readonly<Record<string, SinkAnswer>> = {
  "GET /settings": said({ bindings: [] }),
  "PATCH /script-settings": said({}),
  "POST /subdomain": said({ enabled: false, previews_enabled: false }),
  "POST /domains/changeset": said({ added: [], removed: [], updated: [], conflicting: [] }),
};

const metadataSchema = z.object({
  bindings: z.array(z.object({ name: z.string(), type: z.string(), text: z.string().optional() })),
  migrations: z.object({ old_tag: z.string().optional(), new_tag: z.string() }).optional(),
  annotations: z.object({ "workers/tag": z.string() }),
});

async function readUpload(body: Buffer<ArrayBuffer>, type: string, migrationTag: string | null) {
  const form = await new Response(body, { headers: { "content-type": type } }).formData();
  const text = form.get("metadata");
  const metadata = metadataSchema.parse(typeof text === "string" ? JSON.parse(text) : null);
  const files = [...form.values()].flatMap((file) =>
    typeof file === "string" ? [] : [[file.type, file.size] as const],
  );
  const version: PlatformVersion = {
    id: randomUUID(),
    created: new Date().toISOString(),
    tag: metadata.annotations["workers/tag"],
    migrationTag: metadata.migrations?.new_tag ?? migrationTag,
    bindings: metadata.bindings.map(({ name, type: kind }) => ({ name, type: kind })),
    files: Object.fromEntries(files),
  };
  return { metadata, version };
}

async function uploaded(
  state: PlatformState,
  worker: PlatformWorker,
  body: Buffer<ArrayBuffer>,
  type: string,
): Promise<SinkAnswer> {
  const { version } = await readUpload(body, type, worker.migrationTag);
  const unset = version.bindings.find((binding) => binding.type === "inherit" && !(binding.name in worker.secrets));
  if (unset !== undefined) return refused(400, 10056, `inherit binding '${unset.name}' is invalid`);
  await change(state, `upload ${version.tag}`);
  worker.versions.push(version);
  return said({ id: version.id, startup_time_ms: 12, resources: {}, metadata: {} });
}

async function deployed(state: PlatformState, body: Buffer<ArrayBuffer>, type: string): Promise<SinkAnswer> {
  const { metadata, version } = await readUpload(body, type, state.worker?.migrationTag ?? null);
  const secrets = metadata.bindings.filter((binding) => binding.type === "secret_text");
  const migrated = metadata.migrations === undefined ? "" : ` migrated to ${metadata.migrations.new_tag}`;
  await change(
    state,
    `deploy ${version.tag}${migrated}${secrets.length === 0 ? "" : ` with ${secrets.length} secrets`}`,
  );
  state.worker ??= { secrets: {}, versions: [], traffic: [], migrationTag: null };
  for (const { name, text } of secrets) state.worker.secrets[name] = text ?? "";
  state.worker.versions.push(version);
  state.worker.traffic = [{ version_id: version.id, percentage: 100 }];
  state.worker.migrationTag = version.migrationTag;
  return said({ id: version.id, deployment_id: version.id.replaceAll("-", ""), etag: "etag", startup_time_ms: 12 });
}

const divisionSchema = z.object({ versions: z.array(z.object({ version_id: z.string(), percentage: z.number() })) });

async function divided(state: PlatformState, worker: PlatformWorker, body: Buffer<ArrayBuffer>): Promise<SinkAnswer> {
  const { versions } = divisionSchema.parse(JSON.parse(body.toString()));
  const sum = versions.reduce((total, { percentage }) => total + percentage, 0);
  if (sum !== 100) return refused(400, 10064, "Sum of version percentages must be 100");
  await change(state, `traffic ${versions.map((each) => `${each.version_id}@${each.percentage}%`).join(" ")}`);
  worker.traffic = versions;
  return said(deploymentText(worker));
}

async function change(state: PlatformState, what: string): Promise<void> {
  state.changes.push(what);
  await state.whileChanging?.(what);
}

function deploymentText({ traffic }: PlatformWorker): object {
  const created_on = new Date().toISOString();
  return { id: randomUUID(), created_on, source: "wrangler", strategy: "percentage", versions: traffic };
}

function versionText({ id, created, tag, migrationTag, bindings }: PlatformVersion): object {
  return {
    id,
    number: 1,
    metadata: { created_on: created, source: "wrangler" },
    annotations: { "workers/triggered_by": "version_upload", ...(tag === null ? {} : { "workers/tag": tag }) },
    resources: {
      bindings,
      script: { etag: "etag", handlers: ["fetch"] },
      script_runtime: { compatibility_date: "2026-11-17", migration_tag: migrationTag ?? undefined },
    },
  };
}

/** The id of the version that served before a test. */
export const BEFORE = "00000000-0000-4000-8000-000000000001";

const WORKER_SECRETS = [
  "GATEWAY_INTERNAL_TOKEN",
  "GATEWAY_REDIS_TOKEN",
  "GATEWAY_CLICKHOUSE_PASSWORD",
  "GATEWAY_ENCRYPTION_KEY",
  "GATEWAY_API_KEY_PEPPER",
];

/** An account whose Worker serves in one version. */
export function platformBefore(): PlatformState {
  const version: PlatformVersion = {
    id: BEFORE,
    created: "2026-11-01T00:00:00.000Z",
    tag: "v1.2.2",
    migrationTag: "v1",
    bindings: [],
    files: {},
  };
  return {
    email: "operator@example.com",
    worker: {
      secrets: Object.fromEntries(WORKER_SECRETS.map((name) => [name, "set before"])),
      versions: [version],
      traffic: [{ version_id: BEFORE, percentage: 100 }],
      migrationTag: "v1",
    },
    failing: null,
    changes: [],
    whileChanging: null,
  };
}
