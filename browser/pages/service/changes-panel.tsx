/** What was changed or deployed while requests ended so: marks of the charts, and the list that says what they are. For admins. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { read } from "../../data/reads.ts";
import { type AuditEntry, actionText, ObjectLink } from "../../forms/audit/audit-words.tsx";
import { useObjectNames } from "../../forms/audit/use-object-names.ts";
import { STATE_TEXTS } from "../../messages/common.ts";
import { serviceTexts } from "../../messages/en/service.ts";
import { texts } from "../../messages/texts.ts";
import { formatInstant, instantOf } from "../../time/instants.ts";
import { useZone } from "../../time/zone-context.tsx";
import { Panel } from "../../ui/layout.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { type Column, Table } from "../../ui/table.tsx";

const text = texts("service", serviceTexts);
const EVERY_MS = 60_000;
const CHANGES_MAX = 200;
/** What changes how requests end; keys and people do not. */
const KINDS: ReadonlySet<string> = new Set([
  "model",
  "model_endpoint",
  "managed_model",
  "model_replica",
  "tenant",
  "fairshare_group",
  "settings",
  "mcp_server",
]);

interface ChangesQuery {
  readonly fromMs: number;
  readonly untilMs: number | null;
  /** Only changes of it; absent: of everything. */
  readonly entityId: string | undefined;
  readonly enabled: boolean;
}

/** The newest changes of a time. */
export function useChanges({ fromMs, untilMs, entityId, enabled }: ChangesQuery) {
  const query = {
    since_ms: String(fromMs),
    limit: String(CHANGES_MAX),
    ...(untilMs === null ? {} : { until_ms: String(untilMs) }),
    ...(entityId === undefined ? {} : { entity_id: entityId }),
  };
  const found = useQuery(read("/api/v1/audit", { params: { query } }, { everyMs: EVERY_MS, enabled, keepsOld: false }));
  return { ...found, data: found.data?.filter(({ entity_type }) => KINDS.has(entity_type)) };
}

export function ChangesPanel({ changes }: { readonly changes: ReturnType<typeof useChanges> }) {
  const { zone } = useZone();
  const names = useObjectNames();
  const columns: readonly Column<AuditEntry>[] = [
    { id: "when", head: text("when"), cell: ({ ts }) => formatInstant(zone, instantOf(ts)) },
    { id: "what", head: text("what"), cell: ({ action }) => actionText(action) },
    { id: "on", head: text("on"), isWide: true, cell: (entry) => <ObjectLink entry={entry} names={names} /> },
    { id: "who", head: text("who"), cell: ({ actor }) => <bdi>{actor}</bdi> },
  ];
  return (
    <Panel
      isFlush
      title={text("changes")}
      note={text("changesNote", { count: CHANGES_MAX })}
      actions={<Link to="/audit">{text("allChanges")}</Link>}
    >
      <Loaded state={changes} texts={STATE_TEXTS}>
        {(rows) => (
          <Table
            label={text("changes")}
            columns={columns}
            rows={rows}
            rowKey={({ id }) => String(id)}
            empty={<Empty title={text("changesEmpty")} />}
          />
        )}
      </Loaded>
    </Panel>
  );
}
