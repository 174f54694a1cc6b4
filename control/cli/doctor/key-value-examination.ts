/**
 * The key-value store as the control service uses it: whether it answers and takes a write, its release, whether it may
 * throw copies away, and its clock. It writes one name of its own, which ends after a minute, and removes it.
 */
import { randomUUID } from "node:crypto";
import { Redis } from "ioredis";
import { readyFloorOf, storeKeys } from "../../../shared/records.ts";
import { fetchLimited } from "./answers.ts";
import { clockFromInstant } from "./clocks.ts";
import type { Examination } from "./examination.ts";
import { type DoctorFinding, type Examined, findingsOf } from "./finding.ts";
import { unreachable } from "./unreachable.ts";

export const KEY_VALUE = "key-value store";
const { ok, warning, failure } = findingsOf(KEY_VALUE);
const WRITTEN_SECS = "60";

type Send = (command: readonly [string, ...string[]]) => Promise<unknown>;

/** The store answered with an error; `code` is its first word. */
class Refused extends Error {
  override readonly name = "Refused";
  readonly code: string;
  constructor(message: string) {
    super(message);
    this.code = /^-?([A-Z]{2,20})\b/.exec(message)?.[1] ?? "";
  }
}

export function keyValueExamination(
  redis: { readonly url: string; readonly token: string },
  withinMs: number,
): Examination {
  return {
    part: KEY_VALUE,
    run: async (signal) =>
      /^rediss?:/i.test(redis.url)
        ? await overRedis(redis.url, withinMs)
        : await examine(async (command) => await overRest(redis, command, signal), redis.url),
  };
}

async function overRedis(url: string, withinMs: number): Promise<Examined> {
  let connection: Redis;
  try {
    connection = new Redis(url, {
      lazyConnect: true,
      connectTimeout: withinMs,
      commandTimeout: withinMs,
      maxRetriesPerRequest: 0,
      retryStrategy: () => null,
      enableOfflineQueue: false,
    });
  } catch {
    // the client decodes the URL's parts
    const fix = "write a percent sign of user or password as %25 in GATEWAY_REDIS_URL";
    return { findings: [failure("reachable", "has an address that cannot be read", fix)] };
  }
  const failures: Error[] = [];
  connection.on("error", (error: Error) => failures.push(error));
  try {
    await connection.connect();
  } catch (error) {
    connection.disconnect();
    return { findings: [refusal(failures[0] ?? error, url)] };
  }
  try {
    return await examine(async ([name, ...args]) => await connection.call(name, ...args), url);
  } finally {
    connection.disconnect();
  }
}

async function overRest(
  { url, token }: { readonly url: string; readonly token: string },
  command: readonly string[],
  signal: AbortSignal,
): Promise<unknown> {
  const response = await fetchLimited(url, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(command),
    signal,
  });
  const told: unknown = await response.json().catch(() => null);
  const body: { result?: unknown; error?: unknown } = typeof told === "object" && told !== null ? told : {};
  if (response.status === 401 || response.status === 403) throw new Refused("WRONGPASS");
  if (!response.ok || body.error !== undefined) throw new Refused(typeof body.error === "string" ? body.error : "ERR");
  return body.result;
}

async function examine(send: Send, url: string): Promise<Examined> {
  try {
    const sentMs = Date.now();
    await send(["PING"]);
    const tookMs = Date.now() - sentMs;
    const findings = await infoFindings(send, tookMs);
    // a replica has no write to take
    const write = findings.some(({ state }) => state === "failure") ? [] : [await writeFinding(send, url)];
    return { findings: [...findings, ...write, await filledFinding(send)], clocks: await clockOf(send) };
  } catch (error) {
    return { findings: [refusal(error, url)] };
  }
}

