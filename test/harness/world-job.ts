/**
 * A job of the scheduler in memory (provisioner-world.ts), with the names of its state as Slurm gives them; `MYSTERY` is one
 * that nobody knows yet.
 */

const LIVE = ["PENDING", "RUNNING", "SUSPENDED", "MYSTERY"];

export interface WorldJob {
  readonly id: number;
  readonly comment: string;
  readonly name: string;
  readonly portBase: number;
  /** The scheduler lists it from then on. */
  readonly arrivesMs: number;
  state: string[];
  node: string;
  port: number | null;
  serves: boolean;
}

/** Whether it waits or uses its node, so that it still has to end. */
export function isLive({ state }: WorldJob): boolean {
  return state.every((name) => LIVE.includes(name));
}
