/**
 * Step 1: a request becomes a call with an id and a class. No body is read and nobody is known yet.
 */
import type { RequestTarget } from "../../domain/routing/request-target.ts";
import { routeClassOf } from "../../domain/routing/route-class.ts";
import { Trace } from "../../domain/trace/trace.ts";
import { type TraceContext, traceContextOf } from "../../domain/trace/trace-context.ts";
import type { Ports } from "../../ports.ts";
import { SharedTimer } from "../timers/shared-timer.ts";
import type { Call, IsolateMemory, PipelineConfig } from "./context.ts";

export interface PipelineInput {
  readonly ports: Ports;
  readonly config: PipelineConfig;
  readonly memory: IsolateMemory;
  readonly request: Request;
  /** Where its URL leads. */
  readonly place: RequestTarget;
  readonly waitUntil: (work: Promise<unknown>) => void;
}

/** Starts the record of a request. */
export function startCall(received: PipelineInput): Call {
  const { path, search } = received.place;
  const arrivedMs = received.ports.clock();
  return {
    ...received,
    path,
    search,
    route: routeClassOf(path),
    requestId: received.ports.random.uuid(),
    cleanups: [],
    timer: new SharedTimer(received.ports.clock),
    arrivedMs,
    trace: new Trace(arrivedMs),
    traceContext: received.ports.traces.enabled ? traceContext(received) : null,
    facts: {
      principal: null,
      identity: null,
      modelText: "",
      model: null,
      energy: null,
      prepared: null,
      cacheStatus: "off",
      queueWaitMs: 0,
      queueEntryUnknown: false,
      upstreamCalledMs: null,
      upstreamUnderWay: false,
      upstreamStatus: 0,
      endpoint: "",
      level: undefined,
      upstreamOutcomes: {},
      unread: null,
      mcpServer: null,
      failure: null,
      readerStalled: false,
      reported: false,
    },
  };
}

function traceContext({ request, ports }: PipelineInput): TraceContext {
  return traceContextOf(request.headers.get("traceparent"), () => ports.random.uuid().replaceAll("-", ""));
}
