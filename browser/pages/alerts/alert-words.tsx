/** What lists and the panel of alerts say alike. */
import { alertsTexts } from "../../messages/en/alerts.ts";
import { texts } from "../../messages/texts.ts";
import { formatInstant, instantOf } from "../../time/instants.ts";
import { useZone } from "../../time/zone-context.tsx";
import { Badge, type Tone } from "../../ui/badge.tsx";

const text = texts("alerts", alertsTexts);

type Severity = "info" | "warning" | "critical";
const TONES: Readonly<Record<Severity, Tone>> = { info: "neutral", warning: "warn", critical: "bad" };

export function SeverityBadge({ severity }: { readonly severity: Severity }) {
  return <Badge tone={TONES[severity]}>{text(severity)}</Badge>;
}

/** Who acknowledged an alert, and until when it is muted; nothing: neither holds. */
export function MarkBadges({
  acknowledged_by: who,
  muted_until: until,
}: {
  readonly acknowledged_by: string | null;
  readonly muted_until: string | null;
}) {
  const { zone } = useZone();
  return (
    <>
      {who !== null && <Badge>{text("acknowledgedBy", { who })}</Badge>}{" "}
      {until !== null && (
        <Badge tone="accent">{text("mutedUntil", { instant: formatInstant(zone, instantOf(until), "minute") })}</Badge>
      )}
    </>
  );
}
