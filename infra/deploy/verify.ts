/**
 * One governed request through the deployed Worker, and its required effects: the version that was deployed answers, an unknown
 * key is refused, the request is served, its row is in the ledger, and the control service reaches the cell.
 */
import { z } from "zod";
import { WORKER_VERSION_HEADER } from "../../shared/wire/worker-version.ts";
import type { Request } from "./reach.ts";
import { reasonOf } from "./reach.ts";

const ANSWER_WITHIN_MS = 60_000;
/** A deployment reaches every data centre within seconds; a new domain gets its certificate within minutes. */
const VERSION_WITHIN_MS = 180_000;
/** Objects of the version before are replaced with the traffic, each when its turn comes. */
const OBJECTS_WITHIN_MS = 30_000;
/** Rows travel in batches; a new cell's first one also makes its objects. */
const ROW_WITHIN_MS = 60_000;
const PAUSE_MS = 500;
/** A key of the right form that no gateway has made. */
const UNKNOWN_KEY = `sk_${"0".repeat(48)}`;

/** The dependencies of the verification. */
export interface VerifyOptions {
  readonly proxyUrl: string;
  readonly adminUrl: string;
  readonly adminToken: string;
  /** An API key of a tenant that may use the model. */
  readonly apiKey: string;
  readonly model: string;
  /** The version that must answer, and the name of its Worker. */
  readonly version: { readonly worker: string; readonly id: string };
  /** Whether requests name the version, because it does not have all traffic. */
  readonly byName: boolean;
  /** Whether the objects of the version before, which may still be there, may not understand this one. */
  readonly untried: boolean;
}

/** The outside world of the verification. */
export interface VerifyPorts {
  readonly request: Request;
  /** Milliseconds of a clock that only goes forward. */
  readonly now: () => number;
  /** Resolves after that time, or rejects with the reason of {@link interrupted}. */
  readonly pause: (ms: number) => Promise<void>;
  /** The verification rejects with the reason of its abort. */
  readonly interrupted: AbortSignal;
  readonly say: (line: string) => void;
}

/** The id of the verified request, or why the deployment cannot be trusted. */
type Verified =
  | { readonly ok: true; readonly requestId: string; readonly tokens: number }
  | { readonly ok: false; readonly problem: string };

const rowsSchema = z.array(z.object({ status_code: z.number(), model: z.string(), total_tokens: z.number() }));
type Row = z.infer<typeof rowsSchema>[number];

/** An answer of the Worker. */
interface Answer {
  readonly status: number;
  readonly text: string;
  readonly requestId: string | null;
  /** The id of the version that made it; null: it does not say one. */
  readonly version: string | null;
}

/** What shows that the deployment cannot be trusted; its message is for the operator. */
class Unverified extends Error {
  override readonly name = "Unverified";
}

/** Asks the version for its health until it answers, sends the request, and looks for its row. */
export async function verify(options: VerifyOptions, ports: VerifyPorts): Promise<Verified> {
  try {
    return { ok: true, ...(await examine(options, ports)) };
  } catch (error) {
    if (error instanceof Unverified) return { ok: false, problem: error.message };
    throw error;
  }
}

async function examine(options: VerifyOptions, ports: VerifyPorts) {
  const until = ports.now() + VERSION_WITHIN_MS;
  const healthy = await meet(options, until, ports);
  if (healthy.status !== 200) throw new Unverified(`/health was answered ${healthy.status}${codeOf(healthy.text)}`);
  const stranger = await ofVersion(options, until, ports, async () => await chat(options, UNKNOWN_KEY, ports));
  if (stranger.status !== 401)
    throw new Unverified(`a request with an unknown key was answered ${stranger.status}, not 401`);
  const answer = await servedBy(options, until, ports);
  if (answer.status !== 200) throw new Unverified(`the request was answered ${answer.status}${codeOf(answer.text)}`);
  const { requestId } = answer;
  if (requestId === null)
    throw new Unverified("the answer has no x-gateway-request-id: something else answers this address");
  const row = await rowOf(requestId, options, ports);
  if (row === null)
    throw new Unverified(`the request ${requestId} was served, and has no usage row after ${ROW_WITHIN_MS / 1000} s`);
  if (row.status_code !== 200 || row.model !== options.model)
    throw new Unverified(`the usage row of ${requestId} says ${row.status_code} for the model ${row.model}`);
  await askCell(options, ports);
  return { requestId, tokens: row.total_tokens };
}

/**
 * Waits until the version answers: a deployment does not reach the whole platform at once, and a new address is not known
 * everywhere. Its requests cost nothing. Throws Unverified.
 */
async function meet(options: VerifyOptions, until: number, ports: VerifyPorts): Promise<Answer> {
  let told = false;
  return await ofVersion(options, until, ports, async () => {
    for (;;)
      try {
        return await worker("/health", {}, options, ports);
      } catch (error) {
        if (!(error instanceof Unverified) || ports.now() > until) throw error;
        if (!told) ports.say(`waiting: ${error.message}`);
        told = true;
        await ports.pause(PAUSE_MS);
      }
  });
}

