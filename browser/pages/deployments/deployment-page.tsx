import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { lazy, Suspense, useEffect } from "react";
import type { Records } from "../../data/api.ts";
import { read } from "../../data/reads.ts";
import { changedSearch } from "../../data/search-params.ts";
import { useList } from "../../data/use-list.ts";
import { deploymentTexts } from "../../messages/en/deployments.ts";
import { historyTexts } from "../../messages/en/history.ts";
import { texts } from "../../messages/texts.ts";
import { useZone } from "../../time/zone-context.tsx";
import { PageHead, Stack } from "../../ui/layout.tsx";
import { Empty, Loaded, Notice } from "../../ui/states.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { DeploymentActions } from "./deployment-actions.tsx";
import { DEPLOYMENT_TABS } from "./deployments-search.ts";
import { ProvisionerNotice } from "./provisioner-notice.tsx";

const text = texts("deployments", deploymentTexts);
const historyText = texts("history", historyTexts);
const route = getRouteApi("/signed-in/admin/deployments/$modelId");
const ReplicasTab = lazy(async () => ({ default: (await import("./replicas-tab.tsx")).ReplicasTab }));
const History = lazy(async () => ({ default: (await import("../../forms/history/history.tsx")).History }));
const loadSpec = async () => ({ default: (await import("./spec-tab.tsx")).SpecTab });
const SpecTab = lazy(loadSpec);
const EVERY_MS = 3000;

/** One managed model: its replicas, its spec and what was changed. */
export function DeploymentPage() {
  const { modelId } = route.useParams();
  const { tab } = route.useSearch();
  useEffect(() => {
    // While the spec is read; a failure is shown in place of the part.
    if (tab === "spec") loadSpec().catch(() => undefined);
  }, [tab]);
  const spec = useQuery(
    read("/api/v1/models/{id}/managed", { params: { path: { id: modelId } } }, { everyMs: EVERY_MS }),
  );
  const shown = spec.data?.model_id === modelId.toLowerCase() ? spec.data : undefined;
  const status = spec.error?.status;
  const isGone = status === 404 || status === 400;
  if (isGone && shown === undefined) return <Unmanaged modelId={modelId} isId={status === 404} />;
  return (
    <Loaded state={{ ...spec, data: shown, error: isGone ? null : spec.error }}>
      {(one) => (
        <Stack>
          {isGone && <Notice tone="bad">{text("goneNow")}</Notice>}
          <DeploymentParts key={one.model_id} spec={one} />
        </Stack>
      )}
    </Loaded>
  );
}

/** That there is no spec, and the replicas that still end. */
function Unmanaged({ modelId, isId }: { readonly modelId: string; readonly isId: boolean }) {
  return (
    <Stack>
      <Empty title={text("gone")} action={<Link to="/deployments">{text("back")}</Link>}>
        {text("goneText")}
      </Empty>
      {isId && <Ending modelId={modelId} />}
    </Stack>
  );
}

function Ending({ modelId }: { readonly modelId: string }) {
  const replicas = useReplicas(modelId);
  if (replicas.data === undefined || replicas.data.length === 0) return null;
  return (
    <>
      <Notice>{text("ending")}</Notice>
      <Suspense fallback={null}>
        <ReplicasTab replicas={replicas} spec={null} />
      </Suspense>
    </>
  );
}

const useReplicas = (modelId: string) =>
  useList<Records["ModelReplica"]>("/api/v1/replicas", { model_id: modelId }, { everyMs: EVERY_MS, readsAll: true });

function DeploymentParts({ spec }: { readonly spec: Records["ManagedModel"] }) {
  const { model_id, model_name, provision_error, max_job_failures, replicas: counts } = spec;
  const { tab = "replicas" } = route.useSearch();
  const navigate = useNavigate({ from: "/deployments/$modelId" });
  const { zone } = useZone();
  const replicas = useReplicas(model_id);
  const isGated = max_job_failures > 0 && (counts.lost ?? 0) >= max_job_failures;
  const contentOf = (id: (typeof DEPLOYMENT_TABS)[number]) => {
    if (id === "replicas") return <ReplicasTab replicas={replicas} spec={spec} />;
    if (id === "spec") return <SpecTab spec={spec} />;
    return (
      <Stack>
        <History of={{ entity_type: "managed_model", entity_id: model_id }} zone={zone} />
        <History of={{ replicas_of: model_id }} zone={zone} title={historyText("replicas")} />
      </Stack>
    );
  };
  return (
    <>
      <PageHead
        title={<bdi>{model_name}</bdi>}
        actions={<DeploymentActions spec={spec} replicas={replicas.data ?? []} />}
      />
      <ProvisionerNotice />
      {provision_error !== null && (
        <Notice tone="bad">
          <p>{text("blocked", { reason: provision_error })}</p>
          {isGated && <p>{text("blockedGate")}</p>}
        </Notice>
      )}
      <Tabs
        label={text("parts")}
        chosen={tab}
        onChoose={(id) =>
          void navigate({
            search: (before) => changedSearch(before, { tab: DEPLOYMENT_TABS.find((one) => one === id) }),
          })
        }
        tabs={DEPLOYMENT_TABS.map((id) => ({
          id,
          label: text(`tab_${id}`),
          content: id === tab ? <Suspense fallback={null}>{contentOf(id)}</Suspense> : null,
        }))}
      />
    </>
  );
}
