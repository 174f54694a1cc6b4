/** Why a request took as long as it did, or how it ended, in a few words for a list. Pure. */
import { oneLine } from "../../../shared/text/printable.ts";
import { errorName } from "../../explain/explain-error.ts";
import {
  measured,
  type PhaseId,
  requestPhases,
  SLOW_MS,
  streamTokensPerSec,
  type TimedRow,
} from "../../explain/request-phases.ts";
import { logViewsTexts } from "../../messages/en/log-views.ts";
import { texts } from "../../messages/texts.ts";
import { formatShare } from "../../ui/format.ts";

const text = texts("log-views", logViewsTexts);

type Times = Omit<TimedRow, "attempts">;

interface ReasonRow extends Partial<Times> {
  readonly error_code?: string | undefined;
  readonly cache_status?: string | undefined;
}

const PHASE_TEXTS = {
  queue: "reasonQueue",
  gateway: "reasonGateway",
  first_token: "reasonFirstToken",
  stream: "reasonStream",
  stream_and_attempts: "reasonRetries",
  upstream: "reasonUpstream",
} as const satisfies Record<PhaseId, keyof typeof logViewsTexts>;
/** In these the upstream is called. */
const CALLS: ReadonlySet<PhaseId> = new Set<PhaseId>(["first_token", "stream", "stream_and_attempts", "upstream"]);

/**
 * The error of a request that was not served, else the longest part of a slow one; undefined: there is nothing to explain.
 * `attempts`: absent where the reader does not see it.
 */
export function requestReason(row: ReasonRow, attempts?: number): string | undefined {
  const { status_code: status = 0, error_code: code = "" } = row;
  if (code === "client_gone" || status === 499) return text("reasonLeft");
  if (code !== "") return errorName(oneLine(code));
  // clients get an upstream's 5xx as 502, whichever it was
  if (status >= 400) return text("reasonUpstreamError", { status: status === 502 ? "" : status }).trim();
  if (row.cache_status === "hit") return text("reasonCached");
  const wholeMs = measured(row.total_ms);
  const [longest] = [...phasesOf(row, attempts)].sort((a, b) => b.durationMs - a.durationMs);
  if (longest === undefined || wholeMs < SLOW_MS) return undefined;
  return text("reasonShare", {
    reason: text(PHASE_TEXTS[longest.id]),
    share: formatShare(longest.durationMs / wholeMs),
  });
}

/** Output tokens per second: of the stream, else of the whole call of an answer that came in one piece. */
export function outputTokensPerSec(row: ReasonRow): number | null {
  const phases = phasesOf(row);
  const tokens = measured(row.output_tokens);
  const calledMs = phases.reduce((sum, { id, durationMs }) => sum + (CALLS.has(id) ? durationMs : 0), 0);
  const isServed = row.status_code !== undefined && row.status_code >= 200 && row.status_code < 400;
  if (!isServed || row.cache_status === "hit") return null;
  return streamTokensPerSec(phases, row) ?? (tokens < 2 || calledMs === 0 ? null : tokens / (calledMs / 1000));
}

function phasesOf(row: ReasonRow, attempts?: number) {
  const { total_ms = 0, queue_wait_ms = 0, gateway_ms = 0, ttft_ms = 0, status_code, output_tokens } = row;
  return requestPhases({ total_ms, queue_wait_ms, gateway_ms, ttft_ms, status_code, output_tokens, attempts });
}
