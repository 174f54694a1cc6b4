import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, type Records } from "../data/api.ts";
import { type ReadPath, read } from "../data/reads.ts";
import { commonText } from "../messages/common.ts";
import { tenantsTexts } from "../messages/en/tenants.ts";
import { texts } from "../messages/texts.ts";
import { Badge, type Tone } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { Confirm } from "../ui/dialog.tsx";
import { useAnnouncedWrite } from "./record/use-announced-write.ts";

const text = texts("tenants", tenantsTexts);

type TenantStatus = Records["Tenant"]["status"];

/** What shows tenants. */
export const TENANT_READS: readonly ReadPath[] = [
  "/api/v1/tenants",
  "/api/v1/tenants/{id}",
  "/api/v1/tenants/{id}/budget/usage",
  "/api/v1/audit",
  "/api/v1/keys",
];

const TONES: Readonly<Record<TenantStatus, Tone>> = { active: "good", suspended: "warn", archived: "neutral" };
const ACTIONS = { active: "activate", suspended: "suspend", archived: "archive" } as const;
const STATUSES = ["active", "suspended", "archived"] as const satisfies readonly TenantStatus[];

export function StatusBadge({ status }: { readonly status: TenantStatus }) {
  return <Badge tone={TONES[status]}>{text(status)}</Badge>;
}

interface StatusChange {
  readonly tenant: Pick<Records["Tenant"], "id" | "name" | "status">;
  readonly status: TenantStatus;
}

interface StatusButtonsProps {
  readonly tenant: StatusChange["tenant"];
  /** In a row: the first one alone. */
  readonly isShort?: boolean;
}

/** What changes the status of a tenant, each with undo. It asks before a change that ends the tenant's requests. */
export function StatusButtons({ tenant, isShort = false }: StatusButtonsProps) {
  const [asked, setAsked] = useState<TenantStatus | null>(null);
  const write = useAnnouncedWrite<StatusChange>({
    send: async ({ tenant: { id }, status }) =>
      await api.PATCH("/api/v1/tenants/{id}/status", { params: { path: { id } }, body: { status } }),
    touches: TENANT_READS,
    done: doneText,
    failed: ({ tenant: { name } }) => commonText("notChanged", { name }),
    inverse: (change) => {
      const back = { ...change, status: change.tenant.status };
      return { variables: back, done: doneText(back) };
    },
  });
  const { name } = tenant;
  const others = STATUSES.filter((status) => status !== tenant.status);
  return (
    <>
      {(isShort ? others.slice(0, 1) : others).map((status) => (
        <Button
          writes
          key={status}
          {...(isShort ? { tone: "quiet" as const, "aria-label": `${text(ACTIONS[status])}: ${name}` } : {})}
          onClick={() => (tenant.status === "active" ? setAsked(status) : write.run({ tenant, status }))}
        >
          {text(ACTIONS[status])}
        </Button>
      ))}
      {asked !== null && (
        <Confirm
          isOpen
          onCancel={() => setAsked(null)}
          onConfirm={() => {
            setAsked(null);
            write.run({ tenant, status: asked });
          }}
          title={text("ask", { action: text(ACTIONS[asked]), name })}
          confirmLabel={text(ACTIONS[asked])}
        >
          <EndingRequests tenantId={tenant.id} />
        </Confirm>
      )}
    </>
  );
}

function EndingRequests({ tenantId }: { readonly tenantId: string }) {
  const live = useQuery(read("/api/v1/fairshare/live")).data;
  const own = live?.tenants.find(({ tenant_id }) => tenant_id === tenantId);
  return (
    <>
      {live !== undefined && text("askNow", { running: own?.in_flight ?? 0, waiting: own?.queued ?? 0 })}{" "}
      {text("askText")}
    </>
  );
}

function doneText({ tenant, status }: StatusChange): string {
  return text("statusDone", { name: tenant.name, status: text(status).toLowerCase() });
}
