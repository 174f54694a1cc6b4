/**
 * The trace export: OTLP over HTTP in protobuf (docs/rules/tracing.md#trace-export). It exports at most every 5 s, or
 * when 512 spans wait; above 2,048 waiting spans, new ones are dropped. It never delays an answer, and a failed export
 * is only counted.
 */
import { ProtobufTraceSerializer } from "@opentelemetry/otlp-transformer";
import type { ReadableSpan } from "@opentelemetry/sdk-trace";
import type { EventCounter, FinishedCall, Traces } from "../ports.ts";
import { otlpSpansOf } from "./otlp-span.ts";

const EXPORT_EVERY_MS = 5_000;
const EXPORT_FROM_SPANS = 512;
const WAITING_MAX_SPANS = 2_048;
const DEADLINE_MS = 10_000;

interface OtlpTracesOptions {
  /** GATEWAY_OTEL_ENDPOINT. */
  readonly endpoint: string;
  readonly fetch: typeof fetch;
  readonly keepAlive: (work: Promise<unknown>) => void;
  readonly events: EventCounter;
}

export class OtlpTraces implements Traces {
  readonly enabled = true;
  readonly #options: OtlpTracesOptions;
  #waiting: ReadableSpan[] = [];
  /** The next export; null while no span waits. */
  #due: { readonly now: () => void } | null = null;

  constructor(options: OtlpTracesOptions) {
    this.#options = options;
  }

  add(call: FinishedCall): void {
    const spans = otlpSpansOf(call);
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
    try {
      const body = ProtobufTraceSerializer.serializeRequest(spans);
      if (body === undefined) throw new Error("not serialized");
      const response = await this.#options.fetch(`${this.#options.endpoint}/v1/traces`, {
        method: "POST",
        headers: { "content-type": "application/x-protobuf" },
        body: new Uint8Array(body),
        redirect: "manual",
        signal: AbortSignal.timeout(DEADLINE_MS),
      });
      await response.body?.cancel();
      if (!response.ok) throw new Error("refused");
    } catch {
      this.#drop(spans.length, "failed");
    }
  }

  #drop(spans: number, reason: "full" | "failed"): void {
    for (let n = 0; n < spans; n += 1)
      this.#options.events.count({ metric: "gateway_otel_spans_dropped_total", labels: [reason] });
  }
}

/** The exporter when GATEWAY_OTEL_ENDPOINT is not set. */
export const noTraces: Traces = { enabled: false, add: () => undefined };
