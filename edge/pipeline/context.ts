/**
 * The record of one request, growing as it travels: what each step learned, so that whichever step ends the request can
 * write its row. Steps read what earlier steps wrote and never reach around them.
 */
import type { ModelRecord, ResolvedKey, ResolvedTenant } from "../../shared/records.ts";
import type { SsrfPolicy } from "../../shared/ssrf.ts";
import type { CacheStatus, RequestType } from "../../shared/usage-row.ts";
import type { BucketLevel } from "../domain/budget/token-bucket.ts";
import type { EndpointMemory } from "../domain/endpoint-memory.ts";
import type { JsonDocument } from "../domain/json-document.ts";
import type { SessionId } from "../domain/session-id.ts";
import type { TokenEstimate } from "../domain/token-estimate.ts";
import type { Ports } from "../ports.ts";

/** What of the configuration the pipeline needs. */
export interface PipelineConfig {
  readonly apiKeyPepper: string | undefined;
  readonly maxBodyBytes: number;
  readonly upstreamBaseUrl: string;
  readonly upstreamTimeoutMs: number;
  readonly sessionIdDerivation: boolean;
  /** What addresses registered by an admin may be called (decisions §16). */
  readonly ssrf: SsrfPolicy;
}

/** Memory of an isolate that outlives a request. */
export interface IsolateMemory {
  /** Model id -> until when its upstream is known to refuse `stream_options` (decisions §22.5), epoch ms. */
  readonly usageOptionRefused: Map<string, number>;
  /** Endpoints that failed lately. */
  readonly endpoints: EndpointMemory;
}

export interface Principal {
  readonly key: ResolvedKey;
  readonly tenant: ResolvedTenant;
}

export interface ParsedCall {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly document: JsonDocument;
  readonly modelName: string;
  readonly stream: boolean;
}

export interface Prepared {
  readonly session: SessionId;
  readonly estimate: TokenEstimate;
}

export interface Call {
  readonly ports: Ports;
  readonly config: PipelineConfig;
  readonly memory: IsolateMemory;
  readonly request: Request;
  readonly url: URL;
  readonly requestId: string;
  readonly requestType: RequestType;
  readonly arrivedMs: number;
  /** Keeps the isolate alive for work that outlives the response. */
  readonly waitUntil: (work: Promise<unknown>) => void;
  /** Learned on the way; what is still null was not reached. */
  readonly facts: {
    principal: Principal | null;
    /** The client's text of `model`. */
    modelText: string;
    model: ModelRecord | null;
    prepared: Prepared | null;
    cacheStatus: CacheStatus;
    queueWaitMs: number;
    /** When the upstream was called, epoch ms. */
    upstreamCalledMs: number | null;
    upstreamStatus: number;
    /** The tenant's bucket, once it was looked at; null: without a cap, or not known. */
    level: BucketLevel | null | undefined;
  };
}

/** The client left: there is nobody to answer. Its row is written where its permit ends. */
export class ClientGone extends Error {
  override readonly name = "ClientGone";
}

/** An error of a request whose row is on its way already; the cause is what the client is told. */
export class Settled extends Error {
  override readonly name = "Settled";

  constructor(cause: unknown) {
    super("settled", { cause });
  }
}
