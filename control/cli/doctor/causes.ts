/**
 * One cause is told once. Several parts notice that a store is away, and the list of what needs attention repeats what the
 * doctor sees itself: a finding that another one explains is left out. Pure.
 */
import type { DoctorFinding, LinkedFinding } from "./finding.ts";

const isWrong = ({ state }: DoctorFinding): boolean => state === "failure" || state === "warning";

/** The cause that a finding tells: what does not answer explains whatever is not seen because of it. */
const causeOf = ({ part, check, cause }: LinkedFinding): string | undefined =>
  cause ?? (check === "reachable" ? part : undefined);

const alone = ({ state, part, check, detail, fix }: LinkedFinding): DoctorFinding => ({
  state,
  part,
  check,
  detail,
  fix,
});

/** The findings in their order, without those that a wrong one among them explains. */
export function oneForEachCause(findings: readonly LinkedFinding[]): readonly DoctorFinding[] {
  const causes = new Set(findings.filter(isWrong).map(causeOf));
  const explained = ({ symptomOf = [], ...finding }: LinkedFinding): boolean =>
    isWrong(finding) && symptomOf.some((cause) => causes.has(cause));
  return findings.filter((finding) => !explained(finding)).map(alone);
}
