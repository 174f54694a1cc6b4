import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { lazy, Suspense } from "react";
import { changedSearch } from "../../data/search-params.ts";
import { deploymentTexts } from "../../messages/en/deployments.ts";
import { pageTexts } from "../../messages/en/pages.ts";
import { texts } from "../../messages/texts.ts";
import { Button } from "../../ui/button.tsx";
import { PageHead, Stack } from "../../ui/layout.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { LIST_TABS } from "./deployments-search.ts";
import { ProvisionerNotice } from "./provisioner-notice.tsx";

const text = texts("deployments", deploymentTexts);
const pageText = texts("pages", pageTexts);
const route = getRouteApi("/signed-in/admin/deployments");
const SpecsList = lazy(async () => ({ default: (await import("./specs-list.tsx")).SpecsList }));
const RecipesList = lazy(async () => ({ default: (await import("./recipes-list.tsx")).RecipesList }));

/** All managed models, and the recipes from which they are made. */
export function DeploymentsPage() {
  const { tab = "models" } = route.useSearch();
  const navigate = useNavigate({ from: "/deployments" });
  return (
    <Stack>
      <PageHead
        title={pageText("deployments")}
        question={pageText("deploymentsQuestion")}
        actions={
          <Button
            writes
            tone="primary"
            icon={<Plus size={14} aria-hidden />}
            onClick={() => void navigate({ to: "/deployments/new" })}
          >
            {text("create")}
          </Button>
        }
      />
      <ProvisionerNotice />
      <Tabs
        label={text("parts")}
        chosen={tab}
        onChoose={(id) =>
          void navigate({ search: (before) => changedSearch(before, { tab: LIST_TABS.find((one) => one === id) }) })
        }
        tabs={LIST_TABS.map((id) => ({
          id,
          label: text(id),
          content: <Suspense fallback={null}>{id === "models" ? <SpecsList /> : <RecipesList />}</Suspense>,
        }))}
      />
    </Stack>
  );
}
