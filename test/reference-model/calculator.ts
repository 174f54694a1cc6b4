/**
 * What the ledger must say of a call, worked out from the words of the specification, its decisions and docs/rules alone. This file
 * imports nothing of the product, and nobody should look there for what a figure ought to be.
 */
import type { Attempt, Call, CallRoute, Done, ModelConfig } from "./facts.ts";
import { costOf, estimateOf, owedTokens, type Tokens } from "./tokens.ts";

/** A field's value; several: each of them is right; a range: everything within. */
export type Want = string | number | readonly (string | number)[] | { readonly min: number; readonly max: number };
export type WantedRow = Readonly<Record<string, Want>>;

/** The rows that would be right. `one`: there must be one; `maybe`: there may be one; `none`: there must be none. */
export interface Owed {
  readonly rows: "one" | "maybe" | "none";
  readonly options: readonly WantedRow[];
}

const REQUEST_TYPES: Readonly<Record<CallRoute, string>> = {
  chat: "chat",
  completions: "completion",
  embeddings: "embedding",
  responses: "responses",
  messages: "messages",
  rerank: "rerank",
  moderations: "moderation",
  speech: "audio",
  transcriptions: "audio",
  images: "image",
  models: "other",
};
/** 409 only when it says when to come again, which no script does. */
const RETRIED: ReadonlySet<number> = new Set([0, 408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529]);
const NOBODY = "00000000-0000-0000-0000-000000000000";

/** What every row of a call has, whatever became of it. */
function commonRow({ call, got }: Done): WantedRow {
  const { key } = call;
  const derived = derivedSession(call);
  const session = sessionOf(call);
  return {
    request_type: call.wrong?.code === "unknown_endpoint" ? "other" : REQUEST_TYPES[call.route],
    cell: "local",
    device_id: "",
    tags: "",
    energy_wh: 0,
    energy_cost_usd: 0,
    co2_g: 0,
    ts_ms: { min: got.startMs - CLOCK_MS, max: got.endMs + CLOCK_MS },
    tenant_id: key?.tenant.id ?? NOBODY,
    key_id: key?.id ?? NOBODY,
    tenant_name: key?.tenant.name ?? "",
    key_name: key?.name ?? "",
    key_prefix: key?.prefix ?? "",
    ...(key === null
      ? {}
      : {
          session_id: session,
          session_id_source: session === "" ? "none" : session === derived ? "derived" : "client",
          end_user: endUserOf(call),
          weight: key.tenant.weight.during(got.startMs, got.endMs),
        }),
  };
}

/** A row is dated by its end, which may be some time after what its client saw of it. */
const CLOCK_MS = 20_000;

/** The session of a call, by which its row is found when its client was given no id. */
export const sessionOf = (call: Call): string => call.session.header || call.session.body || derivedSession(call);

function endUserOf({ fields }: Call): string {
  const user = fields?.["user"];
  return typeof user === "string" ? user.trim() : "";
}

const NOTHING = {
  input_tokens: 0,
  output_tokens: 0,
  total_tokens: 0,
  cached_tokens: 0,
  cache_write_tokens: 0,
  audio_input_tokens: 0,
  image_input_tokens: 0,
  reasoning_tokens: 0,
  audio_output_tokens: 0,
  image_output_tokens: 0,
  input_seconds: 0,
  cost_usd: 0,
};

/** No upstream was called. */
const UNSERVED = { served_model: "", upstream_model: "" };

/** FNV-1a 64 of the tenant's id and the leading system and first user text, of conversations without a session of their own. */
function derivedSession({ key, fields, route }: Call): string {
  const messages = (fields?.["messages"] ?? []) as readonly { readonly role: string; readonly content: string }[];
  if (key === null || (route !== "chat" && route !== "messages") || messages.length === 0) return "";
  const first = messages.findIndex(({ role }) => role === "user");
  const seed = messages.slice(0, first + 1).map(({ content }) => content);
  const bytes = Buffer.concat([
    Buffer.from(key.tenant.id.replaceAll("-", ""), "hex"),
    Buffer.from(seed.join("\u001F")).subarray(0, 8192),
  ]);
  let hash = 0xcbf29ce484222325n;
  for (const byte of bytes) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return hash.toString(16).padStart(16, "0");
}

