/**
 * What the pipeline needs from the outside, as interfaces, composed in deps.ts. Nothing here imports a platform.
 */
import type { Issue } from "../shared/alerts.ts";
import type { HotSetting, McpServerRecord, ModelRecord, ResolvedKey, SettingsRecord } from "../shared/records.ts";
import type { RenewKeyHash } from "../shared/schema/key-hash.ts";
import type { UsageRow } from "../shared/usage/usage-row.ts";
import type { RevItem } from "../shared/wire/internal.ts";
import type { Captures } from "./captures.ts";
import type { AdmissionRequest, CacheHit, Decision, Settlement, Stale } from "./domain/admission/rpc.ts";
import type { BudgetLimits } from "./domain/budget/limits.ts";
import type { BucketLevel } from "./domain/budget/token-bucket.ts";
import type { CountedEvent, MetricEvent } from "./domain/cell/event-counters.ts";
import type { SchemaValidator } from "./domain/json-schema/check-value.ts";
import type { Identity } from "./domain/request/identity.ts";
import type { SpanRecord } from "./domain/trace/trace.ts";
import type { TraceContext } from "./domain/trace/trace-context.ts";
import type { UpstreamOutcomes } from "./domain/upstream/attempt-outcomes.ts";
import type { Transforms } from "./domain/upstream/transform.ts";
import type { BilledTokens } from "./domain/usage/billing.ts";
import type { EnergyTerms, PowerReading } from "./domain/usage/energy.ts";
import type { ContentCoding } from "./domain/wire/content-coding.ts";
import type { LineAnswers } from "./line-answers.ts";

/** Unix epoch ms. */
export type Clock = () => number;

/** Resolves after `ms`, or as soon as the signal aborts. Never rejects. */
export type Sleep = (ms: number, signal: AbortSignal) => Promise<void>;

/** Random identifiers, and fractions in [0, 1). */
interface Random {
  uuid(): string;
  fraction(): number;
}

/**
 * The source of a record that was looked up. A record from `memory` may be older than the store's until the Cell has
 * compared its rev; it is also the source when the store should have been read and did not answer.
 */
export type RecordSource = "memory" | "store";

export interface Found<T> {
  readonly record: T;
  readonly source: RecordSource;
}

/**
 * The hot copies. Each lookup reads the isolate's memory, then the store. Null: the store answered and has no such
 * record (absence is never cached). Throws GatewayError `key_store_unavailable` when the store cannot be read and
 * memory has no copy that may still be used (docs/rules/freshness.md#store-down).
 */
export interface Directory {
  key(keyHash: string, options?: LookupOptions): Promise<Found<ResolvedKey> | null>;
  model(modelName: string, options?: LookupOptions): Promise<Found<ModelRecord> | null>;
  mcpServer(name: string, options?: LookupOptions): Promise<Found<McpServerRecord> | null>;
  settings(name: HotSetting, options?: LookupOptions): Promise<Found<SettingsRecord> | null>;
  /** Every registered model, by model_name ascending. */
  models(): Promise<readonly ModelRecord[]>;
  /** Permanently drops the copies that the Cell called stale: stale-if-error no longer applies to them. */
  forget(items: readonly RevItem[]): void;
  /** The newest revision of kind `all` that this isolate has applied; 0 at first. */
  epoch(): number;
}

export interface LookupOptions {
  /** Skips memory: a refusal rests on this record (docs/rules/freshness.md#refusals-are-read-again). */
  readonly fresh?: boolean;
  /** Of a key: other hashes to look under if it is not found. */
  readonly oldHashes?: readonly string[];
}

/**
 * What a request holds at its Cell: a slot, a place in the queue, or a refusal whose row will follow. It lasts until one of its
 * methods ends it, or the request's code.
 */
export interface Permit {
  /**
   * Of a request that waits: resolves when it is granted, refused, or to be checked again. Throws GatewayError
   * `scheduler_unavailable` when the Cell has been away for too long, and another error when the place is lost.
   */
  decision(): Promise<Decision | Stale>;
  /** Ends the request. Resolves when its row is durable, or was given up after every attempt. Never rejects. */
  settle(settlement: Settlement): Promise<void>;
  /** Gives it up without an end: the Cell settles it, at the estimate when it ran. */
  leave(): void;
  /** Calls `run` when the slot may be another's: the request must end at once. Absent: that cannot happen. */
  whenLost?(run: () => void): void;
}

