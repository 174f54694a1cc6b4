/**
 * What the pipeline needs from the outside world, as interfaces. Adapters and objects implement them, deps.ts composes
 * them, tests hand in their own. Nothing here imports a platform.
 */

import type { Issue } from "../shared/alerts.ts";
import type { RevItem } from "../shared/internal.ts";
import type { HotSetting, McpServerRecord, ModelRecord, ResolvedKey, SettingsRecord } from "../shared/records.ts";
import type { UsageRow } from "../shared/usage-row.ts";
import type { AdmissionRequest, Admitted, CacheHit, PermitHandle } from "./domain/admission/rpc.ts";
import type { Identity } from "./domain/auth/identity.ts";
import type { BudgetLimits } from "./domain/budget/limits.ts";
import type { BucketLevel } from "./domain/budget/token-bucket.ts";
import type { MetricEvent } from "./domain/cell/event-counters.ts";
import type { SpanRecord } from "./domain/trace/trace.ts";
import type { TraceContext } from "./domain/trace/trace-context.ts";
import type { Transforms } from "./domain/transform/transform.ts";
import type { UpstreamOutcomes } from "./domain/upstream/attempt-outcomes.ts";
import type { EnergyTerms, PowerReading } from "./domain/usage/energy.ts";

/** Unix epoch ms. */
export type Clock = () => number;

/** Waiting: resolves after `ms`, or as soon as the signal aborts. Never rejects. */
export type Sleep = (ms: number, signal: AbortSignal) => Promise<void>;

/** Chance: identifiers, and fractions in [0, 1). */
interface Random {
  uuid(): string;
  fraction(): number;
}

/**
 * Where a looked-up record came from; `memory` may be older than the store until the Cell has compared its rev, also when
 * the store was to be asked and did not answer.
 */
export type RecordSource = "memory" | "store";

export interface Found<T> {
  readonly record: T;
  readonly source: RecordSource;
}

/**
 * The hot copies. Each lookup asks the isolate's memory, then the store. Null: the store answered and has no such
 * record (absence is never cached). Throws GatewayError `key_store_unavailable` when the store cannot be asked and
 * memory has no copy that may still be served (docs/rules/freshness.md#store-down).
 */
export interface Directory {
  key(keyHash: string, options?: LookupOptions): Promise<Found<ResolvedKey> | null>;
  model(modelName: string, options?: LookupOptions): Promise<Found<ModelRecord> | null>;
  mcpServer(name: string, options?: LookupOptions): Promise<Found<McpServerRecord> | null>;
  settings(name: HotSetting, options?: LookupOptions): Promise<Found<SettingsRecord> | null>;
  /** Every registered model, by model_name ascending. */
  models(): Promise<readonly ModelRecord[]>;
  /** Drops the copies that the Cell called stale, for good: stale-if-error no longer applies to them. */
  forget(items: readonly RevItem[]): void;
  /** The newest revision of kind `all` that this isolate has heeded; 0 at first. */
  epoch(): number;
}

export interface LookupOptions {
  /** Skip memory: a refusal rests on this record (docs/rules/freshness.md#refusals-are-read-again). */
  readonly fresh?: boolean;
}

/**
 * The Cell's answer to an admission request. What `sessionLost` returns resolves when the isolate's session with the Cell, by
 * which the request holds its slot, is lost: the request has to `adopt` a permit of its own then, or when it has run for long.
 * Null: it has one.
 */
export type AdmissionOutcome = Admitted<PermitHandle> & {
  readonly sessionLost?: () => Promise<void> | null;
  /** The request may have had a place, and a row, before: its next admission request says that it has waited. */
  readonly placeLost?: boolean;
};

/** What the Cell says to an answer that needs no slot. */
export interface CacheHitVerdict {
  /** Records that are newer than those that it rests on: it must not be given, and has no row. */
  readonly newer: readonly RevItem[];
  /** The bucket of its tenant; null without a cap, or not known. */
  readonly level: BucketLevel | null;
  /** Resolves when its row is durable, or has been handed to the Ledger. Never rejects. */
  readonly recorded: Promise<void>;
}

/**
 * The Cell, as seen from the pipeline. Throws GatewayError `scheduler_unavailable` when it cannot be reached
 * (docs/rules/admission.md#unavailable).
 */
export interface Admission {
  readonly cell: string;
  admit(request: AdmissionRequest): Promise<AdmissionOutcome>;
  /** A permit of its own for a slot that is in use: its session or its Cell was lost, or it has run for long. */
  adopt(request: AdmissionRequest): Promise<PermitHandle>;
  /** The row of a request without permit. Falls back to the Ledger when the Cell is beyond reach; never throws. */
  record(row: UsageRow, upstream?: UpstreamOutcomes): Promise<void>;
  /** One call for an answer that needs no slot: compares what it rests on, and takes its row unless that is outdated. */
  confirmHit(hit: CacheHit): Promise<CacheHitVerdict>;
  /** The row of a request whose permit failed to settle. Retries on a fresh stub, then hands it to the Ledger. */
  settleOrphan(row: UsageRow, upstream?: UpstreamOutcomes): Promise<void>;
  staleAmong(items: readonly RevItem[]): Promise<readonly RevItem[]>;
  /** The level of a tenant's bucket where nothing was reserved; null without a cap, or unknown. Never throws. */
  level(limits: BudgetLimits): Promise<BucketLevel | null>;
}

/** Terms of energy accounting, with the revision that they are of. */
export interface KnownTerms {
  /** Null: they cannot be read in this form. */
  readonly terms: EnergyTerms | null;
  readonly rev: number;
}

