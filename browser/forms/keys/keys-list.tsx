/** Keys of one tenant or of all, and the one that is open beside them. Its search is the address of the page. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { lazy, type ReactNode, Suspense, useMemo, useState } from "react";
import type { Records } from "../../data/api.ts";
import { read } from "../../data/reads.ts";
import { useList } from "../../data/use-list.ts";
import { commonText } from "../../messages/common.ts";
import { keysTexts } from "../../messages/en/keys.ts";
import { texts } from "../../messages/texts.ts";
import { Age, useNow } from "../../time/use-clock.tsx";
import { Button } from "../../ui/button.tsx";
import { SelectField } from "../../ui/fields.tsx";
import { formatCount } from "../../ui/format.ts";
import { Row, Stack } from "../../ui/layout.tsx";
import { Empty } from "../../ui/states.tsx";
import { CsvLink } from "../list/csv-link.tsx";
import { ListTable } from "../list/list-table.tsx";
import { type ListColumn, useListView } from "../list/use-list-view.tsx";
import { SearchField } from "../search-field.tsx";
import { KeyBadge } from "./key-badge.tsx";

const text = texts("keys", keysTexts);
const KeyPanel = lazy(async () => ({ default: (await import("./key-panel.tsx")).KeyPanel }));
const CreateKey = lazy(async () => ({ default: (await import("./create-key.tsx")).CreateKey }));

const EVERY_MS = 20_000;
const DAY_MS = 86_400_000;
const WEEK_DAYS = 7;
const USED_MAX = "10000";

type ListedKey = Records["ListedApiKey"];
type KeySummary = Records["KeySummary"];

/** What of the address belongs to the list. */
interface KeysSearch {
  readonly q?: string | undefined;
  readonly disabled?: "true" | "false" | undefined;
  /** The key that is open. */
  readonly key_id?: string | undefined;
  /** The order of the list. */
  readonly sort?: string | undefined;
}

interface KeysListProps {
  /** Null: of all tenants. */
  readonly tenantId: string | null;
  /** Whose keys a new one is; null: it is asked. */
  readonly newFor: string | null;
  readonly search: KeysSearch;
  readonly onSearch: (change: KeysSearch) => void;
  /** Further filters. */
  readonly filters?: ReactNode;
  readonly isFiltered?: boolean;
  /** Before the names of the list's parameters, on a page with several lists. */
  readonly prefix?: string;
  readonly onClear: () => void;
}

export function KeysList({
  tenantId,
  newFor,
  search,
  onSearch,
  filters,
  isFiltered = false,
  prefix = "",
  onClear,
}: KeysListProps) {
  const [isCreating, setCreating] = useState(false);
  const query = { tenant_id: tenantId ?? undefined, q: search.q, disabled: search.disabled };
  const keys = useList<ListedKey>("/api/v1/keys", query, { everyMs: EVERY_MS, readsAll: search.sort !== undefined });
  const used = useLastUses(tenantId);
  const columns = useMemo(() => columnsOf(tenantId === null, used), [tenantId, used]);
  const view = useListView({ rows: keys.data, columns, prefix });
  const isNarrowed = isFiltered || search.q !== undefined || search.disabled !== undefined;
  return (
    <Stack>
      <Row>
        <SearchField
          label={text("filter")}
          value={search.q ?? ""}
          onSearch={(q) => onSearch({ q: q === "" ? undefined : q })}
        />
        <SelectField
          label={text("state")}
          value={search.disabled ?? ""}
          onChange={({ target }) =>
            onSearch({ disabled: target.value === "true" || target.value === "false" ? target.value : undefined })
          }
          choices={[
            { value: "", label: commonText("all") },
            { value: "false", label: text("stateEnabled") },
            { value: "true", label: text("stateDisabled") },
          ]}
        />
        {filters}
      </Row>
      <ListTable
        state={keys}
        view={view}
        actions={
          <>
            {view.choice}
            <CsvLink path="/api/v1/keys" query={query} />
            <Button writes tone="primary" icon={<Plus size={14} aria-hidden />} onClick={() => setCreating(true)}>
              {text("create")}
            </Button>
          </>
        }
        label={text("list")}
        rowKey={({ id }) => id}
        onOpen={({ id }) => onSearch({ key_id: id })}
        openKey={search.key_id}
        onEnd={keys.onEnd}
        empty={
          isNarrowed ? (
            <Empty title={text("noMatch")} action={<Button onClick={onClear}>{commonText("clearFilters")}</Button>} />
          ) : (
            <Empty title={text("empty")}>{text("emptyText")}</Empty>
          )
        }
      />
      <Suspense fallback={null}>
        {search.key_id !== undefined && (
          <KeyPanel key={search.key_id} keyId={search.key_id} onClose={() => onSearch({ key_id: undefined })} />
        )}
        {isCreating && <CreateKey tenantId={newFor} onClose={() => setCreating(false)} />}
      </Suspense>
    </Stack>
  );
}

