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
  "filled",
  "connections",
  "disk",
  "certificate",
  "cell",
  "cap",
  "lag",
  "backup",
  "rotation",
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

/** A finding, and how it hangs together with others (causes.ts). */
export interface LinkedFinding extends DoctorFinding, Links {}

export interface Links {
  /** What is wrong, by a name that symptoms know. */
  readonly cause?: string;
  /** Causes that explain the finding: when one of them is found, it is not told. */
  readonly symptomOf?: readonly string[];
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

/** What one examination brings back: findings, and samples that are compared with those of the other parts. */
export interface Examined {
  readonly findings: readonly LinkedFinding[];
  readonly clocks?: readonly ClockSample[];
  readonly releases?: readonly ReleaseSample[];
}

/** The findings of one part. */
interface PartFindings {
  readonly ok: (check: CheckName, detail: string) => DoctorFinding;
  readonly skipped: (check: CheckName, detail: string, fix: string) => DoctorFinding;
  readonly warning: (check: CheckName, detail: string, fix: string, links?: Links) => LinkedFinding;
  readonly failure: (check: CheckName, detail: string, fix: string, links?: Links) => LinkedFinding;
}

/** Names and versions that others choose may be of any length. */
const TEXT_MAX = 400;
const cut = (text: string): string => (text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)}...` : text);

/** Makes the findings of a part. */
export function findingsOf(part: string): PartFindings {
  const made =
    (state: FindingState) =>
    (check: CheckName, detail: string, fix: string | null = null, links: Links = {}): LinkedFinding => ({
      state,
      part: cut(part),
      check,
      detail: cut(detail),
      fix: fix === null ? null : cut(fix),
      ...links,
    });
  return { ok: made("ok"), skipped: made("skipped"), warning: made("warning"), failure: made("failure") };
}

const WORST_FIRST: readonly FindingState[] = ["failure", "warning", "ok", "skipped"];

/** The state of the whole: its worst; `ok` when nothing was found or all was skipped. */
export function worstOf(findings: readonly DoctorFinding[]): "ok" | "warning" | "failure" {
  const worst = WORST_FIRST.find((state) => findings.some((finding) => finding.state === state)) ?? "ok";
  return worst === "skipped" ? "ok" : worst;
}
