/** The states of a batch (docs/rules/batches.md), and how far it is. Pure. */
import type { Records } from "../../data/api.ts";
import type { Tone } from "../../ui/badge.tsx";

type Batch = Records["Batch"];

/** How each state is shown, in the order of a batch's life. */
export const BATCH_TONES: Readonly<Record<Batch["status"], Tone>> = {
  validating: "accent",
  in_progress: "accent",
  finalizing: "accent",
  completed: "good",
  failed: "bad",
  expired: "warn",
  cancelling: "neutral",
  cancelled: "neutral",
};

/** The share of its lines that have ended, 0 to 1; null while they are not known. */
export function doneShare({
  lines_total: total,
  lines_completed: completed,
  lines_failed: failed,
}: Pick<Batch, "lines_total" | "lines_completed" | "lines_failed">): number | null {
  return total === 0 ? null : (completed + failed) / total;
}

/** Its state in a word. `batchesWait`: no line of any batch has a slot. */
export function batchState(
  { status, lines_failed }: Pick<Batch, "status" | "lines_failed">,
  batchesWait: boolean,
): { readonly word: Batch["status"] | "waits" | "withErrors"; readonly tone: Tone } {
  if (status === "in_progress" && batchesWait) return { word: "waits", tone: "warn" };
  if (status === "completed" && lines_failed > 0) return { word: "withErrors", tone: "warn" };
  return { word: status, tone: BATCH_TONES[status] };
}

/** Whether it can still be cancelled. */
export const canCancel = ({ status }: Pick<Batch, "status">): boolean =>
  status === "validating" || status === "in_progress";
