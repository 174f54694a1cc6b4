import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api, type Records } from "../../data/api.ts";
import { useAnnouncedWrite } from "../../forms/record/use-announced-write.ts";
import { TENANT_READS } from "../../forms/tenant-status.tsx";
import { commonText } from "../../messages/common.ts";
import { tenantTexts } from "../../messages/en/tenant.ts";
import { texts } from "../../messages/texts.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { TextField } from "../../ui/fields.tsx";

const text = texts("tenant", tenantTexts);

interface DeleteTenantProps {
  readonly tenant: Records["Tenant"];
  readonly onClose: () => void;
}

/** Deletes a tenant once its name was typed. */
export function DeleteTenant({ tenant: { id, name }, onClose }: DeleteTenantProps) {
  const [typed, setTyped] = useState("");
  const navigate = useNavigate();
  const write = useAnnouncedWrite<null>({
    send: async () => await api.DELETE("/api/v1/tenants/{id}", { params: { path: { id } } }),
    touches: TENANT_READS,
    ends: "/api/v1/tenants/{id}",
    done: () => commonText("deleted", { name }),
    failed: () => commonText("notDeleted", { name }),
    onDone: () => void navigate({ to: "/tenants" }),
  });
  const isConfirmed = typed.trim() === name;
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={text("deleteTitle", { name })}
      footer={
        <>
          <Button onClick={onClose}>{commonText("cancel")}</Button>
          <Button tone="danger" disabled={!isConfirmed} isBusy={write.isBusy} onClick={() => write.run(null)}>
            {commonText("delete")}
          </Button>
        </>
      }
    >
      <p>{text("deleteText")}</p>
      <TextField
        label={text("deleteName")}
        hint={text("deleteType", { name })}
        dir="auto"
        autoComplete="off"
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
      />
    </Dialog>
  );
}
