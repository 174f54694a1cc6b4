/** One alert beside the list: what it means, what to do, and what people have said of it. */
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import type { Records } from "../../data/api.ts";
import { read } from "../../data/reads.ts";
import { explainAlert } from "../../explain/explain-alert.ts";
import { TargetLink, targetName } from "../../links/target-link.tsx";
import { alertsTexts } from "../../messages/en/alerts.ts";
import { texts } from "../../messages/texts.ts";
import { formatInstant, instantOf } from "../../time/instants.ts";
import { Age } from "../../time/use-clock.tsx";
import { useZone } from "../../time/zone-context.tsx";
import { Facts, Row, Stack } from "../../ui/layout.tsx";
import { useReadOnly } from "../../ui/read-only.ts";
import { Empty, Loaded } from "../../ui/states.tsx";
import { MarkBadges, SeverityBadge } from "./alert-words.tsx";
import { MarkActions } from "./mark-actions.tsx";

const text = texts("alerts", alertsTexts);
const History = lazy(async () => ({ default: (await import("../../forms/history/history.tsx")).History }));
const EVERY_MS = 10_000;
const OCCURRENCES_MAX = "10";

export function AlertPanel({ alertKey: key }: { readonly alertKey: string }) {
  const { zone } = useZone();
  const isReadOnly = useReadOnly();
  const alert = useQuery(read("/api/v1/alerts/{key}", { params: { path: { key } } }, { everyMs: EVERY_MS }));
  if (alert.error?.status === 404) return <Empty title={text("gone")}>{text("goneText")}</Empty>;
  return (
    <Loaded state={alert}>
      {(one) => (
        <Stack>
          <Head alert={one} />
          {!isReadOnly && <MarkActions alert={one} />}
          <Meaning alert={one} />
          <Occurrences alertKey={key} />
          <Suspense fallback={null}>
            <History of={{ entity_type: "gateway", entity_id: key }} zone={zone} title={text("marks")} isOptional />
          </Suspense>
        </Stack>
      )}
    </Loaded>
  );
}

interface AlertProps {
  readonly alert: Records["AlertDetail"];
}

function Head({ alert }: AlertProps) {
  const { key, title, severity, firing_since, detail } = alert;
  const { link } = explainAlert(key);
  return (
    <>
      <h3>{title}</h3>
      <Row>
        <SeverityBadge severity={severity} />
        <MarkBadges {...alert} />
        {link !== null && (
          <TargetLink target={link} label={`${targetName(link)}: ${title}`} isButton>
            {targetName(link)}
          </TargetLink>
        )}
      </Row>
      {detail !== null && (
        <p>
          <bdi>{detail}</bdi>
        </p>
      )}
      <Facts
        facts={[
          [text("activeSince"), firing_since === null ? text("notActive") : <Age key="since" at={firing_since} />],
          [
            text("key"),
            <code key="key">
              <bdi>{key}</bdi>
            </code>,
          ],
        ]}
      />
    </>
  );
}

function Meaning({ alert: { key, means } }: AlertProps) {
  return (
    <>
      <h3>{text("means")}</h3>
      <p>{means}</p>
      <h3>{text("next")}</h3>
      <p>{explainAlert(key).sentence}</p>
    </>
  );
}

/** When the alert was active, the last times. */
function Occurrences({ alertKey: key }: { readonly alertKey: string }) {
  const { zone } = useZone();
  const query = { key, limit: OCCURRENCES_MAX };
  const entries = useQuery(read("/api/v1/alerts/history", { params: { query } }, { everyMs: EVERY_MS }));
  const at = (iso: string): string => formatInstant(zone, instantOf(iso), "minute");
  return (
    <>
      <h3>{text("occurrences")}</h3>
      <Loaded state={entries}>
        {(rows) =>
          rows.length === 0 ? (
            <p>{text("occurrencesNone")}</p>
          ) : (
            <ul>
              {rows.map(({ id, state, since, last_at, repeats, detail }) => (
                <li key={id}>
                  {text(state === "active" ? "occurrenceActive" : repeats === 0 ? "occurrenceOnce" : "occurrence", {
                    since: at(since),
                    last: at(last_at),
                  })}
                  {repeats > 0 && `, ${text("occurrenceRepeats", { count: repeats })}`}. <bdi>{detail}</bdi>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </>
  );
}
