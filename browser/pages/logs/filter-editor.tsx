import { type ReactNode, useEffect, useRef } from "react";
import { DraftField } from "../../forms/filters/draft-field.tsx";
import { KeyFilter, ModelFilter, TenantFilter } from "../../forms/filters/found-filters.tsx";
import { type Choice, SelectField } from "../../ui/fields.tsx";
import type { FilterName } from "./logs-query.ts";
import type { SearchChanges } from "./logs-search.ts";

interface EditorProps {
  readonly name: FilterName;
  readonly label: string;
  readonly placeholder: string | undefined;
  /** Undefined: the filter is typed or found. */
  readonly choices: readonly Choice[] | undefined;
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

function control({ name, label, placeholder, choices, value, tenantId, tenantName, onDone }: EditorProps): ReactNode {
  if (choices !== undefined)
    return (
      <SelectField
        label={label}
        choices={choices}
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
          label={label}
          value={value}
          inputMode="numeric"
          onDone={(typed) => onDone({ [name]: /^\d{1,10}$/.test(typed ?? "") ? Number(typed) : undefined })}
        />
      );
    default:
      return (
        <DraftField
          label={label}
          {...(placeholder === undefined ? {} : { placeholder })}
          value={value}
          onDone={(typed) => onDone({ [name]: typed } as SearchChanges)}
        />
      );
  }
}
