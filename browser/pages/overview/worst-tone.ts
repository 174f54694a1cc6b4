/** The tone of the number of things that need attention: that of the worst. Pure. */
import type { AttentionItem } from "../../../shared/schema/attention.ts";
import { explainAttention } from "../../explain/explain-attention.ts";

type Tone = ReturnType<typeof explainAttention>["tone"];

export function worstTone(items: readonly AttentionItem[]): Tone {
  const tones = new Set(items.map((item) => explainAttention(item).tone));
  return tones.has("bad") ? "bad" : tones.has("warn") ? "warn" : "neutral";
}
