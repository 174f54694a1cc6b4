/** The room on a disk, as a finding. Pure. */
import { findingsOf, type LinkedFinding } from "./finding.ts";

const WARN_PART = 0.15;
const FAIL_PART = 0.05;

/**
 * `disk`: in words; `failBelow`: so many free bytes are too few, whatever part of the disk they are. None for a disk without a
 * size.
 */
export function diskFinding(
  part: string,
  disk: string,
  { free, total, failBelow = 0 }: { readonly free: number; readonly total: number; readonly failBelow?: number },
  fix: string,
): readonly LinkedFinding[] {
  const { ok, warning, failure } = findingsOf(part);
  const share = free / total;
  if (!(share >= 0 && share <= 1)) return [];
  const detail = `${Math.floor(share * 100)} % of ${disk} is free`;
  if (share <= FAIL_PART || free < failBelow) return [failure("disk", detail, fix)];
  return [share > WARN_PART ? ok("disk", detail) : warning("disk", detail, fix)];
}
