import { useId, useState } from "react";
import { errorName, ROW_ERROR_CODES } from "../../explain/explain-error.ts";
import { DraftField } from "../../forms/filters/draft-field.tsx";
import { KeyFilter, ModelFilter, TenantFilter } from "../../forms/filters/found-filters.tsx";
import { PeriodFilter } from "../../forms/filters/period-filter.tsx";
import { logsTexts } from "../../messages/en/logs.ts";
import { texts } from "../../messages/texts.ts";
import { Button } from "../../ui/button.tsx";
import { CheckField, type Choice, SelectField } from "../../ui/fields.tsx";
import { Filters } from "../../ui/layout.tsx";
import classes from "./logs-page.module.css";
import { FILTERS, type FilterName, filtersOf, periodOf } from "./logs-query.ts";
import { ADMISSION_TEXTS, CACHE_TEXTS, type LogsSearch, type SearchChanges, TYPE_TEXTS } from "./logs-search.ts";

const text = texts("logs", logsTexts);
const PERIODS = ["24h", "7d", "30d", "month"] as const;
const ALL: Choice = { value: "", label: text("all") };

const STATUSES: readonly Choice[] = [
  ALL,
  { value: "success", label: text("success") },
  { value: "error", label: text("error") },
  { value: "refused", label: text("statusRefused") },
  { value: "failed", label: text("statusFailed") },
  { value: "left", label: text("statusLeft") },
];
const ERROR_CODES: readonly Choice[] = [
  ALL,
  ...ROW_ERROR_CODES.toSorted().map((code) => ({ value: code, label: errorName(code) })),
];
const ADMISSIONS = choicesOf(ADMISSION_TEXTS);
const CACHES = choicesOf(CACHE_TEXTS);
const TYPES = choicesOf(TYPE_TEXTS);

/** Filters that are behind the button while none of them is set. */
const FURTHER: readonly FilterName[] = FILTERS.slice(FILTERS.indexOf("error_code"));

interface FiltersProps {
  readonly search: LogsSearch;
  readonly role: "admin" | "user";
  /** The name of the tenant that is chosen. */
  readonly tenantName: string | undefined;
  readonly onChange: (changes: SearchChanges) => void;
}

/** Everything that the list can be narrowed by. */
export function LogFilters({ search, role, tenantName, onChange }: FiltersProps) {
  const set = filtersOf(search, role);
  const isFurtherSet = FURTHER.some((name) => set[name] !== undefined);
  const [isOpen, setOpen] = useState(isFurtherSet);
  const furtherId = useId();
  const isAdmin = role === "admin";
  const choice = (name: "status" | "admission" | "cache_status" | "request_type" | "error_code", value: string) =>
    onChange({ [name]: value === "" ? undefined : value } as SearchChanges);
  const showsFurther = isOpen || isFurtherSet;
  return (
    <search className={classes["part"]} aria-label={text("filters")}>
      <Filters>
        <DraftField
          label={text("requestId")}
          placeholder={text("requestIdHint")}
          value={search.request_id}
          isFirst
          onDone={(request_id) => onChange({ request_id: request_id?.toLowerCase() })}
        />
        <PeriodFilter
          period={periodOf(search)}
          kinds={PERIODS}
          onPeriod={(period) => onChange({ period })}
          onZone={(zone) => onChange({ zone })}
        />
        {isAdmin && (
          <TenantFilter
            chosen={set.tenant_id === undefined ? undefined : (tenantName ?? set.tenant_id)}
            onChoose={(tenant_id) => onChange({ tenant_id, key_id: undefined })}
          />
        )}
        <ModelFilter chosen={search.model} onChoose={(model) => onChange({ model })} />
        <KeyFilter keyId={set.key_id} tenantId={set.tenant_id} onChoose={(key_id) => onChange({ key_id })} />
        <SelectField
          label={text("status")}
          choices={STATUSES}
          value={search.status ?? ""}
          onChange={(event) => choice("status", event.target.value)}
        />
        <Button aria-expanded={showsFurther} aria-controls={furtherId} onClick={() => setOpen(!isOpen)}>
          {text(showsFurther ? "fewerFilters" : "moreFilters")}
        </Button>
        {Object.keys(set).length > 0 && (
          <Button tone="quiet" onClick={() => onChange(Object.fromEntries(FILTERS.map((name) => [name, undefined])))}>
            {text("clearFilters")}
          </Button>
        )}
      </Filters>
      <div id={furtherId} hidden={!showsFurther}>
        <Filters>
          <SelectField
            label={text("errorCode")}
            choices={withOwn(ERROR_CODES, set.error_code)}
            value={set.error_code ?? ""}
            onChange={(event) => choice("error_code", event.target.value)}
          />
          <SelectField
            label={text("admission")}
            choices={ADMISSIONS}
            value={search.admission ?? ""}
            onChange={(event) => choice("admission", event.target.value)}
          />
          <SelectField
            label={text("cache")}
            choices={CACHES}
            value={search.cache_status ?? ""}
            onChange={(event) => choice("cache_status", event.target.value)}
          />
          <SelectField
            label={text("type")}
            choices={TYPES}
            value={search.request_type ?? ""}
            onChange={(event) => choice("request_type", event.target.value)}
          />
          {(["min_total_ms", "min_queue_wait_ms"] as const).map((name) => (
            <DraftField
              key={name}
              label={text(name === "min_total_ms" ? "minTotal" : "minQueue")}
              value={search[name]?.toString()}
              inputMode="numeric"
              onDone={(value) => onChange({ [name]: /^\d{1,10}$/.test(value ?? "") ? Number(value) : undefined })}
            />
          ))}
          <DraftField
            label={text("session")}
            value={search.session_id}
            onDone={(session_id) => onChange({ session_id })}
          />
          {isAdmin && <DraftField label={text("cell")} value={search.cell} onDone={(cell) => onChange({ cell })} />}
        </Filters>
        {isAdmin && (
          <div className={classes["checks"]}>
            <CheckField
              label={text("traced")}
              checked={search.traced_only === true}
              onChange={(event) => onChange({ traced_only: event.target.checked ? true : undefined })}
            />
            <CheckField
              label={text("internal")}
              checked={search.include_internal === true}
              onChange={(event) => onChange({ include_internal: event.target.checked ? true : undefined })}
            />
          </div>
        )}
      </div>
    </search>
  );
}

function choicesOf(names: Readonly<Record<string, keyof typeof logsTexts>>): readonly Choice[] {
  return [ALL, ...Object.entries(names).map(([value, name]) => ({ value, label: text(name) }))];
}

/** The choices, and the one of an address that is not among them. */
function withOwn(choices: readonly Choice[], value: string | undefined): readonly Choice[] {
  if (value === undefined || choices.some((choice) => choice.value === value)) return choices;
  return [...choices, { value, label: errorName(value) }];
}
