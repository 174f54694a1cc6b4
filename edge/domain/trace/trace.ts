/**
 * The steps of one request as spans (docs/rules/tracing.md#spans). They are recorded for every request, because whether
 * it is traced is known only after its key is; they are passed on only when it is. Spans never contain a prompt, a
 * secret or an answer.
 */

export type SpanName =
  | "proxy_request"
  | "auth_resolve"
  | "auto_route"
  | "cache_lookup"
  | "admission"
  | "boon:compression"
  | "upstream"
  | "upstream_diagnostics"
  | "mcp_request"
  | "boon:vision"
  | "boon:tool_loop"
  | `boon:tool_loop:iter:${number}`
  | "boon:structured_repair"
  | "boon:guardrails_input"
  | "boon:guardrails_output";

/** Plain facts by name; a list contains names, addresses or numbers, an object counts. */
type SpanAttributes = Readonly<
  Record<
    string,
    string | number | boolean | null | readonly string[] | readonly number[] | Readonly<Record<string, number>>
  >
>;

/** A finished span. Times in Unix epoch ms; `parent_span` is "" for the root. */
export interface SpanRecord {
  readonly span_name: SpanName;
  readonly parent_span: SpanName | "";
  readonly start_ms: number;
  readonly duration_ms: number;
  readonly status: "ok" | "error";
  readonly attributes: SpanAttributes;
}

/** A span in progress. It may be ended more than once: the last end counts. */
export class OpenSpan {
  readonly name: SpanName;
  readonly startMs: number;
  /** Its position among the root's children. */
  readonly position: number;
  readonly parent: SpanName;
  #endMs: number | null = null;
  #failed = false;
  readonly #attributes: Record<string, SpanAttributes[string]> = {};

  constructor(name: SpanName, startMs: number, position = 0, parent: SpanName = "proxy_request") {
    this.name = name;
    this.startMs = startMs;
    this.position = position;
    this.parent = parent;
  }

  set(attributes: SpanAttributes): void {
    Object.assign(this.#attributes, attributes);
  }

  fail(): void {
    this.#failed = true;
  }

  end(nowMs: number): void {
    this.#endMs = nowMs;
  }

  /** Until its end, or until now. */
  durationMs(nowMs: number): number {
    return Math.max(0, (this.#endMs ?? nowMs) - this.startMs);
  }

  /** The record of the span; a span that has not ended by then was cut off. */
  record(parent: SpanName | "", nowMs: number): SpanRecord {
    return {
      span_name: this.name,
      parent_span: parent,
      start_ms: this.startMs,
      duration_ms: this.durationMs(nowMs),
      status: this.#failed || this.#endMs === null ? "error" : "ok",
      attributes: { ...this.#attributes },
    };
  }
}

export class Trace {
  readonly #startMs: number;
  readonly #spans: OpenSpan[] = [];

  constructor(startMs: number) {
    this.#startMs = startMs;
  }

  /** A child of the root, or of another span. */
  begin(name: SpanName, nowMs: number, parent: SpanName = "proxy_request"): OpenSpan {
    const span = new OpenSpan(name, nowMs, this.#spans.length, parent);
    this.#spans.push(span);
    return span;
  }

  /** The first span of this name; undefined if there is none yet. */
  first(name: SpanName): OpenSpan | undefined {
    return this.#spans.find((span) => span.name === name);
  }

  /** How many spans have this name so far. */
  count(name: SpanName): number {
    return this.#spans.filter((span) => span.name === name).length;
  }

  /** How long the steps took, ms; steps with the same name are added up. */
  durations(nowMs: number): Partial<Record<SpanName, number>> {
    const spent: Partial<Record<SpanName, number>> = {};
    for (const span of this.#spans) spent[span.name] = (spent[span.name] ?? 0) + span.durationMs(nowMs);
    return spent;
  }

  /** How long the steps of one name took together, ms. */
  spentMs(name: SpanName, nowMs: number): number {
    return this.#spans.reduce((sum, span) => sum + (span.name === name ? span.durationMs(nowMs) : 0), 0);
  }

  /** The root first, then its children in order of their start. */
  records(
    root: { readonly statusCode: number; readonly attributes: SpanAttributes },
    nowMs: number,
  ): readonly SpanRecord[] {
    const whole = new OpenSpan("proxy_request", this.#startMs);
    whole.set(root.attributes);
    if (root.statusCode >= 400) whole.fail();
    whole.end(nowMs);
    return [whole.record("", nowMs), ...this.#spans.map((span) => span.record(span.parent, nowMs))];
  }
}
