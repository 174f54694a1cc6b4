/** Whether a key is admitted now (docs/rules/keys.md#expiry). Pure. */
import { instantOf } from "../../time/instants.ts";
import type { Tone } from "../../ui/badge.tsx";

/** What decides about a key. */
interface KeyTerms {
  readonly disabled: boolean;
  readonly expires_at: string | null;
}

/** `ending`: admitted, and its end is set. */
type KeyState = "active" | "ending" | "expired" | "disabled";

export const KEY_TONES = {
  active: "good",
  ending: "warn",
  expired: "bad",
  disabled: "neutral",
} as const satisfies Readonly<Record<KeyState, Tone>>;

/** A disabled key is refused as disabled, whether it has ended or not. */
export function keyState({ disabled, expires_at }: KeyTerms, nowMs: number): KeyState {
  if (disabled) return "disabled";
  const endMs = instantOf(expires_at);
  if (endMs === null) return "active";
  return nowMs >= endMs ? "expired" : "ending";
}
