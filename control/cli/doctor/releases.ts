/** Whether all parts run the same release of the gateway. */
import { type DoctorFinding, findingsOf, type ReleaseSample } from "./finding.ts";

/** One finding for each part; `own` is the release that this program belongs to. */
export function checkReleases(own: string, samples: readonly ReleaseSample[]): readonly DoctorFinding[] {
  const inUse = new Set(samples.map(({ version }) => version));
  return samples.map(({ part, version }) => {
    const { ok, warning } = findingsOf(part);
    if (inUse.size > 1) {
      const fix = `finish the upgrade: ${[...inUse].sort().join(" and ")} are running at the same time`;
      return warning("version", `runs ${version}`, fix);
    }
    if (version === own) return ok("version", `runs ${version}`);
    return warning("version", `runs ${version}, this program is ${own}`, "use the doctor of the running release");
  });
}
