/**
 * A tenant's guardrails policy, ready to be used for either side of a request (docs/rules/guardrails.md#policies). A compiled
 * policy is kept with its record: every request of the tenant uses it.
 */
import { LIMITS } from "../../../shared/catalogues/limits.ts";
import { compileScan, type TextScan, type TextScanner } from "../../../shared/guardrails/text-scan.ts";
import type { ResolvedTenant } from "../../../shared/records.ts";
import type { Prepared } from "./known.ts";

type Policy = NonNullable<ResolvedTenant["guardrails_policy"]>;

/** A scanner of a policy. */
export type Scanner = TextScanner | "harm";

/** The side of a request that is examined. */
export type GuardedSide = "input" | "output";

/** A policy's rules for one side. */
export interface Guards {
  readonly action: Policy["action"];
  /** The scanners that need no model, and their patterns. */
  readonly textScanners: readonly TextScanner[];
  readonly scan: TextScan;
  /** The model that judges harm; null: it is not judged. */
  readonly guardModel: string | null;
  /** A text passes when a scanner fails. */
  readonly failOpen: boolean;
  /** A request is examined with earlier output of the model. */
  readonly scansAssistant: boolean;
}

interface BothGuards {
  readonly input: Guards | null;
  readonly output: Guards | null;
}

const compiled = new WeakMap<Policy, BothGuards>();

/** The guards of a tenant for one side; null if nothing is examined there. */
export function guardsOf({ guardrails_policy: policy }: ResolvedTenant, side: GuardedSide): Guards | null {
  if (policy === null) return null;
  const known = compiled.get(policy);
  if (known !== undefined) return known[side];
  const both = { input: sideOf(policy, policy.input_scanners), output: sideOf(policy, policy.output_scanners) };
  compiled.set(policy, both);
  return both[side];
}

function sideOf(policy: Policy, scanners: readonly Scanner[]): Guards | null {
  if (scanners.length === 0) return null;
  const textScanners = scanners.filter((scanner): scanner is TextScanner => scanner !== "harm");
  return {
    action: policy.action,
    textScanners,
    scan: compileScan({ scanners: textScanners, banKeywords: policy.ban_keywords }),
    guardModel: scanners.includes("harm") ? (policy.guard_model ?? "") : null,
    failOpen: policy.fail_open,
    scansAssistant: policy.scan_assistant,
  };
}

/** Whether a match of this scanner refuses the text: an injection and harm cannot be redacted. */
export function isBlocking({ action }: Guards, scanner: Scanner): boolean {
  return action === "block" || (action === "redact" && (scanner === "prompt_injection" || scanner === "harm"));
}

/**
 * Whether a request is examined when it has its slot and its reservations: before that, no slow or costly work may be done for
 * it, such as a guard model (docs/rules/guardrails.md#when). A form is read to its end for that.
 */
export function isExaminedLate({ principal, parsed, guarded, isLongWork }: Prepared): boolean {
  const guards = guardsOf(principal.tenant, "input");
  if (guards === null || guards.action === "log_only" || guarded !== null) return false;
  if (guards.guardModel !== null || isLongWork === true) return true;
  const { clientBytes } = parsed.outgoing;
  const bytes = clientBytes?.reduce((sum, { byteLength }) => sum + byteLength, 0);
  return bytes === undefined || bytes > LIMITS.examinedBody;
}

/** Whether the answers of a tenant may not come from, or go to, the response cache. */
export function changesAnswers(tenant: ResolvedTenant): boolean {
  const guards = guardsOf(tenant, "output");
  return guards !== null && guards.action !== "log_only";
}
