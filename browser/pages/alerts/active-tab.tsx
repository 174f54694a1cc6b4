/** What is wrong now, and what to do about each. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import type { Records } from "../../data/api.ts";
import { read } from "../../data/reads.ts";
import { explainAlert } from "../../explain/explain-alert.ts";
import { ListTable } from "../../forms/list/list-table.tsx";
import { type ListColumn, useListView } from "../../forms/list/use-list-view.tsx";
import { TargetLink, targetName } from "../../links/target-link.tsx";
import { alertsTexts } from "../../messages/en/alerts.ts";
import { texts } from "../../messages/texts.ts";
import { formatInstant, instantOf } from "../../time/instants.ts";
import { Age } from "../../time/use-clock.tsx";
import { useZone } from "../../time/zone-context.tsx";
import { Button } from "../../ui/button.tsx";
import { Panel, Stack } from "../../ui/layout.tsx";
import { Empty } from "../../ui/states.tsx";
import { MarkBadges, SeverityBadge } from "./alert-words.tsx";
import { MuteHour } from "./mark-actions.tsx";

const text = texts("alerts", alertsTexts);
const EVERY_MS = 10_000;
/** Beside an open alert there is room for no more. */
const BESIDE: ReadonlySet<string> = new Set(["severity", "alert", "since", "mark"]);

type Firing = Records["FiringAlert"];
type Mark = Records["AlertMark"];

export function ActiveTab({
  openKey,
  onOpen,
}: {
  readonly openKey: string | undefined;
  readonly onOpen: (key: string) => void;
}) {
  const overview = useQuery(read("/api/v1/alerts", {}, { everyMs: EVERY_MS }));
  const hasMarks = overview.data?.firing.some(
    ({ acknowledged_by: who, muted_until: until }) => who !== null || until !== null,
  );
  const attention = useQuery(read("/api/v1/overview/attention", {}, { everyMs: EVERY_MS }));
  const isOpen = openKey !== undefined;
  const columns = useMemo(
    () => COLUMNS.filter(({ id }) => (id !== "mark" || hasMarks) && (!isOpen || BESIDE.has(id))),
    [hasMarks, isOpen],
  );
  const view = useListView({ rows: overview.data?.firing, columns });
  const firing = new Set(overview.data?.firing.map(({ key }) => key));
  const muted = overview.data?.muted.filter(({ key }) => !firing.has(key)) ?? [];
  const others = attention.data?.filter(({ alert_key: key }) => key === null || !firing.has(key)).length ?? 0;
  return (
    <Stack>
      <ListTable
        state={overview}
        view={view}
        actions={view.choice}
        title={text("active")}
        note={
          others === 0 ? undefined : (
            <Link to="/" search={{ all: true }}>
              {text("others", { count: others })}
            </Link>
          )
        }
        label={text("activeList")}
        rowKey={({ key }) => key}
        onOpen={({ key }) => onOpen(key)}
        openKey={openKey}
        empty={<Empty title={text("activeNone")}>{text("activeNoneText")}</Empty>}
      />
      {muted.length > 0 && <Muted muted={muted} onOpen={onOpen} />}
    </Stack>
  );
}

function Muted({ muted, onOpen }: { readonly muted: readonly Mark[]; readonly onOpen: (key: string) => void }) {
  const { zone } = useZone();
  return (
    <Panel title={text("mutedList")} note={text("mutedListNote")}>
      <ul>
        {muted.map(({ key, muted_until, muted_by }) => (
          <li key={key}>
            <Button tone="quiet" onClick={() => onOpen(key)}>
              <bdi>{key}</bdi>
            </Button>{" "}
            {text("mutedUntilBy", {
              instant: formatInstant(zone, instantOf(muted_until), "minute"),
              who: muted_by ?? "",
            })}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

const RANKS = { critical: 0, warning: 1, info: 2 } as const;

const COLUMNS: readonly ListColumn<Firing>[] = [
  {
    id: "severity",
    head: text("severity"),
    sortBy: ({ severity }) => RANKS[severity],
    cell: ({ severity }) => <SeverityBadge severity={severity} />,
  },
  {
    id: "alert",
    head: text("alert"),
    sortBy: ({ title }) => title,
    cell: ({ title, key }) => <span title={key}>{title}</span>,
  },
  {
    id: "detail",
    head: text("detail"),
    isWide: true,
    cell: ({ detail }) => (
      <p>
        <bdi>{detail}</bdi>
      </p>
    ),
  },
  { id: "since", head: text("since"), sortBy: ({ since }) => since, cell: ({ since }) => <Age at={since} /> },
  {
    id: "last",
    head: text("lastAt"),
    isExtra: true,
    sortBy: ({ last_at }) => last_at,
    cell: ({ last_at }) => <Age at={last_at} />,
  },
  { id: "repeats", head: text("repeats"), isExtra: true, align: "right", cell: ({ repeats }) => repeats },
  { id: "mark", head: text("mark"), cell: (alert) => <MarkBadges {...alert} isShort /> },
  {
    id: "next",
    head: text("next"),
    isWide: true,
    cell: ({ key }) => <p>{explainAlert(key).sentence}</p>,
  },
  { id: "where", head: text("where"), cell: (alert) => <Where alert={alert} /> },
  { id: "mute", head: "", name: text("mute"), cell: (alert) => <MuteHour alert={alert} /> },
];

function Where({ alert: { key, title } }: { readonly alert: Firing }) {
  const { link } = explainAlert(key);
  if (link === null) return null;
  return (
    <TargetLink target={link} label={`${targetName(link)}: ${title}`}>
      {targetName(link)}
    </TargetLink>
  );
}
