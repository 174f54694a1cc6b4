import { useQuery } from "@tanstack/react-query";
import { read } from "../../data/reads.ts";
import { pageTarget } from "../../explain/link-target.ts";
import { TargetLink } from "../../links/target-link.tsx";
import { deploymentTexts } from "../../messages/en/deployments.ts";
import { texts } from "../../messages/texts.ts";
import { formatAge } from "../../time/instants.ts";
import { formatText } from "../../ui/format.ts";
import { Notice } from "../../ui/states.tsx";
import { provisionerState } from "./spec-state.ts";

const text = texts("deployments", deploymentTexts);
const EVERY_MS = 15_000;

/** Why no job is started or ended now; nothing while the provisioner works (docs/rules/managed-models.md#held-provisioner). */
export function ProvisionerNotice() {
  const { data } = useQuery(read("/api/v1/settings/jobsched", {}, { everyMs: EVERY_MS }));
  if (data === undefined) return null;
  const state = provisionerState(data);
  if (state === "well") return null;
  const { provisioner_last_seen_secs: secs, last_error } = data;
  const words =
    state === "silent"
      ? text("provisioner_silent", { age: secs === null ? text("never") : formatAge(0, -secs * 1000) })
      : text(`provisioner_${state}`, { reason: formatText(last_error) });
  return (
    <Notice tone={state === "held" || state === "silent" ? "bad" : state === "begins" ? "neutral" : "warn"}>
      <p>{words}</p>
      <TargetLink target={pageTarget("/settings", { tab: "jobsched" })}>{text("toSettings")}</TargetLink>
    </Notice>
  );
}