interface Refusal {
  readonly status: number;
  readonly code: string;
}

/**
 * What refuses a call with this configuration; nothing: it must be served. The first should be the answer; but who is refused by
 * one of the later ones rests on a copy of the caller that nobody had to compare.
 */
function refusalsOf(call: Call, config: ModelConfig, isDisabled: boolean, status: string): readonly Refusal[] {
  const { key, model, wrong } = call;
  if (key === null) return wrong === null ? [] : [wrong];
  const refusals: (Refusal | false | null)[] = [
    isDisabled && { status: 403, code: "api_key_disabled" },
    status !== "active" && { status: 403, code: "tenant_not_active" },
    wrong,
    model !== null && !config.enabled && { status: 403, code: "model_disabled" },
    model !== null &&
      key.tenant.allowed?.includes(model.name) === false && { status: 403, code: "model_not_permitted" },
  ];
  return refusals.filter((each) => each !== false && each !== null);
}

/** Refusals by budgets and limits per minute, which compare-budgets.ts and compare-rates.ts check. */
const BUDGET_CODES: ReadonlySet<string> = new Set([
  "request_larger_than_quota",
  "token_budget_exceeded",
  "request_rate_exceeded",
  "key_budget_exhausted",
  "tenant_budget_exhausted",
]);

export function errorCodeOf({ got }: Done): string {
  if (got.status === null || got.status < 400) return "";
  try {
    return String((JSON.parse(got.text) as { readonly error?: { readonly code?: string } }).error?.code ?? "");
  } catch {
    return "";
  }
}

/** Codes of refusals that may come before the body was read, and also when a request that waited is checked again. */
const BEFORE_BODY: ReadonlySet<string> = new Set(["api_key_disabled", "tenant_not_active", "key_store_unavailable"]);

function refusedRow(done: Done, { status, code }: Refusal): WantedRow {
  const { call } = done;
  const isBudget = BUDGET_CODES.has(code);
  const isUnread = BEFORE_BODY.has(code);
  const client = call.session.header || (isUnread ? "" : call.session.body);
  const name = call.model?.name ?? "";
  const { total } = estimateOf(call);
  return {
    ...(isBudget ? commonRow(done) : withoutSession(commonRow(done))),
    ...(isBudget || call.key === null || client === "" ? {} : { session_id: client, session_id_source: "client" }),
    ...NOTHING,
    status_code: status,
    error_code: code,
    upstream_status: 0,
    attempts: 0,
    endpoint: "",
    ...UNSERVED,
    admission: "rejected",
    cache_status: ["off", "miss"],
    ttft_ms: 0,
    // made with the body; whether before the gate that refused is nobody's concern
    estimated_tokens: isBudget ? total : [0, total],
    // what is wrong with a body may be seen before its model is looked up
    model: isUnread || code === "validation_failed" ? ["", name] : name,
  };
}

function withoutSession({
  session_id: _id,
  session_id_source: _source,
  end_user: _user,
  ...rest
}: WantedRow): WantedRow {
  return rest;
}

/** How many attempts a call has by its script, and the status of the last one that was answered; 0: none was. */
function attemptsOf(call: Call, config: ModelConfig): { readonly count: number; readonly status: number } {
  // the file of a form may be gone
  const retries = call.route === "transcriptions" ? 0 : config.max_retries;
  let [count, left, freshLeft, answered] = [0, 1 + retries, 1, 0];
  while (left > 0) {
    const { status } = call.script[Math.min(count, call.script.length - 1)] ?? { status: 200 };
    count += 1;
    if (status !== 0) answered = status;
    if (!RETRIED.has(status)) break;
    if (status === 0 && freshLeft > 0) freshLeft -= 1;
    else left -= 1;
  }
  return { count, status: answered };
}

