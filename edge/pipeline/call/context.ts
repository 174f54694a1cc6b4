/**
 * The record of one request, growing as it travels: what each step learned, so that whichever step ends the request can
 * write its row. Steps read what earlier steps wrote and never reach around them.
 */
import type { Measure } from "../../../shared/cost.ts";
import type { GatewayError } from "../../../shared/errors.ts";
import type { ModelRecord, ResolvedKey, ResolvedTenant } from "../../../shared/records.ts";
import type { SsrfPolicy } from "../../../shared/ssrf.ts";
import type { CacheStatus } from "../../../shared/usage-row.ts";
import type { Identity } from "../../domain/auth/identity.ts";
import type { BucketLevel } from "../../domain/budget/token-bucket.ts";
import type { JsonDocument } from "../../domain/json/document.ts";
import type { SessionId } from "../../domain/request/session-id.ts";
import type { TokenEstimate } from "../../domain/request/token-estimate.ts";
import type { RouteClass } from "../../domain/routing/route-class.ts";
import type { Trace } from "../../domain/trace/trace.ts";
import type { TraceContext } from "../../domain/trace/trace-context.ts";
import type { UpstreamOutcomes } from "../../domain/upstream/attempt-outcomes.ts";
import type { EndpointFailures } from "../../domain/upstream/endpoint-failures.ts";
import type { KnownTerms, Ports, UpstreamBody } from "../../ports.ts";
import type { MemoryBudget } from "../memory/memory-budget.ts";
import type { RequestBodyMemory } from "../memory/request-body-memory.ts";
import type { SharedTimer } from "../timers/shared-timer.ts";

/** What of the configuration the pipeline needs. */
export interface PipelineConfig {
  readonly apiKeyPepper: string | undefined;
  readonly maxBodyBytes: number;
  readonly upstreamBaseUrl: string;
  readonly upstreamTimeoutMs: number;
  /** A client that takes nothing of an answer for so long is cut off; 0: never. */
  readonly stalledReaderMs: number;
  readonly sessionIdDerivation: boolean;
  /** The paths besides the documented ones that are forwarded; null: every one that is no account's (decisions §43.1). */
  readonly passthroughPaths: ReadonlySet<string> | null;
  /** What addresses registered by an admin may be called (decisions §16). */
  readonly ssrf: SsrfPolicy;
}

/** Memory of an isolate that outlives a request. */
export interface IsolateMemory {
  /**
   * Until when an upstream is known to refuse `stream_options` (decisions §22.5), epoch ms, by its model's id and name and its
   * own address: another address, or another name, is another upstream.
   */
  readonly usageOptionRefused: Map<string, number>;
  /** Whether an upstream's address may be called, by the address. */
  readonly addresses: Map<string, boolean>;
  /** Room for large request bodies. */
  readonly bodyRoom: RequestBodyMemory;
  /** Room for answers that have to be held on their way. */
  readonly answerRoom: MemoryBudget;
  /** Room for those that are held to be stored. */
  readonly cacheRoom: MemoryBudget;
  /** Endpoints that failed lately. */
  readonly endpoints: EndpointFailures;
}

/** A model's name is no longer than this, and of a longer one this much is told, in characters. */
export const MODEL_TEXT_MAX = 200;

export interface Principal {
  readonly key: ResolvedKey;
  readonly tenant: ResolvedTenant;
}

/** A body of which something may be left. */
interface UnreadBody {
  /** Nothing is left to be read. */
  readonly ended: boolean;
  /** Reads the rest and throws it away. Never rejects. */
  discard(): Promise<void>;
}

