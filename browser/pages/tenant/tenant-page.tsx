import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { Pencil } from "lucide-react";
import { type ComponentType, lazy, Suspense, useState } from "react";
import { useCurrentUser } from "../../data/current-user.ts";
import { read } from "../../data/reads.ts";
import { changedSearch } from "../../data/search-params.ts";
import { StatusBadge, StatusButtons } from "../../forms/tenant-status.tsx";
import { commonText } from "../../messages/common.ts";
import { pageTexts } from "../../messages/en/pages.ts";
import { tenantTexts } from "../../messages/en/tenant.ts";
import { texts } from "../../messages/texts.ts";
import { Button } from "../../ui/button.tsx";
import { PageHead, Stack } from "../../ui/layout.tsx";
import { Empty, Loaded, Notice } from "../../ui/states.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { TENANT_TABS } from "./tenant-search.ts";
import type { TenantTabProps } from "./tenant-tab.ts";

const text = texts("tenant", tenantTexts);
const pageText = texts("pages", pageTexts);
const route = getRouteApi("/signed-in/tenants/$tenantId");
const EVERY_MS = 20_000;

type TenantTab = (typeof TENANT_TABS)[number];

const History = lazy(async () => ({ default: (await import("../../forms/history/history.tsx")).History }));
/** Each part is loaded when it is opened. */
const PARTS: Readonly<Record<TenantTab, ComponentType<TenantTabProps>>> = {
  overview: lazy(async () => ({ default: (await import("./overview-tab.tsx")).TenantOverviewTab })),
  access: lazy(async () => ({ default: (await import("./tenant-parts.ts")).AccessTab })),
  budget: lazy(async () => ({ default: (await import("./tenant-parts.ts")).BudgetTab })),
  policies: lazy(async () => ({ default: (await import("./policies-tab.tsx")).PoliciesTab })),
  keys: lazy(async () => ({ default: (await import("./tenant-parts.ts")).KeysTab })),
  usage: lazy(async () => ({ default: (await import("./tenant-parts.ts")).UsageTab })),
  history: ({ tenant: { id, timezone } }) => <History of={{ entity_type: "tenant", entity_id: id }} zone={timezone} />,
  edit: lazy(async () => ({ default: (await import("./edit-tab.tsx")).TenantEditTab })),
};
/** What only admins may read, or change. */
const FOR_ADMINS: ReadonlySet<TenantTab> = new Set(["history", "edit"]);
const DeleteTenant = lazy(async () => ({ default: (await import("./delete-tenant.tsx")).DeleteTenant }));

/** One tenant, which opens on what it does. An admin edits it in one form; a `user` sees the own one, and changes its keys alone. */
export function TenantPage() {
  const { tenantId } = route.useParams();
  const { role } = useCurrentUser();
  const tenant = useQuery(read("/api/v1/tenants/{id}", { params: { path: { id: tenantId } } }, { everyMs: EVERY_MS }));
  const shown = tenant.data?.id === tenantId.toLowerCase() ? tenant.data : undefined;
  const status = tenant.error?.status;
  const isGone = status === 404 || status === 400;
  if (isGone && shown === undefined)
    return (
      <Empty title={text("gone")} action={role === "admin" ? <Link to="/tenants">{text("back")}</Link> : undefined}>
        {commonText("gone")}
      </Empty>
    );
  return (
    <Loaded state={{ ...tenant, data: shown, error: isGone ? null : tenant.error }}>
      {(one) => (
        <Stack>
          {isGone && <Notice tone="bad">{text("goneNow")}</Notice>}
          <TenantParts key={one.id} tenant={one} />
        </Stack>
      )}
    </Loaded>
  );
}

function TenantParts({ tenant }: TenantTabProps) {
  const { role, isReadOnly } = useCurrentUser();
  const search = route.useSearch();
  const navigate = useNavigate({ from: "/tenants/$tenantId" });
  const [isDeleting, setDeleting] = useState(false);
  const isAdmin = role === "admin";
  const tabs = TENANT_TABS.filter((one) => one !== "edit" && (isAdmin || !FOR_ADMINS.has(one)));
  const asked = search.tab ?? "overview";
  const tab = isAdmin || !FOR_ADMINS.has(asked) ? asked : "overview";
  const Part = PARTS[tab];
  const [from, setFrom] = useState(tab);
  if (tab !== "edit" && tab !== from) setFrom(tab);
  const open = (id: TenantTab | undefined): void =>
    void navigate({ search: (before) => changedSearch(before, { tab: id }) });
  return (
    <>
      <PageHead
        title={<bdi>{tenant.name}</bdi>}
        question={isAdmin && tenant.description !== "" ? <bdi>{tenant.description}</bdi> : pageText("tenantsQuestion")}
        actions={
          <>
            <StatusBadge status={tenant.status} />
            {isAdmin && tab !== "edit" && !isReadOnly && (
              <Link to="/playground" search={{ tenant_id: tenant.id }}>
                {text("try")}
              </Link>
            )}
            {isAdmin && <StatusButtons tenant={tenant} />}
            {isAdmin && tab !== "edit" && (
              <Button writes tone="primary" icon={<Pencil size={14} aria-hidden />} onClick={() => open("edit")}>
                {text("editButton")}
              </Button>
            )}
            {isAdmin && tab === "edit" && (
              <Button onClick={() => open(from === "edit" ? undefined : from)}>{text("editDone")}</Button>
            )}
            {isAdmin && (
              <Button writes tone="danger" onClick={() => setDeleting(true)}>
                {commonText("delete")}
              </Button>
            )}
          </>
        }
      />
      {tab === "edit" ? (
        <Suspense fallback={null}>
          <Part tenant={tenant} from={from} />
        </Suspense>
      ) : (
        <Tabs
          label={text("tabs")}
          chosen={tab}
          onChoose={(id) => open(TENANT_TABS.find((one) => one === id))}
          tabs={tabs.map((id) => ({
            id,
            label: text(id),
            content:
              id === tab ? (
                <Suspense fallback={null}>
                  <Part tenant={tenant} />
                </Suspense>
              ) : null,
          }))}
        />
      )}
      <Suspense fallback={null}>
        {isDeleting && <DeleteTenant tenant={tenant} onClose={() => setDeleting(false)} />}
      </Suspense>
    </>
  );
}
