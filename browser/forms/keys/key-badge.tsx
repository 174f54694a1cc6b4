import { keysTexts } from "../../messages/en/keys.ts";
import { texts } from "../../messages/texts.ts";
import { formatAge, instantOf } from "../../time/instants.ts";
import { useNow } from "../../time/use-clock.tsx";
import { Badge } from "../../ui/badge.tsx";
import { KEY_TONES, keyState } from "./key-state.ts";

const text = texts("keys", keysTexts);
const MINUTE_MS = 60_000;

/** Whether a key is admitted, in a word. */
export function KeyBadge({ apiKey }: { readonly apiKey: Parameters<typeof keyState>[0] }) {
  const nowMs = useNow(MINUTE_MS);
  const state = keyState(apiKey, nowMs);
  const label =
    state === "ending" ? text("expires", { age: formatAge(nowMs, instantOf(apiKey.expires_at)) }) : text(state);
  return <Badge tone={KEY_TONES[state]}>{label}</Badge>;
}
