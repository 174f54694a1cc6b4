/**
 * The alerts that wait in a Ledger for the control service, as a pure state machine: (index, event) -> (index, effects).
 * In order, each id once, at most 1000 waiting: beyond that the oldest goes and is counted (decisions §35). An alert
 * leaves only when the control service says that it has it; its id is remembered a while, so that whoever hands the same
 * alert over again does not raise it twice.
 */
import type { AlertEvent } from "../../../shared/alerts.ts";

export const ALERTS_MAX_WAITING = 1000;
/** Alerts of one answer to the control service. */
export const ALERTS_PER_BATCH = 100;
/** Ids of told alerts that are remembered. */
export const ALERTS_REMEMBERED = 2000;

export interface WaitingAlert {
  /** Rising by one per alert, never used again. */
  readonly sequence: number;
  readonly event: AlertEvent;
}

export interface AlertIndex {
  /** Ascending. */
  readonly waiting: readonly WaitingAlert[];
  /** Ids of alerts that the control service has, oldest first. */
  readonly told: readonly string[];
  readonly nextSequence: number;
  /** Alerts dropped for want of room, since ever. */
  readonly dropped: number;
}

/** What the shell must do on disk, all of it in one transaction. */
export type AlertEffect =
  | { readonly type: "add"; readonly sequence: number; readonly event: AlertEvent }
  | { readonly type: "drop"; readonly sequence: number; readonly total: number }
  /** Everything up to here was told. */
  | { readonly type: "told"; readonly through: number }
  | { readonly type: "forget"; readonly id: string };

export interface AlertStep {
  readonly index: AlertIndex;
  readonly effects: readonly AlertEffect[];
}

/** Takes alerts that are new; one whose id waits or was told changes nothing. */
export function appendAlerts(start: AlertIndex, events: readonly AlertEvent[]): AlertStep {
  const known = new Set([...start.told, ...start.waiting.map((entry) => entry.event.id)]);
  const waiting = [...start.waiting];
  const effects: AlertEffect[] = [];
  let { nextSequence, dropped } = start;
  for (const event of events) {
    if (known.has(event.id)) continue;
    known.add(event.id);
    waiting.push({ sequence: nextSequence, event });
    effects.push({ type: "add", sequence: nextSequence, event });
    nextSequence += 1;
    const oldest = waiting.length > ALERTS_MAX_WAITING ? waiting.shift() : undefined;
    if (oldest === undefined) continue;
    dropped += 1;
    effects.push({ type: "drop", sequence: oldest.sequence, total: dropped });
  }
  return { index: { ...start, waiting, nextSequence, dropped }, effects };
}

/** The control service has everything up to `through`. */
export function tellAlerts(start: AlertIndex, through: number): AlertStep {
  const left = start.waiting.filter((entry) => entry.sequence > through);
  const gone = start.waiting.slice(0, start.waiting.length - left.length);
  const last = gone.at(-1);
  if (last === undefined) return { index: start, effects: [] };
  const told = [...start.told, ...gone.map((entry) => entry.event.id)];
  const forgotten = told.splice(0, Math.max(0, told.length - ALERTS_REMEMBERED));
  return {
    index: { ...start, waiting: left, told },
    effects: [
      { type: "told", through: last.sequence },
      ...forgotten.map((id): AlertEffect => ({ type: "forget", id })),
    ],
  };
}

/** The oldest that wait, and the sequence number that says so when they have arrived; 0 when none waits. */
export function alertBatch(index: AlertIndex): { readonly through: number; readonly alerts: AlertEvent[] } {
  const batch = index.waiting.slice(0, ALERTS_PER_BATCH);
  return { through: batch.at(-1)?.sequence ?? 0, alerts: batch.map((entry) => entry.event) };
}
