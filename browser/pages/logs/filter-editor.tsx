import { type ReactNode, useEffect, useRef } from "react";
import { errorName, ROW_ERROR_CODES } from "../../explain/explain-error.ts";
import { DraftField } from "../../forms/filters/draft-field.tsx";
import { KeyFilter, ModelFilter, TenantFilter } from "../../forms/filters/found-filters.tsx";
import { logViewsTexts } from "../../messages/en/log-views.ts";
import { logsTexts } from "../../messages/en/logs.ts";
import { texts } from "../../messages/texts.ts";
import { type Choice, SelectField } from "../../ui/fields.tsx";
import { filterName } from "./filter-words.ts";
import type { FilterName } from "./logs-query.ts";
import { ADMISSION_TEXTS, CACHE_TEXTS, type SearchChanges, STATUS_TEXTS, TYPE_TEXTS } from "./logs-search.ts";

const text = texts("log-views", logViewsTexts);
const logText = texts("logs", logsTexts);
const ALL: Choice = { value: "", label: logText("all") };

const CHOICES: Partial<Record<FilterName, readonly Choice[]>> = {
  status: choicesOf(STATUS_TEXTS),
  admission: choicesOf(ADMISSION_TEXTS),
  cache_status: choicesOf(CACHE_TEXTS),
  request_type: choicesOf(TYPE_TEXTS),
  error_code: [ALL, ...ROW_ERROR_CODES.toSorted().map((code) => ({ value: code, label: errorName(code) }))],
};

interface EditorProps {
  readonly name: FilterName;
  readonly value: string | undefined;
  readonly tenantId: string | undefined;
  readonly tenantName: string | undefined;
  readonly onDone: (changes: SearchChanges) => void;
}

/** The control of one filter, which gets the focus when it appears. */
export function FilterEditor(props: EditorProps) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => box.current?.querySelector<HTMLElement>("input, select")?.focus(), []);
  return <div ref={box}>{control(props)}</div>;
}

function control({ name, value, tenantId, tenantName, onDone }: EditorProps): ReactNode {
  const choices = CHOICES[name];
  if (choices !== undefined)
    return (
      <SelectField
        label={filterName(name)}
        choices={withOwn(choices, value)}
        value={value ?? ""}
        onChange={({ target }) => onDone({ [name]: target.value === "" ? undefined : target.value } as SearchChanges)}
      />
    );
  switch (name) {
    case "tenant_id":
      return (
        <TenantFilter
          chosen={value === undefined ? undefined : (tenantName ?? value)}
          onChoose={(tenant_id) => onDone({ tenant_id, key_id: undefined })}
        />
      );
    case "key_id":
      return <KeyFilter keyId={value} tenantId={tenantId} onChoose={(key_id) => onDone({ key_id })} />;
    case "model":
      return <ModelFilter chosen={value} onChoose={(model) => onDone({ model })} />;
    case "min_total_ms":
    case "min_queue_wait_ms":
      return (
        <DraftField
          label={logText(name === "min_total_ms" ? "minTotal" : "minQueue")}
          value={value}
          inputMode="numeric"
          onDone={(typed) => onDone({ [name]: /^\d{1,10}$/.test(typed ?? "") ? Number(typed) : undefined })}
        />
      );
    default:
      return (
        <DraftField
          label={filterName(name)}
          {...(name === "tag" ? { placeholder: text("tagHint") } : {})}
          value={value}
          onDone={(typed) => onDone({ [name]: typed } as SearchChanges)}
        />
      );
  }
}

function choicesOf(names: Readonly<Record<string, keyof typeof logsTexts>>): readonly Choice[] {
  return [ALL, ...Object.entries(names).map(([value, name]) => ({ value, label: logText(name) }))];
}

/** The choices, and the one of an address that is not among them. */
function withOwn(choices: readonly Choice[], value: string | undefined): readonly Choice[] {
  if (value === undefined || choices.some((choice) => choice.value === value)) return choices;
  return [...choices, { value, label: errorName(value) }];
}
