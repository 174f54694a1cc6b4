import { useQuery } from "@tanstack/react-query";
import { type KeyboardEvent, useDeferredValue, useId, useState } from "react";
import { dayIn } from "../../../shared/zone-days.ts";
import { read } from "../../data/reads.ts";
import { errorName, ROW_ERROR_CODES } from "../../explain/explain-error.ts";
import { logsTexts } from "../../messages/en/logs.ts";
import { texts } from "../../messages/texts.ts";
import { periodBounds, periodLabel, periodParam, periodProblem } from "../../time/periods.ts";
import { useNow } from "../../time/use-clock.tsx";
import { useZone } from "../../time/zone-context.tsx";
import { Button } from "../../ui/button.tsx";
import { CheckField, type Choice, SelectField, TextField } from "../../ui/fields.tsx";
import { SearchSelect } from "../../ui/search-select.tsx";
import classes from "./logs-page.module.css";
import { FILTERS, type FilterName, filtersOf, periodOf } from "./logs-query.ts";
import { ADMISSION_TEXTS, CACHE_TEXTS, type LogsSearch, type SearchChanges, TYPE_TEXTS } from "./logs-search.ts";

const text = texts("logs", logsTexts);
const FOUND_MAX = 8;
const HOUR_MS = 3_600_000;
const CUSTOM = "custom";
const PERIODS = ["24h", "7d", "30d", "month"] as const;
const ALL: Choice = { value: "", label: text("all") };
const searchTexts = { clear: text("clear"), nothing: text("nothingFound"), searching: text("searching") };

const STATUSES: readonly Choice[] = [
  ALL,
  { value: "success", label: text("success") },
  { value: "error", label: text("error") },
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
      <div className={classes["filters"]}>
        <Draft
          label={text("requestId")}
          placeholder={text("requestIdHint")}
          value={search.request_id}
          isFirst
          onDone={(request_id) => onChange({ request_id: request_id?.toLowerCase() })}
        />
        <PeriodFilter search={search} onChange={onChange} />
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
      </div>
      <div id={furtherId} hidden={!showsFurther}>
        <div className={classes["filters"]}>
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
            <Draft
              key={name}
              label={text(name === "min_total_ms" ? "minTotal" : "minQueue")}
              value={search[name]?.toString()}
              inputMode="numeric"
              onDone={(value) => onChange({ [name]: /^\d{1,10}$/.test(value ?? "") ? Number(value) : undefined })}
            />
          ))}
          <Draft label={text("session")} value={search.session_id} onDone={(session_id) => onChange({ session_id })} />
          {isAdmin && <Draft label={text("cell")} value={search.cell} onDone={(cell) => onChange({ cell })} />}
        </div>
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

interface DraftProps {
  readonly label: string;
  readonly placeholder?: string;
  readonly value: string | undefined;
  readonly inputMode?: "numeric";
  /** `/` leads to it. */
  readonly isFirst?: boolean;
  readonly onDone: (value: string | undefined) => void;
}

/** A text that counts when it is finished: by Enter, or by leaving the field. */
function Draft({ label, placeholder, value = "", inputMode, isFirst = false, onDone }: DraftProps) {
  const [draft, setDraft] = useState<string | null>(null);
  const done = (): void => {
    const typed = draft?.trim();
    setDraft(null);
    if (typed !== undefined && typed !== value) onDone(typed === "" ? undefined : typed);
  };
  const onKey = (event: KeyboardEvent<HTMLInputElement>): void => {
    if (event.key === "Enter") done();
    else if (event.key === "Escape") {
      setDraft(null);
      event.currentTarget.blur();
    }
  };
  return (
    <TextField
      label={label}
      type="text"
      autoComplete="off"
      spellCheck={false}
      placeholder={placeholder}
      inputMode={inputMode}
      value={draft ?? value}
      onChange={(event) => setDraft(event.target.value)}
      onBlur={done}
      onKeyDown={onKey}
      {...(isFirst ? { "data-page-filter": "" } : {})}
    />
  );
}

