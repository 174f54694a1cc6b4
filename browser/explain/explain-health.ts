/** Health of a model in words (docs/rules/health.md#states). Pure. */
import type { ModelHealthSummary } from "../../shared/schema/model-health.ts";
import { healthTexts } from "../messages/en/health.ts";
import { texts } from "../messages/texts.ts";
import { formatInstant, instantOf } from "../time/instants.ts";

const text = texts("health", healthTexts);

/** A state of health in words. */
interface HealthExplanation {
  readonly tone: "neutral" | "good" | "warn" | "bad";
  readonly title: string;
  readonly sentence: string;
}

const TONES = {
  healthy: "good",
  degraded: "warn",
  unhealthy: "bad",
  unknown: "neutral",
  disabled: "neutral",
  maintenance: "neutral",
} as const;

/** A model's health at a time, which is written by the clock of `zone`. A state that this version does not know is unknown. */
export function explainHealth(
  {
    status,
    consecutive_failures,
    maintenance_until,
  }: Pick<ModelHealthSummary, "status" | "consecutive_failures" | "maintenance_until">,
  zone: string,
  nowMs: number,
): HealthExplanation {
  const untilMs = instantOf(maintenance_until);
  if (untilMs !== null && untilMs > nowMs) {
    const instant = formatInstant(zone, untilMs, "minute");
    return { tone: "neutral", title: text("maintenance"), sentence: text("maintenance_text", { instant }) };
  }
  const state = isKnown(status) ? status : "unknown";
  return { ...healthWord(status), sentence: text(`${state}_text`, { count: consecutive_failures }) };
}

/** A state in one word, and its tone. */
export function healthWord(status: string): Pick<HealthExplanation, "tone" | "title"> {
  const state = isKnown(status) ? status : "unknown";
  return { tone: TONES[state], title: text(state) };
}

function isKnown(status: string): status is keyof typeof TONES {
  return Object.hasOwn(TONES, status);
}