function answeredRows(done: Done, config: ModelConfig): readonly WantedRow[] {
  const { call, got, served } = done;
  const estimate = estimateOf(call);
  const { count, status } = attemptsOf(call, config);
  const base: WantedRow = {
    ...commonRow(done),
    ...NOTHING,
    model: call.model?.name ?? "",
    admission: ["fast", "queued"],
    estimated_tokens: estimate.total,
    endpoint: "",
    served_model: call.model?.name ?? "",
    upstream_model: config.upstream_model,
    attempts: count,
    upstream_status: status,
    cache_status: config.cache_enabled && call.route !== "transcriptions" ? "miss" : "off",
  };
  const last = served.at(-1);
  const tookMs = got.endMs - got.startMs;
  const isTimedOut = config.request_timeout_secs !== null && tookMs >= 1000 * config.request_timeout_secs;
  if (isTimedOut && got.status === 504)
    return [{ ...base, status_code: 504, upstream_status: 0, error_code: "upstream_timeout", attempts: served.length }];
  if (status === 0) return [{ ...base, status_code: 502, error_code: "upstream_failed" }];
  if (status !== 200) return [{ ...base, status_code: status >= 500 ? 502 : status, error_code: "" }];
  if (last === undefined) return [{ ...base, status_code: 200, attempts: -1 }];
  const isBroken = last.plan.end === "break" || (isTimedOut && got.text.includes('"upstream_stream_error"'));
  return owedTokens(done, config, last, estimate, { isBroken, isTimedOut }).map((tokens) => ({
    ...base,
    ...tokenFields(tokens),
    status_code: got.left ? 499 : 200,
    error_code: got.left ? "client_gone" : isBroken ? "upstream_stream_error" : "",
    ...(got.left && served.at(-1)?.plan.end === "hold" && !call.stream ? { upstream_status: 0 } : {}),
    cost_usd: costOf(call, config, tokens),
  }));
}

const tokenFields = (tokens: Tokens): WantedRow => ({
  input_tokens: tokens.input,
  output_tokens: tokens.output,
  total_tokens: tokens.input + tokens.output,
  cached_tokens: tokens.cached,
  cache_write_tokens: tokens.written,
  audio_input_tokens: tokens.audioIn,
  image_input_tokens: tokens.imageIn,
  reasoning_tokens: tokens.reasoning,
  audio_output_tokens: tokens.audioOut,
  image_output_tokens: tokens.imageOut,
  input_seconds: tokens.seconds,
});

/** The rows of a client that left before it had anything of its answer. */
function leftRows(done: Done, config: ModelConfig): Owed {
  const { call, served } = done;
  const gone = { status_code: 499, error_code: "client_gone", upstream_status: 0 };
  const unsent = { ...commonRow(done), ...NOTHING, ...gone, attempts: 0, endpoint: "", ...UNSERVED };
  const common = withoutSession({ ...unsent, model: ["", call.model?.name ?? ""] });
  if (call.leave?.when === "half") return { rows: "one", options: [common] };
  const unseen = { atMs: 0, model: "", plan: call.script[0] as Attempt, pieces: 0, text: "", cutOff: true };
  const sent = answeredRows({ ...done, served: served.length > 0 ? served : [unseen] }, config);
  const rows = call.leave?.when === "after" && served.length === 0 ? "maybe" : "one";
  return {
    rows,
    options: served.length > 0 && sent.length > 0 ? sent : [common, ...sent],
  };
}