/** Energy accounting (docs/rules/energy.md#formulas); asked for models that take part in it only. Never throws. */
export interface Energy {
  /** Null: not known. */
  terms(): Promise<KnownTerms | null>;
  /** The last good reading, at most some seconds after it was taken; null: there is none. */
  reading(): Promise<PowerReading | null>;
}

/** A Request stands for its own body, unread: the runtime refuses to make a GET with a body, but lets one be passed on. */
export type UpstreamBody = Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | Request | null;

/** One call to an upstream. */
export interface UpstreamCall {
  readonly url: string;
  readonly method: string;
  /** By their names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: UpstreamBody;
  /** Client gone and deadline in one. */
  readonly signal: AbortSignal;
  /** The operator's own upstream, not an address that an admin registered: no address policy applies. */
  readonly trusted: boolean;
}

/** Never follows redirects. Rejects with UpstreamFailure when no response came. */
export interface Upstream {
  fetch(call: UpstreamCall): Promise<Response>;
}

/** What a look at an upstream's address found (docs/rules/upstream-calls.md#diagnostics). */
export interface Diagnosis {
  /** Null: could not be found out. */
  readonly dnsOk: boolean | null;
  readonly addresses: readonly string[];
  readonly portOpen: boolean;
  readonly elapsedMs: number;
  readonly error: string | null;
}

export interface Diagnostics {
  /** Looks at the address of a URL without sending anything there. Never rejects. */
  check(url: string): Promise<Diagnosis>;
}

/** A stored answer (docs/rules/response-cache.md#hits). */
export interface CacheEntry {
  readonly v: 1;
  readonly path: string;
  readonly status: 200;
  readonly content_type: string;
  /** Shared with every request that is given this answer: it is never changed. */
  readonly body: Uint8Array<ArrayBuffer>;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly stored_at_ms: number;
  /** What answered: an entry of another origin is no answer (pipeline/cache/response-cache.ts). */
  readonly origin: string;
}

/**
 * Which tenants the sessions of MCP servers belong to, by the server's name (docs/rules/mcp.md#sessions). Never throws:
 * a failed store knows none.
 */
export interface McpSessions {
  /** The ids of the tenants that any of these sessions is known to be of. */
  owners(server: string, ids: readonly string[]): Promise<readonly string[]>;
  /** They are this tenant's from now on, whichever tenant's they were: their server has given them to it. */
  remember(server: string, ids: readonly string[], tenantId: string): Promise<void>;
  /** They are in use: whose they are is kept for a day from now. */
  renew(server: string, ids: readonly string[]): Promise<void>;
  /** They have ended. */
  forget(server: string, ids: readonly string[]): Promise<void>;
}

export interface ResponseCache {
  /** Null: there is none, or the store failed. */
  lookup(tenantId: string, digest: string): Promise<CacheEntry | null>;
  /** Stored some ms later; then, or when that has failed, `release` is called: nothing holds the entry's body for it any more. */
  store(tenantId: string, digest: string, entry: CacheEntry, ttlSecs: number, release: () => void): void;
}

/** What became of an identity token. `unavailable`: the keys of its provider have never been read. */
export type TokenVerdict =
  | { readonly kind: "identity"; readonly identity: Identity }
  | { readonly kind: "refused" | "unavailable" };

/** Identity tokens of OIDC providers (docs/rules/identities.md#checks). */
export interface TokenVerifier {
  /** False when no provider is configured: then no credential is a token. */
  readonly enabled: boolean;
  verify(token: string): Promise<TokenVerdict>;
}

/** Makes the key of an identity that has none. True when it is there now; never throws. */
export interface IdentityProvisioner {
  provision(identity: Identity): Promise<boolean>;
}

/** Opens secrets of hot copies (`enc:v1:`). */
export interface SecretOpener {
  open(stored: string): Promise<string>;
}

/** Counts what leaves no usage row. Never waited for, never throws. */
export interface EventCounter {
  count(event: MetricEvent): void;
}

/** A call that has ended, as the trace export takes it. */
export interface FinishedCall {
  readonly context: TraceContext;
  readonly method: string;
  readonly row: UsageRow;
  /** Root first. */
  readonly spans: readonly SpanRecord[];
}

/** The trace export of every call. Adding never delays or fails a request. */
export interface Traces {
  /** False: there is nothing to export to, and calls need no trace context. */
  readonly enabled: boolean;
  add(call: FinishedCall): void;
}

/** Spans of traced requests. Sending never delays or fails a request. */
export interface Spans {
  send(requestId: string, spans: readonly SpanRecord[]): void;
}

/** What a line of the log says; undefined: nothing. */
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** One structured line per event; secrets never reach it. */
export interface Log {
  /** `warn` unless said otherwise: what is worth a line of its own is mostly something that failed. */
  event(name: string, fields: LogFields, level?: "info" | "warn" | "error"): void;
}

/**
 * Operational alerts (docs/rules/alerts.md#issues-and-texts). Never throws and never delays; what repeats is counted
 * and reported as a number.
 */
export interface Alerts {
  raise(issue: Issue): void;
}

export interface Ports {
  /** What changes requests on their way upstream, and their answers. */
  readonly transforms: Transforms;
  readonly clock: Clock;
  readonly sleep: Sleep;
  readonly random: Random;
  readonly directory: Directory;
  readonly admission: Admission;
  readonly energy: Energy;
  readonly upstream: Upstream;
  readonly diagnostics: Diagnostics;
  readonly responseCache: ResponseCache;
  readonly mcpSessions: McpSessions;
  readonly secrets: SecretOpener;
  readonly tokens: TokenVerifier;
  readonly identities: IdentityProvisioner;
  readonly alerts: Alerts;
  readonly events: EventCounter;
  readonly spans: Spans;
  readonly traces: Traces;
  readonly log: Log;
}
