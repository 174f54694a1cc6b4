import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import { useCurrentUser } from "../../data/current-user.ts";
import { read } from "../../data/reads.ts";
import { changedSearch } from "../../data/search-params.ts";
import { KeysList } from "../../forms/keys/keys-list.tsx";
import { keysTexts } from "../../messages/en/keys.ts";
import { pageTexts } from "../../messages/en/pages.ts";
import { texts } from "../../messages/texts.ts";
import { Button } from "../../ui/button.tsx";
import { PageHead, Stack } from "../../ui/layout.tsx";

/** Longer names of a tenant are cut where the filter says it. */
const NAME_MAX = 40;
const text = texts("keys", keysTexts);
const pageText = texts("pages", pageTexts);
const route = getRouteApi("/signed-in/keys");
const ChooseTenant = lazy(async () => ({ default: (await import("../../forms/keys/choose-tenant.tsx")).ChooseTenant }));

/** All keys, or those of one tenant. A `user` has those of the own tenant. */
export function KeysPage() {
  const search = route.useSearch();
  const navigate = useNavigate({ from: "/keys" });
  const { role, tenant_id: own } = useCurrentUser();
  const isAdmin = role === "admin";
  const tenantId = isAdmin ? (search.tenant_id ?? null) : own;
  const [isChoosing, setChoosing] = useState(false);
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
            <TenantFilter
              tenantId={tenantId}
              onChoose={() => setChoosing(true)}
              onClear={() => change({ tenant_id: undefined }, false)}
            />
          )
        }
      />
      <Suspense fallback={null}>
        {isChoosing && (
          <ChooseTenant
            onClose={() => setChoosing(false)}
            onChoose={(chosen) => {
              setChoosing(false);
              change({ tenant_id: chosen }, true);
            }}
          />
        )}
      </Suspense>
    </Stack>
  );
}

function TenantFilter({
  tenantId,
  onChoose,
  onClear,
}: {
  readonly tenantId: string | null;
  readonly onChoose: () => void;
  readonly onClear: () => void;
}) {
  const tenant = useQuery(
    read("/api/v1/tenants/{id}", { params: { path: { id: tenantId ?? "" } } }, { enabled: tenantId !== null }),
  );
  if (tenantId === null) return <Button onClick={onChoose}>{text("ofTenant")}</Button>;
  const name = tenant.data?.id === tenantId?.toLowerCase() ? tenant.data.name : tenantId;
  return (
    <Button onClick={onClear} title={name}>
      {text("notOfTenant", { tenant: name.length > NAME_MAX ? `${name.slice(0, NAME_MAX)}…` : name })}
    </Button>
  );
}