function PeriodFilter({ search, onChange }: Pick<FiltersProps, "search" | "onChange">) {
  const nowMs = useNow(HOUR_MS);
  const { zone, options } = useZone();
  const period = periodOf(search);
  const isCustom = period.kind === CUSTOM;
  const { days } = periodBounds(period, zone, nowMs);
  const today = dayIn(zone, nowMs);
  const [problem, setProblem] = useState<{ readonly field: "from" | "to"; readonly text: string } | null>(null);
  const [from, to] = isCustom ? [period.fromDay, period.toDay] : [days?.first ?? today, days?.last ?? today];
  const own = (fromDay: string, toDay: string): void => {
    const found = periodProblem(fromDay, toDay);
    setProblem(found);
    if (found === null) onChange({ period: periodParam({ kind: CUSTOM, fromDay, toDay }) });
  };
  const choose = (value: string): void => {
    const moving = PERIODS.find((kind) => kind === value);
    if (moving === undefined) own(from, to);
    else onChange({ period: moving });
  };
  return (
    <>
      <SelectField
        label={text("period")}
        value={period.kind}
        choices={[
          ...PERIODS.map((kind) => ({ value: kind, label: periodLabel({ kind }) })),
          { value: CUSTOM, label: text("periodCustom") },
        ]}
        onChange={(event) => choose(event.target.value)}
      />
      {isCustom && (
        <>
          <TextField
            label={text("fromDay")}
            type="date"
            key={`from ${from}`}
            defaultValue={from}
            error={problem?.field === "from" ? problem.text : undefined}
            onChange={(event) => own(event.target.value, to)}
          />
          <TextField
            label={text("toDay")}
            type="date"
            key={`to ${to}`}
            defaultValue={to}
            error={problem?.field === "to" ? problem.text : undefined}
            onChange={(event) => own(from, event.target.value)}
          />
        </>
      )}
      <SelectField
        label={text("zone")}
        value={options.find((option) => option.zone === zone)?.choice ?? "utc"}
        choices={options.map(({ choice, label }) => ({ value: choice, label }))}
        onChange={(event) => onChange({ zone: options.find((option) => option.choice === event.target.value)?.choice })}
      />
    </>
  );
}

interface ChooseProps {
  readonly chosen: string | undefined;
  readonly onChoose: (value: string | undefined) => void;
}

function TenantFilter({ chosen, onChoose }: ChooseProps) {
  const [typed, setTyped] = useState("");
  const query = { q: useDeferredValue(typed.trim()), limit: String(FOUND_MAX) };
  const found = useQuery(read("/api/v1/tenants", { params: { query } }, { enabled: typed.trim() !== "" }));
  const tenants = typed.trim() === "" ? [] : found.data;
  return (
    <SearchSelect
      label={text("tenant")}
      placeholder={text("anyName")}
      chosen={chosen}
      found={
        tenants?.map(({ id, name, fairshare_group }) => ({ value: id, label: name, note: fairshare_group })) ?? null
      }
      onType={setTyped}
      onChoose={onChoose}
      texts={searchTexts}
    />
  );
}

function ModelFilter({ chosen, onChoose }: ChooseProps) {
  const [typed, setTyped] = useState("");
  const query = { q: useDeferredValue(typed.trim()), limit: String(FOUND_MAX) };
  const found = useQuery(read("/api/v1/models", { params: { query } }, { enabled: typed.trim() !== "" }));
  const models = typed.trim() === "" ? [] : found.data;
  return (
    <SearchSelect
      label={text("model")}
      placeholder={text("anyName")}
      chosen={chosen}
      found={models?.map(({ model_name }) => ({ value: model_name, label: model_name })) ?? null}
      onType={setTyped}
      onChoose={onChoose}
      texts={searchTexts}
    />
  );
}

function KeyFilter({
  keyId,
  tenantId,
  onChoose,
}: {
  readonly keyId: string | undefined;
  readonly tenantId: string | undefined;
  readonly onChoose: ChooseProps["onChoose"];
}) {
  const [typed, setTyped] = useState("");
  const query = {
    q: useDeferredValue(typed.trim()),
    limit: String(FOUND_MAX),
    ...(tenantId === undefined ? {} : { tenant_id: tenantId }),
  };
  const found = useQuery(read("/api/v1/keys", { params: { query } }, { enabled: typed.trim() !== "" }));
  const chosen = useQuery(
    read("/api/v1/keys/{id}", { params: { path: { id: keyId ?? "" } } }, { enabled: keyId !== undefined }),
  );
  const keys = typed.trim() === "" ? [] : found.data;
  const nameOf = ({ name, key_prefix }: { readonly name: string; readonly key_prefix: string }): string =>
    name === "" ? key_prefix : name;
  return (
    <SearchSelect
      label={text("key")}
      placeholder={text("anyName")}
      chosen={keyId === undefined ? undefined : chosen.data?.id === keyId ? nameOf(chosen.data) : keyId}
      found={keys?.map((key) => ({ value: key.id, label: nameOf(key), note: key.key_prefix })) ?? null}
      onType={setTyped}
      onChoose={onChoose}
      texts={searchTexts}
    />
  );
}