/** What keys have used within a week, by id; undefined while it is not known. */
function useLastUses(tenantId: string | null): ReadonlyMap<string, KeySummary> | undefined {
  const dayMs = useNow(DAY_MS);
  const query = {
    since_ms: String(dayMs - (WEEK_DAYS - 1) * DAY_MS),
    limit: USED_MAX,
    ...(tenantId === null ? {} : { tenant_id: tenantId }),
  };
  const { data } = useQuery(read("/api/v1/usage/keys/summary", { params: { query } }, { everyMs: EVERY_MS }));
  return useMemo(() => (data === undefined ? undefined : new Map(data.map((row) => [row.key_id, row]))), [data]);
}

function columnsOf(
  hasTenant: boolean,
  used: ReadonlyMap<string, KeySummary> | undefined,
): readonly ListColumn<ListedKey>[] {
  const columns: readonly (ListColumn<ListedKey> | null)[] = [
    {
      id: "name",
      head: text("name"),
      isWide: true,
      sortBy: ({ name }) => (name === "" ? null : name),
      cell: ({ name }) => (name === "" ? text("unnamed") : <bdi title={name}>{name}</bdi>),
    },
    hasTenant
      ? {
          id: "tenant",
          head: text("tenant"),
          isWide: true,
          sortBy: ({ tenant_name }) => tenant_name,
          cell: ({ tenant_id, tenant_name }) => (
            <Link to="/tenants/$tenantId" params={{ tenantId: tenant_id }} title={tenant_name}>
              <bdi>{tenant_name}</bdi>
            </Link>
          ),
        }
      : null,
    { id: "prefix", head: text("prefix"), cell: ({ key_prefix }) => <code>{key_prefix}…</code> },
    { id: "state", head: text("state"), cell: (key) => <KeyBadge apiKey={key} /> },
    {
      id: "used",
      head: <span title={text("lastUseNote")}>{text("lastUse")}</span>,
      name: text("lastUse"),
      sortBy: ({ id }) => positive(used?.get(id)?.last_used_ms),
      cell: ({ id }) => <Age at={positive(used?.get(id)?.last_used_ms)} />,
    },
    {
      id: "tokens",
      head: text("tokens7d"),
      align: "right",
      sortBy: ({ id }) => (used === undefined ? null : (used.get(id)?.total_tokens ?? 0)),
      cell: ({ id }) => formatCount(used === undefined ? null : (used.get(id)?.total_tokens ?? 0)),
    },
    {
      id: "created",
      head: text("created"),
      sortBy: ({ created_at }) => created_at,
      cell: ({ created_at }) => <Age at={created_at} />,
    },
  ];
  return columns.filter((column) => column !== null);
}

function positive(ms: number | undefined): number | null {
  return ms === undefined || ms <= 0 ? null : ms;
}
