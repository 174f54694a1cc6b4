/**
 * How evenly the events of streams arrive: for each event how long it was under way, and how much longer or shorter than the
 * one before - the part of a gap that is not the upstream's own.
 */

export interface Target {
  readonly name: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: object;
}

export interface Timing {
  /** From the call to its first event, ms. */
  readonly firstMs: number[];
  /** Each event's way from the upstream to here, ms. */
  readonly underWayMs: number[];
  /** What each gap between two events gained or lost, without sign, ms. */
  readonly addedGapMs: number[];
}

export const noTiming = (): Timing => ({ firstMs: [], underWayMs: [], addedGapMs: [] });

/** Reads one stream to its end. Throws when it is not whole. */
export async function readStream(target: Target, timing: Timing): Promise<void> {
  const calledMs = performance.now();
  const response = await fetch(`${target.url}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", ...target.headers },
    body: JSON.stringify(target.body),
  });
  if (response.status !== 200 || response.body === null) throw new Error(`${target.name} answered ${response.status}`);
  const decoder = new TextDecoder();
  let text = "";
  let lastMs: number | null = null;
  for await (const chunk of response.body) {
    const nowMs = performance.now();
    text += decoder.decode(chunk, { stream: true });
    for (let end = text.indexOf("\n\n"); end !== -1; end = text.indexOf("\n\n")) {
      const data = text.slice("data: ".length, end);
      text = text.slice(end + 2);
      if (data === "[DONE]") return;
      const { at, error } = JSON.parse(data) as { at?: number; error?: unknown };
      if (at === undefined) throw new Error(`${target.name} sent ${JSON.stringify(error ?? data)}`);
      if (lastMs === null) timing.firstMs.push(nowMs - calledMs);
      else timing.addedGapMs.push(Math.abs(nowMs - at - lastMs));
      lastMs = nowMs - at;
      timing.underWayMs.push(lastMs);
    }
  }
  throw new Error(`${target.name} ended without [DONE]`);
}

/** The value that a share `q` of the values do not exceed. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN;
}
