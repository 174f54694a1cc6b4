/**
 * A job of the batch scheduler, as the provisioner's plan sees it: read from one entry of the scheduler's list of jobs,
 * whose fields may be anything (docs/rules/provisioner.md#job-states).
 */
import { oneLine } from "../../../shared/text/printable.ts";

/** `pending`: it may still run; `running`: it has its nodes; `gone`: it ends or has ended. */
type JobPhase = "pending" | "running" | "gone";

export interface BatchJob {
  readonly id: string;
  readonly phase: JobPhase;
  /** True while the scheduler may still keep it on a node or in the queue, so that it is worth cancelling. */
  readonly live: boolean;
  /** True while its processes may not have ended yet, although the job has. */
  readonly ending: boolean;
  /** The names of its state in one line, such as `COMPLETING CANCELLED`. */
  readonly state: string;
  /** Why it waits or has ended, in the scheduler's words; "" when it says nothing. */
  readonly reason: string;
  /** The scheduler's expression of its nodes, such as `n[01-02]`; "" before it has any. */
  readonly nodes: string;
  readonly name: string;
  readonly comment: string;
}

const REASON_MAX = 200;
const NODES_MAX = 2000;
const NAMES_MAX = 20;

const WAITING = ["PENDING", "CONFIGURING", "SUSPENDED"];
const FAILED = ["CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY"];
const ENDED = [
  ...FAILED,
  "COMPLETED",
  "PREEMPTED",
  "BOOT_FAIL",
  "DEADLINE",
  "REVOKED",
  "SPECIAL_EXIT",
  "LAUNCH_FAILED",
];

/**
 * One entry of the scheduler's list of jobs; null when it names no job or no state, so that nothing can be decided from it.
 */
export function readJob(entry: unknown): BatchJob | null {
  if (typeof entry !== "object" || entry === null) return null;
  const fields = new Map(Object.entries(entry));
  const id = idOf(fields.get("job_id"));
  const names = stateNames(fields.get("job_state"));
  if (id === null || names.length === 0) return null;
  const reason = textOf(fields.get("state_reason"), REASON_MAX);
  return {
    id,
    ...standing(names),
    state: names.join(" "),
    reason: reason === "None" ? "" : reason,
    nodes: textOf(fields.get("nodes"), NODES_MAX).replace(/[^\x21-\x7e].*/, ""),
    name: textOf(fields.get("name"), NODES_MAX),
    comment: textOf(fields.get("comment"), NODES_MAX),
  };
}

function standing(names: readonly string[]): Pick<BatchJob, "phase" | "live" | "ending"> {
  const has = (wanted: readonly string[]): boolean => names.some((name) => wanted.includes(name));
  const waits = has(WAITING);
  const runs = has(["RUNNING"]);
  // a state that a newer scheduler invents says nothing about whether the job still uses its nodes
  const live = waits || runs || !has(ENDED);
  const ending = names.includes("COMPLETING");
  if (has(FAILED)) return { phase: "gone", live, ending };
  if (waits) return { phase: "pending", live, ending };
  const runsOn = runs || names.every((name) => name === "COMPLETING");
  return { phase: runsOn ? "running" : "gone", live, ending };
}

/** The number of a job as text; null for what is no job's number. */
export function idOf(value: unknown): string | null {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? String(value) : null;
}

/** API versions before v0.0.40 have one name instead of a list. */
function stateNames(value: unknown): readonly string[] {
  const list: readonly unknown[] = Array.isArray(value) ? value.slice(0, NAMES_MAX) : [value];
  return list.filter((name) => typeof name === "string").filter((name) => /^[A-Z_]{1,40}$/.test(name));
}

function textOf(value: unknown, max: number): string {
  return typeof value === "string" ? oneLine(value.slice(0, max)).trim().toWellFormed() : "";
}
