import { usageTexts } from "../../messages/en/usage.ts";
import { texts } from "../../messages/texts.ts";
import { formatDay } from "../../time/instants.ts";
import { keptFrom } from "../../time/periods.ts";
import { Notice } from "../../ui/states.tsx";

const text = texts("usage", usageTexts);

interface KeptFromProps {
  readonly zone: string;
  /** The first of the days that are shown, YYYY-MM-DD. */
  readonly first: string;
  /** Epoch ms. */
  readonly nowMs: number;
}

/** Says that some of the days that are shown are missing, because they are not kept; nothing when all are there. */
export function KeptFrom({ zone, first, nowMs }: KeptFromProps) {
  const day = keptFrom(zone, first, nowMs);
  return day !== null && <Notice tone="warn">{text("keptFrom", { day: formatDay(day) })}</Notice>;
}