/** Sends a request again until the version answers it. Throws Unverified. */
async function ofVersion(
  { version, byName }: VerifyOptions,
  until: number,
  ports: VerifyPorts,
  ask: () => Promise<Answer>,
): Promise<Answer> {
  for (let asked = 0; ; asked += 1) {
    const answer = await ask();
    if (answer.version === version.id) return answer;
    if (ports.now() > until) throw anotherVersion(answer, version.id, byName);
    if (asked === 0) ports.say(`waiting: ${answer.version ?? "no version"} answers, not ${version.id}`);
    await ports.pause(PAUSE_MS);
  }
}

function anotherVersion({ status, version }: Answer, expected: string, byName: boolean): Unverified {
  const within = `not version ${expected}, for ${VERSION_WITHIN_MS / 1000} s`;
  if (version === null)
    return new Unverified(
      `GATEWAY_PROXY_BASE_URL answers ${status} without the version of a Worker, ${within}: another server has this address, a proxy in front of it removes ${WORKER_VERSION_HEADER}, or the traffic of an older release was not moved`,
    );
  const why = byName
    ? "the header that asks for the version by name does not reach the platform, the address belongs to another Worker, or somebody else deployed meanwhile"
    : "the address belongs to another Worker, or somebody else deployed meanwhile";
  return new Unverified(`GATEWAY_PROXY_BASE_URL is answered by version ${version}, ${within}: ${why}`);
}

/** The answer to the request; sends it again while objects of the version before may be what refuses it. Throws Unverified. */
async function servedBy(options: VerifyOptions, until: number, ports: VerifyPorts): Promise<Answer> {
  const objectsUntil = ports.now() + OBJECTS_WITHIN_MS;
  for (;;) {
    const answer = await ofVersion(options, until, ports, async () => await chat(options, options.apiKey, ports));
    const mayChange = options.untried && codeOf(answer.text) === " (scheduler_unavailable)";
    if (!mayChange || ports.now() > objectsUntil) return answer;
    await ports.pause(PAUSE_MS);
  }
}

async function chat(options: VerifyOptions, key: string, ports: VerifyPorts): Promise<Answer> {
  const messages = [{ role: "user", content: "Answer with one word." }];
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const body = JSON.stringify({ model: options.model, messages, max_tokens: 16 });
  return await worker("/v1/chat/completions", { method: "POST", headers, body }, options, ports);
}

async function worker(
  path: string,
  init: { readonly method?: string; readonly headers?: Readonly<Record<string, string>>; readonly body?: string },
  { proxyUrl, version, byName }: VerifyOptions,
  ports: VerifyPorts,
): Promise<Answer> {
  const headers: Record<string, string> = { ...init.headers, [WORKER_VERSION_HEADER]: version.id };
  if (byName) headers["cloudflare-workers-version-overrides"] = `${version.worker}="${version.id}"`;
  const { response, text } = await answerOf(
    "GATEWAY_PROXY_BASE_URL",
    `${proxyUrl}${path}`,
    { ...init, headers },
    ports,
  );
  return {
    status: response.status,
    text,
    requestId: response.headers.get("x-gateway-request-id"),
    version: response.headers.get(WORKER_VERSION_HEADER),
  };
}

/** The gateway's own code of a refusal, without text of an upstream. */
function codeOf(text: string): string {
  const code = /"code":\s*"([a-z_]{1,60})"/.exec(text)?.[1];
  return code === undefined ? "" : ` (${code})`;
}

async function rowOf(requestId: string, options: VerifyOptions, ports: VerifyPorts): Promise<Row | null> {
  const until = ports.now() + ROW_WITHIN_MS;
  for (;;) {
    const { response, text } = await admin(`/usage/logs?request_id=${encodeURIComponent(requestId)}`, options, ports);
    const rows = response.ok ? rowsSchema.safeParse(jsonOf(text)) : null;
    const row = rows?.data?.[0];
    if (row !== undefined) return row;
    if (ports.now() > until) {
      if (rows?.success === true) return null;
      throw new Unverified(`GATEWAY_ADMIN_BASE_URL answers ${response.status} to /usage/logs, not with usage rows`);
    }
    await ports.pause(PAUSE_MS);
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

async function askCell(options: VerifyOptions, ports: VerifyPorts): Promise<void> {
  const { response } = await admin("/stats", options, ports);
  if (!response.ok)
    throw new Unverified(
      `the control service does not reach the cell (${response.status}): both planes need the same GATEWAY_INTERNAL_TOKEN and GATEWAY_CELLS`,
    );
}

async function admin(path: string, { adminUrl, adminToken }: VerifyOptions, ports: VerifyPorts) {
  const headers = { authorization: `Bearer ${adminToken}` };
  return await answerOf("GATEWAY_ADMIN_BASE_URL", `${adminUrl}/api/v1${path}`, { headers }, ports);
}

/** Sends a request and reads all of the answer. Throws Unverified when none comes, and the reason of an interrupt. */
async function answerOf(variable: string, url: string, init: RequestInit, { request, interrupted }: VerifyPorts) {
  try {
    const signal = AbortSignal.any([interrupted, AbortSignal.timeout(ANSWER_WITHIN_MS)]);
    const response = await request(url, { ...init, signal });
    return { response, text: await response.text() };
  } catch (error) {
    interrupted.throwIfAborted();
    throw new Unverified(`${variable} ${reasonOf(error, ANSWER_WITHIN_MS)}`);
  }
}
