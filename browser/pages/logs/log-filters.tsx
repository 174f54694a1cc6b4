import { useQuery } from "@tanstack/react-query";
import { Bookmark, Plus, X } from "lucide-react";
import { useId, useRef, useState } from "react";
import { read } from "../../data/reads.ts";
import { DraftField } from "../../forms/filters/draft-field.tsx";
import { PeriodFilter } from "../../forms/filters/period-filter.tsx";
import { commonText } from "../../messages/common.ts";
import { logViewsTexts } from "../../messages/en/log-views.ts";
import { logsTexts } from "../../messages/en/logs.ts";
import { texts } from "../../messages/texts.ts";
import { formatInstant } from "../../time/instants.ts";
import { useZone } from "../../time/zone-context.tsx";
import { Button, IconButton } from "../../ui/button.tsx";
import { Row } from "../../ui/layout.tsx";
import { FilterEditor } from "./filter-editor.tsx";
import { filterChoices, filterName, filterValue } from "./filter-words.ts";
import classes from "./log-filters.module.css";
import {
  FILTERS,
  type FilterName,
  filterNamesOf,
  filtersOf,
  NO_FILTERS,
  periodOf,
  windowOfSearch,
} from "./logs-query.ts";
import type { LogsSearch, SearchChanges } from "./logs-search.ts";
import { SavedViews } from "./saved-views.tsx";

const text = texts("log-views", logViewsTexts);
const logText = texts("logs", logsTexts);
const PERIODS = ["24h", "7d", "30d", "month"] as const;
/** Has a field of its own. */
const WITH_FIELD: FilterName = "request_id";

interface FiltersProps {
  readonly search: LogsSearch;
  readonly role: "admin" | "user";
  /** The name of the tenant that is chosen. */
  readonly tenantName: string | undefined;
  readonly onChange: (changes: SearchChanges) => void;
}

/** What the list is narrowed by: the period, and a chip for each filter, which can be changed and removed. */
export function LogFilters({ search, role, tenantName, onChange }: FiltersProps) {
  const { zone } = useZone();
  const [edited, setEdited] = useState<FilterName | null>(null);
  const [isRoomy] = useState(() => matchMedia("(min-width: 861px)").matches);
  const [isOpen, setOpen] = useState(isRoomy);
  const set = filtersOf(search, role);
  const window = windowOfSearch(search);
  const keyName = useKeyName(set.key_id);
  const names = FILTERS.filter((name) => set[name] !== undefined && name !== WITH_FIELD);
  const edit = (name: FilterName): void => {
    if (name === "traced_only" || name === "include_internal") onChange({ [name]: true });
    else setEdited(name);
  };
  const done = (changes: SearchChanges): void => {
    setEdited(null);
    onChange(changes);
  };
  return (
    <search className={classes["filters"]} aria-label={text("filters")}>
      {isOpen && (
        <div className={classes["fields"]}>
          <DraftField
            label={logText("requestId")}
            placeholder={logText("requestIdHint")}
            value={search.request_id}
            isFirst
            onDone={(request_id) => onChange({ request_id: request_id?.toLowerCase() })}
          />
          <PeriodFilter
            period={periodOf(search)}
            kinds={PERIODS}
            onPeriod={(period) => onChange({ period, from_ms: undefined, to_ms: undefined })}
            onZone={(chosen) => onChange({ zone: chosen })}
          />
          <ViewsButton search={search} />
        </div>
      )}
      <Row>
        {!isRoomy && (
          <Button aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            {text("filters")}
          </Button>
        )}
        {(names.length > 0 || window !== null) && (
          <ul className={classes["chips"]} aria-label={text("activeFilters")}>
            {window !== null && (
              <Chip
                name={text("window")}
                value={text("windowFromTo", {
                  from: formatInstant(zone, window.fromMs),
                  to: formatInstant(zone, window.toMs + 1),
                })}
                onRemove={() => onChange({ from_ms: undefined, to_ms: undefined })}
              />
            )}
            {names.map((name) => (
              <Chip
                key={name}
                name={filterName(name)}
                value={filterValue(name, set[name] ?? "", name === "tenant_id" ? tenantName : keyName)}
                onEdit={name === "traced_only" || name === "include_internal" ? undefined : () => setEdited(name)}
                onRemove={() => done({ [name]: undefined })}
              />
            ))}
          </ul>
        )}
        <AddFilter names={filterNamesOf(role).filter((name) => name !== WITH_FIELD)} onAdd={edit} />
        {(Object.keys(set).length > 0 || window !== null) && (
          <Button tone="quiet" onClick={() => done(NO_FILTERS)}>
            {commonText("clearFilters")}
          </Button>
        )}
      </Row>
      {edited !== null && (
        <div className={classes["editor"]}>
          <FilterEditor
            key={edited}
            name={edited}
            label={editorLabel(edited)}
            placeholder={edited === "tag" ? text("tagHint") : undefined}
            choices={filterChoices(edited, set[edited])}
            value={set[edited]}
            tenantId={set.tenant_id}
            tenantName={tenantName}
            onDone={done}
          />
          <IconButton label={commonText("close")} onClick={() => setEdited(null)}>
            <X size={14} aria-hidden />
          </IconButton>
        </div>
      )}
    </search>
  );
}

