/**
 * The trace export: OTLP over HTTP in protobuf (docs/rules/tracing.md#trace-export). It exports at most every 5 s, or
 * when 512 spans wait; above 2,048 waiting spans, new ones are dropped. It never delays an answer. A failed export is
 * counted, and logged once and then once a minute.
 */
import { ProtobufTraceSerializer } from "@opentelemetry/otlp-transformer";
import { type Resource, resourceFromAttributes } from "@opentelemetry/resources";
import type { ReadableSpan } from "@opentelemetry/sdk-trace";
import { ATTR_SERVICE_NAME } from "@opentelemetry/semantic-conventions";
import { OutageLines } from "../../shared/text/outage-lines.ts";
import { rootCause } from "../../shared/text/root-cause.ts";
import type { Env } from "../env.ts";
import type { Clock, EventCounter, FinishedCall, Log, Traces } from "../ports.ts";
import { otlpSpansOf } from "./otlp-span.ts";

const EXPORT_EVERY_MS = 5_000;
const EXPORT_FROM_SPANS = 512;
const WAITING_MAX_SPANS = 2_048;

/** Where spans are sent, and with which headers. */
interface OtlpTarget {
  readonly url: string;
  /** They may hold credentials: nothing logs them. */
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly resource: Readonly<Record<string, string>>;
}

/**
 * The target by the variables, in their order of precedence (docs/rules/tracing.md#settings). Null: no variable names a collector.
 */
export function otlpTarget(otel: Env["otel"]): OtlpTarget | null {
  const base = otel.endpoint ?? (otel.tracesUrl === "" ? otel.standardEndpoint : null);
  if (base === null && otel.tracesUrl === "") return null;
  return {
    url: base === null ? otel.tracesUrl : `${base}/v1/traces`,
    headers: otel.headers ?? otel.standardHeaders ?? {},
    timeoutMs: otel.timeoutMs,
    resource: {
      [ATTR_SERVICE_NAME]: "gateway",
      ...otel.resourceAttributes,
      ...(otel.serviceName === "" ? {} : { [ATTR_SERVICE_NAME]: otel.serviceName }),
    },
  };
}

interface OtlpTracesOptions extends OtlpTarget {
  readonly fetch: typeof fetch;
  readonly clock: Clock;
  readonly keepAlive: (work: Promise<unknown>) => void;
  readonly events: EventCounter;
  readonly log: Log;
}

export class OtlpTraces implements Traces {
  readonly enabled = true;
  readonly #options: OtlpTracesOptions;
  readonly #resource: Resource;
  readonly #outage = new OutageLines();
  #waiting: ReadableSpan[] = [];
  /** The next export; null while no span waits. */
  #due: { readonly now: () => void } | null = null;

  constructor(options: OtlpTracesOptions) {
    this.#options = options;
    this.#resource = resourceFromAttributes(options.resource);
  }

  add(call: FinishedCall): void {
    const spans = otlpSpansOf(call, this.#resource);
    if (this.#waiting.length + spans.length > WAITING_MAX_SPANS) {
      this.#drop(spans.length, "full");
      return;
    }
    this.#waiting.push(...spans);
    if (this.#due === null) this.#schedule();
    if (this.#waiting.length >= EXPORT_FROM_SPANS) this.#due?.now();
  }

  #schedule(): void {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, EXPORT_EVERY_MS);
    this.#due = { now: resolve };
    this.#options.keepAlive(
      promise.then(async () => {
        clearTimeout(timer);
        this.#due = null;
        await this.#export(this.#waiting.splice(0));
      }),
    );
  }

  async #export(spans: ReadableSpan[]): Promise<void> {
    const { url, headers, timeoutMs, fetch, clock, log } = this.#options;
    try {
      const body = ProtobufTraceSerializer.serializeRequest(spans);
      if (body === undefined) throw new Error("not serialized");
      const response = await fetch(url, {
        method: "POST",
        headers: { ...headers, "content-type": "application/x-protobuf" },
        body: new Uint8Array(body),
        redirect: "manual",
        signal: AbortSignal.timeout(timeoutMs),
      });
      await response.body?.cancel();
      if (!response.ok) throw new Error(`http ${response.status}`);
      const facts = this.#outage.answered(clock());
      if (facts !== null) log.event("trace_export_available", { ...facts }, "info");
    } catch (error) {
      this.#drop(spans.length, "failed");
      const facts = this.#outage.failed(clock());
      const reason = `${new URL(url).host}: ${rootCause(error)}`;
      if (facts !== null) log.event("trace_export_failed", { reason, ...facts });
    }
  }

  #drop(spans: number, reason: "full" | "failed"): void {
    for (let n = 0; n < spans; n += 1)
      this.#options.events.count({ metric: "gateway_otel_spans_dropped_total", labels: [reason] });
  }
}

/** The exporter when no variable names a collector. */
export const noTraces: Traces = { enabled: false, add: () => undefined };