/** Release, role and whether it evicts; a store that does not tell (a REST endpoint) is taken at its answers. */
async function infoFindings(send: Send, tookMs: number): Promise<readonly DoctorFinding[]> {
  const text = await send(["INFO"]).catch(() => "");
  const info = typeof text === "string" ? text : "";
  const field = (name: string): string | undefined => new RegExp(`^${name}:([^\r\n]*)`, "m").exec(info)?.[1];
  const release = (["valkey_version", "redis_version"] as const).flatMap((name) => {
    const version = field(name);
    return version === undefined ? [] : [`${name === "redis_version" ? "Redis" : "Valkey"} ${version}`];
  })[0];
  const answers = ok("reachable", `answers in ${tookMs} ms${release === undefined ? "" : `; ${release}`}`);
  const isFollower = field("role") === "slave";
  const policy = field("maxmemory_policy") ?? "noeviction";
  const evicts = Number(field("maxmemory") ?? 0) > 0 && policy.startsWith("allkeys");
  return [
    answers,
    ...(isFollower
      ? [failure("permission", "is a replica", "GATEWAY_REDIS_URL must be the primary: a replica cannot write")]
      : []),
    ...(evicts
      ? [
          warning(
            "permission",
            `evicts copies of the configuration when it is full (${policy})`,
            "set maxmemory-policy to volatile-ttl: copies of keys and models have no expiry, and cached answers expire first",
          ),
        ]
      : []),
  ];
}

async function writeFinding(send: Send, url: string): Promise<DoctorFinding> {
  const name = `doctor:${randomUUID()}`;
  try {
    await send(["SET", name, "1", "EX", WRITTEN_SECS]);
    const read = await send(["GET", name]);
    await send(["SCAN", "0", "COUNT", "1"]);
    await send(["DEL", name]);
    if (String(read) === "1") return ok("permission", "returns what was written");
    const fix = "GATEWAY_REDIS_URL must be one primary: a value that was written could not be read back";
    return failure("permission", "does not return what was written", fix);
  } catch (error) {
    return refusal(error, url);
  }
}

/** Whether the store has every copy (docs/rules/freshness.md#a-store-that-was-emptied). */
async function filledFinding(send: Send): Promise<DoctorFinding> {
  const mark = await send(["GET", storeKeys.ready]);
  // what answers at the address may be no store
  const floor = readyFloorOf(typeof mark === "string" ? mark : null);
  if (floor !== null) return ok("filled", `has every copy (revision ${floor})`);
  return warning(
    "filled",
    mark == null ? "was emptied, or never filled" : "is being filled",
    "it is filled within seconds while a control service runs; else its log says why not (fill_failed, job fill)",
  );
}

async function clockOf(send: Send): Promise<NonNullable<Examined["clocks"]>> {
  const sentMs = Date.now();
  const time = await send(["TIME"]).catch(() => null);
  if (!Array.isArray(time)) return [];
  const instantMs = Number(time[0]) * 1000 + Number(time[1]) / 1000;
  return Number.isFinite(instantMs) ? [clockFromInstant(KEY_VALUE, instantMs, sentMs, Date.now())] : [];
}

const LOGIN = "check the password in GATEWAY_REDIS_URL, or GATEWAY_REDIS_TOKEN of a REST endpoint";
const WORDS: Readonly<Record<string, readonly [check: "permission" | "token", detail: string, fix: string]>> = {
  WRONGPASS: ["token", "does not accept the password", LOGIN],
  NOAUTH: ["token", "requires a password", LOGIN],
  NOPERM: [
    "permission",
    "does not let its user use a command that the gateway needs",
    "let the user of GATEWAY_REDIS_URL use every command on every key",
  ],
  READONLY: ["permission", "is a replica", "GATEWAY_REDIS_URL must be the primary: a replica cannot write"],
  MISCONF: ["permission", "rejects writes: it cannot save to its disk", "make room on the disk of the store"],
  OOM: ["permission", "rejects writes: its memory is full", "raise maxmemory of the store"],
  LOADING: ["permission", "is still loading its data", "check again in a minute"],
};

function refusal(error: unknown, url: string): DoctorFinding {
  const isReply = error instanceof Error && (error.name === "ReplyError" || error instanceof Refused);
  const code = isReply ? new Refused(error.message).code : "";
  const known = WORDS[code] ?? (isReply && /invalid password/i.test(error.message) ? WORDS["WRONGPASS"] : undefined);
  if (known !== undefined) return failure(...known);
  if (isReply) return failure("permission", "answers with an error", "read the log of the store");
  const { detail, fix } = unreachable(error, url);
  return failure("reachable", detail, fix);
}
