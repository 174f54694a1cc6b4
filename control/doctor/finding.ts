/**
 * What the doctor finds: one line for each thing that was looked at, in the gateway's own words. A finding never
 * repeats text of another party but a version, and never names a secret.
 */

export const CHECKS = [
  "configuration",
  "reachable",
  "token",
  "version",
  "schema",
  "clock",
  "permission",
  "connections",
  "disk",
  "certificate",
  "cell",
  "cap",
  "lag",
  "backup",
  "attention",
] as const;
type CheckName = (typeof CHECKS)[number];

/** `skipped`: it could not be looked at from here, and says what the doctor would need. */
type FindingState = "ok" | "skipped" | "warning" | "failure";

export interface DoctorFinding {
  readonly state: FindingState;
  /** The part of the installation, such as `database` or `cell eu`. */
  readonly part: string;
  readonly check: CheckName;
  readonly detail: string;
  /** What to do; null when there is nothing to do. */
  readonly fix: string | null;
}

/** How far a part's clock is ahead of this machine's, and by how much that figure may be wrong, in ms. */
export interface ClockSample {
  readonly part: string;
  readonly aheadMs: number;
  readonly withinMs: number;
}

/** The release of the gateway that a part says it runs. */
export interface ReleaseSample {
  readonly part: string;
  readonly version: string;
}

/** What one examination brings back: findings, and samples that are judged beside those of the other parts. */
export interface Examined {
  readonly findings: readonly DoctorFinding[];
  readonly clocks?: readonly ClockSample[];
  readonly releases?: readonly ReleaseSample[];
}

/** The findings of one part. */
interface PartFindings {
  readonly ok: (check: CheckName, detail: string) => DoctorFinding;
  readonly skipped: (check: CheckName, detail: string, fix: string) => DoctorFinding;
  readonly warning: (check: CheckName, detail: string, fix: string) => DoctorFinding;
  readonly failure: (check: CheckName, detail: string, fix: string) => DoctorFinding;
}

/** Makes the findings of a part. */
export function findingsOf(part: string): PartFindings {
  const made =
    (state: FindingState) =>
    (check: CheckName, detail: string, fix: string | null = null): DoctorFinding => ({
      state,
      part,
      check,
      detail,
      fix,
    });
  return { ok: made("ok"), skipped: made("skipped"), warning: made("warning"), failure: made("failure") };
}

const WORST_FIRST: readonly FindingState[] = ["failure", "warning", "ok", "skipped"];

/** The state of the whole: its worst; `ok` when nothing was found or all was skipped. */
export function worstOf(findings: readonly DoctorFinding[]): "ok" | "warning" | "failure" {
  const worst = WORST_FIRST.find((state) => findings.some((finding) => finding.state === state)) ?? "ok";
  return worst === "skipped" ? "ok" : worst;
}
