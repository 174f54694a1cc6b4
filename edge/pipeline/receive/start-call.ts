/** Step 1: a request becomes a call with an id and a class. No body is read and no caller is known yet. */
import type { RequestTarget } from "../../domain/request/request-target.ts";
import { routeClassOf } from "../../domain/request/route-class.ts";
import { Trace } from "../../domain/trace/trace.ts";
import { type TraceContext, traceContextOf } from "../../domain/trace/trace-context.ts";
import type { Ports } from "../../ports.ts";
import { BoonRuns } from "../call/boon-runs.ts";
import { ClientBody } from "../call/client-body.ts";
import { type Call, type CalledLine, type IsolateMemory, OnceLatch, type PipelineConfig } from "../call/context.ts";
import { Interruption } from "../call/interruption.ts";
import { SharedTimer } from "../call/shared-timer.ts";

/** The input of the pipeline from the HTTP route. */
export interface PipelineInput {
  readonly ports: Ports;
  readonly config: PipelineConfig;
  readonly memory: IsolateMemory;
  readonly request: Request;
  /** Path and query of its URL. */
  readonly place: RequestTarget;
  readonly line?: CalledLine;
  readonly waitUntil: (work: Promise<unknown>) => void;
  readonly cutOff?: (reason: string) => void;
}

/** The envelope of a request that has just arrived. */
export function startCall(received: PipelineInput): Call {
  const { path, search, deployment = null } = received.place;
  const arrivedMs = received.ports.clock();
  return {
    ...received,
    path,
    search,
    deployment,
    body: new ClientBody(received.request),
    route: routeClassOf(path),
    requestId: received.line?.requestId ?? received.ports.random.uuid(),
    parentId: null,
    cleanups: [],
    headDue: Promise.withResolvers(),
    interruption: new Interruption(received.memory.interruption),
    timer: new SharedTimer(received.ports.clock),
    arrivedMs,
    trace: new Trace(arrivedMs),
    traceContext: received.ports.traces.enabled ? traceContext(received) : null,
    endReport: new OnceLatch(),
    boonRuns: new BoonRuns(),
  };
}

function traceContext({ request, ports }: PipelineInput): TraceContext {
  return traceContextOf(request.headers.get("traceparent"), () => ports.random.uuid().replaceAll("-", ""));
}
