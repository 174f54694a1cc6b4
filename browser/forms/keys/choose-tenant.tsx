import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useDeferredValue, useId, useState } from "react";
import { read } from "../../data/reads.ts";
import { keysTexts } from "../../messages/en/keys.ts";
import { texts } from "../../messages/texts.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { TextField } from "../../ui/fields.tsx";
import { Stack } from "../../ui/layout.tsx";

const text = texts("keys", keysTexts);
const FOUND_MAX = "20";

interface ChooseTenantProps {
  readonly onChoose: (tenantId: string) => void;
  readonly onClose: () => void;
}

/** Chooses a tenant among any number of them, by typing a part of its name. */
export function ChooseTenant({ onChoose, onClose }: ChooseTenantProps) {
  const [typed, setTyped] = useState("");
  const [error, setError] = useState<string>();
  const list = useId();
  const q = useDeferredValue(typed.trim());
  const found = useQuery(read("/api/v1/tenants", { params: { query: { q, limit: FOUND_MAX } } }));
  const choose = (event: FormEvent): void => {
    event.preventDefault();
    const rows = found.data ?? [];
    const tenant = rows.find(({ name }) => name === typed.trim()) ?? (rows.length === 1 ? rows[0] : undefined);
    if (tenant === undefined) setError(text("tenantUnknown"));
    else onChoose(tenant.id);
  };
  return (
    <Dialog isOpen onClose={onClose} title={text("chooseTenant")} closeLabel={text("close")}>
      <form onSubmit={choose}>
        <Stack>
          <TextField
            label={text("tenant")}
            hint={text("tenantHint")}
            error={error}
            list={list}
            dir="auto"
            autoComplete="off"
            value={typed}
            onChange={(event) => {
              setTyped(event.target.value);
              setError(undefined);
            }}
          />
          <datalist id={list}>
            {found.data?.map(({ id, name }) => (
              <option key={id} value={name} />
            ))}
          </datalist>
          <Button type="submit" tone="primary">
            {text("choose")}
          </Button>
        </Stack>
      </form>
    </Dialog>
  );
}
