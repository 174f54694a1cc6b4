import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { changedSearch } from "../../data/search-params.ts";
import { KeysList } from "../../forms/keys/keys-list.tsx";
import type { TenantTabProps } from "./tenant-tab.ts";

const route = getRouteApi("/signed-in/tenants/$tenantId");

/** The keys of the tenant. */
export function KeysTab({ tenant: { id } }: TenantTabProps) {
  const search = route.useSearch();
  const navigate = useNavigate({ from: "/tenants/$tenantId" });
  return (
    <KeysList
      tenantId={id}
      newFor={id}
      search={{ ...search, sort: search.keys_sort }}
      prefix="keys_"
      onSearch={(change) =>
        void navigate({ search: (before) => changedSearch(before, change), replace: !("key_id" in change) })
      }
      onClear={() =>
        void navigate({ search: (before) => changedSearch(before, { q: undefined, disabled: undefined }) })
      }
    />
  );
}
