/** What was changed or deployed while requests ended so: marks of the charts, and the list that says what they are. For admins. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { read } from "../../data/reads.ts";
import { actionText } from "../../forms/audit/action-words.ts";
import { type AuditEntry, ObjectLink } from "../../forms/audit/audit-words.tsx";
import { useObjectNames } from "../../forms/audit/use-object-names.ts";
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
  /** Only changes of this tenant, or of this model with its endpoints and deployments; absent: of everything. */
  readonly of: { readonly tenantId?: string | undefined; readonly modelId?: string | undefined };
  readonly enabled: boolean;
}

/** The newest changes of a time, newest first. */
export function useChanges({ fromMs, untilMs, of: { tenantId, modelId }, enabled }: ChangesQuery) {
  const period = { since_ms: String(fromMs), ...(untilMs === null ? {} : { until_ms: String(untilMs) }) };
  const entityId = modelId ?? tenantId;
  const own = useAudit({ ...period, ...(entityId === undefined ? {} : { entity_id: entityId }) }, enabled);
  const isOfModel = enabled && modelId !== undefined;
  const replicas = useAudit({ ...period, replicas_of: modelId ?? "" }, isOfModel);
  const endpoints = useAudit({ ...period, entity_type: "model_endpoint" }, isOfModel);
  const data = useMemo(() => {
    if (own.data === undefined) return undefined;
    const ofEndpoints = (endpoints.data ?? []).filter(({ detail }) => detail["model_id"] === modelId);
    const entries = [...own.data, ...(replicas.data ?? []), ...ofEndpoints];
    return [...new Map(entries.map((entry) => [entry.id, entry])).values()]
      .filter(({ entity_type }) => KINDS.has(entity_type))
      .toSorted((a, b) => b.id - a.id);
  }, [own.data, replicas.data, endpoints.data, modelId]);
  return { ...own, data };
}

function useAudit(query: Readonly<Record<string, string>>, enabled: boolean) {
  const params = { query: { ...query, limit: String(CHANGES_MAX) } };
  return useQuery(read("/api/v1/audit", { params }, { everyMs: EVERY_MS, enabled, keepsOld: false }));
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
      <Loaded state={changes}>
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