/** The Cell's answer to an admission request; it comes at once, also when the request must wait. A stale one has no permit. */
export type AdmissionOutcome = ((Decision | { readonly verdict: "waiting" }) & { readonly permit: Permit }) | Stale;

/** Makes a call to an object: `call` gets a stub and sends. */
export type MakeCall = <T>(call: () => Promise<T>) => Promise<T>;

/** The Cell's verdict on an answer that needs no slot. */
export interface CacheHitVerdict {
  /** Newer records than those that the answer rests on: it must not be given, and has no row. */
  readonly newer: readonly RevItem[];
  /** The bucket level of its tenant; null without a cap, or when it is not known. */
  readonly level: BucketLevel | null;
  /** Resolves when its row is durable, or has been handed to the Ledger. Never rejects. */
  readonly recorded: Promise<void>;
}

/** Who waits for the verdict on a hit. */
export interface HitWaiter {
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal;
  /** When the caller's access ends, or may end, epoch ms; null: never. */
  readonly openUntilMs: number | null;
}

/** The calls of a request to its Cell without admission. */
export interface CellView {
  /** The items for which the Cell knows a newer one. Throws GatewayError `scheduler_unavailable`. */
  staleAmong(items: readonly RevItem[]): Promise<readonly RevItem[]>;
  /** The same for repeated calls: an unavailable Cell is neither logged nor an alert. Throws what the call throws. */
  changedAmong(items: readonly RevItem[]): Promise<readonly RevItem[]>;
  /** The level of a tenant's bucket when nothing was reserved; null without a cap, or unknown. Never throws. */
  level(limits: BudgetLimits): Promise<BucketLevel | null>;
  /** How many requests of each model hold a slot of the cell; models without one are left out. */
  inFlightByModel(): Promise<ReadonlyMap<string, number>>;
}

/**
 * The Cell, as seen from the pipeline. Throws GatewayError `scheduler_unavailable` when it cannot be reached
 * (docs/rules/admission.md#unavailable).
 */
export interface Admission {
  readonly cell: string;
  readonly view: CellView;
  /** `before`: what the request held at the Cell until now. A sub-call gets no slot, and waits for none. */
  admit(request: AdmissionRequest, before?: Permit | null): Promise<AdmissionOutcome>;
  /** Takes the row of a request without permit. Uses the Ledger when the Cell is unreachable; never throws. */
  record(row: UsageRow, upstream?: UpstreamOutcomes): Promise<void>;
  /**
   * One call for an answer that needs no slot: compares the records that it rests on, and takes its row unless one is outdated.
   * Null: the caller's access has ended, or may have, while the answer waited, so it must be checked again.
   */
  confirmHit(hit: CacheHit, waiter: HitWaiter): Promise<CacheHitVerdict | null>;
  /** Takes the row of a request that the Cell may know; never throws. */
  settleOrphan(row: UsageRow, upstream?: UpstreamOutcomes): Promise<void>;
}

/** Terms of energy accounting, with their revision. */
export interface KnownTerms {
  /** Null: this gateway cannot read their form. */
  readonly terms: EnergyTerms | null;
  readonly rev: number;
}

/** Energy accounting (docs/rules/energy.md#formulas); used only for models that take part in it. Never throws. */
export interface Energy {
  /** Null when they are not known. */
  terms(): Promise<KnownTerms | null>;
  /** The last good reading, a few seconds old at most; null if there is none. */
  reading(): Promise<PowerReading | null>;
}

/**
 * A Request stands for its own unread body: the runtime refuses to make a GET with a body, but passes an incoming one
 * on.
 */
export type UpstreamBody = Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | Request | null;

/** One call to an upstream. */
export interface UpstreamCall {
  readonly url: string;
  readonly method: string;
  /** Header names are in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: UpstreamBody;
  /** Aborts when the client is gone or the deadline has passed. */
  readonly signal: AbortSignal;
  /** The operator's own upstream, not an address that an admin registered: no address policy applies. */
  readonly trusted: boolean;
}