/** What a hit of the response cache has, from the row of the answer that was stored. */
function hitRow(done: Done, stored: readonly Tokens[]): readonly WantedRow[] {
  return stored.map(({ input, output }) => ({
    ...commonRow(done),
    ...NOTHING,
    input_tokens: input,
    output_tokens: output,
    total_tokens: input + output,
    model: done.call.model?.name ?? "",
    admission: "fast",
    status_code: 200,
    error_code: "",
    upstream_status: 0,
    attempts: 0,
    endpoint: "",
    ...UNSERVED,
    cache_status: "hit",
    estimated_tokens: estimateOf(done.call).total,
    queue_wait_ms: 0,
  }));
}

const ENDED = { isBroken: false, isTimedOut: false };

/** docs/rules/freshness.md#store-down */
const STORE_DEADLINE_MS = 250;

/** What the ledger must have of a call. `sameBody`: the calls of its tenant whose stored answer it may have got. */
export function owedOf(done: Done, sameBody: readonly Done[]): Owed {
  const { call, got } = done;
  if (call.route === "models" && got.status === 200) return { rows: "none", options: [] };
  const [from, until] = [got.startMs, got.endMs];
  const code = errorCodeOf(done);
  // who is refused for the caller, which is checked first, has a row like any other
  if (call.wrong?.code === "unknown_endpoint" && (code === "" || code === "unknown_endpoint"))
    return { rows: "none", options: [] };
  if (got.headers["x-gateway-cache"] === "hit") {
    const stored = sameBody.flatMap((each) =>
      each.served
        .slice(-1)
        .flatMap((served) =>
          owedTokens(each, each.call.model?.config.now ?? NO_MODEL, served, estimateOf(each.call), ENDED),
        ),
    );
    return { rows: "one", options: hitRow(done, stored) };
  }
  if (BUDGET_CODES.has(code)) return { rows: "one", options: [refusedRow(done, { status: got.status ?? 0, code })] };
  const owed: Owed[] = [];
  const versions = [call.model?.config, call.key?.disabled, call.key?.tenant.status].map(
    (each) => each?.during(from, until).length ?? 1,
  );
  // a record that changes again while it is read again, or a store that a busy machine keeps from answering in time
  if (code === "key_store_unavailable" && (versions.some((count) => count > 1) || until - from >= STORE_DEADLINE_MS))
    return { rows: "one", options: [refusedRow(done, { status: 503, code })] };
  for (const config of call.model?.config.during(from, until) ?? [NO_MODEL])
    for (const isDisabled of call.key?.disabled.during(from, until) ?? [false])
      for (const status of call.key?.tenant.status.during(from, until) ?? ["active"]) {
        const refusals = refusalsOf(call, config, isDisabled, status);
        const stale = refusals.length > 0 && CHANGEABLE.has(code) ? [{ status: 403, code }] : [];
        const options = [...refusals, ...stale].map((each) => refusedRow(done, each));
        if (refusals.length > 0) owed.push({ rows: "one", options });
        else if (got.left && got.status === null) owed.push(leftRows(done, config));
        else owed.push({ rows: "one", options: answeredRows(done, config) });
      }
  return {
    rows: owed.every(({ rows }) => rows === "one") ? "one" : "maybe",
    options: owed.flatMap(({ options }) => options),
  };
}

/** Refusals that a change may have lifted: somebody who is refused anyway may be told of the record before the change. */
const CHANGEABLE: ReadonlySet<string> = new Set(["api_key_disabled", "tenant_not_active", "model_disabled"]);

const NO_MODEL: ModelConfig = {
  enabled: true,
  api_dialect: "openai",
  upstream_model: "",
  cache_enabled: false,
  max_retries: 0,
  request_timeout_secs: null,
  input_cost_per_token: 0,
  output_cost_per_token: 0,
  cached_input_cost_per_token: null,
  reasoning_output_cost_per_token: null,
  cache_write_cost_per_token: null,
  audio_input_cost_per_token: null,
  audio_output_cost_per_token: null,
  image_input_cost_per_token: null,
  image_output_cost_per_token: null,
  cost_per_image: 0,
  cost_per_character: 0,
  input_cost_per_second: 0,
};
