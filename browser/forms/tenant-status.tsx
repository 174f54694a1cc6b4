import { api, type Records } from "../data/api.ts";
import type { ReadPath } from "../data/reads.ts";
import { tenantsTexts } from "../messages/en/tenants.ts";
import { texts } from "../messages/texts.ts";
import { Badge, type Tone } from "../ui/badge.tsx";
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

/** What changes the status of a tenant, each with undo. */
export function useStatusChanges(): (
  tenant: StatusChange["tenant"],
) => readonly { readonly label: string; readonly run: () => void }[] {
  const write = useAnnouncedWrite<StatusChange>({
    send: async ({ tenant, status }) =>
      await api.PATCH("/api/v1/tenants/{id}/status", { params: { path: { id: tenant.id } }, body: { status } }),
    touches: TENANT_READS,
    done: doneText,
    failed: ({ tenant }) => text("statusFailed", { name: tenant.name }),
    inverse: ({ tenant }) => {
      const back = { tenant, status: tenant.status };
      return { variables: back, done: doneText(back) };
    },
  });
  return (tenant) =>
    STATUSES.filter((status) => status !== tenant.status).map((status) => ({
      label: text(ACTIONS[status]),
      run: () => write.run({ tenant, status }),
    }));
}

function doneText({ tenant, status }: StatusChange): string {
  return text("statusDone", { name: tenant.name, status: text(status).toLowerCase() });
}
