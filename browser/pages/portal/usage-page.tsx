import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { changedSearch } from "../../data/search-params.ts";
import { TenantUsage } from "../../forms/usage/tenant-usage.tsx";
import { STATE_TEXTS } from "../../messages/common.ts";
import { pageTexts } from "../../messages/en/pages.ts";
import { texts } from "../../messages/texts.ts";
import { PageHead, Stack } from "../../ui/layout.tsx";
import { Loaded } from "../../ui/states.tsx";
import { useOwnTenant } from "./reads.ts";

const pageText = texts("pages", pageTexts);
const route = getRouteApi("/signed-in/users/portal/usage");

/** What the own tenant has used. */
export function PortalUsagePage() {
  const search = route.useSearch();
  const navigate = useNavigate({ from: "/portal/usage" });
  const tenant = useOwnTenant();
  return (
    <Stack>
      <PageHead title={pageText("portalUsage")} question={pageText("portalUsageQuestion")} />
      <Loaded state={tenant} texts={STATE_TEXTS}>
        {(one) => (
          <TenantUsage
            tenant={one}
            search={search}
            onSearch={(change) =>
              void navigate({ search: (before) => changedSearch(before, change), replace: true, resetScroll: false })
            }
          />
        )}
      </Loaded>
    </Stack>
  );
}