/** Never follows redirects. Rejects with UpstreamFailure when no response came. */
export interface Upstream {
  fetch(call: UpstreamCall): Promise<Response>;
}

/** The result of checking an upstream's address (docs/rules/upstream-calls.md#diagnostics). */
export interface Diagnosis {
  /** Null: not known. */
  readonly dnsOk: boolean | null;
  readonly addresses: readonly string[];
  readonly portOpen: boolean;
  readonly elapsedMs: number;
  readonly error: string | null;
}

export interface Diagnostics {
  /** Checks the address of a URL without sending anything there. Never rejects. */
  check(url: string): Promise<Diagnosis>;
}

/** A stored answer (docs/rules/response-cache.md#hits). */
export interface CacheEntry {
  readonly v: 1;
  readonly path: string;
  readonly status: 200;
  readonly content_type: string;
  /** Shared with every request that gets this answer: it never changes. */
  readonly body: Uint8Array<ArrayBuffer>;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly stored_at_ms: number;
  /** What gave the answer: an entry of another origin does not count (pipeline/cache/response-cache.ts). */
  readonly origin: string;
}

/**
 * The tenants of the sessions of MCP servers, by the server's name (docs/rules/mcp.md#sessions). Only `owners` throws: when
 * the store fails, and this isolate has not seen the sessions.
 */
export interface McpSessions {
  /** The ids of the tenants to which these sessions are known to belong. */
  owners(server: string, ids: readonly string[]): Promise<readonly string[]>;
  /** Makes the sessions this tenant's from now on, whichever tenant's they were: their server has given them to it. */
  remember(server: string, ids: readonly string[], tenantId: string): Promise<void>;
  /** Reports that the tenant uses the sessions: those that are its own are kept for a day from now. */
  renew(server: string, ids: readonly string[], tenantId: string): Promise<void>;
  /** Forgets sessions of the tenant that have ended. */
  forget(server: string, ids: readonly string[], tenantId: string): Promise<void>;
}

