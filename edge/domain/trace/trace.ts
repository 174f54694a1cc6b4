/**
 * What one request did, as spans (specification "Span", decisions §38). Recorded for every request, because whether it is
 * traced is known only after its key is; handed on only when it is. Spans never hold a prompt, a secret or an answer.
 */

export type SpanName =
  | "proxy_request"
  | "auth_resolve"
  | "cache_lookup"
  | "admission"
  | "upstream"
  | "upstream_diagnostics"
  | "mcp_request";

/** Plain facts by name; a list is one of names or addresses. */
type SpanAttributes = Readonly<Record<string, string | number | boolean | null | readonly string[]>>;

/** A finished span. Times in Unix epoch ms; `parent_span` is "" for the root. */
export interface SpanRecord {
  readonly span_name: SpanName;
  readonly parent_span: SpanName | "";
  readonly start_ms: number;
  readonly duration_ms: number;
  readonly status: "ok" | "error";
  readonly attributes: SpanAttributes;
}

/** A span under way. It may end more than once: the last end counts. */
export class OpenSpan {
  readonly name: SpanName;
  readonly startMs: number;
  /** Its place among the root's children. */
  readonly position: number;
  #endMs: number | null = null;
  #failed = false;
  readonly #attributes: Record<string, SpanAttributes[string]> = {};

  constructor(name: SpanName, startMs: number, position = 0) {
    this.name = name;
    this.startMs = startMs;
    this.position = position;
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

  /** Until its end, or now. */
  durationMs(nowMs: number): number {
    return Math.max(0, (this.#endMs ?? nowMs) - this.startMs);
  }

  /** As it stands; what has not ended by then was cut off. */
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

  /** A child of the root. */
  begin(name: SpanName, nowMs: number): OpenSpan {
    const span = new OpenSpan(name, nowMs, this.#spans.length);
    this.#spans.push(span);
    return span;
  }

  /** Spans of this name so far. */
  count(name: SpanName): number {
    return this.#spans.filter((span) => span.name === name).length;
  }

  /** How long the steps took, ms; those of one name together. */
  durations(nowMs: number): Partial<Record<SpanName, number>> {
    const spent: Partial<Record<SpanName, number>> = {};
    for (const span of this.#spans) spent[span.name] = (spent[span.name] ?? 0) + span.durationMs(nowMs);
    return spent;
  }

  /** Root first, then its children by their start. */
  records(
    root: { readonly statusCode: number; readonly attributes: SpanAttributes },
    nowMs: number,
  ): readonly SpanRecord[] {
    const whole = new OpenSpan("proxy_request", this.#startMs);
    whole.set(root.attributes);
    if (root.statusCode >= 400) whole.fail();
    whole.end(nowMs);
    return [whole.record("", nowMs), ...this.#spans.map((span) => span.record("proxy_request", nowMs))];
  }
}
