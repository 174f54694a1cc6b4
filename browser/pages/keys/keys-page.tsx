import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useCurrentUser } from "../../data/current-user.ts";
import { changedSearch } from "../../data/search-params.ts";
import { TenantByIdFilter } from "../../forms/filters/found-filters.tsx";
import { KeysList } from "../../forms/keys/keys-list.tsx";
import { pageTexts } from "../../messages/en/pages.ts";
import { texts } from "../../messages/texts.ts";
import { PageHead, Stack } from "../../ui/layout.tsx";

const pageText = texts("pages", pageTexts);
const route = getRouteApi("/signed-in/keys");

/** All keys, or those of one tenant. A `user` has those of the own tenant. */
export function KeysPage() {
  const search = route.useSearch();
  const navigate = useNavigate({ from: "/keys" });
  const { role, tenant_id: own } = useCurrentUser();
  const isAdmin = role === "admin";
  const tenantId = isAdmin ? (search.tenant_id ?? null) : own;
  const change = (changed: Parameters<typeof changedSearch<typeof search>>[1], isStep: boolean): void =>
    void navigate({ search: (before) => changedSearch(before, changed), replace: !isStep });
  return (
    <Stack>
      <PageHead title={pageText("keys")} question={pageText("keysQuestion")} />
      <KeysList
        tenantId={tenantId}
        newFor={isAdmin ? tenantId : own}
        search={search}
        onSearch={(changed) => change(changed, "key_id" in changed)}
        isFiltered={isAdmin && tenantId !== null}
        onClear={() => change({ q: undefined, disabled: undefined, tenant_id: undefined }, false)}
        filters={
          isAdmin && (
            <TenantByIdFilter tenantId={search.tenant_id} onChoose={(tenant_id) => change({ tenant_id }, true)} />
          )
        }
      />
    </Stack>
  );
}