/** Tokens of an answer, and how many of them its tenant owes. */
export interface TokenCounts {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** Where an object of an upstream is: the name of the upstream ({@link Target.key}), and the model that was called. */
export interface ObjectPlace {
  readonly upstream: string;
  readonly model: string;
  /** The charge of an answer that its upstream may still be making, and who is charged; absent: nothing more is owed. */
  readonly charged?: TokenCounts & { readonly endUser: string };
}

/** The tenants that were given the ids of objects of upstreams (docs/rules/routes.md#objects-of-upstreams). */
export interface UpstreamObjects {
  /**
   * For each id its place, if the tenant was the first that was given it; `foreign`: only others were; `shared`: it was, after
   * another one; null: it is unknown. Throws when the store fails, and this isolate has not seen every one.
   */
  places(tenantId: string, ids: readonly string[]): Promise<readonly (ObjectPlace | "foreign" | "shared" | null)[]>;
  /**
   * Resolves when other isolates know them too, or the store has failed: then it is tried again. `isAwaited` false: resolves at
   * once. Never throws.
   */
  remember(tenantId: string, ids: readonly string[], place: ObjectPlace, isAwaited?: boolean): Promise<void>;
  /**
   * The part of the tenant's debt for an answer, beyond its charge when it was made, that nobody else has taken over: neither a
   * reader of the answer nor the request that made it. Null while the store fails. Never throws.
   */
  takeOver(tenantId: string, id: string, owed: BilledTokens): Promise<BilledTokens | null>;
}

export interface ResponseCache {
  /** Null: there is no entry, or the store failed. */
  lookup(tenantId: string, digest: string): Promise<CacheEntry | null>;
  /**
   * Stores the entry some ms later. `release` is called when it is stored, or when that failed: the cache then no
   * longer holds the entry's body.
   */
  store(tenantId: string, digest: string, entry: CacheEntry, ttlSecs: number, release: () => void): void;
}

/** The result for an identity token. `unavailable`: the keys of its provider have never been read. */
export type TokenVerdict =
  | { readonly kind: "identity"; readonly identity: Identity }
  | { readonly kind: "refused" | "unavailable" };

/** Identity tokens of OIDC providers (docs/rules/identities.md#checks). */
export interface TokenVerifier {
  /** False when no provider is configured: then no credential is taken to be a token. */
  readonly enabled: boolean;
  verify(token: string): Promise<TokenVerdict>;
}

/** Makes a key for an identity that has none. True when the key exists now; never throws. */
export interface IdentityProvisioner {
  provision(identity: Identity): Promise<boolean>;
}

/** Renews the stored hash of a key that was found under an old one; never throws, and nobody waits for it. */
export interface KeyHashes {
  renew(renewal: RenewKeyHash): void;
}

/** Opens the sealed secrets of hot copies (`enc:v1:`). */
export interface SecretOpener {
  open(stored: string): Promise<string>;
}

/** Counts events that leave no usage row: one, or several with how often. Never awaited, never throws. */
export interface EventCounter {
  count(event: MetricEvent | readonly CountedEvent[]): void;
}

/** A call that has ended, as the trace export takes it. */
export interface FinishedCall {
  readonly context: TraceContext;
  readonly method: string;
  /** Base URL of the upstream that was called last; "" without one. */
  readonly apiBase: string;
  readonly row: UsageRow;
  /** The root span comes first. */
  readonly spans: readonly SpanRecord[];
}

/** The trace export of every call. Adding a call never delays a request and never makes it fail. */
export interface Traces {
  /** False: there is no export, and calls need no trace context. */
  readonly enabled: boolean;
  add(call: FinishedCall): void;
}

/** Spans of traced requests. Sending never delays a request and never makes it fail. */
export interface Spans {
  send(requestId: string, spans: readonly SpanRecord[]): void;
}

/** The fields of a log line; undefined: the field is left out. */
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** One structured line per event; secrets never reach it. */
export interface Log {
  /** `warn` by default: most events with their own line are failures. */
  event(name: string, fields: LogFields, level?: "info" | "warn" | "error"): void;
}

/**
 * Operational alerts (docs/rules/alerts.md#issues-and-texts). Never throws and never delays; repeats are counted and
 * reported as a number.
 */
export interface Alerts {
  raise(issue: Issue): void;
}

/** The texts that compression has replaced by references (docs/rules/compression.md#deduplication). Never throws. */
export interface Originals {
  /** Keeps a tenant's texts, by their SHA-256 in hex. False: not all of them are kept. */
  keep(tenantId: string, texts: ReadonlyMap<string, string>, ttlSecs: number): Promise<boolean>;
  /** Null: none is left, or the store failed. */
  load(tenantId: string, sha256: string): Promise<string | null>;
}

/** The compression sidecar (docs/rules/compression.md#sidecar). */
export interface Compressor {
  /** False: none is configured. */
  readonly enabled: boolean;
  /**
   * How much each sentence of each segment says about the query: finite numbers, as many as there are sentences. Null:
   * the sidecar failed, was late, or answered something else. Never throws.
   */
  score(segments: readonly (readonly string[])[], query: string): Promise<readonly (readonly number[])[] | null>;
}

/** What a body is without its coding. The iterator throws when the body is not in it. */
export type Decode = (
  coding: ContentCoding,
  source: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
) => AsyncIterable<Uint8Array<ArrayBuffer>>;

export interface Ports {
  /** The transforms of requests on their way upstream, and of their answers. */
  readonly transforms: Transforms;
  readonly validateSchema: SchemaValidator;
  readonly clock: Clock;
  readonly sleep: Sleep;
  readonly random: Random;
  readonly directory: Directory;
  readonly admission: Admission;
  readonly energy: Energy;
  readonly upstream: Upstream;
  readonly decode: Decode;
  readonly diagnostics: Diagnostics;
  readonly responseCache: ResponseCache;
  readonly mcpSessions: McpSessions;
  readonly upstreamObjects: UpstreamObjects;
  readonly originals: Originals;
  readonly lineAnswers: LineAnswers;
  readonly captures: Captures;
  readonly compressor: Compressor;
  readonly secrets: SecretOpener;
  readonly tokens: TokenVerifier;
  readonly identities: IdentityProvisioner;
  readonly keyHashes: KeyHashes;
  readonly alerts: Alerts;
  readonly events: EventCounter;
  readonly spans: Spans;
  readonly traces: Traces;
  readonly log: Log;
}