/** Of the control of a filter: with its unit. */
function editorLabel(name: FilterName): string {
  if (name === "min_total_ms") return logText("minTotal");
  return name === "min_queue_wait_ms" ? logText("minQueue") : filterName(name);
}

function Chip({
  name,
  value,
  onEdit,
  onRemove,
}: {
  readonly name: string;
  readonly value: string;
  readonly onEdit?: (() => void) | undefined;
  readonly onRemove: () => void;
}) {
  const words = (
    <>
      <span className={classes["name"]}>{name}</span> <bdi>{value}</bdi>
    </>
  );
  return (
    <li className={classes["chip"]}>
      {onEdit === undefined ? (
        <span className={classes["words"]} title={value}>
          {words}
        </span>
      ) : (
        <button
          type="button"
          className={classes["words"]}
          title={`${text("editFilter", { name })} (${value})`}
          onClick={onEdit}
        >
          {words}
        </button>
      )}
      <button
        type="button"
        className={classes["remove"]}
        aria-label={text("removeFilter", { name })}
        onClick={onRemove}
      >
        <X size={14} aria-hidden />
      </button>
    </li>
  );
}

/** A button that opens the views; their part is loaded when it is opened first. */
function ViewsButton({ search }: { readonly search: LogsSearch }) {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button icon={<Bookmark size={14} aria-hidden />} popoverTarget={id}>
        {text("views")}
      </Button>
      <div
        ref={list}
        id={id}
        popover="auto"
        className={classes["popover"]}
        onToggle={({ newState }) => setOpen(newState === "open")}
      >
        {isOpen && <SavedViews search={search} onClose={() => list.current?.hidePopover()} />}
      </div>
    </>
  );
}

/** A button that opens the list of filters. */
function AddFilter({
  names,
  onAdd,
}: {
  readonly names: readonly FilterName[];
  readonly onAdd: (name: FilterName) => void;
}) {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  return (
    <>
      <Button icon={<Plus size={14} aria-hidden />} popoverTarget={id}>
        {text("addFilter")}
      </Button>
      <div ref={list} id={id} popover="auto" className={classes["popover"]}>
        <ul>
          {names.map((name) => (
            <li key={name}>
              <Button
                tone="quiet"
                onClick={() => {
                  list.current?.hidePopover();
                  onAdd(name);
                }}
              >
                {filterName(name)}
              </Button>
            </li>
          ))}
        </ul>
      </div>
    </>
  );
}

/** What a key is called; undefined while it is not known. */
function useKeyName(keyId: string | undefined): string | undefined {
  const { data } = useQuery(
    read("/api/v1/keys/{id}", { params: { path: { id: keyId ?? "" } } }, { enabled: keyId !== undefined }),
  );
  if (keyId === undefined || data?.id !== keyId) return undefined;
  return data.name === "" ? data.key_prefix : data.name;
}
