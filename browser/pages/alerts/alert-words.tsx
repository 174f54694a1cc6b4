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

interface MarkBadgesProps {
  readonly acknowledged_by: string | null;
  readonly muted_until: string | null;
  /** In a list: by whom and until when is shown on hover, and in the panel. */
  readonly isShort?: boolean;
}

/** Who acknowledged an alert, and until when it is muted; nothing: neither holds. */
export function MarkBadges({ acknowledged_by: who, muted_until: until, isShort = false }: MarkBadgesProps) {
  const { zone } = useZone();
  const acknowledged = who === null ? null : text("acknowledgedBy", { who });
  const muted =
    until === null ? null : text("mutedUntil", { instant: formatInstant(zone, instantOf(until), "minute") });
  return (
    <>
      {acknowledged !== null && (
        <span title={acknowledged}>
          <Badge>{isShort ? text("isAcknowledged") : acknowledged}</Badge>
        </span>
      )}{" "}
      {muted !== null && (
        <span title={muted}>
          <Badge tone="accent">{isShort ? text("isMuted") : muted}</Badge>
        </span>
      )}
    </>
  );
}
