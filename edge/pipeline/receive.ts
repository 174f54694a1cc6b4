/**
 * Step 1: a request becomes a call with an id and a class. No body is read and nobody is known yet.
 */
import type { Place } from "../domain/place.ts";
import { routeClassOf } from "../domain/route-class.ts";
import { Trace } from "../domain/trace.ts";
import { type TraceContext, traceContextOf } from "../domain/trace-context.ts";
import type { Ports } from "../ports.ts";
import type { Call, IsolateMemory, PipelineConfig } from "./context.ts";
import { FirstLook } from "./first-look.ts";

export interface Received {
  readonly ports: Ports;
  readonly config: PipelineConfig;
  readonly memory: IsolateMemory;
  readonly request: Request;
  /** Where its URL leads. */
  readonly place: Place;
  readonly waitUntil: (work: Promise<unknown>) => void;
}

/** Starts the record of a request. */
export function receive(received: Received): Call {
  const { path, search } = received.place;
  const arrivedMs = received.ports.clock();
  return {
    ...received,
    path,
    search,
    route: routeClassOf(path),
    requestId: received.ports.random.uuid(),
    cleanups: [],
    waits: new FirstLook(received.ports.clock),
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
      placeUnknown: false,
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
      told: false,
    },
  };
}

function traceContext({ request, ports }: Received): TraceContext {
  return traceContextOf(request.headers.get("traceparent"), () => ports.random.uuid().replaceAll("-", ""));
}