/** The client's body as it goes upstream: its own bytes, but for `model` (decisions §17.4). */
export interface OutgoingBody {
  /** A form: one attempt and the one on a fresh connection, no failover (decisions §22.2). */
  readonly form: boolean;
  /** False once bytes that cannot be had again have left: from then on the body is not sent anew. */
  readonly resendable: boolean;
  /** What the client did wrong, or that it left, while its body streamed upstream: what it is told instead of a failed call. */
  readonly fault: GatewayError | ClientGone | null;
  /** Reads away what the client still sends, also from an upstream that has answered without it; null: nothing is left. */
  readonly readRest: (() => Promise<void>) | null;
  /** The client's bytes in order, when the body is a JSON document; null for everything else and after `release`. */
  readonly clientBytes: readonly Uint8Array[] | null;
  /**
   * The body of one attempt; `addUsage` asks for the usage event of a stream. `onFault` is told once there is a `fault`: the
   * call has to be ended then, for a stream that fails may look to the upstream like one that is over.
   */
  open(upstreamModel: string, addUsage: boolean, onFault: () => void): UpstreamBody;
  /** Nothing is sent any more: lets go of what was kept for a further attempt. */
  release(): void;
}

export interface ParsedCall {
  /** The JSON document, or the fields of a form; those of a form grow while its file streams. */
  readonly document: JsonDocument;
  readonly modelName: string;
  readonly stream: boolean;
  readonly outgoing: OutgoingBody;
}

export interface Prepared {
  readonly session: SessionId;
  readonly estimate: TokenEstimate;
  /** What the route is billed by; of a form whose file is still under way it may yet change. */
  readonly measure: () => Measure;
}

export interface Call {
  readonly ports: Ports;
  readonly config: PipelineConfig;
  readonly memory: IsolateMemory;
  readonly request: Request;
  /** Of its URL, letters as they are written. */
  readonly path: string;
  /** Of its URL, with its question mark; "" without a query. */
  readonly search: string;
  readonly requestId: string;
  readonly route: RouteClass;
  readonly arrivedMs: number;
  /** Gives back what steps acquired until the request is forwarded; called then, or before its refusal is answered. */
  readonly cleanups: (() => void)[];
  /** What the call waits for at most. */
  readonly timer: SharedTimer;
  /** Keeps the isolate alive for work that outlives the response. */
  readonly waitUntil: (work: Promise<unknown>) => void;
  /** What it did when; kept only of traced keys and tenants. */
  readonly trace: Trace;
  /** Its place in a distributed trace; null without an export. */
  readonly traceContext: TraceContext | null;
  /** Learned on the way; what is still null was not reached. */
  readonly facts: {
    principal: Principal | null;
    /** Who the caller's identity token speaks of; null without one. */
    identity: Identity | null;
    /** The start of the client's text of `model`; for the log, never for a row. */
    modelText: string;
    model: ModelRecord | null;
    /** What its energy costs; null when the model takes no part in energy accounting. */
    energy: KnownTerms | null;
    prepared: Prepared | null;
    cacheStatus: CacheStatus;
    queueWaitMs: number;
    /** The Cell may hold a place for the request of which nobody here has heard. */
    queueEntryUnknown: boolean;
    /** When the upstream was called, epoch ms. */
    upstreamCalledMs: number | null;
    /** An attempt has been sent and has not ended: whoever leaves now is billed (decisions §23.4). */
    upstreamUnderWay: boolean;
    upstreamStatus: number;
    /** Name of the endpoint that was called last; "" without one. */
    endpoint: string;
    /** The tenant's bucket, once it was looked at; null: without a cap, or not known. */
    level: BucketLevel | null | undefined;
    /** How attempts ended so far. */
    readonly upstreamOutcomes: UpstreamOutcomes;
    /** The body, once somebody reads it: what nobody has read of it is read away before its client is refused. */
    unread: UnreadBody | null;
    /** Name of the MCP server that was called, `unknown` when none is registered; null for everything else. */
    mcpServer: string | null;
    /** What the call failed with, as it was thrown; null while it has not. */
    failure: unknown;
    /** The client took nothing of its answer, and was cut off. */
    readerStalled: boolean;
    /** Its end has been told (tell-end.ts). */
    reported: boolean;
  };
}

/** The client left: there is nobody to answer. Its row is written where its permit ends. */
export class ClientGone extends Error {
  override readonly name = "ClientGone";
}

/** An error of a request whose row is on its way already; the cause is what the client is told. */
export class AlreadySettled extends Error {
  override readonly name = "Settled";

  constructor(cause: unknown) {
    super("settled", { cause });
  }
}
