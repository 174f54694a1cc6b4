import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { QUARTER_MS } from "../../../shared/time/zone-days.ts";
import { useCurrentUser } from "../../data/current-user.ts";
import { read } from "../../data/reads.ts";
import { idOf } from "../../data/search-params.ts";
import { useNow } from "../../time/use-clock.tsx";
import { ZoneProvider } from "../../time/zone-context.tsx";
import type { ZoneChoice } from "../../time/zones.ts";

/** What a page of figures shows; undefined ids and names: all tenants. */
export interface ShownTenant {
  readonly tenantId: string | undefined;
  readonly tenantName: string | undefined;
  readonly isAdmin: boolean;
  /** The tenant's zone is known, which decides about the days. */
  readonly isReady: boolean;
}

interface OfTenantProps {
  /** From the page's address. */
  readonly tenantId: string | undefined;
  readonly zone: ZoneChoice | undefined;
  readonly onZone: (zone: ZoneChoice) => void;
  readonly children: (shown: ShownTenant) => ReactNode;
}

/** A page of figures in the zone of its tenant. A `user` sees the own tenant's. */
export function OfTenant({ tenantId: asked, zone, onZone, children }: OfTenantProps) {
  const { role, tenant_id: own } = useCurrentUser();
  const tenantId = role === "user" ? (own ?? undefined) : idOf(asked);
  const tenant = useQuery(
    read("/api/v1/tenants/{id}", { params: { path: { id: tenantId ?? "" } } }, { enabled: tenantId !== undefined }),
  );
  const shown = tenant.data?.id === tenantId ? tenant.data : undefined;
  return (
    <ZoneProvider
      tenantZone={shown?.timezone ?? null}
      browserZone={Intl.DateTimeFormat().resolvedOptions().timeZone}
      choice={zone ?? null}
      onChoose={onZone}
      nowMs={useNow(QUARTER_MS)}
    >
      {children({
        tenantId,
        tenantName: shown?.name,
        isAdmin: role === "admin",
        isReady: tenantId === undefined || !tenant.isPending,
      })}
    </ZoneProvider>
  );
}
