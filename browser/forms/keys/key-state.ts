/** Whether a key is admitted now (docs/rules/keys.md#expiry). Pure. */
import { instantOf } from "../../time/instants.ts";
import type { Tone } from "../../ui/badge.tsx";

/** What decides about a key. */
interface KeyTerms {
  readonly disabled: boolean;
  readonly expires_at: string | null;
  /** Absent: not known, or checked elsewhere. */
  readonly tenant_status?: string | undefined;
}

/** `ending`: admitted, and its end is set. */
type KeyState = "active" | "ending" | "expired" | "disabled" | "suspended";

export const KEY_TONES = {
  active: "good",
  ending: "warn",
  expired: "bad",
  disabled: "neutral",
  suspended: "bad",
} as const satisfies Readonly<Record<KeyState, Tone>>;

/** In the order in which the data plane refuses: the tenant first, and a disabled key as disabled, whether it has ended or not. */
export function keyState({ disabled, expires_at, tenant_status }: KeyTerms, nowMs: number): KeyState {
  if (tenant_status !== undefined && tenant_status !== "active") return "suspended";
  if (disabled) return "disabled";
  const endMs = instantOf(expires_at);
  if (endMs === null) return "active";
  return nowMs >= endMs ? "expired" : "ending";
}
