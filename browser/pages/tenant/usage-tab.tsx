import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { changedSearch } from "../../data/search-params.ts";
import { TenantUsage } from "../../forms/usage/tenant-usage.tsx";
import type { TenantTabProps } from "./tenant-tab.ts";

const route = getRouteApi("/signed-in/tenants/$tenantId");

/** What the tenant has used; its period and order are in the address. */
export function UsageTab({ tenant }: TenantTabProps) {
  const search = route.useSearch();
  const navigate = useNavigate({ from: "/tenants/$tenantId" });
  return (
    <TenantUsage
      tenant={tenant}
      search={search}
      onSearch={(change) =>
        void navigate({ search: (before) => changedSearch(before, change), replace: true, resetScroll: false })
      }
    />
  );
}
