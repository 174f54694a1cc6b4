/** Creating a key: its fields, and then its secret, once. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { NO_RATES } from "../../../shared/fields/rates.ts";
import { answerValue, api, type Records } from "../../data/api.ts";
import { read } from "../../data/reads.ts";
import { keysTexts } from "../../messages/en/keys.ts";
import { texts } from "../../messages/texts.ts";
import { serverNowMs } from "../../time/server-time.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { formatText } from "../../ui/format.ts";
import { Loaded } from "../../ui/states.tsx";
import { TenantByIdFilter } from "../filters/found-filters.tsx";
import { CreateForm } from "../record/create-form.tsx";
import { ModelNames } from "../record/model-names.tsx";
import { CREATE_KEY } from "./key-specs.ts";
import { KEY_READS } from "./key-writes.ts";
import { SecretDialog } from "./secret-dialog.tsx";

const text = texts("keys", keysTexts);

interface CreateKeyProps {
  /** Null: it is asked first. */
  readonly tenantId: string | null;
  readonly onClose: () => void;
}

export function CreateKey({ tenantId, onClose }: CreateKeyProps) {
  const [chosen, setChosen] = useState<string | null>(null);
  const tenant = tenantId ?? chosen;
  if (tenant === null)
    return (
      <Dialog isOpen onClose={onClose} title={text("chooseTenant")}>
        <TenantByIdFilter tenantId={undefined} onChoose={(id) => setChosen(id ?? null)} />
      </Dialog>
    );
  return <CreateKeyOf tenantId={tenant} onClose={onClose} />;
}

function CreateKeyOf({ tenantId, onClose }: { readonly tenantId: string; readonly onClose: () => void }) {
  const queries = useQueryClient();
  const tenant = useQuery(read("/api/v1/tenants/{id}", { params: { path: { id: tenantId } } }));
  const [made, setMade] = useState<{ readonly created: Records["CreatedApiKey"]; readonly sinceMs: number } | null>(
    null,
  );
  if (made !== null)
    return (
      <SecretDialog
        created={made.created}
        sinceMs={made.sinceMs}
        tenantModels={tenant.data?.allowed_models ?? null}
        onClose={onClose}
      />
    );
  return (
    <Dialog
      isOpen
      isKept
      onClose={onClose}
      title={text("createTitle", { tenant: tenant.data?.name ?? formatText(null) })}
    >
      <Loaded state={tenant}>
        {({ timezone }) => (
          <CreateForm
            specs={CREATE_KEY.specs}
            schema={CREATE_KEY.schema}
            initial={NO_RATES}
            zone={timezone}
            headings={{ expires_at: text("createMore") }}
            foldFrom="expires_at"
            submitLabel={text("create")}
            controls={{ allowed_models: (own) => <ModelNames name="allowed_models" {...own} /> }}
            onSubmit={async (body, idempotencyKey) => {
              const sinceMs = serverNowMs() - CLOCKS_DIFFER_MS;
              // Not through the cache of writes, which would keep the secret.
              const answered = await api.POST("/api/v1/tenants/{id}/keys", {
                params: { path: { id: tenantId }, header: { "idempotency-key": idempotencyKey } },
                body: body as Records["CreateApiKey"],
              });
              setMade({ created: answerValue(answered), sinceMs });
              for (const path of KEY_READS) void queries.invalidateQueries({ queryKey: [path] });
            }}
          />
        )}
      </Loaded>
    </Dialog>
  );
}

/** How much the browser's clock may be ahead of the gateway's. */
const CLOCKS_DIFFER_MS = 600_000;
